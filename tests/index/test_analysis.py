"""Text becomes terms in any language."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.index.analysis import STEMMERS, extract_terms, normalize_text, split_words, stem_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Libraries", ["the", "librari"]),
        ("café Ünïted", ["cafe", "unit"]),
        ("東京都", ["東京", "京都"]),
        ("日本 x", ["日本", "x"]),
        ("대한민국", ["대한", "한민", "민국"]),
        ("ﬁne ①", ["fine", "1"]),
        ("cafe\u0301", ["cafe"]),
        ("ｆｕｌｌ　ｗｉｄｔｈ ｶﾅ", ["full", "width", "カナ"]),
        ("donau\u00addampf", ["donaudampf"]),
        ("пароходы парохода", ["пароход", "пароход"]),
        ("ёлка елка", ["елк", "елк"]),
        ("Ελλάδα ΕΛΛΑΔΑΣ", ["ελλαδ", "ελλαδ"]),
        ("كِتَاب الكتـــاب کتاب", ["كتاب", "كتاب", "كتاب"]),
        ("हिन्दी क़लम माँ", ["हिनदी", "कलम", "मां"]),
        ("புத்தகங்கள்", ["புத்தகம்"]),
        ("שָׁלוֹם", ["שלום"]),
        ("Việt Nam", ["viet", "nam"]),
        ("İstanbul ISPARTA ısparta", ["istanbul", "isparta", "isparta"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert extract_terms(text) == expected
    assert extract_terms(unicodedata.normalize("NFD", text)) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Häuser Haus Straße STRASSE", ["haus", "haus", "strass", "strass"]),
        ("fr", "universités Université universite", ["universit"] * 3),
        ("tr", "kitapların kitaplar", ["kitap", "kitap"]),
        ("nb", "bøkene", ["bok"]),
        ("pl", "libraries", ["librari"]),
        ("de", "Москвы", extract_terms("Москва")),
    ],
)
def test_latin_letters_are_stemmed_by_the_language_of_the_page(language: str, text: str, expected: list[str]) -> None:
    assert extract_terms(text, language) == expected


def test_one_character_of_an_unspaced_script_is_a_term() -> None:
    assert extract_terms("a 水 b") == ["a", "水", "b"]


@given(st.text())
def test_a_text_has_as_many_words_as_terms_by_any_stemmer_and_none_holds_a_space(text: str) -> None:
    clean = normalize_text(text.encode("utf-8", "replace").decode())
    spans = split_words(clean)
    for stemmer in sorted(set(STEMMERS.values())):
        by = stem_text(clean, stemmer)
        assert len(by) == len(spans)
        assert " ".join(by).split() == by
