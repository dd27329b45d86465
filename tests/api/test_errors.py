"""Every error in its documented shape, and nothing absurd that raises."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shared import cases
from webemu.api.app import App

Ask = Callable[..., httpx.Response]

CASES = {
    "GET /v1/search": (400, "bad-request", "'q'"),
    "GET /v1/search?q=a&q=b": (400, "bad-request", "twice"),
    "GET /v1/search?q=a&num=5": (400, "bad-request", "num"),
    "GET /v1/search?q=a&page=0": (400, "bad-request", "page"),
    "GET /v1/search?q=a&size=101": (400, "bad-request", "size"),
    "GET /v1/search?q=a&size=ten": (400, "bad-request", "size"),
    "GET /v1/search?q=a&size=١": (400, "bad-request", "size"),
    "GET /v1/search?q=a&as_of=yesterday": (400, "bad-request", "yesterday"),
    "GET /v1/fetch": (400, "bad-request", "'url'"),
    "GET /v1/fetch?url=x&format=pdf": (400, "bad-request", "pdf"),
    "GET /v1/fetch?url=x&start=1&line=1": (400, "bad-request", "characters and lines"),
    "GET /v1/fetch?url=x&follow=yes": (400, "bad-request", "follow"),
    "GET /v1/find?url=x": (400, "bad-request", "'pattern'"),
    "GET /v1/find?url=x&pattern=a&limit=201": (400, "bad-request", "limit"),
    "GET /v1/fetch?url=gone": (404, "url-not-captured", "gone"),
    "GET /v1/fetch?url=gone&format=raw": (404, "url-not-captured", "gone"),
    "GET /v1/fetch?url=x.png": (406, "no-such-view", "image/png"),
    "GET /v1/fetch?url=lost": (502, "payload-missing", "gone"),
    "GET /v1/fetch?url=bomb": (502, "payload-too-large", "1 GB"),
    "GET /v9/search": (404, "no-such-route", "/v9/search"),
    "GET /v1/search/": (404, "no-such-route", "/v1/search/"),
    "PUT /v1/search": (405, "method-not-allowed", "PUT"),
    "OPTIONS /v1/fetch": (405, "method-not-allowed", "OPTIONS"),
    "POST /health": (405, "method-not-allowed", "POST"),
    "POST /docs": (405, "method-not-allowed", "POST"),
    "GET /v1/search?q=defect": (500, "internal-error", "request"),
}


@pytest.mark.parametrize("case", CASES)
def test_every_error_has_the_one_shape(ask: Ask, case: str) -> None:
    status, reason, named = CASES[case]
    answer = ask(*case.split(" "))
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert list(body) == ["error", "snapshot"]
    assert list(body["error"]) == ["status", "reason", "message", "action"]
    assert (body["error"]["status"], body["error"]["reason"]) == (status, reason)
    assert named in body["error"]["message"]
    assert body["error"]["action"] or reason.startswith("payload-too")
    assert body["snapshot"] == answer.headers["x-webemu-snapshot"] == "5d0c0ffee5d0c0ff"
    infrastructure = reason in ("internal-error", "payload-missing")
    assert answer.headers.get("x-webemu-failure") == ("infrastructure" if infrastructure else None)


def test_a_405_names_what_is_allowed(ask: Ask) -> None:
    assert ask("DELETE", "/v1/search").headers["allow"] == "GET, HEAD, POST"


def test_a_defect_is_logged_under_the_number_that_is_told(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        message = ask("GET", "/v1/search?q=defect").json()["error"]["message"]
    number = message.rpartition(" ")[2]
    assert f"request {number} failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in message


def test_without_a_snapshot_all_routes_say_so(ask_without_snapshot: Ask) -> None:
    for case in ("GET /health", "GET /v1/search?q=a", "GET /v1/fetch?url=x", "GET /v1/stats"):
        answer = ask_without_snapshot(*case.split(" "))
        assert (answer.status_code, answer.json()["error"]["reason"]) == (503, "snapshot-unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert answer.headers["x-webemu-failure"] == "infrastructure"
        assert answer.json()["snapshot"] is None


BODIES = {
    b"": "not JSON",
    b"{": "not JSON",
    b"[]": "not a JSON object",
    b"{}": "'queries' is missing",
    b'{"queries": "a"}': "'queries' is missing",
    b'{"queries": [], "top_k": 3}': "top_k",
    b'{"queries": [], "size": true}': "size",
    orjson.dumps({"queries": ["a"] * 1025}): "1,025",
    orjson.dumps({"queries": ["a"] * 1024, "size": 100}): "92,160 results",
}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:30].decode())
def test_a_batch_that_is_none_is_refused_as_a_whole(ask: Ask, body: bytes) -> None:
    answer = ask("POST", "/v1/search", content=body)
    assert answer.status_code == 400
    assert BODIES[body] in answer.json()["error"]["message"]


def test_a_batch_fetch_has_bounds_and_no_raw(ask: Ask) -> None:
    for body in ({"format": "raw"}, {"length": 0}, {"length": 100_001}, {"urls": ["x"] * 257}):
        assert ask("POST", "/v1/fetch", json={"urls": [], **body}).status_code == 400


def test_a_bad_member_spoils_only_itself(ask: Ask) -> None:
    body = {"urls": ["x", "gone", 5, {"url": "x", "at": "never"}, {"uri": "x"}, {"url": "x.png"}]}
    answer = ask("POST", "/v1/fetch", json=body)
    answers = answer.json()["answers"]
    assert answer.status_code == 200
    assert "content" in answers[0]
    assert [member["error"]["status"] for member in answers[1:]] == [404, 400, 400, 400, 406]
    assert "x-webemu-failure" not in answer.headers


def test_a_batch_with_a_failure_of_ours_is_marked(ask: Ask) -> None:
    assert ask("POST", "/v1/fetch", json={"urls": ["x", "lost"]}).headers["x-webemu-failure"] == "infrastructure"
    assert "x-webemu-failure" not in ask("POST", "/v1/fetch", json={"urls": ["x", "bomb"]}).headers


def test_a_defect_in_a_batch_is_no_answer(ask: Ask) -> None:
    answer = ask("POST", "/v1/search", json={"queries": ["a", "defect"]})
    assert (answer.status_code, answer.json()["error"]["reason"]) == (500, "internal-error")


async def spaces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b" " * 1_000_000


@pytest.mark.parametrize("content", [b" " * 8_000_001, spaces(9)], ids=["length told", "chunked"])
def test_a_body_over_the_limit_is_refused(ask: Ask, content: Any) -> None:
    answer = ask("POST", "/v1/search", content=content)
    assert (answer.status_code, answer.json()["error"]["reason"]) == (413, "request-too-large")


NAMES = ("q", "page", "size", "as_of", "url", "format", "at", "start", "length", "line", "lines", "follow", "pattern")
VALUES = st.one_of(
    st.binary(max_size=40),
    st.integers().map(lambda i: b"%d" % i),
    st.sampled_from([b"2024", b"%", b"%zz", b"+", b"\xff"]),
)


def ask_bytes(app: App, path: str, query: bytes) -> tuple[int, bytes]:
    """Ask with a query string that no client library would let pass."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


