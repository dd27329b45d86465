"""Passages around a snippet: where they begin and end, for texts of any kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.emulator.passage import PASSAGE_CHARS, extract_passage
from webemu.emulator.relevance import score_texts
from webemu.index.records import split_passages

SENTENCES = [
    f"In the year {year} the council built bridge number {year - 1700} over the river." for year in range(1700, 1800)
]
TEXT = "\n\n".join(SENTENCES)


@pytest.mark.parametrize("number", range(len(split_passages(TEXT))))
def test_a_passage_is_of_whole_sentences_around_the_snippet(number: int) -> None:
    snippet = split_passages(TEXT)[number]
    passage = extract_passage(TEXT, snippet)
    assert snippet in passage
    assert passage.startswith("In the year ")
    assert passage.endswith("river.")
    assert 90 <= len(passage.split()) <= 140


def test_a_passage_at_the_end_reaches_back() -> None:
    passage = extract_passage(TEXT, split_passages(TEXT)[-1])
    assert passage.endswith(SENTENCES[-1])
    assert len(passage) > PASSAGE_CHARS - 160


def test_a_short_text_is_given_whole_with_its_lines() -> None:
    text = "\n".join(f"word{n}" for n in range(150))
    assert extract_passage(text, "word7") == text
    assert extract_passage("", "") == ""


def test_texts_without_sentences_end_with_words() -> None:
    text = "harbour " * 500
    passage = extract_passage(text, split_passages(text)[3])
    assert set(passage.split()) == {"harbour"}
    assert PASSAGE_CHARS - 160 <= len(passage) <= PASSAGE_CHARS + 80


def test_scripts_without_spaces_end_with_sentences() -> None:
    text = "東京都は日本の首都である。" * 200
    passage = extract_passage(text, split_passages(text)[2])
    assert passage.startswith("東京都")
    assert passage.endswith("。")


@given(st.text(alphabet="ab .\n\t。", min_size=1, max_size=6000), st.integers(0, 63))
def test_any_snippet_of_any_text_is_in_its_passage(text: str, number: int) -> None:
    cut = split_passages(text)
    snippet = cut[number % len(cut)] if cut else ""
    passage = " ".join(extract_passage(text, snippet).split())
    assert snippet in passage
    assert passage in " ".join(text.split())


def test_rare_words_count_more_and_long_texts_less() -> None:
    texts = [["the", "opera"], ["the", "the"], ["the", "opera", "of", "many", "words", "more"], []]
    scores = score_texts({"the": 900, "opera": 3}, texts, 1000)
    assert scores[0] > scores[2] > scores[1] > scores[3] == 0
    assert score_texts({}, texts, 1000) == [0, 0, 0, 0]
    assert score_texts({"the": 1}, [], 1000) == []


def test_a_snippet_of_a_table_is_found_in_its_text() -> None:
    rows = "".join(f"Measure {number} | {number * 7}\n" for number in range(200))
    snippet = "Measure 150: 1050; Measure 151: 1057; Measure 152: 1064"
    assert "Measure 150 | 1050" in extract_passage(rows, snippet)
