"""Connections of our own against servers that behave as none should; each is a real socket with a script."""

from __future__ import annotations

import asyncio
import gzip
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import httpx
import pytest

from webemu.agent_client import AsyncClient, BadRequest, Client, InfrastructureError, WebError
from webemu.agent_client import transport as transport_module
from webemu.agent_client.address import parse_address
from webemu.agent_client.async_pool import AsyncConnectionPool
from webemu.agent_client.concurrency import MAX_CONCURRENT_REQUESTS
from webemu.agent_client.http1 import MAX_HEADER_BYTES, MAX_IDLE_SECONDS, RequestWriter
from webemu.agent_client.transport import ThreadConnections

BODY = b'{"status": "ok", "snapshot": "5d0c"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WHOLE_ANSWER = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\nX-Late: 1\r\n\r\n" % (len(BODY), BODY)


@dataclass
class Odd:
    """A server that answers each request with the next piece of its script: bytes, seconds to wait, or an end."""

    script: list[Any]
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                for piece in self.script.pop(0) if self.script else [WHOLE_ANSWER]:
                    if piece == "reset":
                        writer.transport.abort()
                    elif piece == "close":
                        writer.close()
                    elif isinstance(piece, bytes):
                        writer.write(piece)
                        await writer.drain()
                    else:
                        await asyncio.sleep(piece)
        writer.close()


class Threaded:
    """A `Client` in a thread of its own, asked as an `AsyncClient` is."""

    def __init__(self, url: str, **options: Any) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._client = Client(url, **options)
        assert isinstance(self._client._own_transport, ThreadConnections)

    async def health(self) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._client.health)

    async def __aenter__(self) -> Threaded:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._client.close()
        self._thread.shutdown()


@asynccontextmanager
async def listening(odd: Odd, door: str) -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory(prefix="webemu") as folder:
        if door == "unix":
            server = await asyncio.start_unix_server(odd.answer, f"{folder}/a web.sock", backlog=1024)
            odd.url = f"unix://{folder}/a%20web.sock"
        else:
            server = await asyncio.start_server(odd.answer, "127.0.0.1", 0, backlog=1024)
            odd.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()


def play(
    script: list[list[Any]],
    using: Callable[[Any, Odd], Awaitable[Any]],
    timeout: float = 5,
    retries: int = 0,
    kind: type[AsyncClient] | type[Threaded] = AsyncClient,
    door: str = "tcp",
) -> Any:
    """Return what came of using a client on such a server."""

    async def playing() -> Any:
        odd = Odd(script)
        async with listening(odd, door), kind(odd.url, retries=retries, timeout=timeout) as client:
            assert kind is Threaded or isinstance(client._own_transport, AsyncConnectionPool)
            return await using(client, odd)

    return asyncio.run(playing())


kinds = pytest.mark.parametrize("kind", [AsyncClient, Threaded])
doors = pytest.mark.parametrize("door", ["tcp", "unix"])


async def twice(client: AsyncClient, odd: Odd) -> tuple[Any, int, int]:
    """The second answer, and how many connections and requests both took."""
    with suppress(InfrastructureError):
        await client.health()
    return (await client.health()).status, odd.connections, len(odd.heads)


