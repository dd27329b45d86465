"""Tests that the judged queries of agents are complete and readable."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from webemu.emulator import urls
from webemu.index.evaluation.judged import read_queries

PATH = Path(__file__).parents[2] / "benchmarks" / "agent_queries.jsonl"


def test_each_kind_has_as_many_queries_of_its_own() -> None:
    queries = read_queries(PATH)
    assert len({query.text for query in queries}) == 200
    assert set(Counter(query.kind for query in queries).values()) == {25}


def test_every_query_has_targets_as_the_index_writes_urls() -> None:
    for line in PATH.read_text(encoding="utf-8").splitlines():
        targets = json.loads(line)["targets"]
        assert targets
        assert targets == [urls.normalize(target) for target in dict.fromkeys(targets)]