@settings(max_examples=cases(60, 300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(["/v1/search", "/v1/fetch", "/v1/find"]),
    parts=st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=5),
    junk=st.binary(max_size=20),
)
def test_no_query_string_is_a_defect(app: App, path: str, parts: list[tuple[str, bytes]], junk: bytes) -> None:
    query = b"&".join([*(name.encode() + b"=" + value for name, value in parts), junk])
    status, body = ask_bytes(app, path, query)
    assert status in (200, 400, 404, 406)
    assert orjson.loads(body)


MEMBERS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=9,
)


@settings(max_examples=cases(60, 200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(["/v1/search", "/v1/fetch"]), members=st.lists(MEMBERS, max_size=4), other=MEMBERS)
def test_no_batch_is_a_defect(ask: Ask, path: str, members: list[Any], other: Any) -> None:
    shared = other if isinstance(other, dict) else {}
    name = "queries" if path == "/v1/search" else "urls"
    answer = ask("POST", path, content=orjson.dumps({name: members, **shared}))
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        assert len(answer.json()["answers"]) == len(members)


@pytest.mark.parametrize(
    "path",
    ["/v1/fetch?url=", "/v1/find?url=&pattern=a", "/v1/find?url=https://a.example/&pattern=", "/health?x=1"],
)
def test_an_empty_value_is_the_same_as_none(ask: Ask, path: str) -> None:
    assert ask("GET", path).status_code == 400


def test_raw_has_no_window_and_an_empty_batch_is_still_read(ask: Ask) -> None:
    assert ask("GET", "/v1/fetch?url=https://a.example/&format=raw&start=5").json()["error"]["reason"] == "bad-request"
    assert ask("POST", "/v1/search", content=b'{"queries": [], "size": "x"}').status_code == 400


def test_a_lone_surrogate_sinks_no_batch(ask: Ask) -> None:
    answers = ask("POST", "/v1/search", content=b'{"queries": ["\\ud800", "river"]}').json()["answers"]
    assert [set(answer) >= {"results"} for answer in answers] == [False, True]
    assert "surrogate" in answers[0]["error"]["message"]


def test_head_is_answered_for_the_docs(ask: Ask) -> None:
    assert ask("HEAD", "/docs").status_code == 200


def test_a_panic_of_a_library_has_the_error_shape(monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    """A damaged index can make one; here it is raised by hand, as the library does it."""
    panic = type("PanicException", (BaseException,), {})

    def fail(*_: object) -> None:
        raise panic("index out of bounds")

    monkeypatch.setattr("webemu.api.services.native.parse_search", fail)
    answer = ask("GET", "/v1/search?q=river")
    assert (answer.status_code, answer.headers["X-Webemu-Failure"]) == (500, "infrastructure")
    assert answer.json()["error"]["reason"] == "internal-error"
