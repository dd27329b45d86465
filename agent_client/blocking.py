"""A blocking connection of one thread to one server, over TCP or a Unix socket; `async_pool` is its twin for event
loops.

No request is ever sent twice. Errors are those of httpx. Not thread-safe.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from select import POLLIN, poll

import httpx

from webemu.agent_client.address import Address
from webemu.agent_client.http1 import IDLE, Reader, Writer
from webemu.agent_client.raw_response import Fields, Received

_PIECE = 1 << 16


class Line:
    """Sends one request after another over a connection that is kept open."""

    def __init__(self, server: Address, writer: Writer, timeout: float) -> None:
        self._server, self._writer, self._timeout = server, writer, timeout
        self._connection: _Connection | None = None

    def ask(self, path: str, body: bytes | None) -> Received | httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        connection = self._connection
        if connection is None or not connection.is_usable():
            self.close()
            connection = self._connection = _Connection(self._opened())
        try:
            found = connection.ask(self._writer.request(path, body))
        except BaseException:  # KeyboardInterrupt too: a late response must not answer the next request
            self.close()
            raise
        if not connection.is_open:
            self.close()
        return self._writer.answer(path, *found)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _opened(self) -> socket.socket:
        """Return a connected socket. Raises httpx.ConnectTimeout or httpx.ConnectError."""
        try:
            if not self._server.path:
                made = socket.create_connection((self._writer.host, self._writer.port), self._timeout)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.settimeout(self._timeout)
            try:
                made.connect(self._server.path)
            except OSError:
                made.close()
                raise
            return made
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._timeout:g} seconds") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error


class _Connection(Reader):
    """An open connection and the parser of its responses."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__()
        self._socket = connected
        self._process = os.getpid()
        self._since = time.monotonic()
        self._found: tuple[int, Fields, bytes] | None = None
        self._poll = poll()
        self._poll.register(connected, POLLIN)

    def is_usable(self) -> bool:
        """True if the connection belongs to this process (not to a parent), is fresh, and nothing arrived unasked,
        such as its end.
        """
        is_fresh = time.monotonic() - self._since < IDLE
        return is_fresh and self._process == os.getpid() and not self._poll.poll(0)

    def ask(self, request: bytes) -> tuple[int, Fields, bytes]:
        """Return status, headers and body. The timeout limits silence, not the whole exchange."""
        self._found = None
        try:
            rest = memoryview(request)
            while rest:
                rest = rest[self._socket.send(rest) :]
            while self._found is None:
                if data := self._socket.recv(_PIECE):
                    self.read(data)
                else:
                    self.is_open = False
                    self.end()
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"no data for {self._socket.gettimeout():g} seconds") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        self._since = time.monotonic()
        return self._found

    def close(self) -> None:
        """Close the socket and wake a thread that waits for it; a parent process keeps its connection."""
        self.is_open = False
        if self._process == os.getpid():  # shutdown would also end the connection of a parent process
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def answered(self, status: int, fields: Fields, content: bytes) -> None:
        """Store the response; one that was not requested makes the connection unusable."""
        if self._found is not None:  # a response that was not requested
            self.is_open = False
            return
        self._found = (status, fields, content)
