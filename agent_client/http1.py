"""HTTP/1.1 as plain as our servers need it: requests written in one piece, answers read by `httptools`.

No TLS, no redirects, no cookies. Who sends is `wire` (on an event loop) and `line` (in a thread).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

import httpx
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from webemu.agent_client.address import Address
from webemu.agent_client.raw_response import Fields, Received

HEADER_BYTES = 1 << 20
"""Of an answer's head: recorded headers go along in it."""
IDLE = 15.0
"""Seconds after which a connection is not used again: servers close theirs, and a request on its way would be lost."""
LONGEST = 60_000
"""Characters of a target. httpx has words for longer ones."""
_PLAIN = re.compile(r"/(?!.*/\.)[\w/?&=%+.~:,;@!$'()*-]*", re.ASCII)
_UNSEEN = re.compile(r"[^ -~]")


class Writer:
    """Requests to one server."""

    def __init__(self, server: Address, headers: Mapping[str, str]) -> None:
        base = httpx.URL(server.url)
        self.host, self.port = base.host, base.port or 80
        self.is_plain = bool(
            base.scheme == "http" and base.host and not base.userinfo and not base.query and not base.fragment
        ) and not any(map(_UNSEEN.search, headers.values()))
        """Whether the server can be asked so."""
        self._name, self._prefix = server.name, base.raw_path.decode().rstrip("/")
        lines = [f"{name}: {value}\r\n" for name, value in {"Host": base.netloc.decode(), **headers}.items()]
        self._head = " HTTP/1.1\r\n" + "".join(lines)

    @staticmethod
    def bears(path: str) -> bool:
        """Whether a path can be asked for as it is written."""
        return len(path) < LONGEST and _PLAIN.fullmatch(path) is not None

    def request(self, path: str, body: bytes | None) -> bytes:
        target = self._prefix + path
        if body is None:
            return f"GET {target}{self._head}\r\n".encode()
        return f"POST {target}{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def answer(self, path: str, status: int, fields: Fields, content: bytes) -> Received | httpx.Response:
        """What was received; httpx undoes a coding, though none was asked for."""
        if any(name.lower() == b"content-encoding" for name, _ in fields):
            return httpx.Response(status, headers=fields, content=content, request=httpx.Request("GET", self._name))
        return Received(self._name + path, status, fields, content)


class Reader(ABC):
    """One answer after the other, out of bytes as they come."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self.is_open = True
        """Whether another request may follow."""
        self.on_message_begin()

    def read(self, data: bytes) -> None:
        """Calls `answered` for each answer that is whole. Raises httpx.RemoteProtocolError."""
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            raise httpx.RemoteProtocolError(f"what came is no answer of HTTP/1.1: {error}") from error

    def end(self) -> None:
        """The connection has ended. Raises httpx.RemoteProtocolError where that is no end of an answer."""
        told = {name.lower() for name, _ in self._fields}
        if self._is_head or told & {b"content-length", b"transfer-encoding"}:  # RFC 9112, section 6.3
            raise httpx.RemoteProtocolError("the connection ended before the answer had come in whole")
        self._answer(self._parser.get_status_code())

    @abstractmethod
    def answered(self, status: int, fields: Fields, content: bytes) -> None:
        """An answer is there."""

    def _answer(self, status: int) -> None:
        self.answered(status, self._fields, b"".join(self._pieces))

    # Of the parser

    def on_message_begin(self) -> None:
        self._fields: Fields = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head:  # what follows a body in pieces is of no use
            self._fields.append((name, value))
            self._size += len(name) + len(value)
            if self._size > HEADER_BYTES:
                raise ValueError("the head is too large")

    def on_headers_complete(self) -> None:
        self._is_head = False

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:  # others follow (RFC 9110, section 15.2)
            return
        self.is_open = self.is_open and self._parser.should_keep_alive()
        self._answer(status)
