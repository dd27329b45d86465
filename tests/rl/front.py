"""A door before a real server that fails for a while: 503, a lost connection before or after the work, slowness."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Trouble = Literal["503", "reset", "lost", "slow", "silent"]
"""`reset`: before the server is asked; `lost`: after it has answered. `silent`: nothing is ever answered."""


class Front(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, server: str, trouble: Trouble, count: int) -> None:
        """The first `count` requests of each kind meet the trouble."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.server_name_and_port, self.trouble, self.count = urlsplit(server).netloc, trouble, count
        self.request_counts: Counter[str] = Counter()
        self.lost: list[bytes] = []
        """Bodies of answers that were lost."""
        self.free: set[str] = set()
        """Kinds of requests that meet no trouble."""
        self.open_now, self.peak_open = 0, 0
        """Requests under way, and the most of them at a time."""
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""

    def meets_trouble(self, kind: str) -> bool:
        with self.lock:
            self.request_counts[kind] += 1
            return self.request_counts[kind] <= self.count and kind not in self.free


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Front

    def do_GET(self) -> None:
        front = self.server
        with front.lock:
            front.open_now += 1
            front.peak_open = max(front.peak_open, front.open_now)
        try:
            self._answer(front.trouble if front.meets_trouble(_kind(self.command, self.path)) else "")
        finally:
            with front.lock:
                front.open_now -= 1

    do_POST = do_GET

    def _answer(self, trouble: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if trouble == "503":
            self._send(503, b"busy", {"Retry-After": "0"})
        elif trouble == "reset":
            self._reset()
        elif trouble == "silent":
            time.sleep(600)
        else:
            time.sleep(1 if trouble == "slow" else 0)
            answer = self._forwarded(body)
            if trouble == "lost":
                self.server.lost.append(answer[1])
                self._reset()
            else:
                self._send(*answer)

    def _forwarded(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection(self.server.server_name_and_port, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            dropped = ("content-length", "connection", "transfer-encoding")
            reply_headers = {name: value for name, value in answer.getheaders() if name.lower() not in dropped}
            return answer.status, answer.read(), reply_headers
        finally:
            connection.close()

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def _kind(method: str, path: str) -> str:
    """`POST sessions`, `GET sessions`, `GET search`, `GET fetch`, `GET health`."""
    inner = path.partition("?")[0].split("/")
    return f"{method} {inner[4] if inner[1] == 's' else inner[2] if len(inner) > 2 else inner[1]}"


@contextmanager
def before(server: str, trouble: Trouble, count: int = 5) -> Iterator[Front]:
    front = Front(server, trouble, count)
    thread = threading.Thread(target=front.serve_forever, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        front.server_close()
