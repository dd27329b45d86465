"""New connections beside busy ones: all that wait are accepted in a turn, and only work of ours counts as waiting."""

import asyncio
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import quote

import psutil
import pytest
from starlette.types import Receive, Scope, Send
from uvicorn import Config

from tests.api.conftest import add_source
from tests.api.test_served import PATIENCE, Running, serving
from webemu.api.proxy.accepting import AcceptingLoop
from webemu.api.runtime import load_shedding
from webemu.api.runtime.supervisor import DrainingServer

CLIENTS = 100
TURNS = 8
"""Turns of the loop within which connections that wait must all have been seen: one to accept, one to begin, and some
that the loop needs for its own start."""


class Greeter(asyncio.Protocol):
    """Counts connections, and answers what they send with the same."""

    connections = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass of it
        Greeter.connections += 1

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


@pytest.fixture(params=["tcp", "unix"])
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[socket.socket]:
    if request.param == "tcp":
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    else:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(tmp_path / "s"))
        listener.listen(4096)
    yield listener
    listener.close()


def connect(listener: socket.socket) -> socket.socket:
    client = socket.socket(listener.family, socket.SOCK_STREAM)
    client.settimeout(PATIENCE)
    client.connect(listener.getsockname())
    return client


def test_all_connections_that_wait_are_accepted_in_few_turns(listener: socket.socket) -> None:
    clients = [connect(listener) for _ in range(CLIENTS)]
    for number, client in enumerate(clients):
        client.sendall(b"%03d" % number)

    async def turn() -> int:
        server = await asyncio.get_running_loop().create_server(Greeter, sock=listener)
        before = Greeter.connections
        for _ in range(TURNS):
            await asyncio.sleep(0)
        accepted = Greeter.connections - before
        async with asyncio.timeout(PATIENCE):
            for number, client in enumerate(clients):
                assert await asyncio.to_thread(client.recv, 16) == b"%03d" % number
        assert server.is_serving()
        server.close()
        await server.wait_closed()
        assert not server.is_serving()
        return accepted

    with asyncio.Runner(loop_factory=AcceptingLoop) as runner:
        assert runner.run(turn()) == CLIENTS
    for client in clients:
        client.close()


def test_those_that_wait_when_a_listener_is_closed_are_answered(listener: socket.socket) -> None:
    clients = [connect(listener) for _ in range(CLIENTS)]

    async def close() -> None:
        server = await asyncio.get_running_loop().create_server(Greeter, sock=listener)
        server.close()
        listener.close()
        for number, client in enumerate(clients):
            client.sendall(b"%03d" % number)
            assert await asyncio.to_thread(client.recv, 16) == b"%03d" % number

    with asyncio.Runner(loop_factory=AcceptingLoop) as runner:
        runner.run(close())
    for client in clients:
        client.close()


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with a greeting."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


def test_a_server_that_stops_in_the_turn_in_which_they_come_answers_them(listener: socket.socket) -> None:
    server = DrainingServer(Config(greet, lifespan="off", log_level="warning"))
    clients = []

    async def stop() -> None:
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0)
        for _ in range(CLIENTS):
            clients.append(connect(listener))
            clients[-1].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.should_exit = True
        time.sleep(0.3)  # the server's next look at it is due when the loop turns
        await serving

    with asyncio.Runner(loop_factory=AcceptingLoop) as runner:
        runner.run(stop())
    for client in clients:
        answer = b"".join(iter(partial(client.recv, 65_536), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK"), answer
        assert answer.endswith(b"hello")
        client.close()


EXHAUSTED = """
import asyncio, resource, socket, sys
from webemu.api.proxy.accepting import AcceptingLoop
from tests.api.test_accepting import Greeter

async def main():
    listener = socket.create_server(("127.0.0.1", 0))
    server = await asyncio.get_running_loop().create_server(Greeter, sock=listener)
    clients = [socket.create_connection(listener.getsockname(), timeout=30) for _ in range(40)]
    for client in clients[20:]:
        client.sendall(b"hello")
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(clients) + 40, hard))
    await asyncio.sleep(0.2)
    assert Greeter.connections < 40, Greeter.connections
    for client in clients[:20]:
        client.close()
    for client in clients[20:]:
        assert await asyncio.to_thread(client.recv, 16) == b"hello"

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
with asyncio.Runner(loop_factory=AcceptingLoop) as runner:
    runner.run(main())
"""


def test_without_descriptors_the_log_says_so_and_waiting_connections_are_accepted_later() -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    command = [sys.executable, "-c", EXHAUSTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "no connection can be accepted: Too many open files" in done.stderr
    assert 1 <= done.stderr.count("no connection can be accepted") <= 5


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("accepting") / "one"
    add_source(folder, 1, "river port bridge", pages=30)
    with serving(folder, "--cache-mb", "0") as server:
        server.get("/health")
        yield server


def read_answer(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_a_server_that_was_stopped_refuses_nobody_who_waited_meanwhile(server: Running) -> None:
    """The process did no work while they waited, so nothing is overloaded."""
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE) for _ in range(50)]
        for number, connection in enumerate(connections):
            connection.request("GET", f"/v1/search?q={quote(f'river {number}')}")
        time.sleep(load_shedding.MAX_BUSY_WAIT_SECONDS + 1)
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    with ThreadPoolExecutor(len(connections)) as pool:
        answers = list(pool.map(read_answer, connections))
    assert [answer for answer in answers if answer[0] != 200] == []
    for connection in connections:
        connection.close()


def test_work_is_told_from_waiting() -> None:
    clock = load_shedding.WorkClock()
    start = time.perf_counter()
    assert clock.worked_since(start - 5) >= 5  # nothing is known of that time
    clock.mark()
    idle = time.perf_counter()
    time.sleep(0.5)
    assert clock.worked_since(idle) < 0.25
    clock.mark()
    busy, used = time.perf_counter(), time.process_time()
    while time.process_time() < used + 0.5:
        pass
    assert clock.worked_since(busy) > 0.4


def test_pipelined_requests_take_turns_with_other_connections(server: Running) -> None:
    """They are all answered, in their order."""
    head = "".join(f"GET /v1/search?q=river+{number} HTTP/1.1\r\nHost: x\r\n\r\n" for number in range(40))
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
        client.sendall(head.encode() + b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = b""
        while part := client.recv(1 << 16):
            received += part
    assert received.count(b"HTTP/1.1 200 OK") == 41
    places = [received.index(f'"query":"river {number}"'.encode()) for number in range(40)]
    assert places == sorted(places)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_connections_that_wait_at_the_end_are_answered(tmp_path: Path, workers: str) -> None:
    """They came while the server was stopped: closing the listener would reset them."""
    add_source(tmp_path / "mine", 1, "river port")
    with serving(tmp_path / "mine", "--workers", workers) as server:
        server.pids(int(workers))  # all of them serve
        processes = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children(recursive=True)]
        for process in processes:
            process.suspend()
        clients = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(60)]
        for client in clients:
            client.sendall(b"GET /v1/search?q=river HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.process.terminate()
        for process in processes:
            process.resume()
        answers = [b"".join(iter(partial(client.recv, 65_536), b"")) for client in clients]
        assert {answer[:15] for answer in answers} == {b"HTTP/1.1 200 OK"}
        server.process.wait(PATIENCE)
