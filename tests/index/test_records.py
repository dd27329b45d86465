"""Result records: what is put in comes out, and the snippet shows the query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.index import records
from webemu.index.analysis import ENGLISH, STEMMERS, add_names, extract_terms, normalize_text, stem_text
from webemu.index.records import (
    MAX_PASSAGES,
    PASSAGE_CHARACTERS,
    analyze_text,
    encode_record,
    hash_term,
    read_hit,
    split_passages,
)

TEXT = (
    "Velmora lies on the river Tash.\nIt was founded in 1204 by merchants. "
    + "Nothing of note happened there for a long time. " * 12
    + "In 1987 the mayor opened the lighthouse museum on the northern pier."
)


def snippet_of(text: str, query: str, title: str = "t") -> str:
    hashes = [hash_term(term) for term in extract_terms(query)]
    return read_hit(
        memoryview(encode_record("http://x.org/", title, 19_000, analyze_text(text))), 0, 1.0, hashes
    ).snippet


def test_fields_survive_json_and_unicode() -> None:
    hit = read_hit(
        memoryview(encode_record('http://x.org/"q"', 'A "title" — ü\u2028', 19_723, analyze_text('say "hi"\tthere'))),
        7,
        2.5,
        [],
    )
    assert (hit.url, hit.title, hit.snippet) == ('http://x.org/"q"', 'A "title" — ü\u2028', 'say "hi" there')
    assert (hit.doc, hit.score, hit.date) == (7, 2.5, "2024-01-01")


def test_the_snippet_holds_the_rarest_terms() -> None:
    assert "lighthouse museum" in snippet_of(TEXT, "lighthouse founded")
    assert "founded in 1204" in snippet_of(TEXT, "founded lighthouse")


def test_terms_narrow_a_passage_before_the_first_wins() -> None:
    text = "\n".join(f"alpha item {n} " + "filler " * 30 + ("beta" if n == 3 else "") for n in range(6))
    assert "alpha item 3" in snippet_of(text, "alpha beta")
    assert "alpha item 0" in snippet_of(text, "alpha")


def test_stemmed_and_cjk_terms_are_found() -> None:
    assert "running" in snippet_of("x " * 200 + "\nThe dogs were running home", "dog runs")
    assert "東京都" in snippet_of("x " * 200 + "\n日本の首都は東京都です", "東京都")


def test_no_term_shows_the_beginning() -> None:
    assert snippet_of(TEXT, "zebra").startswith("Velmora lies")


def test_an_empty_page_has_an_empty_snippet() -> None:
    assert snippet_of("", "x") == ""


@given(st.text(max_size=3000))
def test_passages_lose_no_word_and_stay_short(text: str) -> None:
    passages = split_passages(text)
    assert all(0 < len(part) <= PASSAGE_CHARACTERS for part in passages)
    assert "".join("".join(passages).split()) == "".join(text.split())


def test_passages_are_bounded() -> None:
    assert len(split_passages("word. " * 100_000)) <= MAX_PASSAGES
    assert all(len(part) <= PASSAGE_CHARACTERS for part in split_passages("x" * 10_000))


@given(st.text(max_size=400), st.text(max_size=400), st.lists(st.text(max_size=10), max_size=5))
def test_any_text_makes_a_record(title: str, text: str, words: list[str]) -> None:
    hit = read_hit(
        memoryview(encode_record("http://x.org/", title, 0, analyze_text(text))),
        0,
        0.0,
        [hash_term(word) for word in words],
    )
    assert isinstance(hit.title + hit.snippet, str)


PIECES = [
    *("river", "Überfahrt", "a.b", "C++", "naïve", "ﬁne", "e\u0301te\u0301", "İstanbul", "x" * 130),
    *("港と川", "東京都。", "Москва", "Αθήνα", "नदी", "தமிழ்ச்சொல்", "مدينة", "ประเทศไทย", "１２", "½"),
    *(" ", "\n", ". ", "! ", "。", "; ", "\u3000", "-", "w" * 40),
]


@given(st.lists(st.sampled_from(PIECES), max_size=400).map("".join), st.sampled_from(["", "en", "de", "tr"]))
def test_a_text_analyzed_by_passages_has_the_terms_of_the_whole(text: str, language: str) -> None:
    analyzed = analyze_text(text, language)
    if add_names(text) == text:
        assert analyzed.all_terms == " ".join(extract_terms(text, language))
    else:  # the words that names make come at the end of each passage, and depend on what lies in it
        terms = stem_text(normalize_text(text), STEMMERS.get(language, ENGLISH))
        remaining = iter(analyzed.all_terms.split())
        assert all(term in remaining for term in terms), "a word is lost, or out of its order"
    assert analyzed.passages == split_passages(text)
    assert analyzed.terms == [extract_terms(passage, language) for passage in analyzed.passages]


def test_a_plain_text_is_analyzed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passages: list[str] = []
    monkeypatch.setattr(
        records, "analyze", lambda text, language: passages.append(text) or extract_terms(text, language)
    )
    analyze_text("The river port opened in 1887. " * 200, "en")
    assert sum(map(len, passages)) < 7000


@pytest.mark.parametrize(
    ("language", "shown_language"),
    [("en", "en"), ("zz", "zz"), ("zh-Hant", "zh"), ("EN", "en"), ("", ""), ("ceb", ""), ("é1", "")],
)
def test_a_record_knows_its_language_and_whether_the_page_is_dated(language: str, shown_language: str) -> None:
    for is_published in (True, False):
        record = encode_record("http://x.org/", "t", 19_000, analyze_text("text"), language, is_published)
        hit = read_hit(memoryview(record), 0, 0.0, [])
        assert (hit.language, hit.is_published, hit.date) == (shown_language, is_published, "2022-01-08")


def test_rows_of_tables_are_labels_and_values() -> None:
    text = (
        "Wick is a town.\nPopulation | 12,300\nMayor | Ada Holm\nIt is far north.\nYear | Ships | Tons\n1901 | 5 | 70"
    )
    assert split_passages(text) == [
        "Wick is a town. Population: 12,300; Mayor: Ada Holm; It is far north. Year | Ships | Tons; 1901 | 5 | 70"
    ]
    assert split_passages("a | b\n" * 200)[0].startswith("a: b; a: b; ")
    assert split_passages("| x\n | y") == ["| x | y"]


@given(st.text(alphabet="ab |\n:", max_size=900))
def test_passages_of_tables_are_short_and_keep_all_words(text: str) -> None:
    passages = split_passages(text)
    assert all(len(passage) <= PASSAGE_CHARACTERS for passage in passages)
    bare = str.maketrans("|:;", "   ")
    assert "".join("".join(passages).translate(bare).split()) == "".join(text.translate(bare).split())
