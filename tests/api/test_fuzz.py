"""Odd texts in every member, parameter, header and path of every route of every door are refused or answered."""

import asyncio
import json
import logging
from itertools import islice
from typing import Any
from urllib.parse import unquote

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from tests.fuzzed import TEXTS, VALUES, Place, RawRequest, places, requests
from tests.shared import TRIES_EVERY_CASE
from webemu.api.app import App, create_app
from webemu.api.http.response import build_headers
from webemu.emulator.config import Config
from webemu.index.open import open_world

EACH = 1
"""Odd texts for each name of each route."""
STEP = 1 if TRIES_EVERY_CASE else 13
"""Distance between the requests that are sent, of those that can be made."""
WIKI = '<meta name="generator" content="MediaWiki 1.41.0">'
CAPTURES = [
    CaptureSpec("https://a.example/", html("Harbour", "ships of the harbour", '<a href="http://[::1">x</a>')),
    CaptureSpec("https://a.example/two", html("Two", "more ships")),
    CaptureSpec("https://a.example/gone", html("Gone"), status="404 Not Found"),
    CaptureSpec("http://[::1", html("Broken", "a broken host with ships")),
    CaptureSpec("https://a.example:bad/", html("Port", "a broken port with ships")),
    CaptureSpec("https://en.wiki.example/wiki/Harbour", html("Harbour - Wiki", "ships", head=WIKI)),
    CaptureSpec("https://en.wiki.example/wiki/Main_Page", html("Main Page - Wiki", "ships", head=WIKI)),
]
DECLARED = {
    "host-not-captured",
    "payload-undecodable",
    "payload-too-large",
    "weather",
    "no-such-view",
    "page-refused",
    "url-not-captured",
}
"""Reasons of a 5xx that say what the crawl holds."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("fuzz")
    ingest(root / "c", write(root / "a.warc.gz", CAPTURES))
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


async def ask(app: Any, request: RawRequest) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": request.body}

    headers = [(b"host", request.host.encode("latin-1")), *request.headers]
    path = {"path": unquote(request.path), "raw_path": request.path.encode("ascii"), "query_string": request.query}
    scope = {"type": "http", "method": request.method, "scheme": "http", "headers": headers, "extensions": {}, **path}
    scope |= {"http_version": "1.1", "server": ("127.0.0.1", 8800), "client": ("127.0.0.1", 9), "root_path": ""}
    await app(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], {name.lower(): value for name, value in sent[0]["headers"]}, body


async def answers(app: App, sent: RawRequest) -> list[tuple[int, dict[bytes, bytes], bytes]]:
    """The answer, and what the doors say at once to a GET of the API."""
    replies = [await ask(app.doors.web if sent.by_host else app, sent)]
    at_once = None
    if sent.method == "GET" and not sent.by_host:
        at_once = app.doors.try_inline(sent.path, sent.query, list(sent.headers), 0.0)
    return [*replies, (at_once.status, dict(build_headers(at_once)), at_once.body)] if at_once else replies


def flaw(status: int, headers: dict[bytes, bytes], body: bytes) -> str:
    """Return what is wrong with an answer; empty if it is sound."""
    if b"x-webemu-failure" in headers or b"internal-error" in body:
        return "failure of the server"
    if status >= 500 and headers.get(b"x-webemu-reason", b"").decode() not in DECLARED:
        return "5xx that nobody declared"
    return "a failure inside" if b'"infrastructure"' in body else ""


@pytest.mark.parametrize("place", places(), ids=lambda place: f"{place.hosts[:1]}{place.paths[0]}{place.methods[0]}")
def test_nothing_odd_is_a_failure(app: App, place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> list[tuple[str, int, RawRequest]]:
        failures = []
        for sent in islice(requests(place, 15, EACH), 0, None, STEP):
            for answer in await answers(app, sent):
                if wrong := flaw(*answer):
                    failures.append((wrong, answer[0], sent))
        return failures

    with caplog.at_level(logging.ERROR):
        failures = asyncio.run(run())
    assert not failures, caplog.text[-3000:]


POLICIES = [
    *({name: odd} for name in ("task", "rollout", "snapshot", "as_of", "engine") for odd in TEXTS),
    *(
        {"blocked": {name: [odd]}}
        for name in ("domains", "urls", "patterns", "texts", "similar", "ngrams")
        for odd in TEXTS
    ),
    *({name: odd} for name in ("seed", "marks", "budget", "weather", "blocked") for odd in VALUES),
]


def test_an_odd_policy_is_refused_or_obeyed(app: App, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> list[Any]:
        failures: list[Any] = []
        for policy in POLICIES[::STEP]:
            opened = RawRequest("POST", "webemu", "/v1/sessions", body=json.dumps(policy).encode())
            status, headers, body = await ask(app, opened)
            failures += [(wrong, policy) for wrong in [flaw(status, headers, body)] if wrong]
            if status == 201:
                session = ((b"x-webemu-session", json.loads(body)["session"].encode()),)
                sent_requests = [RawRequest("GET", "webemu", "/v1/search", b"q=ships", session)]
                sent_requests += [RawRequest("GET", "webemu", "/v1/fetch", b"url=https://a.example/", session)]
                sent_requests += [RawRequest("GET", "a.example", "/", b"", session, by_host=True)]
                sent_requests += [RawRequest("GET", "webemu", f"/v1/sessions/{json.loads(body)['session']}")]
                replies = [await ask(app.doors.web if one.by_host else app, one) for one in sent_requests]
                failures += [(wrong, policy) for one in replies if (wrong := flaw(*one))]
        return failures

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(run()) == [], caplog.text[-3000:]


HALF = {
    "/v1/sessions": [
        {"task": "\ud800"},
        {"blocked": {"domains": ["\ud800.x"]}},
        {"\ud800": 1},
        {"blocked": {"\ud800": []}},
    ],
    "/v1/search": [{"queries": [], "as_of": "\ud800"}, {"\ud800": 1}],
    "/v1/fetch": [{"urls": [], "at": "\ud800"}],
    "/serper/search": [{"q": "\ud800"}, [{"q": "\ud800"}]],
    "/tavily/search": [{"query": "\ud800"}],
    "/firecrawl/v1/crawl": [{"url": "http://[::1"}, {"url": "\ud800"}],
    "/firecrawl/v2/crawl": [{"url": "http://[::1"}],
    "/mcp": [{"jsonrpc": "2.0", "id": 1, "method": "\ud800"}],
}


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in HALF.items() for value in values], ids=str
)
def test_half_a_character_and_a_broken_host_are_400(app: App, path: str, value: Any) -> None:
    sent = RawRequest(
        "POST", "webemu", path, b"", ((b"content-type", b"application/json"),), json.dumps(value).encode()
    )
    status, headers, body = asyncio.run(ask(app, sent))
    assert (status, headers[b"content-type"]) == (400, b"application/json")
    assert json.loads(body)


@pytest.mark.parametrize("name", ["queries", "urls"])
def test_a_bad_member_of_a_batch_is_refused_alone(app: App, name: str) -> None:
    path = "/v1/search" if name == "queries" else "/v1/fetch"
    body = json.dumps(
        {name: ["\ud800", {"q" if name == "queries" else "url": "\udfff"}, "https://a.example/"]}
    ).encode()
    status, _, answer_body = asyncio.run(ask(app, RawRequest("POST", "webemu", path, body=body)))
    answers = json.loads(answer_body)["answers"]
    assert (status, [one.get("error", {}).get("status") for one in answers]) == (200, [400, 400, None])


JSON_BODIES = [
    b"",
    b"{",
    b"\xef\xbb\xbf{}",
    b"\xff",
    b"[" * 5000,
    b'{"seed":NaN}',
    b'{"seed":1e999}',
    b'{"seed":' + b"9" * 5000 + b"}",
]
JSON_BODIES += ["{}".encode("utf-16"), b'{"seed":1,"seed":2}', b'{"blocked":{"domains":[],"domains":["a.example"]}}']


@pytest.mark.parametrize("body", JSON_BODIES, ids=lambda body: repr(body[:20]))
@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/search", "/v1/fetch"])
def test_what_is_no_json_is_refused_in_the_shape(app: App, path: str, body: bytes) -> None:
    status, _, answer_body = asyncio.run(ask(app, RawRequest("POST", "webemu", path, body=body)))
    if (path, body) == ("/v1/sessions", b""):
        assert status == 201  # a session without rules
    else:
        assert (status, json.loads(answer_body)["error"]["status"]) == (400, 400)


@pytest.mark.parametrize("path", ["/v1/search", "/v1/sessions/ws-a", "/serper/search", "/health", "/mcp"])
def test_a_session_that_cannot_be_read_is_refused_in_the_shape(app: App, path: str) -> None:
    sent = RawRequest("GET", "webemu", path, b"q=ships", ((b"x-webemu-session", b"a;at=\xff"),))
    status, headers, body = asyncio.run(ask(app, sent))
    assert (status, headers[b"content-type"]) == (400, b"application/json")
    assert json.loads(body)


def test_what_is_raised_outside_of_all_handlers_is_marked(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("webemu.api.app.has_session", fail)
    monkeypatch.setattr("webemu.api.services.web._read_request", fail)
    monkeypatch.setattr("webemu.api.services.web.read_without_session", fail)
    for door, kind in ((app, b"application/json"), (app.doors.web, b"text/plain; charset=utf-8")):
        status, headers, _ = asyncio.run(ask(door, RawRequest("GET", "a.example", "/v1/search")))
        assert (status, headers[b"x-webemu-failure"], headers[b"content-type"]) == (500, b"infrastructure", kind)