GOOD: dict[str, tuple[list[Any], int]] = {
    "whole": ([WHOLE_ANSWER], 1),
    "byte by byte": ([bytes([byte]) for byte in WHOLE_ANSWER], 1),
    "chunked": ([CHUNKED], 1),
    "no length": ([HEAD + b"\r\n" + BODY, "close"], 2),
    "said to close": ([WHOLE_ANSWER.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)], 2),
    "HTTP/1.0": ([WHOLE_ANSWER.replace(b"HTTP/1.1", b"HTTP/1.0"), "close"], 2),
    "hints before": ([b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", WHOLE_ANSWER], 1),
    "closed after": ([WHOLE_ANSWER, "close"], 2),
    "more than asked for": ([WHOLE_ANSWER + WHOLE_ANSWER], 2),
    "large head": ([WHOLE_ANSWER.replace(b"\r\n", b"\r\nX-Big: " + b"x" * 900_000 + b"\r\n", 1)], 1),
}


@doors
@kinds
@pytest.mark.parametrize("name", GOOD)
def test_good_answers_are_read_however_they_come(name: str, kind: Any, door: str) -> None:
    pieces, connections = GOOD[name]

    async def using(client: AsyncClient, odd: Odd) -> tuple[str, tuple[Any, int, int]]:
        first = (await client.health()).snapshot
        await asyncio.sleep(0.02)  # for an end that comes after
        return first, ((await client.health()).status, odd.connections, len(odd.heads))

    assert play([pieces], using, kind=kind, door=door) == ("5d0c", ("ok", connections, 2))


BAD: dict[str, list[Any]] = {
    "reset": ["reset"],
    "closed": ["close"],
    "half": [WHOLE_ANSWER[:-9], "close"],
    "half and reset": [WHOLE_ANSWER[:-9], "reset"],
    "half a head": [HEAD, "close"],
    "half a piece": [CHUNKED[:-30], "close"],
    "noise": [b"\x16\x03\x01\x02\x00"],
    "two lengths": [HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"],
    "length and pieces": [CHUNKED.replace(b"\r\n", b"\r\nContent-Length: 5\r\n", 1)],
    "another protocol": [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
    "endless head": [HEAD + b"X-Big: " + b"x" * (MAX_HEADER_BYTES + 9)],
    "many headers": [HEAD + b"X-Small: 12345678\r\n" * (MAX_HEADER_BYTES // 15)],
    "silence": [0.4],
    "slow head": [HEAD, 0.4, b"Content-Length: 0\r\n\r\n"],
}


@doors
@kinds
@pytest.mark.parametrize("name", BAD)
def test_bad_answers_are_no_answer_are_asked_once_and_spoil_nothing(name: str, kind: Any, door: str) -> None:
    async def using(client: AsyncClient, odd: Odd) -> tuple[str, tuple[Any, int, int]]:
        with pytest.raises(InfrastructureError) as raised:
            await client.health()
        assert raised.value.can_retry
        assert f"no answer from {odd.url} (" in raised.value.message
        return raised.value.reason, await twice_more(client, odd)

    async def twice_more(client: AsyncClient, odd: Odd) -> tuple[Any, int, int]:
        return (await client.health()).status, odd.connections, len(odd.heads)

    assert play([BAD[name]], using, 0.2, kind=kind, door=door) == ("unreachable", ("ok", 2, 2))


@kinds
def test_an_answer_that_goes_on_is_waited_for(kind: Any) -> None:
    """The timeout is of silence, not of the whole."""
    slowly: list[Any] = [
        part for byte in (WHOLE_ANSWER[:40], WHOLE_ANSWER[40:80], WHOLE_ANSWER[80:]) for part in (0.15, byte)
    ]
    assert play([slowly], lambda client, odd: client.health(), timeout=0.25, kind=kind).status == "ok"


def test_who_gives_up_waiting_takes_no_other_answer() -> None:
    async def using(client: AsyncClient, odd: Odd) -> tuple[str, int]:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.health(), 0.05)
        return (await client.health()).snapshot, odd.connections

    late = WHOLE_ANSWER.replace(b"5d0c", b"late")
    assert play([[0.1, late]], using) == ("5d0c", 2)


def test_there_are_no_more_connections_than_are_allowed() -> None:
    async def using(client: AsyncClient, odd: Odd) -> tuple[int, int]:
        return len(
            await asyncio.gather(*(client.health() for _ in range(2 * MAX_CONCURRENT_REQUESTS)))
        ), odd.connections

    answered, connections = play([], using, timeout=60)
    assert answered == 2 * MAX_CONCURRENT_REQUESTS
    assert 1 < connections <= MAX_CONCURRENT_REQUESTS


@pytest.mark.parametrize("turns", [0, 1, 3, 9])
def test_who_leaves_gives_up_the_place(turns: int) -> None:
    """Wherever a request is: waiting for its turn, given it just now, opening a connection, asking."""

    async def using(client: AsyncClient, odd: Odd) -> int:
        tasks = [asyncio.ensure_future(client.health()) for _ in range(MAX_CONCURRENT_REQUESTS + 100)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in tasks[::3] + tasks[-50:]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(client._own_transport, AsyncConnectionPool)
        assert not client._own_transport._busy
        return client._own_transport._limiter._free

    assert play([], using, timeout=60) == MAX_CONCURRENT_REQUESTS


def test_what_rested_long_is_not_used_again() -> None:
    async def using(client: AsyncClient, odd: Odd) -> int:
        await client.health()
        assert isinstance(client._own_transport, AsyncConnectionPool)
        client._own_transport._idle[0].last_used -= MAX_IDLE_SECONDS
        await client.health()
        return odd.connections

    assert play([], using) == 2


@kinds
def test_codings_that_nobody_asked_for_are_undone(kind: Any) -> None:
    packed = gzip.compress(BODY)
    answer = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    assert play([[answer]], lambda client, odd: client.health(), kind=kind).snapshot == "5d0c"


def test_requests_say_what_they_do_through_httpx() -> None:
    """But for the order of headers, escapes that mean the same, and what aiohttp adds."""

    async def using(client: AsyncClient, odd: Odd) -> list[list[bytes]]:
        for wire in (client._own_transport, None):
            client._own_transport = wire
            await client.health()
            with suppress(InfrastructureError):
                await client.search('a "b" <c> ü\r\nX: y', as_of="2024-01-01")
            with suppress(InfrastructureError):
                await client.search_many(["ü"])
        lines = [head.lower().split(b"\r\n") for head in odd.heads]
        added = (b"connection", b"content-type")
        header_lists = [sorted(line for line in one[1:] if not line.startswith(added)) for one in lines]
        return [[unquote_to_bytes(one[0]), *headers] for one, headers in zip(lines, header_lists, strict=True)]

    messages = play([], using)
    assert len(messages) == 6
    assert messages[:3] == messages[3:]


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/ü", "/a#b", "/a/../b", '/a"b', "", "x", "/" + "x" * 70_000])
def test_what_is_not_plain_is_left_to_httpx(path: str) -> None:
    assert not RequestWriter.accepts_target(path)


def test_another_event_loop_has_connections_of_its_own(web: Any) -> None:
    client = AsyncClient(web.url)

    async def asking() -> str:
        return (await client.health()).status

    assert [asyncio.run(asking()) for _ in range(2)] == ["ok", "ok"]
    assert web.connections == 2


def test_an_address_that_is_none_is_told_when_it_is_asked() -> None:
    async def asking() -> None:
        async with AsyncClient("http://[::1", retries=0) as client:
            await client.health()

    with pytest.raises(BadRequest):
        asyncio.run(asking())


def test_a_server_below_a_path_is_asked_there(web: Any) -> None:
    async def asking() -> None:
        async with AsyncClient(f"{web.url}/below", retries=0) as client:
            with suppress(InfrastructureError, WebError):
                await client.search("x")

    asyncio.run(asking())
    assert web.requests[-1].route == "/below/v1/search"


@pytest.mark.parametrize("url", ["https://127.0.0.1", "http://user:word@127.0.0.1", "http://127.0.0.1/?a=b"])
def test_servers_that_it_does_not_reach_are_left_to_httpx(url: str) -> None:
    assert transport_module.open_async_pool(parse_address(url), {}, 1) is None
    assert transport_module.open_thread_connections(parse_address(url), {}, 1) is None


def test_a_header_that_is_none_is_refused(web: Any) -> None:
    async def asking() -> None:
        async with AsyncClient(web.url, session="a\r\nX-Other: b", retries=0) as client:
            await client.health()

    with pytest.raises((InfrastructureError, ValueError)):
        asyncio.run(asking())
    assert not web.requests


def test_without_httptools_all_goes_through_httpx(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "webemu.agent_client.async_pool", None)

    async def asking() -> tuple[object, str]:
        async with AsyncClient(web.url) as client:
            return client._own_transport, (await client.health()).status

    assert transport_module.open_async_pool(parse_address(web.url), {}, 1) is None
    assert asyncio.run(asking()) == (None, "ok")


def test_the_answer_has_what_is_read_of_an_answer(web: Any) -> None:
    async def asking() -> httpx.Headers:
        wire = AsyncConnectionPool(parse_address(web.url + "/"), {}, 5)
        response = await wire.send("/health", None)
        await wire.close()
        assert (response.status_code, response.json()["status"], str(response.url)) == (200, "ok", f"{web.url}/health")
        return response.headers

    assert asyncio.run(asking())["content-type"] == "application/json"


@kinds
@doors
def test_where_nobody_listens_the_address_is_named(kind: Any, door: str, tmp_path: Path) -> None:
    async def asking() -> None:
        odd = Odd([])
        async with listening(odd, door):
            url = odd.url
        async with kind(url, retries=1, timeout=5) as client:
            with pytest.raises(InfrastructureError, match=f"no answer from {url}.*ConnectError.* 2 attempts") as raised:
                await client.health()
        assert (f"--uds {unquote(url[7:])}" in raised.value.action) == (door == "unix")

    asyncio.run(asking())


@doors
@pytest.mark.parametrize("has_wire", [True, False])
def test_long_paths_and_no_httptools_leave_a_request_to_httpx_at_the_same_place(
    door: str, has_wire: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asking() -> tuple[list[bytes], list[int]]:
        odd = Odd([[WHOLE_ANSWER.replace(BODY, b"x" * len(BODY))], [WHOLE_ANSWER.replace(BODY, b"x" * len(BODY))]])
        async with listening(odd, door):
            async with AsyncClient(odd.url, retries=0) as client:
                with pytest.raises(InfrastructureError, match="documented JSON"):
                    await client.open("https://a.example/" + "x" * (60_500 if has_wire else 9))
            with Client(odd.url, retries=0) as other, pytest.raises(InfrastructureError, match="documented JSON"):
                await asyncio.to_thread(other.open, "https://a.example/" + "x" * (60_500 if has_wire else 9))
        return [head[:13] for head in odd.heads], [len(head) > 60_000 for head in odd.heads]

    if not has_wire:
        monkeypatch.setitem(sys.modules, "webemu.agent_client.async_pool", None)
        monkeypatch.setitem(sys.modules, "webemu.agent_client.blocking", None)
    assert asyncio.run(asking()) == ([b"GET /v1/fetch"] * 2, [has_wire] * 2)


@kinds
def test_small_requests_do_not_wait_for_the_answer_to_earlier_ones(kind: Any) -> None:
    """TCP_NODELAY (RFC 9293, section 3.7.4) on every connection."""

    async def using(client: Any, odd: Odd) -> int:
        await client.health()
        if isinstance(client, AsyncClient):
            transport_socket = client._own_transport._idle[0]._transport.get_extra_info("socket")  # type: ignore[union-attr]
        else:
            transport_socket = await asyncio.get_running_loop().run_in_executor(
                client._thread, lambda: client._client._own_transport._per_thread.current()._connection._socket
            )
        return int(transport_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    assert play([], using, kind=kind) == 1


def test_a_thread_keeps_its_connection_and_another_has_its_own() -> None:
    async def using(client: Any, odd: Odd) -> tuple[int, int]:
        for _ in range(3):
            await client.health()
        before = odd.connections
        await asyncio.gather(*(asyncio.to_thread(client._client.health) for _ in range(2)))
        return before, odd.connections

    before, after = play([], using, kind=Threaded)
    assert before == 1
    assert after > 1


@doors
def test_closing_ends_what_a_thread_waits_for(door: str) -> None:
    async def using(client: Any, odd: Odd) -> str:
        waiting = asyncio.create_task(client.health())
        while not odd.heads:
            await asyncio.sleep(0.01)
        client._client.close()
        with pytest.raises(InfrastructureError) as raised:
            await asyncio.wait_for(waiting, 5)
        return raised.value.reason

    assert play([[30]], using, timeout=60, kind=Threaded, door=door) == "unreachable"


def test_what_a_thread_left_long_is_not_used_again() -> None:
    async def using(client: Any, odd: Odd) -> int:
        def age() -> None:
            client._client._own_transport._per_thread.current()._connection._since -= MAX_IDLE_SECONDS

        await client.health()
        await asyncio.get_running_loop().run_in_executor(client._thread, age)
        await client.health()
        return odd.connections

    assert play([], using, kind=Threaded) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system forks no processes")
def test_a_forked_process_has_connections_of_its_own(web: Any) -> None:
    """The child of a fork opens its own: on its parent's it would take the parent's answers."""
    with Client(web.url, retries=0) as client:
        client.health()
        reader, writer = os.pipe()
        if not os.fork():
            os.write(writer, client.health().status.encode())
            os._exit(0)
        assert os.read(reader, 9) == b"ok"
        os.wait()
        os.close(reader)
        os.close(writer)
        client.health()
    assert web.connections == 2


@pytest.mark.parametrize("url", ["unix://", "unix:///", "unix:/run/web.sock", "unix:///a%00b", "ftp://a.example", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="server address"):
            kind(url)


def test_a_path_may_be_relative_and_escaped() -> None:
    assert parse_address("unix://web.sock").path == "web.sock"
    assert parse_address("unix:///run/100%25%20a.sock").path == "/run/100% a.sock"
    assert parse_address("http://a.example:80/below/").url == "http://a.example:80/below"
