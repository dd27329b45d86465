"""Searches that take long run in a thread, so that others are answered meanwhile; short ones on the event loop."""

import threading
from typing import Any

import httpx
import pytest

from tests.api.conftest import Ask, add_source, asking
from webemu.api.app import create_app
from webemu.emulator.config import Config
from webemu.emulator.inline_work import MAX_INLINE_RESULTS, on_event_loop, require_short
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.open import open_world
from webemu.index.rank_plan import RankPlan


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("inline") / "default"
    add_source(folder, 1, "river port", pages=120)
    return open_world(folder)


@pytest.fixture(scope="module")
def ask(world: World, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    return asking(create_app(Config(root=tmp_path_factory.mktemp("state"), cache_mb=0), world=world))


@pytest.fixture
def are_inline(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note of each ranking that is read whether that was on the event loop."""
    rankings: list[bool] = []
    read_top = RankPlan.top

    def note_thread(plan: RankPlan, limit: int) -> Any:
        rankings.append(threading.current_thread() is threading.main_thread())
        return read_top(plan, limit)

    monkeypatch.setattr(RankPlan, "top", note_thread)
    return rankings


def open_session(ask: Ask) -> dict[str, str]:
    """Open a session and return the header that names it."""
    return {"X-Webemu-Session": ask("POST", "/v1/sessions", json={}).json()["session"]}


@pytest.mark.parametrize("has_session", [False, True], ids=["", "session"])
@pytest.mark.parametrize(
    ("method", "path", "body", "is_inline"),
    [
        ("GET", "/v1/search?q=river", None, True),
        ("GET", "/v1/search?q=river&size=50", None, True),
        ("GET", "/v1/search?q=river&size=51", None, False),
        ("GET", "/v1/search?q=river&page=6", None, False),
        ("GET", "/v1/search?q=river+1..9000", None, False),
        ("GET", "/v1/search?q=(ship+OR+$1..$9000)+river", None, False),
        ("GET", "/v1/search?q=river+1..900", None, True),
        ("POST", "/retrieve", {"queries": ["river", "port"], "topk": 3}, True),
        ("POST", "/retrieve", {"queries": [f"river {number}" for number in range(6)], "topk": 3}, False),
        ("POST", "/retrieve", {"queries": ["river", "port"], "topk": 30}, False),
        ("POST", "/serper/search", {"q": "river"}, True),
        ("POST", "/serper/search", {"q": "river", "num": 100}, False),
        ("POST", "/serper/search", [{"q": "river"}, {"q": "port"}], False),
        ("GET", "/serpapi/search?engine=google&q=river", None, True),
        ("GET", "/serpapi/search?engine=google&q=river&num=100", None, False),
    ],
)
def test_long_searches_leave_the_event_loop(
    ask: Ask, are_inline: list[bool], method: str, path: str, body: Any, is_inline: bool, has_session: bool
) -> None:
    headers = open_session(ask) if has_session else {}
    answer: httpx.Response = ask(method, path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert set(are_inline) == {is_inline}


def test_what_left_the_event_loop_is_charged_once(ask: Ask) -> None:
    body = {"queries": [f"river {number}" for number in range(9)], "topk": 3}
    header = open_session(ask)
    assert ask("POST", "/retrieve", json=body, headers=header).status_code == 200
    ledger = ask("GET", f"/v1/sessions/{header['X-Webemu-Session']}").json()
    (request,) = ledger["requests"]
    assert [search["query"] for search in request["searches"]] == body["queries"]
    assert ledger["spent"]["searches"] == 9


def test_elsewhere_nothing_is_too_long() -> None:
    queries = [Query("river", size=MAX_INLINE_RESULTS + 1)]
    require_short(queries)
    with on_event_loop(), pytest.raises(BlockingIOError):
        require_short(queries)
    require_short(queries)
