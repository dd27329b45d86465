"""`/metrics`: what all workers did, as a Prometheus reads it."""

import json
import os
import re
from base64 import b64encode
from hashlib import sha256
from itertools import count
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.api.conftest import Ask
from webemu.api.observe import dashboard
from webemu.api.observe.counters import BUCKET_SECONDS, Counters
from webemu.api.observe.worker_metrics import (
    MetricsAggregator,
    count_requests,
    live_workers,
    merge_latency_histograms,
    sum_figure,
)


def samples(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (one.name, tuple(sorted(one.labels.items()))): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_requests_are_counted_by_place_status_and_time(ask: Ask) -> None:
    for path in ("/v1/search?q=a", "/v1/search?q=b", "/v1/search", "/serper/search?q=a", "/favicon.ico", "/nowhere"):
        ask("GET", path)
    answer = ask("GET", "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values = samples(answer.text)
    count = "webemu_requests_total"
    assert values[count, (("place", "/v1/search"), ("status", "200"))] == 2
    assert values[count, (("place", "/v1/search"), ("status", "400"))] == 1
    assert values[count, (("place", "pages"), ("status", "200"))] == 1
    assert values[count, (("place", "other"), ("status", "404"))] == 1
    assert [place for name, labels in values if name == count for key, place in labels if place == "serper"]
    assert values["webemu_request_seconds_count", (("place", "/v1/search"),)] == 3
    assert values["webemu_request_seconds_bucket", (("le", "+Inf"), ("place", "/v1/search"))] == 3
    assert values["webemu_request_seconds_bucket", (("le", "10.0"), ("place", "/v1/search"))] == 3
    assert values["webemu_snapshot_info", (("collection", "small"), ("snapshot", "5d0c0ffee5d0c0ff"))] == 1
    assert values["webemu_workers", ()] == 1
    assert values["webemu_resident_bytes", ()] > 1e6
    assert values["webemu_cache_misses_total", ()] == 3


def test_without_a_snapshot_there_are_metrics_all_the_same(ask_without_snapshot: Ask) -> None:
    ask_without_snapshot("GET", "/v1/search?q=a")
    answer = ask_without_snapshot("GET", "/metrics")
    assert answer.status_code == 200
    assert samples(answer.text)["webemu_requests_total", (("place", "/v1/search"), ("status", "503"))] == 1
    assert "webemu_documents" not in answer.text


@pytest.mark.parametrize(("seconds", "bucket"), [(0.0, 0), (0.0005, 2), (0.0006, 3), (10.0, 15), (60.0, 16)])
def test_times_fall_into_buckets(seconds: float, bucket: int) -> None:
    counters = Counters()
    counters.count("a", 200, seconds)
    assert counters.figures()["seconds"]["a"]["buckets"].index(1) == bucket
    assert len(counters.figures()["seconds"]["a"]["buckets"]) == len(BUCKET_SECONDS) + 1


def figures(pid: int, number: int) -> dict[str, Any]:
    spent = {"sum": 0.5 * number, "buckets": [number] + [0] * len(BUCKET_SECONDS)}
    process = {"pid": pid, "requests": {"a": {"200": number}}, "seconds": {"a": spent}}
    return {"process": process, "sections": {"cache": {"hits": number}}}


def test_workers_are_one_and_the_dead_still_count(tmp_path: Path) -> None:
    dead_pid, parent = 2**22 + 1, os.getppid()  # above the highest process id there is
    for pid, number in ((dead_pid, 5), (parent, 7)):
        (tmp_path / f"{pid}.json").write_text(json.dumps(figures(pid, number)))
    (tmp_path / "99.json").write_text("{")
    tally = MetricsAggregator(lambda: figures(os.getpid(), 1), tmp_path)
    tally.write()
    everybody = tally.read()
    assert [one["process"]["pid"] for one in everybody] == [os.getpid(), *sorted((dead_pid, parent), key=str)]
    assert count_requests(everybody) == {("a", "200"): 13}
    assert merge_latency_histograms(everybody)["a"] == {"sum": 6.5, "buckets": [13] + [0] * len(BUCKET_SECONDS)}
    assert sum_figure(everybody, "cache", "hits") == 13
    assert {one["process"]["pid"] for one in live_workers(everybody)} == {os.getpid(), parent}


def test_the_dashboard_asks_for_what_there_is(ask: Ask) -> None:
    ask("GET", "/v1/search?q=a")
    there = {name for name, _ in samples(ask("GET", "/metrics").text)}
    board = json.loads((Path(__file__).parents[2] / "deploy" / "grafana.json").read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) >= 8
    for expression in expressions:
        names = set(re.findall(r"webemu_\w+", expression))
        assert names
        assert names <= there, expression
        assert expression.count("(") == expression.count(")")


def test_the_dashboard_runs_its_own_script_and_no_other(ask: Ask) -> None:
    answer = ask("GET", "/dashboard")
    policy = answer.headers["content-security-policy"]
    for name in ("style", "script"):
        (body,) = re.findall(f"<{name}>(.*?)</{name}>", answer.text, re.DOTALL)
        assert f"{name}-src 'sha256-{b64encode(sha256(body.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", answer.text)


def test_the_dashboard_is_told_what_was_searched_and_by_whom(ask: Ask, ask_without_snapshot: Ask) -> None:
    for query in ("b", "a+b", "a%20b", "a%20b"):  # the last one is remembered
        ask("GET", f"/v1/search?q={query}")
    ask("POST", "/v1/search", json={"queries": ["a b", {"q": "c"}]})
    dashboard = ask("GET", "/dashboard/figures").json()
    assert dashboard["places"]["/v1/search"]["statuses"] == {"200": 5}
    assert (dashboard["workers"], dashboard["world"]["snapshot"]) == (1, "5d0c0ffee5d0c0ff")
    assert ask_without_snapshot("GET", "/dashboard/figures").json()["world"] == {}


def test_searches_that_are_counted_are_bounded() -> None:
    counters = Counters()
    for number in range(10_000):
        counters.record_query(f"query {number}")
        counters.record_query(b"q=often&size=3")
    worker_counts = counters.worker_figures()
    assert len(counters._queries) <= 4096
    assert next(iter(worker_counts["queries"].items())) == ("often", 10_000)
    for _ in range(5):
        counters.record_query("often")
    assert counters.worker_figures()["queries"]["often"] == 10_005
    for number in range(20_000):
        counters.record_session(f"ws-{number}")
    assert counters.worker_figures()["sessions"][-1] == "ws-19999"
    assert len(counters.worker_figures()["sessions"]) == 10_000


def test_what_was_searched_is_told_while_threads_search() -> None:
    counters, done = Counters(), Event()
    failed: list[BaseException] = []

    def search(number: int) -> None:
        try:
            for place in count():
                counters.record_query(f"{number} {place}")
                if done.is_set():
                    return
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=search, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            assert counters.worker_figures()["queries"] is not None
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failed == []


def test_a_query_of_half_a_character_is_told() -> None:
    counters = Counters()
    counters.record_query("half \ud83d")
    assert json.loads(dashboard.render_figures([counters.worker_figures()], {}, {}))["queries"] == [["half ?", 1]]
