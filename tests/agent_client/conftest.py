"""A small real server that speaks docs/api.md over a real socket, and can be put in a bad mood."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

SNAPSHOT = "5d0c"


@dataclass
class SentRequest:
    method: str
    route: str
    parameters: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Web:
    """A stand-in server: the pages it holds and the requests that came."""

    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """URL to title and content."""
    moods: list[Any] = field(default_factory=list)
    """The way in which the next requests go wrong, in order: `reset`, `slow`, or (status, headers, body)."""
    requests: list[SentRequest] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    url: str = ""

    def answer(self, request: SentRequest) -> tuple[int, dict[str, str], bytes]:
        if request.route == "/health":
            return _json(200, {"status": "ok", "snapshot": SNAPSHOT})
        if request.route == "/v1/find":
            return self._judged(self._find, request.parameters)
        if request.route == "/v1/search":
            if request.method == "POST":
                return _json(200, _answers([self._search(q) for q in request.body["queries"]]))
            return _json(200, self._search(request.parameters))
        if request.parameters.get("format") == "raw":
            return self._raw(request.parameters["url"])
        if request.method == "POST":
            entries = [
                self._judged(self._page, one | {"format": request.body["format"]}) for one in request.body["urls"]
            ]
            return _json(200, _answers([json.loads(body) for _, _, body in entries]))
        return self._judged(self._page, request.parameters)

    def _judged(self, read: Any, parameters: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        url = parameters["url"]
        if url in self.pages:
            return _json(200, read(url, parameters))
        shape = {"status": 404, "reason": "url-not-captured", "message": f"{url} was not captured", "action": "search"}
        return _json(404, {"error": shape, "snapshot": SNAPSHOT})

    def _search(self, parameters: dict[str, Any]) -> dict[str, Any]:
        words = set(parameters["q"].lower().split())
        page, size = int(parameters.get("page", 1)), int(parameters.get("size", 10))
        scores = {
            url: len(words & set(f"{t} {t} {c}".lower().replace(".", " ").split()))
            for url, (t, c) in self.pages.items()
        }
        ranked = sorted((url for url in scores if scores[url]), key=lambda url: (-scores[url], url))
        page_urls = ranked[(page - 1) * size : page * size]
        results = [
            {"rank": rank, "url": url, "title": self.pages[url][0], "snippet": self.pages[url][1][:60],
             "date": "2024-11-30", "score": float(scores[url])}
            for rank, url in enumerate(page_urls, (page - 1) * size + 1)
        ]  # fmt: skip
        return {"query": parameters["q"], "page": page, "size": size, "as_of": parameters.get("as_of"),
                "snapshot": SNAPSHOT, "results": results, "more": len(ranked) > page * size}  # fmt: skip

    def _page(self, url: str, parameters: dict[str, Any]) -> dict[str, Any]:
        title, content = self.pages[url]
        start, length = int(parameters.get("start", 0)), int(parameters.get("length", 20000))
        end = start + length if 0 < length < len(content) - start else len(content)
        return {"url": url, "final_url": url, "redirects": [], "status": 200, "fetched": "2024-11-30T12:00:00Z",
                "mime": "text/html", "truncated": "", "title": title, "format": parameters["format"], "start": start,
                "length": length, "total": len(content), "line": content.count("\n", 0, start),
                "next": end if end < len(content) else None, "next_line": None, "content": content[start:end],
                "snapshot": SNAPSHOT}  # fmt: skip

    def _find(self, url: str, parameters: dict[str, Any]) -> dict[str, Any]:
        content, pattern = self.pages[url][1], parameters["pattern"]
        starts = [i for i in range(len(content)) if content[i:].lower().startswith(pattern.lower())]
        matches = [
            {"start": i, "line": content.count("\n", 0, i), "text": content[max(0, i - 20) : i + 40]} for i in starts
        ]
        return {"url": url, "final_url": url, "pattern": pattern, "total": len(starts),
                "matches": matches[: int(parameters["limit"])], "snapshot": SNAPSHOT}  # fmt: skip

    def _raw(self, url: str) -> tuple[int, dict[str, str], bytes]:
        headers = {"X-Webemu-Status": "404 Not Found", "X-Webemu-Url": url, "X-Webemu-Fetched": "2024-11-30T12:00:00Z",
                   "X-Webemu-Content-Encoding": "gzip", "X-Webemu-Snapshot": SNAPSHOT,
                   "X-Archive-Orig-Set-Cookie": "a=1", "x-archive-orig-set-cookie": "b=2",
                   "X-Archive-Orig-Content-Security-Policy": "x" * 20_000}  # fmt: skip
        return 200, headers, b"\x1f\x8b\x00\xff"


def _json(status: int, shape: Any) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/json"}, json.dumps(shape).encode()


def _answers(entries: list[Any]) -> dict[str, Any]:
    return {"snapshot": SNAPSHOT, "answers": entries}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    web: Web

    def setup(self) -> None:
        super().setup()
        self.web.connections += 1
        self.web.open_connections += 1

    def finish(self) -> None:
        super().finish()
        self.web.open_connections -= 1

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = SentRequest(
            self.command,
            parts.path,
            {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()},
            dict(self.headers.items()),
            json.loads(body) if body else None,
        )
        self.web.requests.append(request)
        mood = self.web.moods.pop(0) if self.web.moods else None
        if mood == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        if mood == "slow":
            time.sleep(1)
        self._send(*(mood if isinstance(mood, tuple) else self.web.answer(request)))

    do_GET = do_POST = _serve

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the tests."""


@pytest.fixture
def web() -> Iterator[Web]:
    served_web = Web()
    handler = type("Handler", (_Handler,), {"web": served_web})
    with _Server(("127.0.0.1", 0), handler) as server:
        served_web.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served_web
        server.shutdown()
        thread.join()
