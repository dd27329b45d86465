"""Connections that nobody serves: those that have not yet said what they want, and those that were refused."""

from __future__ import annotations

import asyncio
from typing import Any, cast

MAX_HEAD = 64 << 10
"""Bytes of a request's head; a connection is also refused that sends so many without anything coming of them."""
HEAD_SECONDS = 20.0
"""From the connection's begin, or the end of a handshake, to the end of the first head; the same for later ones."""
HANDSHAKE_SECONDS = 10.0
"""From CONNECT to the first byte in the tunnel, and from the first byte of TLS to the end of its handshake."""
LEAVE_SECONDS = 2.0


class Waiting(asyncio.Protocol):
    """A connection that has not yet said what it wants; uvicorn closes it with the others."""

    def __init__(self, connections: Any, seconds: float) -> None:
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
        self.transport.close()

    def release(self) -> None:
        """From now on somebody else looks after the connection."""
        self._connections.discard(self)
        if self._timer:
            self._timer.cancel()

    def hand_over(self, protocol: asyncio.Protocol) -> None:
        """To a protocol that has seen nothing of it: it gets all that was received."""
        self.release()
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        if self.buffer:
            protocol.data_received(self.buffer)


class Leaving(Waiting):
    """A refused connection. What its client still sends is read for a while: closed at once, TCP would reset the
    connection and take the refusal back (RFC 9112, section 9.6)."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.resume_reading()
        self.transport.write_eof()


def refuse(transport: asyncio.Transport, connections: Any, status: bytes, reason: bytes) -> None:
    """Say so, and close."""
    if transport.is_closing():
        return
    transport.write(
        b"HTTP/1.1 %s\r\nX-Webemu-Reason: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (status, reason)
    )
    if transport.can_write_eof():
        leaving = Leaving(connections, LEAVE_SECONDS)
        transport.set_protocol(leaving)
        leaving.connection_made(transport)
    else:
        transport.close()
