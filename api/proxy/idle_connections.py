"""Connections without a running request: those whose protocol is still unknown, and those that were refused."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol, cast

MAX_HEAD_BYTES = 64 << 10
"""Bytes of a request head. A connection is also refused after so many bytes that yield nothing."""
HEAD_SECONDS = 20.0
"""Seconds from the start of a connection, or the end of its TLS handshake, to the end of the first request head; later
heads have the same time.
"""
HANDSHAKE_SECONDS = 10.0
"""Seconds from CONNECT to the first byte in the tunnel, and from the first byte of TLS to the end of its handshake."""
LINGER_SECONDS = 2.0
"""Seconds for which a refused connection is still read."""


class Connections(Protocol):
    """The set of open connections of uvicorn's server, which is typed for uvicorn's own protocols alone."""

    def add(self, connection: Any, /) -> None:
        """Add a connection, so that it is shut down with the server."""

    def discard(self, connection: Any, /) -> None:
        """Remove a connection if it is in the set."""


class IdleConnection(asyncio.Protocol):
    """Connection whose protocol is still unknown. It is closed after some seconds, and by uvicorn when the server
    stops.
    """

    def __init__(self, connections: Connections, seconds: float) -> None:
        self._connections = connections
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self.transport: asyncio.Transport
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._connections.add(self)
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self.transport.abort)

    def connection_lost(self, error: Exception | None) -> None:
        self.release()

    def shutdown(self) -> None:
        """Close the connection. uvicorn calls this when the server stops."""
        self.transport.close()

    def release(self) -> None:
        """Stop looking after the connection: another protocol takes it over, or it is gone."""
        self._connections.discard(self)
        if self._timer:
            self._timer.cancel()

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """Give the connection to a new protocol, together with all bytes received so far."""
        self.release()
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if self.buffer:
            protocol.data_received(self.buffer)


class LingeringClose(IdleConnection):
    """Refused connection, whose client may still be sending.

    Its bytes are read and dropped for a while: if the connection were closed at once, TCP would reset it and the
    client might never see the refusal (RFC 9112, section 9.6).
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.resume_reading()
        self.transport.write_eof()


def refuse(transport: asyncio.Transport, connections: Connections, status: bytes, reason: bytes) -> None:
    """Send an empty error response and close the connection. `reason` is the value of `X-Webemu-Reason`."""
    if transport.is_closing():
        return
    transport.write(
        b"HTTP/1.1 %s\r\nX-Webemu-Reason: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (status, reason)
    )
    if transport.can_write_eof():
        lingering = LingeringClose(connections, LINGER_SECONDS)
        transport.set_protocol(lingering)
        lingering.connection_made(transport)
    else:
        transport.close()
