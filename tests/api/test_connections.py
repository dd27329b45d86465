"""Connections: their memory is freed as soon as they end, and their states follow each other as `MOVES` says."""

import gc
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

import pytest
import uvicorn

from tests.api.conftest import SmallWorld
from webemu.api.app import create_app
from webemu.api.proxy.connection_state import MOVES, InlineTurn, Intake, Reading
from webemu.api.proxy.http_protocol import HttpProtocol
from webemu.api.proxy.listener import listen
from webemu.api.proxy.protocol_sniffer import ProtocolSniffer
from webemu.api.proxy.response_cycle import BufferedResponseCycle
from webemu.emulator.config import Config


def count_connections() -> int:
    return sum(isinstance(one, HttpProtocol | BufferedResponseCycle) for one in gc.get_objects())


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve a small world on a socket of this process, and yield its port."""
    app = create_app(Config(root=folder), SmallWorld())
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(app, http=ProtocolSniffer, lifespan="on", proxy_headers=False, log_config=None)
    )
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


@pytest.mark.slow
def test_an_ended_connection_leaves_no_cycles(tmp_path: Path) -> None:
    with serving(tmp_path) as port:
        gc.collect()
        gc.disable()
        try:
            before = count_connections()
            for _ in range(5):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                for path in ("/v1/find?url=https://a.example/x&pattern=the", "/health", "/serper/", "/v1/stats"):
                    connection.request("GET", path)
                    connection.getresponse().read()
                connection.close()
            until = time.monotonic() + 10
            while count_connections() > before and time.monotonic() < until:
                time.sleep(0.05)
            assert count_connections() == before
        finally:
            gc.enable()


GET = b"GET /v1/search?q=a HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b'POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 17\r\n\r\n{"queries":["a"]}'
CHUNKED = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "statuses"),
    [
        ([GET], [200]),
        ([GET + GET + GET], [200, 200, 200]),  # the first is answered inline, the others take the usual way
        ([GET, GET], [200, 200]),
        ([bytes([byte]) for byte in GET], [200]),
        ([POST[:90], POST[90:] + GET], [200, 200]),
        ([POST + b"\r\n", b"\r\n", GET], [200, 200]),  # empty lines between requests
        (["GET /v1/search?q=ä HTTP/1.1\r\n".encode(), b"Host: localhost\r\n\r\n"], [200]),
        ([GET + b"BAD\r\n\r\n" + GET], [200, 400]),
        ([CHUNKED + b"zz\r\n"], [400]),
        ([POST + CHUNKED + b"zz\r\n"], [200, 400]),
        ([b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000], [431]),
        ([b"GET / HTTP/1.1\r\n\r\n"], [400]),
    ],
)
def test_states_follow_each_other_as_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], statuses: list[int]
) -> None:
    transitions: list[tuple[Enum, Enum]] = []

    def set_and_note(protocol: HttpProtocol, name: str, value: object) -> None:
        before = getattr(protocol, name, None)
        if isinstance(value, Reading | Intake | InlineTurn) and isinstance(before, Enum) and before is not value:
            transitions.append((before, value))
        object.__setattr__(protocol, name, value)

    monkeypatch.setattr(HttpProtocol, "__setattr__", set_and_note)
    with serving(tmp_path) as port, socket.create_connection(("127.0.0.1", port), 10) as client:
        for piece in pieces:
            client.sendall(piece)
            if len(pieces) < 5:
                time.sleep(0.05)  # so that the pieces are received one by one
        client.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: client.recv(65536), b""))
    assert [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]] == statuses
    assert [move for move in transitions if move[1] not in MOVES[move[0]]] == []
    assert statuses == [431] or any(move[1] is Reading.HEAD for move in transitions)


def test_every_state_can_be_reached_and_has_moves() -> None:
    states = {state for states in (Reading, Intake, InlineTurn) for state in states}
    reached = {state for followers in MOVES.values() for state in followers}
    assert MOVES.keys() == states
    assert states - reached == {Intake.OPEN}
