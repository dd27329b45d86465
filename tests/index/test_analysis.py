"""Text becomes terms in any language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.analysis import spaced, terms, without_stop_words


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
        ("пароходы", ["пароходы"]),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_one_character_of_an_unspaced_script_is_a_term() -> None:
    assert terms("a 水 b") == ["a", "水", "b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the capital of the country", "capital country"),
        ("wo liegt der ort an der donau", "liegt ort donau"),
        ("to be or not to be", "to be or not to be"),
        ("river port", "river port"),
    ],
)
def test_stop_words_go_by_language(text: str, expected: str) -> None:
    assert without_stop_words(text) == expected


@given(st.text())
def test_no_text_raises(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    assert isinstance(terms(clean), list)
    assert isinstance(spaced(clean), str)
    assert isinstance(without_stop_words(clean), str)
