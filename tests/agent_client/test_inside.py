"""Applications asked without a socket: each is a small one with a script, and both clients must agree."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from webemu.agent_client import AsyncClient, BadRequest, Client, InfrastructureError
from webemu.agent_client.asgi import AppLifespan
from webemu.agent_client.concurrency import MAX_CONCURRENT_REQUESTS

BODY = b'{"status": "ok", "snapshot": "5d0c"}'
HEADERS = [(b"content-type", b"application/json")]
START = {"type": "http.response.start", "status": 200, "headers": HEADERS}


class Panic(BaseException):
    """An exception like those that libraries in Rust raise."""


@dataclass
class Odd:
    """An application that answers each request with the next piece of its script, and tells what befell it."""

    script: list[list[Any]] = field(default_factory=list)
    scopes: list[dict[str, Any]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    lives: bool = True

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        self.scopes.append(scope)
        self.bodies.append((await receive())["body"])
        for piece in self.script.pop(0) if self.script else [START, BODY]:
            if isinstance(piece, BaseException):
                raise piece
            if isinstance(piece, dict):
                await send(piece)
            elif isinstance(piece, bytes):
                await send({"type": "http.response.body", "body": piece, "more_body": len(piece) < len(BODY)})
            elif piece == "listen":
                self.events.append((await receive())["type"])
            else:
                await asyncio.sleep(piece)
        self.events.append("end")

    async def _live(self, scope: Any, receive: Any, send: Any) -> None:
        if not self.lives:
            raise NotImplementedError(scope["type"])
        assert (await receive())["type"] == "lifespan.startup"
        scope["state"]["made"] = "at startup"
        self.events.append("startup")
        await send({"type": "lifespan.startup.complete"})
        try:
            assert (await receive())["type"] == "lifespan.shutdown"
            await send({"type": "lifespan.shutdown.complete"})
        finally:
            self.events.append("shutdown")


Ask = Callable[..., Any]


def _sync(app: Any, name: str = "health", *args: Any, retries: int = 0, timeout: float = 5, **options: Any) -> Any:
    with Client(app=app, retries=retries, timeout=timeout, session=options.pop("session", None)) as client:
        return getattr(client, name)(*args, **options)


def _async(app: Any, name: str = "health", *args: Any, retries: int = 0, timeout: float = 5, **options: Any) -> Any:
    async def asking() -> Any:
        session = options.pop("session", None)
        async with AsyncClient(app=app, retries=retries, timeout=timeout, session=session) as client:
            return await getattr(client, name)(*args, **options)

    return asyncio.run(asking())


@pytest.fixture(params=[_sync, _async], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    asker: Ask = request.param
    return asker


def test_a_request_is_what_a_server_would_make_of_it(ask: Ask) -> None:
    odd = Odd()
    ask(odd, session="7")
    with pytest.raises(InfrastructureError, match="documented JSON"):
        ask(odd, "search_many", ["ü"])
    first, second = odd.scopes
    assert (first["method"], first["path"], first["raw_path"], first["query_string"]) == (
        "GET", "/health", b"/health", b""
    )  # fmt: skip
    assert (b"x-webemu-session", b"7") in first["headers"]
    assert (b"host", b"localhost") in first["headers"]
    assert first["state"] == {"made": "at startup"}
    assert second["method"] == "POST"
    assert json.loads(odd.bodies[1])["queries"][0]["q"] == "ü"
    assert dict(second["headers"])[b"content-length"] == b"%d" % len(odd.bodies[1])
    assert odd.bodies[0] == b""


def test_an_application_begins_and_ends_once(ask: Ask) -> None:
    odd = Odd()
    ask(odd)
    assert odd.events == ["startup", "end", "shutdown"]
    assert not AppLifespan._instances


def test_one_without_a_lifespan_does_without(ask: Ask) -> None:
    assert ask(Odd(lives=False)).status == "ok"


def test_one_that_does_not_start_is_asked_once_and_says_why(ask: Ask) -> None:
    scope_types = []

    async def failing(scope: Any, receive: Any, send: Any) -> None:
        scope_types.append(scope["type"])
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "Traceback\nValueError: no disk\n"})

    with pytest.raises(InfrastructureError, match="does not start: ValueError: no disk"):
        ask(failing, retries=3)
    assert scope_types == ["lifespan"]


BROKEN: dict[str, tuple[list[Any], str]] = {
    "breaks": ([ZeroDivisionError("a defect")], "ZeroDivisionError: a defect"),
    "panics": ([Panic("a panic")], "Panic: a panic"),
    "breaks in the middle": ([START, BODY[:9], ValueError("half")], "ValueError: half"),
    "ends without a word": ([], "returned before its response was complete"),
    "ends in the middle": ([START, BODY[:9]], "returned before its response was complete"),
    "is silent": (["listen"], "no data for 0.2 seconds"),
    "falls silent": ([START, BODY[:9], 0.6], "no data for 0.2 seconds"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_is_no_answer_and_is_asked_again(ask: Ask, name: str) -> None:
    script, message = BROKEN[name]
    with pytest.raises(InfrastructureError, match=message) as raised:
        ask(Odd([script]), timeout=0.2)
    assert raised.value.reason == "unreachable"
    assert "no answer from asgi://localhost" in raised.value.message
    odd = Odd([script])
    assert ask(odd, retries=1, timeout=0.2).status == "ok"
    assert len(odd.scopes) == 2


def test_an_answer_that_goes_on_is_waited_for(ask: Ask) -> None:
    pieces = [START, *(part for byte in (BODY[:9], BODY[9:20], BODY[20:]) for part in (0.15, byte)), 0, b"x" * 99]
    odd = Odd([pieces])
    with pytest.raises(InfrastructureError, match="documented JSON"):
        ask(odd, timeout=0.25)
    assert odd.events[-2:] == ["end", "shutdown"]


def test_an_overloaded_one_is_asked_again(ask: Ask) -> None:
    shape = {"error": {"status": 503, "reason": "overloaded", "message": "busy", "action": "wait"}, "snapshot": ""}
    busy = [START | {"status": 503, "headers": [*HEADERS, (b"retry-after", b"1")]}, json.dumps(shape).encode()]
    began = time.monotonic()
    assert ask(Odd([busy]), retries=1).status == "ok"
    assert time.monotonic() - began >= 1


def test_paths_that_no_server_would_take_are_refused(ask: Ask) -> None:
    odd = Odd()
    with pytest.raises(BadRequest):
        ask(odd, "open", "https://a.example/" + "x" * 70_000)
    assert not odd.scopes


@pytest.mark.parametrize("session", ["a\r\nx-other: b", "ü"])
def test_headers_that_are_none_are_refused(ask: Ask, session: str) -> None:
    with pytest.raises(ValueError, match="not printable ASCII"):
        ask(Odd(), session=session)


def play(odd: Odd, using: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
    async def playing() -> Any:
        async with AsyncClient(app=odd, retries=0, timeout=5) as client:
            return await using(client)

    return asyncio.run(playing())


def test_who_gives_up_waiting_stops_nothing() -> None:
    """The work goes on, as on a server: others may wait for it."""
    odd = Odd([["listen", 0.05]])

    async def using(client: AsyncClient) -> str:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.health(), 0.05)
        return (await client.health()).status

    assert play(odd, using) == "ok"
    assert odd.events == ["startup", "http.disconnect", "end", "end", "shutdown"]


def test_who_listens_after_the_answer_is_told_that_nobody_is_there(ask: Ask) -> None:
    odd = Odd([[START, BODY, "listen"]])
    ask(odd)
    assert odd.events == ["startup", "http.disconnect", "end", "shutdown"]


def test_what_does_not_end_is_stopped_with_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.agent_client.asgi.SHUTDOWN_SECONDS", 0.05)
    odd = Odd([[60]])

    async def using(client: AsyncClient) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.health(), 0.05)

    began = time.monotonic()
    play(odd, using)
    assert time.monotonic() - began < 30
    assert odd.events == ["startup", "shutdown"]


def test_closing_ends_what_is_waited_for() -> None:
    async def using(client: AsyncClient) -> str:
        waiting = asyncio.create_task(client.health())
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(InfrastructureError, match="the client was closed"):
            await waiting
        return "closed"

    assert play(Odd([["listen"]]), using) == "closed"


def test_no_more_are_under_way_than_are_allowed() -> None:
    peak = 0
    now = 0

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        nonlocal peak, now
        now += 1
        peak = max(peak, now)
        await asyncio.sleep(0.01)
        await send(START)
        await send({"type": "http.response.body", "body": BODY})
        now -= 1

    async def asking() -> int:
        async with AsyncClient(app=counting, timeout=60) as client:
            return len(await asyncio.gather(*(client.health() for _ in range(2 * MAX_CONCURRENT_REQUESTS + 9))))

    assert asyncio.run(asking()) == 2 * MAX_CONCURRENT_REQUESTS + 9
    assert 1 < peak <= MAX_CONCURRENT_REQUESTS + 1  # the lifespan is one


def test_clients_of_one_application_share_it() -> None:
    """There are as many lifespans as sessions; each ends with the last of its clients."""
    odd = Odd()

    async def asking() -> list[str]:
        clients = [AsyncClient(app=odd, session=f"{n}", retries=0) for n in range(3)]
        for client in clients:
            await client.health()
        events = []
        for client in clients:
            await client.close()
            events.append(odd.events[-1])
        return events

    assert asyncio.run(asking()) == ["end", "end", "shutdown"]
    assert odd.events.count("startup") == 1


def test_threads_and_clients_share_one_event_loop() -> None:
    odd, threads = Odd(), 16
    with Client(app=odd) as client, Client(app=odd, session="7") as other, ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit((client, other)[n % 2].health) for n in range(400)]
        assert {one.result().status for one in futures} == {"ok"}
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("webemu-app") == 1
        client.close()
        assert other.health().status == "ok"
        assert "shutdown" not in odd.events
    assert odd.events[-1] == "shutdown"
    assert "webemu-app" not in [thread.name for thread in threading.enumerate()]


def test_an_application_has_one_event_loop() -> None:
    odd = Odd()
    with Client(app=odd) as client:
        client.health()
        with pytest.raises(InfrastructureError, match="another event loop"):
            _async(odd)
        assert client.health().status == "ok"
    assert _async(odd).status == "ok"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system forks no processes")
def test_a_forked_process_is_told() -> None:
    with Client(app=Odd(), retries=0) as client:
        client.health()
        reader, writer = os.pipe()
        if not os.fork():
            try:
                client.health()
            except InfrastructureError as error:
                os.write(writer, error.message.encode())
            client.close()
            os._exit(0)
        assert os.read(reader, 1 << 10) == b"the application runs in the parent process"
        os.wait()
        os.close(reader)
        os.close(writer)
        assert client.health().status == "ok"


@pytest.mark.parametrize("client", ["Client", "AsyncClient"])
def test_an_application_ends_with_the_process_where_nobody_closed(client: str) -> None:
    script = f"""
import asyncio, sys
from webemu.agent_client import AsyncClient, Client
from test_inside import Odd
class Telling(Odd):
    async def _live(self, *told):
        try:
            await super()._live(*told)
        finally:
            print("ended")
async def asking():
    print((await AsyncClient(app=app).health()).status)
app = Telling()
print(Client(app=app).health().status) if "{client}" == "Client" else asyncio.run(asking())
"""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["ok", "ended"], "")


def test_nothing_is_kept_of_what_ended() -> None:
    odd = Odd()

    async def asking() -> int:
        async with AsyncClient(app=odd) as client:
            await asyncio.gather(*(client.health() for _ in range(50)))
            assert client._own_transport is not None
            await asyncio.sleep(0)
            lifespan = next(iter(AppLifespan._instances.values()))
            return len(lifespan._tasks) + len(client._own_transport._exchanges)  # type: ignore[union-attr]

    assert asyncio.run(asking()) == 0
    gc.collect()
    assert not AppLifespan._instances
