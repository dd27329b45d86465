"""Response of one request, changed from uvicorn's: it has a reason phrase, and may break its connection.

ASGI has no place for a reason phrase, and uvicorn writes header names in lower case. A response that brings a `reason`
is written here as it is; this server's `own` responses also get the default headers (date).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import NotRequired, TypedDict, cast
from weakref import ref

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from webemu.api.http.response import Header

_BODILESS_STATUSES = (204, 304)
"""Statuses whose responses have no body."""


def render_head(status: int, reason: bytes, headers: Iterable[Header], is_last: bool) -> bytes:
    """Return the status line and headers of a response. `is_last` adds `Connection: close`."""
    lines = [b"HTTP/1.1 %d %s\r\n" % (status, reason)]
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    lines.append(b"Connection: close\r\n\r\n" if is_last else b"\r\n")
    return b"".join(lines)


class ResponseStart(TypedDict):
    """ASGI message that begins a response with a reason phrase."""

    status: int
    reason: bytes
    headers: Iterable[Header]
    has_default_headers: NotRequired[bool]
    """True for this server's own responses, which get the default headers."""


class BufferedResponseCycle(RequestResponseCycle):
    """A request and its response. A response with a reason is sent in one piece, which saves a system call."""

    _pending_head = b""

    def send(self, message: Mapping[str, object]) -> Coroutine[object, None, None]:
        """Take one ASGI message of the response."""
        if self.waiting_for_100_continue:  # the client may or may not send the body (RFC 9110, section 10.1.1)
            self.keep_alive = False
        if "reason" in message:
            return self._start_response(cast(ResponseStart, message))
        if self._pending_head:
            return self._finish_response(cast(bytes, message["body"]))
        return super().send(cast(ASGISendEvent, message))

    def break_connection(self, by_reset: bool) -> None:
        """End the connection, whatever was promised: at once by a reset (RFC 9293, section 3.5.3), or after everything
        is sent.
        """
        self.disconnected = True
        if not by_reset:
            self.transport.close()
            return
        if (connection := self.transport.get_extra_info("socket")) is not None:
            # Lingering for 0 seconds makes close() send a reset.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    async def _start_response(self, message: ResponseStart) -> None:
        """Keep the head of a response until its body comes."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        self.response_started = True
        self.waiting_for_100_continue = False
        self._has_body = message["status"] not in _BODILESS_STATUSES
        default_headers = self.default_headers if message.get("has_default_headers") else []
        headers = (*default_headers, *message["headers"])
        self._pending_head = render_head(message["status"], message["reason"], headers, not self.keep_alive)

    async def _finish_response(self, body: bytes) -> None:
        """Send head and body together."""
        if self.disconnected:
            return
        self.transport.writelines((self._pending_head, body) if self._has_body else (self._pending_head,))
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


def weak_break_connection(cycle: BufferedResponseCycle) -> Callable[[bool], None]:
    """Return a function that ends the connection of a cycle, without a strong reference to the cycle.

    The function is stored in the scope, which the cycle holds: a strong reference would be circular.
    """
    cycle_ref = ref(cycle)

    def break_connection(by_reset: bool) -> None:
        if (live_cycle := cycle_ref()) is not None:
            live_cycle.break_connection(by_reset)

    return break_connection
