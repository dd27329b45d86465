"""TLS between a connection and the protocol inside it, built on `ssl.SSLObject`.

asyncio's own TLS ends the connection when the client has sent everything, although the client may still read (RFC
8446, section 6.1). It also sends no alerts, and cannot take bytes that were received before.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress

from webemu.api.proxy import idle_connections
from webemu.api.proxy.client_hello import read_server_name
from webemu.api.proxy.idle_connections import Connections, IdleConnection

_READ_BYTES = 16 << 10
"""Bytes per read, which is one TLS record. A larger buffer would be allocated from and returned to the system each
time.
"""
_MAX_PENDING_BYTES = 256 << 10
"""Encrypted bytes that are collected before they are sent."""


class TlsTransport(IdleConnection, asyncio.Transport):
    """Protocol of a plain connection, and transport of the protocol inside TLS."""

    def __init__(
        self,
        connections: Connections,
        make_protocol: Callable[[bytes], asyncio.Protocol],
        tls_context: Callable[[str], ssl.SSLContext],
        name: str,
    ) -> None:
        """Prepare the handshake.

        `make_protocol` creates the inner protocol from the host name that the client asked for, by default
        `name`.
        """
        super().__init__(connections, idle_connections.HANDSHAKE_SECONDS)
        self._make_protocol, self._tls_context, self._name = make_protocol, tls_context, name
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._protocol: asyncio.Protocol | None = None
        self._is_closing = False
        self._has_ended = False

    # As the protocol of the connection

    def data_received(self, data: bytes) -> None:
        if self._is_closing or self._has_ended:
            return
        if self._tls is None:
            self.buffer += data
            if (name := read_server_name(self.buffer)) is None:
                return
            self._name = name or self._name
            self._tls = self._tls_context(self._name).wrap_bio(self._incoming, self._outgoing, server_side=True)
            data, self.buffer = self.buffer, b""
        self._incoming.write(data)
        if self._protocol or self._do_handshake(self._tls):
            self._receive(self._tls)

    def _do_handshake(self, tls: ssl.SSLObject) -> bool:
        """Continue the handshake; return True once it is done."""
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        except ssl.SSLError:
            self._fail()
            return False
        self._flush()
        self.release()
        self._protocol = self._make_protocol(self._name.encode())
        self._protocol.connection_made(self)
        return True

    def _receive(self, tls: ssl.SSLObject) -> None:
        """Pass decrypted bytes to the inner protocol."""
        try:
            while not self._is_closing and (data := tls.read(_READ_BYTES)):
                self.get_protocol().data_received(data)
        except ssl.SSLWantReadError:
            if self._outgoing.pending:
                self._flush()
        except ssl.SSLError:
            self._fail()
        else:
            self._receive_eof()

    def eof_received(self) -> bool:
        if self._protocol:
            self._receive_eof()
        return bool(self._protocol) and not self._is_closing

    def _receive_eof(self) -> None:
        """Tell the inner protocol that the client sends no more."""
        if not (self._has_ended or self._is_closing):
            self._has_ended = True
            if not self.get_protocol().eof_received():
                self.close()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._is_closing = True
        if self._protocol:
            self._protocol.connection_lost(error)

    def pause_writing(self) -> None:
        if self._protocol:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._protocol:
            self._protocol.resume_writing()

    # As the transport of the protocol inside

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or self._tls is None:
            return
        remaining = memoryview(data)
        try:
            while remaining:
                remaining = remaining[self._tls.write(remaining) :]
                if self._outgoing.pending > _MAX_PENDING_BYTES:
                    self._flush()
        except ssl.SSLError:
            self._fail()
        else:
            self._flush()

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        with suppress(ssl.SSLError):  # it wants to read the client's close_notify, which we do not wait for
            if self._tls:
                self._tls.unwrap()
        self._flush()
        self.transport.close()

    def abort(self) -> None:
        self._is_closing = True
        self.transport.abort()

    def is_closing(self) -> bool:
        return self._is_closing

    def get_protocol(self) -> asyncio.Protocol:
        assert self._protocol is not None
        return self._protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def get_extra_info(self, name: str, default: object = None) -> object:
        if name == "sslcontext":
            return self._tls and self._tls.context
        return self._tls if name == "ssl_object" else self.transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        if not self._is_closing:
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_closing:
            self.transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self.transport.get_write_buffer_size()

    def can_write_eof(self) -> bool:  # TLS cannot end one direction alone
        return False

    def _flush(self) -> None:
        """Send the encrypted bytes collected so far."""
        if self._outgoing.pending:
            self.transport.write(self._outgoing.read())

    def _fail(self) -> None:
        """Send the TLS alert and close the connection."""
        self._is_closing = True
        self._flush()
        self.transport.close()
