"""Short answers, judged as a person would: right ones in the words of language models earn, wrong ones do not.

The two sets under `data/` are graded through the whole rubric, with the page opened, cited and holding the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

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
