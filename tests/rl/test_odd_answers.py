"""Odd text never ends a run: whatever an agent writes is judged, or its episode is masked."""

import json
from pathlib import Path
from random import Random

import pytest

from tests.rl.test_report_sets import ATTACKS, HONEST, record_of
from webemu.rl.answers import is_equivalent
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import LONG
from webemu.rl.rubric import NOT_SCORED, Rubric, Term

DATA = Path(__file__).parent / "data"
ROWS = [
    json.loads(line)
    for name in ("right_answers", "wrong_answers")
    for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
]
PIECES = [
    ".", ",", "'", " ", "-", "/", ":", "%", "$", "°", "½", "²", "0", "9", "13", "1e9", "(", ")", "and", "million", "th",
    "nd", "–", "+", "=", "\u0660", "\x00", "<", ">", "~", "#", "to", "between", "km", "a.m.", "BC", "[1]", "\n", "|",
]  # fmt: skip


def garble(text: str, random: Random, texts: list[str]) -> str:
    """Return a text with some signs removed, repeated, or taken from elsewhere."""
    signs = list(text)
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(len(signs) + 1)
        start = random.randrange(len(signs) + 1)
        other = random.choice(texts)
        piece = other[random.randrange(len(other) + 1) :][: random.randrange(12)]
        new: list[list[str]] = [[random.choice(PIECES)], list(piece), signs[start : start + 6]]
        if random.random() < 0.25:
            del signs[place : place + 2]
        else:
            signs[place:place] = random.choice(new)
    return "".join(signs)


@pytest.mark.parametrize("seed", range(4))
def test_any_answer_is_judged(seed: int) -> None:
    random = Random(seed)
    texts = [row["said"] for row in ROWS]
    for _ in range(1000):
        row = random.choice(ROWS)
        accepted = [garble(one, random, texts) if random.random() < 0.3 else one for one in row["answers"]]
        verdict = is_equivalent(garble(row["said"], random, texts), accepted, row["answer_type"], row["question"])
        assert verdict in (True, False)


def test_any_report_is_judged() -> None:
    random = Random(0)
    reports = [row["report"] for row in (*HONEST, *ATTACKS)]
    for _ in range(60):
        row = random.choice((*HONEST, *ATTACKS))
        reward = LONG.score(record_of({**row, "report": garble(row["report"], random, reports)})).reward
        assert reward is not None
        assert 0 <= reward <= 1


@pytest.mark.parametrize(
    ("answer", "accepted", "is_right"),
    [
        ("3.693.11", "3693.11", True), ("3.693.11", "3.69311", False), ("85.579,031", "85579.031", True),
        ("2.387,758 people", "387,758", False), ("m² ²", "200 ²", False),
    ],
)  # fmt: skip
def test_odd_numbers_are_read(answer: str, accepted: str, is_right: bool) -> None:
    assert is_equivalent(answer, [accepted]) is is_right


def test_an_episode_that_cannot_be_scored_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    def fail(record: EpisodeRecord) -> float:
        raise ValueError("no such numeral")

    score = Rubric((*LONG.terms, Term("odd", "metric", fail))).score(record_of(HONEST[0]))
    assert (score.reward, score.mask) == (None, NOT_SCORED)
    assert set(score.terms.values()) == {None}
    assert "no such numeral" in caplog.text
