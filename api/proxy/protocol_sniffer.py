"""The first protocol of every connection: by its first bytes it is TLS, a tunnel's, or plain HTTP.

CONNECT and TLS are for the emulated web, and so are absolute-form requests (`GET http://host/`) and those for a host of
the web; all else is for the API. TLS is ended here with a certificate for the name the client asks for.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from webemu.api.proxy import idle_connections
from webemu.api.proxy.client_hello import HANDSHAKE
from webemu.api.proxy.http_protocol import BAD, TOO_LARGE, AtOnce, Wire
from webemu.api.proxy.idle_connections import Waiting, refuse
from webemu.api.proxy.target import authority
from webemu.api.proxy.tls import Tls
from webemu.api.runtime.load_shedding import waited

STALL_SECONDS = 120
"""How long a client may take nothing of an answer."""
_CREDENTIALS = re.compile(rb"\nProxy-Authorization:[ \t]*([^\r\n]*)", re.IGNORECASE)
_END = re.compile(rb"\r?\n\r?\n")
_CONNECT = re.compile(rb"CONNECT ([^\s]+) HTTP/1\.[01]\r?\n")
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
UNKNOWN = (b"502 Bad Gateway", b"host-not-captured")


@dataclass(frozen=True, slots=True)
class Doors:
    """What an app offers to the doors, as its attribute `doors`."""

    web: Any
    """ASGI app of the emulated web."""
    knows: Callable[[str], bool]
    """Whether a name resolves there."""
    context: Callable[[str], ssl.SSLContext]
    """The TLS context of a name."""
    at_once: AtOnce
    """Answers a GET of the API that has nothing to wait for."""
    began: float = 0.0
    """When the app was ready, by `perf_counter`: what came before could not be answered yet."""


class Gate(Waiting):
    """Made by uvicorn for each connection in the place of its own protocol."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any], _loop: object = None
    ) -> None:
        super().__init__(server_state.connections, idle_connections.HEAD_SECONDS)
        self._doors: Doors = config.loaded_app.doors
        doors = self._doors
        self._wire = partial(Wire, config, server_state, app_state, doors.web, doors.knows, doors.at_once)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if option := getattr(socket, "TCP_USER_TIMEOUT", None):  # Linux alone has it
            with suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, STALL_SECONDS * 1000)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.buffer[0] == HANDSHAKE:
            here = self.transport.get_extra_info("sockname")
            name = str(here[0]) if isinstance(here, tuple) else "localhost"  # the path of a Unix socket is no name
            self.hand_over(Tls(self._connections, self._wire, self._doors.context, name))
            return
        if self.buffer[0] in b"\r\n":  # RFC 9112, section 2.2
            self.buffer = self.buffer.lstrip(b"\r\n")
        if not self.buffer.startswith(b"CONNECT "[: len(self.buffer)]):
            wire = self._wire()
            wire.waited = waited(self.transport, self._doors.began)
            self.hand_over(wire)
            return
        end = _END.search(self.buffer, max(0, len(self.buffer) - len(data) - 3))
        if (end.end() if end else len(self.buffer)) > idle_connections.MAX_HEAD:
            self._refuse(*TOO_LARGE)
        elif end:
            head, self.buffer = self.buffer[: end.end()], self.buffer[end.end() :]
            self._connect(head)

    def _connect(self, head: bytes) -> None:
        asked = _CONNECT.match(head)
        host = authority(asked[1])[0] if asked else ""
        if asked is None or not host:
            self._refuse(*BAD)
        elif not self._doors.knows(host):
            self._refuse(*UNKNOWN)
        else:
            self.transport.write(ESTABLISHED)
            credentials = found[1] if (found := _CREDENTIALS.search(head)) else b""
            wire = partial(self._wire, credentials=credentials)
            self.hand_over(Tunnel(self._connections, wire, self._doors.context, host))

    def _refuse(self, status: bytes, reason: bytes) -> None:
        self.release()
        refuse(self.transport, self._connections, status, reason)


class Tunnel(Waiting):
    """What follows CONNECT: mostly TLS, but some clients (undici) also tunnel plain HTTP."""

    def __init__(
        self,
        connections: Any,
        wire: Callable[[bytes], asyncio.Protocol],
        context: Callable[[str], ssl.SSLContext],
        host: str,
    ) -> None:
        super().__init__(connections, idle_connections.HANDSHAKE_SECONDS)
        self._wire, self._context, self._host = wire, context, host

    def data_received(self, data: bytes) -> None:
        self.buffer = data
        if data[0] == HANDSHAKE:
            self.hand_over(Tls(self._connections, self._wire, self._context, self._host))
        else:
            self.hand_over(self._wire(self._host.encode()))
