"""One server's answers over every way to it, TCP, a Unix socket and none at all: equal byte for byte."""

from __future__ import annotations

import asyncio
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from webemu.agent_client import AsyncClient, Client, calls
from webemu.agent_client.responses import Response
from webemu.api.app import App, create_app
from webemu.api.proxy.listener import listen
from webemu.api.proxy.protocol_sniffer import ProtocolSniffer
from webemu.api.proxy.unix import open_unix_listener
from webemu.emulator.config import Config
from webemu.emulator.types import Query, Results
from webemu.emulator.world import World
from webemu.rl.environment import Episode
from webemu.rl.tasks import Task

QUERIES = ["river port", "port -page", '"river port"', "nothing of the kind", "", "ü \x00 %2B&=#", "x" * 9000]
PAGES = ["https://site1-1.example/1", "https://site0-1.example/0", "https://gone.example/", "no URL", ""]
CALLS: list[calls.ApiCall[Any]] = [
    calls.health(),
    *(calls.search(query, page, 7) for query in QUERIES for page in (1, 2)),
    calls.search("river", as_of="2024-01-01"),
    calls.search("river", as_of="no day"),
    calls.search("river", engine="none"),
    calls.search("river", 10**9, 10**9),
    *(calls.open_page(url, view) for url in PAGES for view in ("text", "markdown", "links")),
    calls.open_page(PAGES[0], start=9, length=9),
    calls.open_page(PAGES[0], line=0, lines=1),
    *(calls.open_raw(url) for url in PAGES),
    *(calls.find(url, "river") for url in PAGES),
    *calls.search_many([*QUERIES, *(f"river {n}" for n in range(100))]),
    *calls.open_many(PAGES),
    calls.ApiCall("/v1/none", lambda response: response),
    calls.ApiCall("/v1/search?q=%ff%00&size=1&q=river", lambda response: response),
    calls.ApiCall("/v1/search", lambda response: response, b"no JSON"),
    calls.ApiCall("/v1/search", lambda response: response, b"x" * 8_000_001),
]
"""Calls that the native API answers with 200, 400, 404, 405, 413, 422 and 5xx."""


def comparable(response: Response) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
    """All of an answer but what HTTP/1.1 says of the connection and the day."""
    fields = [(name.lower(), value) for name, value in response.headers.raw]
    return response.status_code, response.content, [one for one in fields if one[0] not in (b"date", b"connection")]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, grow: Callable[[Path, int, str], str]) -> Config:
    root = tmp_path_factory.mktemp("root")
    grow(root / "default", 1, "river port")
    return Config(root=root)


@contextmanager
def serving(app: App, loop: str = "uvloop") -> Iterator[tuple[uvicorn.Server, str, str]]:
    """A server as `webemu serve` composes it, in a thread; its addresses over TCP and a Unix socket."""
    with tempfile.TemporaryDirectory(prefix="webemu") as folder:
        path = Path(folder) / "web.sock"
        with listen("127.0.0.1", 0) as tcp, open_unix_listener(path) as local:
            settings = uvicorn.Config(
                app, interface="asgi3", http=ProtocolSniffer, ws="none", loop=loop, lifespan="on", log_config=None,
                proxy_headers=False, server_header=False,
            )  # fmt: skip
            server = uvicorn.Server(settings)
            url = f"http://127.0.0.1:{tcp.getsockname()[1]}"
            thread = threading.Thread(target=server.run, args=([tcp, local],))
            thread.start()
            try:
                Client(url, timeout=5, retries=1).health()
                yield server, url, f"unix://{path}"
            finally:
                server.should_exit = True
                thread.join()


def asked_by_thread(**where: Any) -> list[Any]:
    with Client(retries=0, **where) as client:
        return [comparable(client._send(call)) for call in CALLS]


def asked_by_loop(**where: Any) -> list[Any]:
    async def asking() -> list[Any]:
        async with AsyncClient(retries=0, **where) as client:
            return [comparable(await client._send(call)) for call in CALLS]

    return asyncio.run(asking())


@pytest.fixture(scope="module")
def over_tcp(config: Config) -> list[Any]:
    with serving(create_app(config)) as (_, tcp, _):
        return asked_by_thread(base_url=tcp)


def test_what_is_compared_is_of_all_kinds(over_tcp: list[Any]) -> None:
    statuses = {status for status, _, _ in over_tcp}
    assert {200, 400, 404, 413} <= statuses
    assert sum(b"river port" in body for _, body, _ in over_tcp) > 9


@pytest.mark.parametrize("ask", [asked_by_thread, asked_by_loop])
@pytest.mark.parametrize("way", ["tcp", "unix", "app"])
def test_answers_are_the_same_bytes_whichever_way_they_come(
    config: Config, over_tcp: list[Any], way: str, ask: Callable[..., list[Any]]
) -> None:
    if way == "app":
        answers = ask(app=create_app(config))
    else:
        with serving(create_app(config)) as (_, tcp, local):
            answers = ask(base_url=tcp if way == "tcp" else local)
    for call, answer, other in zip(CALLS, answers, over_tcp, strict=True):
        assert answer == other, call.path[:200]


