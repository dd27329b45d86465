"""Minimal HTTP/1.1: requests written in one piece, responses parsed by `httptools`.

It has no TLS, redirects or cookies. `async_pool` (event loops) and `blocking` (threads) do the sending; requests that
are not plain enough go through httpx.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

import httpx
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from webemu.agent_client.address import Address
from webemu.agent_client.raw_response import HeaderList, RawResponse

MAX_HEADER_BYTES = 1 << 20
"""Maximum size of response headers; those of recorded responses travel in them."""
MAX_IDLE_SECONDS = 15.0
"""Seconds after which an idle connection is not reused: the server may close it while a request is on its way."""
MAX_TARGET_CHARS = 60_000
"""Longest request target, in characters. Longer URLs go through httpx, which reports the error."""
_PLAIN_TARGET = re.compile(r"/(?!.*/\.)[\w/?&=%+.~:,;@!$'()*-]*", re.ASCII)
"""Request targets that need no escaping or path normalisation."""
_NON_PRINTABLE = re.compile(r"[^ -~]")


class RequestWriter:
    """Encodes requests to one server."""

    def __init__(self, server: Address, headers: Mapping[str, str]) -> None:
        base = httpx.URL(server.url)
        self.host, self.port = base.host, base.port or 80
        self.is_supported = bool(
            base.scheme == "http" and base.host and not base.userinfo and not base.query and not base.fragment
        ) and not any(map(_NON_PRINTABLE.search, headers.values()))
        """True if this module can talk to the server: plain HTTP, and headers of printable ASCII."""
        self._name, self._prefix = server.name, base.raw_path.decode().rstrip("/")
        lines = [f"{name}: {value}\r\n" for name, value in {"Host": base.netloc.decode(), **headers}.items()]
        self._head = " HTTP/1.1\r\n" + "".join(lines)

    @staticmethod
    def accepts_target(path: str) -> bool:
        """True if a path can be sent as it is written."""
        return len(path) < MAX_TARGET_CHARS and _PLAIN_TARGET.fullmatch(path) is not None

    def encode_request(self, path: str, body: bytes | None) -> bytes:
        """Return the bytes of a GET, or of a POST if there is a body."""
        target = self._prefix + path
        if body is None:
            return f"GET {target}{self._head}\r\n".encode()
        return f"POST {target}{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def build_response(
        self, path: str, status: int, fields: HeaderList, content: bytes
    ) -> RawResponse | httpx.Response:
        """Return the response. An unrequested content coding is left to httpx to decode."""
        if any(name.lower() == b"content-encoding" for name, _ in fields):
            return httpx.Response(status, headers=fields, content=content, request=httpx.Request("GET", self._name))
        return RawResponse(self._name + path, status, fields, content)


class ResponseReader(ABC):
    """Parses consecutive responses from bytes as they arrive."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self.is_open = True
        """True if another request may follow on the connection."""
        self.on_message_begin()

    def feed(self, data: bytes) -> None:
        """Feed received bytes; `on_response` is called for each complete response. Raises httpx.RemoteProtocolError."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise httpx.RemoteProtocolError(f"the response is not valid HTTP/1.1: {error}") from error

    def feed_end(self) -> None:
        """Handle the end of the connection. Raises httpx.RemoteProtocolError if it cuts a response off."""
        header_names = {name.lower() for name, _ in self._fields}
        if self._in_headers or header_names & {b"content-length", b"transfer-encoding"}:  # RFC 9112, section 6.3
            raise httpx.RemoteProtocolError("the connection ended before the response was complete")
        self._finish_response(self._parser.get_status_code())

    @abstractmethod
    def on_response(self, status: int, fields: HeaderList, content: bytes) -> None:
        """Handle a complete response."""

    def _finish_response(self, status: int) -> None:
        self.on_response(status, self._fields, b"".join(self._pieces))

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        """Reset the state for a new response."""
        self._fields: HeaderList = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._in_headers = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header. Raises ValueError if the headers become too large."""
        if self._in_headers:  # trailers of a chunked body are ignored
            self._fields.append((name, value))
            self._size += len(name) + len(value)
            if self._size > MAX_HEADER_BYTES:
                raise ValueError(f"the response headers exceed {MAX_HEADER_BYTES} bytes")

    def on_headers_complete(self) -> None:
        self._in_headers = False

    def on_body(self, body: bytes) -> None:
        """Store a piece of the body."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Deliver the response unless it is an interim one (1xx)."""
        status = self._parser.get_status_code()
        if status < 200:  # interim responses; the final one follows (RFC 9110, section 15.2)
            return
        self.is_open = self.is_open and self._parser.should_keep_alive()
        self._finish_response(status)
