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
from webemu.agent_client.http1 import MAX_IDLE_SECONDS, RequestWriter, ResponseReader
from webemu.agent_client.raw_response import HeaderList, RawResponse

_RECEIVE_BYTES = 1 << 16


class BlockingConnection:
    """Sends one request after another over a connection that is kept open."""

    def __init__(self, server: Address, writer: RequestWriter, timeout: float) -> None:
        self._server, self._writer, self._timeout = server, writer, timeout
        self._connection: _Connection | None = None

    def send(self, path: str, body: bytes | None) -> RawResponse | httpx.Response:
        """Return the response. Raises httpx.RequestError."""
        connection = self._connection
        if connection is None or not connection.is_usable():
            self.close()
            connection = self._connection = _Connection(self._connect())
        try:
            response = connection.send(self._writer.encode_request(path, body))
        except BaseException:  # KeyboardInterrupt too: a late response must not answer the next request
            self.close()
            raise
        if not connection.is_open:
            self.close()
        return self._writer.build_response(path, *response)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> socket.socket:
        """Return a connected socket. Raises httpx.ConnectTimeout or httpx.ConnectError."""
        try:
            if not self._server.path:
                sock = socket.create_connection((self._writer.host, self._writer.port), self._timeout)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(self._timeout)
            try:
                sock.connect(self._server.path)
            except OSError:
                sock.close()
                raise
            return sock
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection within {self._timeout:g} seconds") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error


class _Connection(ResponseReader):
    """An open connection and the parser of its responses."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket = sock
        self._process = os.getpid()
        self._since = time.monotonic()
        self._response: tuple[int, HeaderList, bytes] | None = None
        self._poll = poll()
        self._poll.register(sock, POLLIN)

    def is_usable(self) -> bool:
        """True if the connection belongs to this process (not to a parent), is fresh, and nothing arrived unasked,
        such as its end.
        """
        is_fresh = time.monotonic() - self._since < MAX_IDLE_SECONDS
        return is_fresh and self._process == os.getpid() and not self._poll.poll(0)

    def send(self, request: bytes) -> tuple[int, HeaderList, bytes]:
        """Return status, headers and body. The timeout limits silence, not the whole exchange."""
        self._response = None
        try:
            unsent = memoryview(request)
            while unsent:
                unsent = unsent[self._socket.send(unsent) :]
            while self._response is None:
                if data := self._socket.recv(_RECEIVE_BYTES):
                    self.feed(data)
                else:
                    self.is_open = False
                    self.feed_end()
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"no data for {self._socket.gettimeout():g} seconds") from error
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        self._since = time.monotonic()
        return self._response

    def close(self) -> None:
        """Close the socket and wake a thread that waits for it; a parent process keeps its connection."""
        self.is_open = False
        if self._process == os.getpid():  # shutdown would also end the connection of a parent process
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def on_response(self, status: int, fields: HeaderList, content: bytes) -> None:
        """Store the response; one that was not requested makes the connection unusable."""
        if self._response is not None:  # a response that was not requested
            self.is_open = False
            return
        self._response = (status, fields, content)
