"""The page of a run over HTTP on this machine alone; made anew when the run has written something."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from webemu.rl.train.report import page, state

HOST, SECONDS = "127.0.0.1", 3.0
"""`SECONDS` between two looks of an open page."""


class Live(ThreadingHTTPServer):
    """Serves one run."""

    daemon_threads = True

    def __init__(self, run: Path, port: int, steps: Sequence[int] = ()) -> None:
        """Port 0 is any. Raises OSError where the port is taken."""
        super().__init__((HOST, port), _Handler)
        self.run, self.steps = run, steps
        self.address = f"http://{HOST}:{self.server_address[1]}"
        self.hosts = {f"{name}:{self.server_address[1]}" for name in (HOST, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    server: Live

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.hosts:  # a page of elsewhere whose name now leads here
            return self._reply(HTTPStatus.FORBIDDEN)
        if self.path.partition("?")[0] != "/":
            return self._reply(HTTPStatus.NOT_FOUND)
        tag = f'"{state(self.server.run)}"'
        if self.headers.get("If-None-Match") == tag:
            return self._reply(HTTPStatus.NOT_MODIFIED, tag=tag)
        body = page(self.server.run, self.server.steps, SECONDS)
        return self._reply(HTTPStatus.OK, body.encode("utf-8", "replace"), tag)

    def _reply(self, status: HTTPStatus, body: bytes = b"", tag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: a page that is open asks every few seconds."""