def test_many_threads_and_tasks_get_what_one_gets(config: Config, over_tcp: list[Any]) -> None:
    async def asking(app: App) -> list[Any]:
        async with AsyncClient(app=app, retries=0) as client:
            return await asyncio.gather(*(client._send(call) for _ in range(5) for call in CALLS))

    assert [comparable(one) for one in asyncio.run(asking(create_app(config)))] == over_tcp * 5


def test_episodes_are_the_same_over_every_way(config: Config) -> None:
    def played(**where: Any) -> list[Any]:
        with Client(retries=0, **where) as client:
            episode = Episode(client, policy={"weather": {"rate_limits": 0.3}})
            replies = [episode.reset(Task("1", "Which page tells of number 49?", ("7",)), seed=1)]
            replies += [episode.call("search", {"query": f"river {n}"}) for n in range(9)]
            replies += [episode.call("open", {"url": url}) for url in PAGES]
            return replies

    with serving(create_app(config)) as (_, tcp, local):
        over_tcp, over_unix = played(base_url=tcp), played(base_url=local)
    assert over_tcp == over_unix == played(app=create_app(config))
    assert any("river port" in observation.text for observation in over_tcp[1:10])


def test_an_app_that_has_ended_says_so(config: Config) -> None:
    app = create_app(config)
    asked_by_loop(app=app)
    with pytest.raises(Exception, match="create another with create_app"):
        asked_by_loop(app=app)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_answers_do_not_wait_for_acknowledgements(config: Config, loop: str) -> None:
    """TCP_NODELAY is set by both event loops on what they accept; nothing of ours unsets it."""
    socket_options = []

    def look(server: uvicorn.Server, stage: str) -> None:
        for protocol in list(server.server_state.connections):
            transport_socket = protocol.transport.get_extra_info("socket")
            if transport_socket.family != socket.AF_UNIX:
                socket_options.append(
                    (
                        stage,
                        type(protocol).__name__,
                        transport_socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
                    )
                )

    with serving(create_app(config), loop) as (server, tcp, _), Client(tcp, timeout=5) as client:
        silent = socket.create_connection(("127.0.0.1", int(tcp.rpartition(":")[2])), timeout=5)
        client.health()
        look(server, "accepted")
        silent.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert silent.recv(9)
        look(server, "served")
        silent.close()
    assert ("accepted", "ProtocolSniffer", 1) in socket_options
    assert socket_options.count(("served", "HttpProtocol", 1)) >= 2
    assert all(is_set for _, _, is_set in socket_options)


SLOW_BATCHES = {
    "/v1/search": {"queries": [{"q": f"river OR port {number}", "size": 20} for number in range(1024)]},
    "/retrieve": {"queries": [f"river OR port {number}" for number in range(16_000)], "topk": 10},
}


@pytest.mark.parametrize("path", SLOW_BATCHES)
@pytest.mark.parametrize("leaves", ["closes", "closes its sending side"])
def test_work_ends_when_its_client_leaves(
    config: Config, path: str, leaves: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[float] = []
    search = World.search

    def search_slowly(world: World, query: Query) -> Results:
        searches.append(time.monotonic())
        time.sleep(0.005)
        return search(world, query)

    monkeypatch.setattr(World, "search", search_slowly)
    body = json.dumps(SLOW_BATCHES[path]).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: webemu\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with serving(create_app(config)) as (_, tcp, _):
        with socket.create_connection(("127.0.0.1", int(tcp.rpartition(":")[2])), 30) as client:
            client.sendall(head.encode() + body)
            while len(searches) < 3:
                time.sleep(0.01)
            if leaves == "closes its sending side":
                client.shutdown(socket.SHUT_WR)
                assert b"closed its sending side" in b"".join(iter(lambda: client.recv(65536), b""))
        time.sleep(1)
        count = len(searches)
        time.sleep(0.5)
        assert len(searches) == count < 900


def test_a_batch_is_priced_before_it_is_worked_on(config: Config) -> None:
    with serving(create_app(config)) as (_, tcp, _), httpx.Client(base_url=tcp) as client:
        for queries, status in (
            ([{"q": f"river {number}", "page": 10, "size": 100} for number in range(13)], 400),
            ([{"q": "river " * 33 + str(number), "size": 100} for number in range(45)], 400),
            ([{"q": f"river {number}", "size": 13} for number in range(1024)], 200),
        ):
            reply = client.post("/v1/search", json={"queries": queries}, timeout=60)
            assert reply.status_code == status, reply.text[:200]
        for count, status in ((142, 200), (143, 422)):
            queries = [f"river {number}" for number in range(count)]
            assert client.post("/retrieve", json={"queries": queries, "topk": 100}).status_code == status
