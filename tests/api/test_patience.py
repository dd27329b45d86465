"""Clients that leave a server waiting: each is left after a while, and nothing stays of it."""

import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from tests.attacked import HOST, crawled, received, until
from webemu.api.app import create_app
from webemu.api.proxy import idle_connections, protocol_sniffer
from webemu.api.proxy.authority import CERTIFICATE_FILE, ensure_authority
from webemu.api.proxy.protocol_sniffer import ProtocolSniffer
from webemu.emulator.config import Config
from webemu.index.open import open_world

SHORT = 0.3
H = b" HTTP/1.1\r\nHost: a.example\r\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("patience"))


@pytest.fixture(scope="module")
def served(root: Path) -> Iterator[tuple[uvicorn.Server, int]]:
    """The server in a thread, with little patience."""
    patched = pytest.MonkeyPatch()
    for module, name in (
        (idle_connections, "HEAD_SECONDS"),
        (idle_connections, "HANDSHAKE_SECONDS"),
        (protocol_sniffer, "STALL_SECONDS"),
    ):
        patched.setattr(module, name, SHORT if module is idle_connections else 1)
    app = create_app(Config(root=root, collection="c"), open_world(root / "c"))
    server = uvicorn.Server(uvicorn.Config(app, http=ProtocolSniffer, ws="none", proxy_headers=False, log_config=None))
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    until(lambda: server.started)
    yield server, listener.getsockname()[1]
    server.should_exit = True
    thread.join(30)
    patched.undo()
    assert not thread.is_alive()


@pytest.fixture
def client(served: tuple[uvicorn.Server, int]) -> Iterator[socket.socket]:
    server, port = served
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        yield client
    until(lambda: not server.server_state.connections and not server.server_state.tasks)


STALLED = {
    "silent": b"",
    "half-a-line": b"GET /pla",
    "half-a-head": b"GET /plain" + H,
    "half-a-connect": b"CONNECT a.example:80 HTTP/1.1\r\n",
    "no-body": b"POST /" + H + b"Content-Length: 10\r\n\r\n",
    "half-a-body": b"POST /" + H + b"Content-Length: 10\r\n\r\nhello",
    "half-a-second-head": b"GET /plain" + H + b"\r\nGET /",
    "silent-in-a-tunnel": b"CONNECT a.example:443 HTTP/1.1\r\n\r\n",
    "half-a-hello": b"\x16\x03\x01\x02\x00\x01",
    "half-a-hello-in-a-tunnel": b"CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01\x02\x00\x01",
}


@pytest.mark.parametrize("sent", STALLED.values(), ids=STALLED)
def test_who_owes_something_is_left(client: socket.socket, sent: bytes) -> None:
    client.sendall(sent)
    answer = received(client)
    assert answer.count(b"HTTP/1.1 ") == sent.count(b"\r\n\r\n") - sent.startswith(b"POST")


def test_who_is_silent_after_the_handshake_is_left(client: socket.socket, root: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(ensure_authority(root) / CERTIFICATE_FILE))
    with trusting.wrap_socket(client, server_hostname=HOST) as tls:
        assert received(tls) == b""


def test_who_drips_is_left(client: socket.socket) -> None:
    with pytest.raises(ConnectionError):
        drip(client)


def drip(client: socket.socket) -> None:
    for _ in range(1000):
        client.sendall(b"X")
        threading.Event().wait(0.01)


def test_who_owes_nothing_stays(client: socket.socket) -> None:
    for _ in range(4):
        client.sendall(b"GET /plain" + H + b"\r\n")
        assert received(client, b"plain").endswith(b"plain")
        threading.Event().wait(SHORT)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux alone has it")
def test_who_takes_nothing_is_left(client: socket.socket, served: tuple[uvicorn.Server, int]) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(b"GET https://a.example/big" + H + b"\r\n")
    until(lambda: served[0].server_state.total_requests and not served[0].server_state.connections)
