"""Short answers, judged as a person would: right ones in the words of language models earn, wrong ones do not.

The two sets under `data/` are graded through the whole rubric, with the page opened, cited and holding the answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

import pytest

from webemu.rl.answers import is_equivalent
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rewards import rubric_of
from webemu.rl.tasks.task import parse_task

DATA = Path(__file__).parent / "data"
URL = "https://a.example/p"
Row = Mapping[str, str]


def read_rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def request(url: str = "", words: str = "") -> Request:
    return Request(1, 200, 0, 100, (words,) if words else (), (url,) if url else (), frozenset(), False)


def reward(row: Row) -> float:
    """Return the reward of an answer whose page was opened, cited and holds both it and the accepted answer."""
    quote = row.get("page") or f"It says: {row['answers'][0]}."
    page = f"{quote} And: {row['said']}"
    evidence = {"url": URL, "quote": quote, "value": row["answers"][0]}
    task = parse_task({**row, "id": "t", "evidence": [evidence]})
    requests = (request(words="q"), request(URL))
    record = EpisodeRecord(task, row["said"], (URL,), requests, {url_key(URL): (page,)}, {}, "finished")
    return rubric_of(task).score(record).reward or 0.0


def describe(rows: list[dict[str, str]]) -> str:
    return "\n".join(f"{row['answers']} <- {row['said']!r} ({row['style']}; {row['question']})" for row in rows)


def test_right_answers_earn() -> None:
    rows = read_rows("right_answers.jsonl")
    refused = [row for row in rows if reward(row) < 0.9]
    assert len(rows) >= 250
    assert len(refused) <= 0.03 * len(rows), describe(refused)


def test_wrong_answers_do_not_earn() -> None:
    rows = read_rows("wrong_answers.jsonl")
    paid = [row for row in rows if reward(row) > 0.1]
    assert len(rows) >= 250
    assert len(paid) <= 0.01 * len(rows), describe(paid)


SIGNS = [("F#", "F"), ("C++", "C"), ("C", "C#"), ("7,310", "<7310"), ("7,310", ">=7,310"), ("5", "5%"), ("5", "-5"),
         ("-5", "5"), ("Lima", "!=Lima"), ("Lima", "~~Lima~~"), ("12", "12+"), ("5", "5²"), ("2 GB", "2 Gb"),
         ("5", "5..6"), ("$45", "-$45")]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), SIGNS)
def test_signs_that_change_the_meaning_are_kept(gold: str, answer: str) -> None:
    assert is_equivalent(gold, gold)
    assert not is_equivalent(answer, gold)


@pytest.mark.parametrize(
    ("gold", "answer", "question"),
    [("330 metres", "330", "How tall is it in metres?"), ("12%", "12", "Which percentage voted?"),
     ("$45", "45", "What did it cost in dollars?"), ("87 years", "87", "How old was she?")],
)  # fmt: skip
def test_a_unit_may_be_left_to_the_question(gold: str, answer: str, question: str) -> None:
    assert is_equivalent(answer, gold, "", question)
    assert not is_equivalent(answer, gold, "", "Which one?")


def test_short_forms_need_evidence() -> None:
    gold = "National Physical Laboratory"
    assert not is_equivalent("NPL", gold)
    assert is_equivalent("NPL", gold, evidence=["The National Physical Laboratory (NPL) measured it."])
    assert not is_equivalent("NPL", gold, evidence=["The Northern Pottery League (NPL) measured it."])


HOSTILE = (
    "1",
    "1,",
    "Lima or ",
    "(",
    "[",
    "*",
    "_",
    "A. ",
    "Lima ",
    "Lima. ",
    "The Of ",
    "one hundred ",
    "9 June 1977 ",
    "January ",
    "$1",
    "'",
    "\\boxed{",
    '{"a":',
    "(source ",
    "Answer: Lima\n",
    "no information ",
    ". ",
    "a\n",
    "~",
    "http://a.",
    "a-",
    "and ",
    "Ab and ",
    "million ",
    "1 of ",
    "(Ab) ",
    "\u0301",
    "ſ",
    "ﬀ",
    "٣",
    "𝟙",
)
GOLDS = ("Lima", "31", "9 June 1977", "tin, zinc and lead", "€3.5 million", "5:30 pm", "3–1", "yes", "https://a.b/c")


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_answers_cost_a_bounded_number_of_calls(piece: str) -> None:
    """Calls are counted, of Python and of C, since time says little on a busy machine."""
    count = 0

    def count_call(frame: FrameType, event: str, value: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    for gold in GOLDS:
        is_equivalent("warm up " + piece, gold)
        count = 0
        sys.setprofile(count_call)
        try:
            is_equivalent((piece * 2000)[:2000], gold, "", "Which one is it?")
        finally:
            sys.setprofile(None)
        assert count < 400_000, (gold, count)


def test_longer_answers_are_not_read() -> None:
    assert not is_equivalent("Lima" + " " * 1999, "Lima")
