"""A short run of `benchmarks.soak`: traffic, an ingest, a switch, a killed worker, and all its checks."""

from pathlib import Path

import pytest

from benchmarks.soak import Plan, run_and_check


@pytest.mark.slow
def test_traffic_ingest_switches_and_killed_workers(tmp_path: Path) -> None:
    plan = Plan(minutes=0.4, connections=64, rate=100.0, pages=600, kill_every=10.0, switches=1)
    run, checked, figures = run_and_check(tmp_path, plan)
    assert [check for check in checked if not check.holds] == []
    assert len(run.kills) >= 1
    assert all(one.client_ports for one in run.kills)
    assert {snapshot for _, snapshot in run.observations.digests} >= set(run.snapshots)
    assert {place for place, _ in run.observations.statuses} >= {
        "/v1/search",
        "/v1/fetch",
        "search-r1",
        "serper",
        "the web",
    }
    assert figures["answers"] > 500
