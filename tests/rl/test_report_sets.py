"""Reports of two sets written by hand: honest ones in the styles of language models, and attacks on the reward."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rewards import LONG
from webemu.rl.tasks import Evidence, Task

DATA = Path(__file__).parent / "data"
EARNS, EARNS_NOTHING, MARGIN = 0.8, 0.1, 0.05
"""Least reward of an honest report, largest of an attack, and what a mixed report may earn above its true share."""
MIN_HONEST_SHARE, MAX_ATTACK_SHARE = 0.9, 0.02
Row = dict[str, str]


def read(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


WEBS = {str(web["web"]): web for web in read("report_webs.jsonl")}
HONEST: list[Row] = read("honest_reports.jsonl")  # type: ignore[assignment]
ATTACKS: list[Row] = read("attack_reports.jsonl")  # type: ignore[assignment]


def record_of(row: Row) -> EpisodeRecord:
    """Return an episode that opened all pages of the row's web, cited them in order, and gave the row's report."""
    web = WEBS[row["web"]]
    evidence = tuple(Evidence(one["url"], one["quote"], one["value"]) for one in web["nuggets"])  # type: ignore[attr-defined]
    texts = {one["url"]: one["text"] for one in web["pages"]}  # type: ignore[attr-defined]
    request = Request(1, 200, 0, 0, (), tuple(texts), frozenset(), False)
    task = Task(row["web"], str(web["question"]), ("a report",), evidence, len(texts), "report", "report")
    parts = {url_key(url): (text,) for url, text in texts.items()}
    return EpisodeRecord(task, row["report"], tuple(texts), (request,), parts, {}, "finished")


def reward_of(row: Row) -> float:
    reward = LONG.score(record_of(row)).reward
    assert reward is not None
    return reward


def limit_of(row: Row) -> float:
    return float(Fraction(row["true_share"])) + MARGIN if "true_share" in row else EARNS_NOTHING


def test_honest_reports_earn() -> None:
    refused = {row["id"]: (row["kind"], reward) for row in HONEST if (reward := reward_of(row)) < EARNS}
    print(len(refused), "of", len(HONEST), json.dumps(refused, indent=1))
    assert len(HONEST) >= 80
    assert len(refused) <= (1 - MIN_HONEST_SHARE) * len(HONEST), refused


def test_attacks_do_not_earn() -> None:
    paid = {row["id"]: (row["kind"], reward) for row in ATTACKS if (reward := reward_of(row)) > limit_of(row)}
    print(len(paid), "of", len(ATTACKS), json.dumps(paid, indent=1))
    assert len(ATTACKS) >= 100
    assert len(paid) <= MAX_ATTACK_SHARE * len(ATTACKS), paid


@pytest.mark.parametrize("row", HONEST + ATTACKS, ids=lambda row: row["id"])
def test_a_reward_lies_between_0_and_1(row: Row) -> None:
    assert 0 <= reward_of(row) <= 1
