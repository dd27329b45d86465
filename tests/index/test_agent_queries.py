"""Tests that the judged queries of agents are complete and readable."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from webemu.emulator import urls
from webemu.index.evaluation.judged import read_queries

FOLDER = Path(__file__).parents[2] / "benchmarks"
KINDS = 8


@pytest.mark.parametrize(("name", "by_kind"), [("agent_queries", 25), ("agent_queries_held_out", 8)])
def test_each_kind_has_as_many_queries_of_its_own(name: str, by_kind: int) -> None:
    queries = read_queries(FOLDER / f"{name}.jsonl")
    assert len({query.text for query in queries}) == KINDS * by_kind
    assert list(Counter(query.kind for query in queries).values()) == [by_kind] * KINDS


def test_held_out_queries_ask_for_other_sites() -> None:
    hosts, held_out_hosts = (
        {urls.host_of(target) for line in path.read_text().splitlines() for target in json.loads(line)["targets"]}
        for path in (FOLDER / "agent_queries.jsonl", FOLDER / "agent_queries_held_out.jsonl")
    )
    assert hosts.isdisjoint(held_out_hosts)


@pytest.mark.parametrize("name", ["agent_queries", "agent_queries_held_out"])
def test_every_query_has_targets_as_the_index_writes_urls(name: str) -> None:
    for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        targets = json.loads(line)["targets"]
        assert targets
        assert targets == [urls.normalize(target) for target in dict.fromkeys(targets)]
