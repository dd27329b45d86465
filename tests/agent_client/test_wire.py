"""Connections of our own against servers that behave as none should; each is a real socket with a script."""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx
import pytest

from agent_client import AsyncClient, BadRequest, InfrastructureError, WebError
from agent_client import transport as transport_module
from agent_client.address import address
from agent_client.http1 import HEADER_BYTES, IDLE, Writer
from agent_client.turns import AT_ONCE
from agent_client.wire import Wire

BODY = b'{"status": "ok", "snapshot": "5d0c"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)
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
                for piece in self.script.pop(0) if self.script else [WHOLE]:
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


def play(
    script: list[list[Any]], using: Callable[[AsyncClient, Odd], Awaitable[Any]], timeout: float = 5, retries: int = 0
) -> Any:
    """What came of using a client on such a server."""

    async def playing() -> Any:
        odd = Odd(script)
        server = await asyncio.start_server(odd.answer, "127.0.0.1", 0, backlog=1024)
        odd.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with AsyncClient(odd.url, retries=retries, timeout=timeout) as client:
            assert isinstance(client._own, Wire)
            try:
                return await using(client, odd)
            finally:
                server.close()

    return asyncio.run(playing())


async def twice(client: AsyncClient, odd: Odd) -> tuple[Any, int, int]:
    """The second answer, and how many connections and requests both took."""
    with suppress(InfrastructureError):
        await client.health()
    return (await client.health()).status, odd.connections, len(odd.heads)


