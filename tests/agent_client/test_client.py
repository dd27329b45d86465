"""Both clients against a real socket: every call is made once sync and once async, and must agree."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from webemu.agent_client import (
    AsyncClient,
    BadRequest,
    Client,
    InfrastructureError,
    NotCaptured,
    PageAnswer,
    SearchAnswer,
    ViewUnavailable,
    WebError,
    calls,
)
from webemu.agent_client.responses import error_of

URL = "https://example.org/a?b=c%2Bd&e=ü#f"
SHAPE = {"Content-Type": "application/json"}

Ask = Callable[..., Any]


def _sync(base_url: str, name: str, *args: Any, retries: int = 2, timeout: float = 5, **options: Any) -> Any:
    with Client(base_url, retries=retries, timeout=timeout) as client:
        return getattr(client, name)(*args, **options)


def _async(base_url: str, name: str, *args: Any, retries: int = 2, timeout: float = 5, **options: Any) -> Any:
    async def asking() -> Any:
        async with AsyncClient(base_url, retries=retries, timeout=timeout) as client:
            return await getattr(client, name)(*args, **options)

    return asyncio.run(asking())


@pytest.fixture(params=[_sync, _async], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    asker: Ask = request.param
    return asker


def refusal(status: int, reason: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    shape = {"error": {"status": status, "reason": reason, "message": "why", "action": "do this"}, "snapshot": "x"}
    return status, SHAPE | headers, json.dumps(shape).encode()


OVERLOADED = refusal(503, "overloaded", **{"X-Webemu-Failure": "infrastructure", "Retry-After": "0"})


def test_search(web: Any, ask: Ask) -> None:
    web.pages = {f"https://example.org/{n}": (f"River {n}", "port") for n in range(12)}
    answer = ask(web.url, "search", "river port", size=10)
    assert [result.rank for result in answer.results] == list(range(1, 11))
    assert answer.results[0].url == "https://example.org/0"
    assert answer.results[0].date == "2024-11-30"
    assert answer.more
    assert answer.snapshot == "5d0c"
    assert ask(web.url, "search", "river", page=2).results[-1].rank == 12
    ask(web.url, "search", "river", engine="plain")
    assert web.requests[-1].parameters["engine"] == "plain"


def test_search_without_results_is_an_answer(web: Any, ask: Ask) -> None:
    answer = ask(web.url, "search", "nothing")
    assert answer.results == ()
    assert not answer.more


def test_odd_queries_arrive_whole(web: Any, ask: Ask) -> None:
    for query in ["a+b&c=d#e %2B %", "日本 ünï", "\x00\n\t", "", '"q" -x; y', "x" * 4096]:
        assert ask(web.url, "search", query) is not None
        assert web.requests[-1].parameters.get("q", "") == query


def test_what_cannot_be_encoded_is_replaced(web: Any, ask: Ask) -> None:
    ask(web.url, "search", "a\ud800b")
    assert web.requests[-1].parameters["q"] == "a?b"
    ask(web.url, "search_many", ["a\ud800b"])
    assert web.requests[-1].body["queries"][0]["q"] == "a?b"


def test_open_window(web: Any, ask: Ask) -> None:
    web.pages = {URL: ("Title", "0123456789")}
    page = ask(web.url, "open", URL, start=2, length=3, at="2024-11-30")
    assert (page.content, page.next, page.total, page.title, page.redirects) == ("234", 5, 10, "Title", ())
    sent = web.requests[-1].parameters
    assert (sent["url"], sent["at"], sent["format"], sent["follow"]) == (URL, "2024-11-30", "text", "1")


def test_open_by_lines_sends_no_characters(web: Any, ask: Ask) -> None:
    web.pages = {URL: ("Title", "text")}
    ask(web.url, "open", URL, line=7, lines=2, follow=False)
    sent = web.requests[-1].parameters
    assert (sent["line"], sent["lines"], sent["follow"]) == ("7", "2", "0")
    assert not {"start", "length"} & sent.keys()


def test_raw_is_untouched(web: Any, ask: Ask) -> None:
    answer = ask(web.url, "raw", URL)
    assert (answer.status, answer.reason, answer.encoding) == (404, "Not Found", "gzip")
    assert answer.body == b"\x1f\x8b\x00\xff"
    assert [value for name, value in answer.headers if name.lower() == "set-cookie"] == ["a=1", "b=2"]
    assert max(len(value) for _, value in answer.headers) == 20_000


def test_find(web: Any, ask: Ask) -> None:
    web.pages = {URL: ("Title", "one\nTwo two")}
    answer = ask(web.url, "find", URL, "two", limit=1)
    assert (answer.total, len(answer.matches)) == (2, 1)
    assert (answer.matches[0].start, answer.matches[0].line) == (4, 1)


def test_health(web: Any, ask: Ask) -> None:
    assert ask(web.url, "health").status == "ok"


def test_batches_keep_order_and_carry_errors_as_values(web: Any, ask: Ask) -> None:
    urls = [f"https://example.org/{n}" for n in range(300)]
    web.pages = {url: (url, f"content of {url}") for url in urls if not url.endswith("7")}
    answers = ask(web.url, "open_many", urls)
    assert len(web.requests) == 2
    for url, answer in zip(urls, answers, strict=True):
        if url.endswith("7"):
            assert isinstance(answer, NotCaptured)
        else:
            assert isinstance(answer, PageAnswer)
            assert answer.content == f"content of {url}"


def test_search_many_fits_the_server(web: Any, ask: Ask) -> None:
    queries = [f"{n} " + "ü" * 4000 for n in range(1200)]
    answers = ask(web.url, "search_many", queries)
    assert [answer.query for answer in answers if isinstance(answer, SearchAnswer)] == queries
    assert len(web.requests) == 3
    assert len(ask(web.url, "search_many", ["x"] * 1001, size=100)) == 1001
    assert len(web.requests) == 5
    assert ask(web.url, "search_many", []) == []


@pytest.mark.parametrize("mood", [OVERLOADED, "reset", (502, {}, b"<html>bad gateway")], ids=["503", "reset", "502"])
def test_passing_failures_are_asked_again(web: Any, ask: Ask, mood: Any) -> None:
    web.pages = {URL: ("Title", "text")}
    web.moods = [mood]
    assert ask(web.url, "open", URL).content == "text"
    web.moods = [mood]
    assert len(ask(web.url, "search_many", ["a", "b"])) == 2


def test_a_slow_server_times_out_and_is_asked_again(web: Any, ask: Ask) -> None:
    web.moods = ["slow"]
    assert ask(web.url, "search", "x", timeout=0.2, retries=1).results == ()
    assert len(web.requests) == 2


def test_lasting_failure_is_infrastructure(web: Any, ask: Ask) -> None:
    web.moods = [OVERLOADED] * 10
    with pytest.raises(InfrastructureError, match="3 attempts") as raised:
        ask(web.url, "search", "x", retries=2)
    assert (raised.value.status, raised.value.reason, len(web.requests)) == (503, "overloaded", 3)
    assert raised.value.can_retry


@pytest.mark.parametrize(("retry_after", "after"), [("7", 7.0), ("", 0.0), ("Fri, 31 Dec 1999 23:59:59 GMT", 0.0)])
@pytest.mark.parametrize("body", [OVERLOADED[2], b"<html>"], ids=["ours", "gateway"])
def test_retry_after_is_read(body: bytes, retry_after: str, after: float) -> None:
    error = error_of(
        httpx.Response(503, headers={"Retry-After": retry_after}, content=body, request=httpx.Request("GET", URL))
    )
    assert isinstance(error, InfrastructureError)
    assert (error.can_retry, error.retry_after) == (True, after)


def test_nobody_there(ask: Ask) -> None:
    with socket.socket() as listener:  # bound, never listening: connections are refused
        listener.bind(("127.0.0.1", 0))
        with pytest.raises(InfrastructureError, match="webemu serve") as raised:
            ask(f"http://127.0.0.1:{listener.getsockname()[1]}", "health", retries=1)
    assert raised.value.reason == "unreachable"


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "bad-request", BadRequest),
        (404, "host-not-captured", NotCaptured),
        (404, "redirect-loop", NotCaptured),
        (406, "no-such-view", ViewUnavailable),
        (413, "request-too-large", BadRequest),
        (451, "something-new", WebError),
    ],
)
def test_refusals_of_the_web_are_final(web: Any, ask: Ask, status: int, reason: str, kind: type[WebError]) -> None:
    web.moods = [refusal(status, reason)]
    with pytest.raises(WebError) as raised:
        ask(web.url, "open", URL)
    error = raised.value
    assert type(error) is kind
    assert (error.status, error.reason, error.message, error.action) == (status, reason, "why", "do this")
    assert len(web.requests) == 1


@pytest.mark.parametrize(
    "mood",
    [
        refusal(404, "no-such-route"),
        refusal(502, "payload-missing"),
        (404, {}, b"<html>nginx"),
        (403, {}, b""),
        (301, {"Location": "/login"}, b""),
        (200, SHAPE, b"<html>"),
        (200, SHAPE, b'{"results": 3}'),
        (200, SHAPE, b"[]"),
    ],
    ids=["route", "payload", "html", "proxy", "redirect", "no json", "other json", "list"],
)
def test_what_is_no_answer_of_the_web_is_infrastructure_at_once(web: Any, ask: Ask, mood: Any) -> None:
    web.moods = [mood]
    with pytest.raises(InfrastructureError):
        ask(web.url, "search", "x")
    assert len(web.requests) == 1


def test_a_batch_with_answers_missing_is_infrastructure(web: Any, ask: Ask) -> None:
    web.moods = [(200, SHAPE, b'{"snapshot": "x", "answers": []}')]
    with pytest.raises(InfrastructureError, match="has 0 entries, expected 2"):
        ask(web.url, "search_many", ["a", "b"])


def test_session_is_named(web: Any) -> None:
    with Client(web.url, session="rollout-7") as client:
        client.search("x")
    assert web.requests[-1].headers["X-Webemu-Session"] == "rollout-7"
    with Client(web.url) as client:
        client.search("x")
    assert "X-Webemu-Session" not in web.requests[-1].headers


def test_connections_are_kept(web: Any) -> None:
    async def asking() -> None:
        async with AsyncClient(web.url) as client:
            for _ in range(5):
                await client.search("x")

    with Client(web.url) as client:
        for _ in range(5):
            client.search("x")
    assert web.connections == 1
    asyncio.run(asking())
    assert web.connections == 2


def test_every_thread_has_its_own_connection_and_gives_it_back(web: Any) -> None:
    client = Client(web.url)
    threads = [threading.Thread(target=lambda: [client.search("x") for _ in range(3)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (web.connections, len(web.requests)) == (4, 12)
    client.search("x")
    client.close()
    deadline = time.monotonic() + 5
    while web.open_connections and time.monotonic() < deadline:
        time.sleep(0.01)
    assert web.open_connections == 0


def test_many_at_once(web: Any) -> None:
    async def asking() -> list[SearchAnswer]:
        async with AsyncClient(web.url) as client:
            return await asyncio.gather(*(client.search(str(n)) for n in range(200)))

    assert [answer.query for answer in asyncio.run(asking())] == [str(n) for n in range(200)]


def test_a_transport_can_be_given(web: Any) -> None:
    web.pages = {URL: ("Title", "text")}
    with Client(web.url, transport=httpx.HTTPTransport()) as client:
        assert client.open(URL).title == "Title"

    async def asking() -> str:
        async with AsyncClient(web.url, transport=httpx.AsyncHTTPTransport()) as client:
            return (await client.open(URL)).title

    assert asyncio.run(asking()) == "Title"


def test_proxies_of_the_environment_are_not_used(web: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert ask(web.url, "health", retries=0).status == "ok"


def test_base_url_must_be_one() -> None:
    with pytest.raises(ValueError, match="http://"):
        Client("127.0.0.1:8800")


def test_both_clients_have_the_same_methods_with_the_same_words() -> None:
    """The methods are written twice, so that editors show signatures and docstrings: nothing may drift apart."""
    for name in ["search", "search_many", "open", "open_many", "raw", "find", "health", "close", "request"]:
        method, twin = getattr(Client, name), getattr(AsyncClient, name)
        assert inspect.signature(method) == inspect.signature(twin)
        assert inspect.getdoc(method) == inspect.getdoc(twin)
    first, second = (list(inspect.signature(kind).parameters) for kind in (Client, AsyncClient))
    assert first == second


@pytest.mark.parametrize(
    ("method", "call"),
    [("search", "search"), ("search_many", "search_many"), ("open", "open_page"), ("open_many", "open_many"),
     ("raw", "open_raw"), ("find", "find"), ("health", "health")],
)  # fmt: skip
def test_a_method_takes_what_its_call_takes(method: str, call: str) -> None:
    _, *parameters = inspect.signature(getattr(Client, method)).parameters.values()
    assert parameters == list(inspect.signature(getattr(calls, call)).parameters.values())


def test_what_is_too_long_for_a_url_is_the_clients_own_error(ask: Ask) -> None:
    with pytest.raises(BadRequest, match="too long"):
        ask("http://127.0.0.1:9", "open", "x" * 200_000)
