"""Questions without what only asks."""

import pytest

from emulator.questions import unasked


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("what is the capital of france", "capital of france"),
        ("who wrote the hobbit", "wrote the hobbit"),
        ("how many people live in aldmere", "people live in aldmere"),
        ("what s new in tornado", "new in tornado"),
        ("wer hat die brücke gebaut", "brücke gebaut"),
        ("où est le phare", "phare"),
        ("dónde está el faro", "faro"),
        ("what is what", "what"),
        ("who is it", "who is it"),
        ("who", "who"),
        ("the who", "the who"),
        ("was ist das", "was ist das"),
        ("", ""),
    ],
)
def test_a_question_is_what_it_is_about(said: str, about: str) -> None:
    assert " ".join(unasked(said.split())) == about
