"""Corrections of a query, and the places where its words stand, over words written down here."""

import pytest

from webemu.emulator.highlight import match_spans
from webemu.emulator.query import list_conditions
from webemu.emulator.spelling import Speller, apply_corrections, keep_as_typed
from webemu.emulator.types import Correction

WORD_COUNTS = {"lantern": 9, "fair": 3, "rare": 0, "the": 900, "strucutre": 2, "structure": 800, "ogr": 9, "org": 800}
WORD_COUNTS |= {"fire": 50, "proof": 40, "fireplace": 7, "place": 70}
NEAR = {"lanturn": ["lantern"], "fiar": ["rare", "fair"], "fair": ["never"], "unknown": []}
NEAR |= {"teh": ["tea", "the"], "strucutre": ["structure"], "ogr": ["org"], "adn": ["ad"]}


def count_pages(word: str) -> int:
    return WORD_COUNTS.get(word.lower(), 0)


SPELLER = Speller(lambda word: bool(count_pages(word)), count_pages, lambda word: NEAR.get(word, []))


@pytest.mark.parametrize(
    ("typed", "correction"),
    [
        ("lanturn fair", "lantern fair"),
        ('"lanturn" FAIR', '"lantern" FAIR'),
        ("lanturn lanturn.", "lantern lantern."),
        ("fiar", "fair"),
        ("lantern fair", None),
        ("unknown", None),
        ("site:lanturn.example lantern", None),
        ("lantern -lanturn", None),
        ("lanturn.example", None),
        ("teh fair", "the fair"),
        ("adn fair", None),
        ("strucutre", "structure"),
        ("ogr", None),
        ("fireproof", "fire proof"),
        ("lantern firepl ace", "lantern fireplace"),
        ("fire place", None),
        ("+lanturn", None),
        ("inurl:lanturn", None),
        ("", None),
        (" ".join("abcdefgh"[:n] * 2 for n in range(2, 9)) + " abab abba lanturn", None),
    ],
)
def test_only_words_that_occur_nowhere_are_corrected(typed: str, correction: str | None) -> None:
    assert SPELLER.correct(typed) == correction


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("lanturn fair", "lantern fair"),
        ("Lanturn fair", "Lanturn fair"),
        ("strucutre", "strucutre"),
        ("unknown lanturn", "unknown lantern"),
        ("lanturn.example", "lanturn.example"),
        (" ".join("abcdefgh"[:n] * 2 for n in range(2, 9)) + " abab abba lanturn", None),
    ],
)
def test_ranking_takes_similar_words_for_those_that_no_page_has(typed: str, words: str | None) -> None:
    assert apply_corrections(typed, SPELLER.find_unknown_corrections(typed)) == (words or typed)


def test_a_plus_keeps_the_spelling_of_the_words_that_would_be_corrected() -> None:
    corrections = (Correction("firepl ace", "fireplace"), Correction("lanturn", "lantern"))
    typed = 'a firepl ace "lanturn" lanturn.example'
    assert apply_corrections(typed, corrections) == 'a fireplace "lantern" lanturn.example'
    assert keep_as_typed(typed, corrections) == 'a +firepl +ace "+lanturn" lanturn.example'


def stems(text: str) -> list[str]:
    """Return the stems that the index makes of these words: plurals lose `s`, Chinese characters come in pairs."""
    stem_parts = []
    for word in text.lower().split():
        is_paired = word[0] > "\u4e00" and len(word) > 2
        stem_parts += [word[i : i + 2] for i in range(len(word) - 1)] if is_paired else [word.removesuffix("s")]
    return stem_parts


@pytest.mark.parametrize(
    ("text", "words", "marked"),
    [
        ("Fairs and a fair, unfair", "fair", ["Fairs", "fair"]),
        ("the lantern fair", "lanterns of fairs", ["lantern", "fair"]),
        ("海边的灯塔很高", "灯塔", ["灯塔"]),
        ("nothing", "", []),
    ],
)
def test_words_are_marked_as_the_search_compares_them(text: str, words: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in match_spans(text, words, stems)] == marked


def test_each_condition_can_be_taken_off() -> None:
    conditions = list_conditions('fair "old town" site:a.example  -fog before:2020 lantern')
    assert [remainder for _, remainder in conditions] == [
        "fair site:a.example -fog before:2020 lantern",
        'fair "old town" -fog before:2020 lantern',
        'fair "old town" site:a.example before:2020 lantern',
        'fair "old town" site:a.example -fog lantern',
    ]
    assert [condition.has_filters for condition, _ in conditions] == [True] * 4
    assert [remainder for _, remainder in list_conditions('a (b site:x.org) "c" OR "d" e OR f')] == [
        'a (b ) "c" OR "d" e OR f',
        "a (b site:x.org) e OR f",
    ]
    assert list_conditions("plain words before:soon site:") == []