GOOD: dict[str, tuple[list[Any], int]] = {
    "whole": ([WHOLE], 1),
    "byte by byte": ([bytes([byte]) for byte in WHOLE], 1),
    "chunked": ([CHUNKED], 1),
    "no length": ([HEAD + b"\r\n" + BODY, "close"], 2),
    "said to close": ([WHOLE.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)], 2),
    "HTTP/1.0": ([WHOLE.replace(b"HTTP/1.1", b"HTTP/1.0"), "close"], 2),
    "hints before": ([b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", WHOLE], 1),
    "closed after": ([WHOLE, "close"], 2),
    "more than asked for": ([WHOLE + WHOLE], 2),
    "large head": ([WHOLE.replace(b"\r\n", b"\r\nX-Big: " + b"x" * 900_000 + b"\r\n", 1)], 1),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_answers_are_read_however_they_come(name: str) -> None:
    pieces, connections = GOOD[name]

    async def using(client: AsyncClient, odd: Odd) -> tuple[str, tuple[Any, int, int]]:
        first = (await client.health()).snapshot
        await asyncio.sleep(0.02)  # for an end that comes after
        return first, ((await client.health()).status, odd.connections, len(odd.heads))

    assert play([pieces], using) == ("5d0c", ("ok", connections, 2))


BAD: dict[str, list[Any]] = {
    "reset": ["reset"],
    "closed": ["close"],
    "half": [WHOLE[:-9], "close"],
    "half and reset": [WHOLE[:-9], "reset"],
    "half a head": [HEAD, "close"],
    "half a piece": [CHUNKED[:-30], "close"],
    "noise": [b"\x16\x03\x01\x02\x00"],
    "two lengths": [HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"],
    "length and pieces": [CHUNKED.replace(b"\r\n", b"\r\nContent-Length: 5\r\n", 1)],
    "another protocol": [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
    "endless head": [HEAD + b"X-Big: " + b"x" * (HEADER_BYTES + 9)],
    "many headers": [HEAD + b"X-Small: 12345678\r\n" * (HEADER_BYTES // 15)],
    "silence": [0.4],
    "slow head": [HEAD, 0.4, b"Content-Length: 0\r\n\r\n"],
}


@pytest.mark.parametrize("name", BAD)
def test_bad_answers_are_no_answer_are_asked_once_and_spoil_nothing(name: str) -> None:
    async def using(client: AsyncClient, odd: Odd) -> tuple[str, tuple[Any, int, int]]:
        with pytest.raises(InfrastructureError) as raised:
            await client.health()
        assert raised.value.again
        return raised.value.reason, await twice_more(client, odd)

    async def twice_more(client: AsyncClient, odd: Odd) -> tuple[Any, int, int]:
        return (await client.health()).status, odd.connections, len(odd.heads)

    assert play([BAD[name]], using, timeout=0.2) == ("unreachable", ("ok", 2, 2))


def test_an_answer_that_goes_on_is_waited_for() -> None:
    """The timeout is of silence, not of the whole."""
    slowly: list[Any] = [part for byte in (WHOLE[:40], WHOLE[40:80], WHOLE[80:]) for part in (0.15, byte)]
    assert play([slowly], lambda client, odd: client.health(), timeout=0.25).status == "ok"


def test_who_gives_up_waiting_takes_no_other_answer() -> None:
    async def using(client: AsyncClient, odd: Odd) -> tuple[str, int]:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.health(), 0.05)
        return (await client.health()).snapshot, odd.connections

    late = WHOLE.replace(b"5d0c", b"late")
    assert play([[0.1, late]], using) == ("5d0c", 2)


def test_there_are_no_more_connections_than_are_allowed() -> None:
    async def using(client: AsyncClient, odd: Odd) -> tuple[int, int]:
        return len(await asyncio.gather(*(client.health() for _ in range(2 * AT_ONCE)))), odd.connections

    answered, connections = play([], using, timeout=60)
    assert answered == 2 * AT_ONCE
    assert 1 < connections <= AT_ONCE


@pytest.mark.parametrize("turns", [0, 1, 3, 9])
def test_who_leaves_gives_up_the_place(turns: int) -> None:
    """Wherever a request is: waiting for its turn, given it just now, opening a connection, asking."""

    async def using(client: AsyncClient, odd: Odd) -> int:
        asked = [asyncio.ensure_future(client.health()) for _ in range(AT_ONCE + 100)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for task in asked[::3] + asked[-50:]:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(client._own, Wire)
        assert not client._own._busy
        return client._own._turns._free

    assert play([], using, timeout=60) == AT_ONCE


def test_what_rested_long_is_not_used_again() -> None:
    async def using(client: AsyncClient, odd: Odd) -> int:
        await client.health()
        assert isinstance(client._own, Wire)
        client._own._idle[0].since -= IDLE
        await client.health()
        return odd.connections

    assert play([], using) == 2


def test_codings_that_nobody_asked_for_are_undone() -> None:
    packed = gzip.compress(BODY)
    answer = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(packed), packed)
    assert play([[answer]], lambda client, odd: client.health()).snapshot == "5d0c"


def test_requests_say_what_they_do_through_httpx() -> None:
    """But for the order of headers, escapes that mean the same, and what aiohttp adds."""

    async def using(client: AsyncClient, odd: Odd) -> list[list[bytes]]:
        for wire in (client._own, None):
            client._own = wire
            await client.health()
            with suppress(InfrastructureError):
                await client.search('a "b" <c> ü\r\nX: y', as_of="2024-01-01")
            with suppress(InfrastructureError):
                await client.search_many(["ü"])
        lines = [head.lower().split(b"\r\n") for head in odd.heads]
        added = (b"connection", b"content-type")
        said = [sorted(line for line in one[1:] if not line.startswith(added)) for one in lines]
        return [[unquote_to_bytes(one[0]), *headers] for one, headers in zip(lines, said, strict=True)]

    asked = play([], using)
    assert len(asked) == 6
    assert asked[:3] == asked[3:]


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX: y", "/ü", "/a#b", "/a/../b", '/a"b', "", "x", "/" + "x" * 70_000])
def test_what_is_not_plain_is_left_to_httpx(path: str) -> None:
    assert not Writer.bears(path)


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
    assert web.asked[-1].route == "/below/v1/search"


@pytest.mark.parametrize("url", ["https://127.0.0.1", "http://user:word@127.0.0.1", "http://127.0.0.1/?a=b"])
def test_servers_that_it_does_not_reach_are_left_to_httpx(url: str) -> None:
    assert transport_module.wire(address(url), {}, 1) is None
    assert transport_module.lines(address(url), {}, 1) is None


def test_a_header_that_is_none_is_refused(web: Any) -> None:
    async def asking() -> None:
        async with AsyncClient(web.url, session="a\r\nX-Other: b", retries=0) as client:
            await client.health()

    with pytest.raises((InfrastructureError, ValueError)):
        asyncio.run(asking())
    assert not web.asked


def test_without_httptools_all_goes_through_httpx(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agent_client.wire", None)

    async def asking() -> tuple[object, str]:
        async with AsyncClient(web.url) as client:
            return client._own, (await client.health()).status

    assert transport_module.wire(address(web.url), {}, 1) is None
    assert asyncio.run(asking()) == (None, "ok")


def test_the_answer_has_what_is_read_of_an_answer(web: Any) -> None:
    async def asking() -> httpx.Headers:
        wire = Wire(address(web.url + "/"), {}, 5)
        found = await wire.ask("/health", None)
        await wire.close()
        assert (found.status_code, found.json()["status"], str(found.url)) == (200, "ok", f"{web.url}/health")
        return found.headers

    assert asyncio.run(asking())["content-type"] == "application/json"
