"""Figures of the dashboard: history in slots, what was asked in vain, sessions, slow requests, and ingest."""

import asyncio
import os
from pathlib import Path

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.api.observe.history import MAX_ROUTE_SLOTS, MAX_ROUTES, MAX_SLOTS, History, RouteHistories, merge_histories
from webemu.api.observe.vain_requests import MAX_ENTRIES, VainRequests
from webemu.api.runtime.ingest_activity import describe_ingest
from webemu.emulator.config import Config
from webemu.index.open import open_world


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("dashboard")
    ingest(
        root / "c", write(root / "a.warc.gz", [CaptureSpec("https://a.example/", html("Harbour", "An old harbour."))])
    )
    return create_app(Config(root=root, collection="c", slow_ms=1), open_world(root / "c"))


def ask(app: App, path: str, json: object = None, headers: dict[str, str] | None = None) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8800") as client:
            return await client.request("GET" if json is None else "POST", path, json=json, headers=headers)

    return asyncio.run(send())


def test_history_counts_what_was_added_in_each_slot() -> None:
    history = History()
    for moment, totals in ((100.0, [5, 1, 5]), (104.0, [7, 1, 7]), (131.0, [7, 1, 7]), (139.9, [10, 2, 10])):
        history.record(moment, totals)
    assert history.slots() == [[100, 7, 1, 7], [130, 3, 1, 3]]


def test_history_is_bounded_and_added_up_over_workers() -> None:
    history = History()
    for slot in range(3 * MAX_SLOTS):
        history.record(10.0 * slot, [slot, 0, slot])
    assert len(history.slots()) == MAX_SLOTS
    assert history.slots()[-1] == [10 * (3 * MAX_SLOTS - 1), 1, 0, 1]
    assert merge_histories([[[0, 1, 0, 1], [10, 2, 1, 2]], [[10, 3, 0, 3], [20, 4, 0, 4]]]) == [
        [0, 1, 0, 1],
        [10, 5, 1, 5],
        [20, 4, 0, 4],
    ]


def test_routes_have_histories_of_the_last_hour_without_idle_minutes() -> None:
    histories = RouteHistories()
    for moment, totals in ((60.0, [5, 0, 5]), (90.0, [6, 1, 6]), (130.0, [6, 1, 6]), (300.0, [9, 1, 9])):
        histories.record(moment, "Serper", totals)
    histories.record(250.0, "Brave", [30, 0, 30])
    assert histories.slots(310.0) == {"Brave": [[240, 30, 0, 30]], "Serper": [[60, 6, 1, 6], [300, 3, 0, 3]]}
    assert histories.slots(300.0 + 60 * MAX_ROUTE_SLOTS - 1) == {"Serper": [[300, 3, 0, 3]]}
    for number in range(2 * MAX_ROUTES):
        histories.record(4000.0, f"route {number}", [100 + number, 0, 0])
    assert list(histories.slots(4000.0)) == [
        f"route {number}" for number in reversed(range(MAX_ROUTES, 2 * MAX_ROUTES))
    ]


def test_what_is_asked_in_vain_is_bounded() -> None:
    vain = VainRequests()
    for number in range(2 * MAX_ENTRIES):
        vain.record("url", f"https://a.example/{number}")
        vain.record("url", "https://wanted.example/")
    vain.record("search", "x" * 1000 + "\ud800")
    frequent = vain.most_frequent()
    assert next(iter(frequent["url"].items())) == ("https://wanted.example/", 2 * MAX_ENTRIES)
    assert list(frequent["search"]) == ["x" * 300]


def test_the_dashboard_says_what_was_asked_in_vain_with_and_without_sessions(app: App) -> None:
    session = ask(app, "/v1/sessions", json={"task": "t"}).json()["session"]
    for path in (
        "/v1/search?q=qqqqq",
        "/v1/search?q=harbour",
        "/v1/fetch?url=https://none.example/",
        "/search?q=zzzzz",
    ):
        ask(app, path)
    assert ask(app, "/v1/fetch?url=https://gone.example/", headers={"X-Webemu-Session": session}).status_code == 404
    assert ask(app, "/v1/search?q=qqqqq", headers={"X-Webemu-Session": session}).json()["results"] == []
    figures = ask(app, "/dashboard/figures").json()
    assert dict(figures["vain"]["search"]) == {"qqqqq": 2, "zzzzz": 1}
    assert dict(figures["vain"]["url"]) == {"https://none.example/": 1, "https://gone.example/": 1}
    assert [(name, activity["requests"]) for name, activity in figures["recent_sessions"]] == [(session, 2)]
    assert figures["history"][-1][1] >= 4
    by_route = {route: sum(slot[1] for slot in slots) for route, slots in figures["route_history"].items()}
    assert by_route == {route: sum(one["statuses"].values()) for route, one in figures["places"].items()}
    assert by_route["/v1/search"] == 3
    assert figures["ingest"]["reading"] == 0


def test_agents_do_not_see_what_others_asked(app: App) -> None:
    headers = {"X-Webemu-Session": "a;at=2024-01-01"}
    assert ask(app, "/dashboard/figures", headers=headers).status_code == 404
    assert ask(app, "/dashboard", headers=headers).status_code == 404


def test_ingest_is_seen_by_its_folders(tmp_path: Path) -> None:
    assert describe_ingest(tmp_path) == {"reading": 0, "waiting": 0, "building": 0, "catalog_changed": None}
    for folder in (f"staging/a.{os.getpid()}", "staging/b.999999999", "staging/c", "shards/.new", "snapshots/old"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "catalog.duckdb").touch()
    activity = describe_ingest(tmp_path)
    assert (activity["reading"], activity["waiting"], activity["building"]) == (1, 1, 1)
    assert activity["catalog_changed"] is not None
