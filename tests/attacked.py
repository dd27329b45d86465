"""A server of a tiny crawl that tests do their worst to, and raw sockets to do it with."""

import os
import socket
import ssl
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from tests.crawls import CaptureSpec, html, ingest, write

HOST = "a.example"
BIG = b"x" * 4_000_000
CRAWL = [
    CaptureSpec("https://a.example/", html("Harbour", "ships")),
    CaptureSpec("http://a.example/plain", "plain", mime="text/plain"),
    CaptureSpec("https://a.example/big", BIG, mime="text/plain"),
    CaptureSpec("https://a.example/none", "body", status="204 No Content"),
    CaptureSpec("https://a.example/continue", "body", status="100 Continue"),
    CaptureSpec("https://a.example/switch", "body", status="101 Switching Protocols"),
    CaptureSpec("https://a.example/unmodified", "body", status="304 Not Modified"),
    CaptureSpec("https://a.example/odd", "odd", status="999 O\rdd"),
    CaptureSpec("https://a.example/gone", "gone", status="404 Not Found"),
]
SPARE_FDS = 4


def crawled(root: Path, *more: Path) -> Path:
    """The crawl, and further WARC files, as collection `c` of a root."""
    ingest(root / "c", write(root / "a.warc.gz", CRAWL), *more)
    return root


@dataclass(frozen=True)
class Attacked:
    """A running server."""

    port: int
    ca: Path
    process: psutil.Process
    errors: Path

    def connect(self, sent: bytes = b"", timeout: float = 20) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        client.sendall(sent)
        return client

    def tunnel(self, to: str = f"{HOST}:443") -> socket.socket:
        client = self.connect(f"CONNECT {to} HTTP/1.1\r\n\r\n".encode())
        assert received(client, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        return client

    def tls(self, name: str = HOST, over: socket.socket | None = None) -> ssl.SSLSocket:
        return self.trusting().wrap_socket(over or self.connect(), server_hostname=name)

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))

    def ask(self, sent: bytes, *, half: bool = True) -> bytes:
        """All that is answered until the server closes."""
        with self.connect() as client:
            with suppress(OSError):  # it may refuse before it has read all
                client.sendall(sent)
                if half:
                    client.shutdown(socket.SHUT_WR)
            return received(client)

    def descriptors(self) -> int:
        return int(self.process.num_fds())

    def is_unharmed(self, descriptors: int) -> None:
        """It answers, has nothing to say, and holds no more descriptors than before."""
        with httpx.Client(trust_env=False) as client:
            assert client.get(f"http://127.0.0.1:{self.port}/health", timeout=30).status_code == 200
        logged = self.errors.read_text(errors="replace")
        assert logged == "", logged
        until(lambda: self.descriptors() <= descriptors + SPARE_FDS)


def received(client: socket.socket, end: bytes | None = None) -> bytes:
    """Return the bytes that come until a mark, or until the server closes; a reset ends them too."""
    answer = bytearray()
    with suppress(ConnectionError):
        while (end is None or end not in answer) and (some := client.recv(1 << 20)):
            answer += some
    return bytes(answer)


def reset(client: socket.socket) -> None:
    """Close as a program that died does."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def until(holds: object, seconds: float = 20) -> None:
    """Wait until a function says yes."""
    assert callable(holds)
    last = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < last
        time.sleep(0.02)


@contextmanager
def attacked(root: Path, *more: Path) -> Iterator[Attacked]:
    """`webemu serve` of the crawl and further WARC files, its stderr in a file."""
    errors = crawled(root, *more) / "errors.txt"
    command = [
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        "serve",
        "--root",
        str(root),
        "--collection",
        "c",
        "--port",
        "0",
    ]
    # On a busy machine requests are slow, and would be logged.
    environment = os.environ | {"WEBEMU_SLOW_MS": "0"}
    with errors.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        server = Attacked(port, root / "ca" / "ca.pem", psutil.Process(process.pid), errors)
        for path in (b"/", b"/big", b"/nowhere"):
            server.ask(b"GET https://a.example%s HTTP/1.1\r\nHost: a.example\r\n\r\n" % path)
        yield server
    finally:
        process.terminate()
        process.wait(30)
