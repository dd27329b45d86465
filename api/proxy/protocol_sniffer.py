"""First protocol of every connection: its first bytes decide whether it is TLS, a CONNECT tunnel, or plain HTTP.

CONNECT and TLS lead to the emulated web, and so do absolute-form requests (`GET http://host/`) and requests for a host
of the web. Everything else is for the API. TLS is ended here, with a certificate for the name that the client asks
for.
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

from uvicorn.config import Config
from uvicorn.server import ServerState

from webemu.api.http.errors import AsgiApp
from webemu.api.proxy import idle_connections
from webemu.api.proxy.client_hello import HANDSHAKE
from webemu.api.proxy.http_protocol import BAD_REQUEST, HEAD_TOO_LARGE, HttpProtocol, TryInline
from webemu.api.proxy.idle_connections import Connections, IdleConnection, refuse
from webemu.api.proxy.target import parse_authority
from webemu.api.proxy.tls import TlsTransport
from webemu.api.runtime.load_shedding import socket_queue_seconds

STALL_SECONDS = 120
"""Seconds after which a connection is closed whose client takes nothing of a response."""
_CREDENTIALS = re.compile(rb"\nProxy-Authorization:[ \t]*([^\r\n]*)", re.IGNORECASE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CONNECT = re.compile(rb"CONNECT ([^\s]+) HTTP/1\.[01]\r?\n")
CONNECTION_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
HOST_NOT_CAPTURED = (b"502 Bad Gateway", b"host-not-captured")


@dataclass(frozen=True, slots=True)
class ProxyHooks:
    """Functions of the application that the protocols need; they find them in its attribute `doors`."""

    web: AsgiApp
    """ASGI app of the emulated web."""
    is_captured_host: Callable[[str], bool]
    """True if a host name resolves on the emulated web."""
    tls_context: Callable[[str], ssl.SSLContext]
    """Returns the TLS context of a host name."""
    try_inline: TryInline
    """Answers a GET of the API on the event loop, or returns None."""
    ready_at: float = 0.0
    """Time by `perf_counter` when the application was ready: a request that arrived before could not be answered yet.
    """


class ProtocolSniffer(IdleConnection):
    """Protocol that uvicorn creates for each connection, in place of its own HTTP protocol."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, object], _loop: object = None
    ) -> None:
        super().__init__(server_state.connections, idle_connections.HEAD_SECONDS)
        self._hooks: ProxyHooks = config.loaded_app.doors
        hooks = self._hooks
        self._make_protocol = partial(
            HttpProtocol, config, server_state, app_state, hooks.web, hooks.is_captured_host, hooks.try_inline
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer of the first request, and let Linux end connections whose client takes no data."""
        super().connection_made(transport)
        if option := getattr(socket, "TCP_USER_TIMEOUT", None):  # Linux only
            with suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, option, STALL_SECONDS * 1000)

    def data_received(self, data: bytes) -> None:
        """Collect bytes until they tell the protocol, then hand the connection over."""
        self.buffer += data
        if self.buffer[0] == HANDSHAKE:
            local_address = self.transport.get_extra_info("sockname")
            name = (
                str(local_address[0]) if isinstance(local_address, tuple) else "localhost"
            )  # a Unix socket has a path instead
            self.hand_over(TlsTransport(self._connections, self._make_protocol, self._hooks.tls_context, name))
            return
        if self.buffer[0] in b"\r\n":  # empty lines before a request, RFC 9112, section 2.2
            self.buffer = self.buffer.lstrip(b"\r\n")
        if not self.buffer.startswith(b"CONNECT "[: len(self.buffer)]):
            protocol = self._make_protocol()
            protocol.queued_seconds = socket_queue_seconds(self.transport, self._hooks.ready_at)
            self.hand_over(protocol)
            return
        # Search again from just before the new bytes: the end of the head may straddle two reads.
        end = _HEAD_END.search(self.buffer, max(0, len(self.buffer) - len(data) - 3))
        if (end.end() if end else len(self.buffer)) > idle_connections.MAX_HEAD_BYTES:
            self._refuse(*HEAD_TOO_LARGE)
        elif end:
            head, self.buffer = self.buffer[: end.end()], self.buffer[end.end() :]
            self._open_tunnel(head)

    def _open_tunnel(self, head: bytes) -> None:
        """Open a tunnel to a captured host, or refuse it."""
        match = _CONNECT.match(head)
        host = parse_authority(match[1])[0] if match else ""
        if match is None or not host:
            self._refuse(*BAD_REQUEST)
        elif not self._hooks.is_captured_host(host):
            self._refuse(*HOST_NOT_CAPTURED)
        else:
            self.transport.write(CONNECTION_ESTABLISHED)
            credentials = credentials_match[1] if (credentials_match := _CREDENTIALS.search(head)) else b""
            make_protocol = partial(self._make_protocol, credentials=credentials)
            self.hand_over(ConnectTunnel(self._connections, make_protocol, self._hooks.tls_context, host))

    def _refuse(self, status: bytes, reason: bytes) -> None:
        self.release()
        refuse(self.transport, self._connections, status, reason)


class ConnectTunnel(IdleConnection):
    """Connection after CONNECT. Most clients start TLS in it, but some (undici) also tunnel plain HTTP."""

    def __init__(
        self,
        connections: Connections,
        make_protocol: Callable[[bytes], asyncio.Protocol],
        tls_context: Callable[[str], ssl.SSLContext],
        host: str,
    ) -> None:
        super().__init__(connections, idle_connections.HANDSHAKE_SECONDS)
        self._make_protocol, self._tls_context, self._host = make_protocol, tls_context, host

    def data_received(self, data: bytes) -> None:
        """Hand the connection over to TLS or HTTP, by its first byte."""
        self.buffer = data
        if data[0] == HANDSHAKE:
            self.hand_over(TlsTransport(self._connections, self._make_protocol, self._tls_context, self._host))
        else:
            self.hand_over(self._make_protocol(self._host.encode()))
