"""HTTP server of a run's report, for this machine alone. The page is rendered again when the run has written
something.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from webemu.rl.train.report import page_version, render_page

HOST, REFRESH_SECONDS = "127.0.0.1", 3.0
"""Address to listen on, and seconds between two refreshes of an open page."""


class ReportServer(ThreadingHTTPServer):
    """Server of the report of one run.

    ReportServer(Path("runs/tiny"), port=8095).serve_forever()
    """

    daemon_threads = True

    def __init__(self, run: Path, port: int, steps: Sequence[int] = ()) -> None:
        """Listen on a port; 0 takes any free one. `steps` are those whose episodes the page shows.

        Raises: OSError if the port is taken.
        """
        super().__init__((HOST, port), _Handler)
        self.run, self.steps = run, steps
        self.address = f"http://{HOST}:{self.server_address[1]}"
        self.allowed_hosts = {f"{name}:{self.server_address[1]}" for name in (HOST, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer

    def do_GET(self) -> None:
        """Serve the page at `/`, with an ETag that changes when the run writes something."""
        if (
            self.headers.get("Host") not in self.server.allowed_hosts
        ):  # DNS rebinding: a foreign page under a name that now points to this machine
            return self._reply(HTTPStatus.FORBIDDEN)
        if self.path.partition("?")[0] != "/":
            return self._reply(HTTPStatus.NOT_FOUND)
        tag = f'"{page_version(self.server.run)}"'
        if self.headers.get("If-None-Match") == tag:
            return self._reply(HTTPStatus.NOT_MODIFIED, tag=tag)
        body = render_page(self.server.run, self.server.steps, REFRESH_SECONDS)
        return self._reply(HTTPStatus.OK, body.encode("utf-8", "replace"), tag)

    def _reply(self, status: HTTPStatus, body: bytes = b"", tag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: an open page sends a request every few seconds."""
