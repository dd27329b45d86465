"""Reports of two sets written by hand: honest ones in the styles of language models, and attacks on the reward."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TypedDict

import pytest

from tests.processor_time import limited
from tests.seeds import every_nth
from webemu.rl.ledger import Request
from webemu.rl.record import EpisodeRecord, url_key
from webemu.rl.rewards import LONG
from webemu.rl.tasks import Evidence, Task

DATA = Path(__file__).parent / "data"
EARNS, EARNS_NOTHING, MARGIN = 0.8, 0.1, 0.05
"""Least reward of an honest report, largest of an attack, and what a mixed report may earn above its true share."""
MIN_HONEST_SHARE, MAX_ATTACK_SHARE = 0.9, 0.02
Row = dict[str, str]


class Nugget(TypedDict):
    """Claim of the hidden report."""

    url: str
    quote: str
    value: str


class PageRow(TypedDict):
    """Page of a web."""

    url: str
    text: str


class Web(TypedDict):
    """Question with its pages and the claims of its hidden report."""

    web: str
    question: str
    pages: list[PageRow]
    nuggets: list[Nugget]


def read_lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").splitlines()


WEBS: dict[str, Web] = {web["web"]: web for web in map(json.loads, read_lines("report_webs.jsonl"))}
HONEST: list[Row] = list(map(json.loads, read_lines("honest_reports.jsonl")))
ATTACKS: list[Row] = list(map(json.loads, read_lines("attack_reports.jsonl")))


UNMENDED: list[Row] = list(map(json.loads, read_lines("unmended_honest_reports.jsonl")))
"""Honest reports of the last batch, with those that the rules refuse: the measure of what is still to be done."""
MIN_UNMENDED_SHARE = 0.45


def record_of(row: Row) -> EpisodeRecord:
    """Return an episode that opened all pages of the row's web, cited them in order, and gave the row's report."""
    web = WEBS[row["web"]]
    evidence = tuple(Evidence(one["url"], one["quote"], one["value"]) for one in web["nuggets"])
    texts = {one["url"]: one["text"] for one in web["pages"]}
    request = Request(1, 200, 0, 0, (), tuple(texts), frozenset(), False)
    task = Task(row["web"], web["question"], ("a report",), evidence, len(texts), "report", "report")
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


def test_honest_reports_that_no_rule_was_mended_for() -> None:
    refused = [row["id"] for row in UNMENDED if reward_of(row) < EARNS]
    assert len(refused) <= (1 - MIN_UNMENDED_SHARE) * len(UNMENDED), refused


def test_attacks_do_not_earn() -> None:
    paid = {row["id"]: (row["kind"], reward) for row in ATTACKS if (reward := reward_of(row)) > limit_of(row)}
    print(len(paid), "of", len(ATTACKS), json.dumps(paid, indent=1))
    assert len(ATTACKS) >= 100
    assert len(paid) <= MAX_ATTACK_SHARE * len(ATTACKS), paid


HOSTILE = {
    "brackets": "[" * 20_000, "rounds": "(1" * 9_000, "links": "[a](" * 5_000, "stars": "*" * 20_000,
    "tags": "<a " * 6_000,
    "comments": "<!--" * 5_000, "pipes": "|" * 20_000, "tables": "|a|b|\n|-|-|\n" * 1_500, "quotes": "> " * 10_000,
    "commas": "mill, " * 3_300, "names": "mill and " * 2_200, "marks": "[1]" * 6_600,
    "address": "https://a.b/" + "(" * 19_000,
    "digits": "1" * 20_000, "numbers": "two hundred " * 1_600, "clauses": ("Otto Rahn, " * 10 + "built [1]. ") * 150,
    "dates": "4 March 1931 to " * 1_200, "headings": "# Mill\n" * 2_800, "superscripts": "a¹" * 10_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_little(name: str) -> None:
    with limited(20):
        record = record_of({"web": "mill", "report": HOSTILE[name]})
        assert LONG.score(record).reward == 0
        page = replace(record_of(HONEST[0]), parts_by_page=dict.fromkeys(record.parts_by_page, (HOSTILE[name],)))
        assert LONG.score(page).reward == 0


@pytest.mark.parametrize("row", every_nth(HONEST + ATTACKS, 5), ids=lambda row: row["id"])
def test_a_reward_lies_between_0_and_1(row: Row) -> None:
    assert 0 <= reward_of(row) <= 1


@pytest.mark.parametrize("report", ["Key Bri [1]. Material: tin [1].", "- Key: Bri [1]\n- Material: tin [1]\n"])
def test_statements_without_a_verb_are_claims(report: str) -> None:
    url, text = "https://a.example/keg", "Keg Fid\nkey Bri\nmaterial tin"
    evidence = (Evidence(url, "key Bri", "Bri"), Evidence(url, "material tin", "tin"))
    task = Task("t", "Report on Keg Fid", ("a report",), evidence, 1, "report", "report")
    request = Request(1, 200, 0, 0, (), (url,), frozenset(), False)
    honest = EpisodeRecord(task, report, (url,), (request,), {url_key(url): (text,)}, {}, "finished")
    assert LONG.score(honest).reward == 1
    false_one = replace(honest, answer=report.replace("Bri", "Vim").replace("tin", "gold"))
    assert LONG.score(false_one).reward == 0
