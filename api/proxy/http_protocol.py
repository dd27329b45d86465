"""uvicorn's HTTP protocol, for the web and the API alike: each request finds its app by whom it names.

ASGI has no place for a reason phrase and uvicorn writes names in lower case; an answer that brings a `reason` is
written here as it is, this server's `own` with the day. uvicorn bounds neither heads nor the patience with those who
send them, takes back answers on the way when a later request is broken, and closes on clients that have said all they
will; here not.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine, Iterable
from time import perf_counter
from typing import Any, cast
from weakref import ref

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from webemu.api.http.response import CUT, PHRASES, Answer, Header, all_headers
from webemu.api.proxy import idle_connections
from webemu.api.proxy.idle_connections import refuse
from webemu.api.proxy.target import absolute, authority, escaped
from webemu.api.runtime.load_shedding import ARRIVED
from webemu.api.services.own_hosts import PROXIED, is_own

Verdict = tuple[bytes, bytes]
"""Status line and reason of a refusal."""
BAD: Verdict = (b"400 Bad Request", b"bad-request")
TOO_LARGE: Verdict = (b"431 Request Header Fields Too Large", b"request-too-large")
VERSION: Verdict = (b"505 HTTP Version Not Supported", b"bad-version")
_BODILESS = (204, 304)
_LONG = frozenset((b"content-length", b"transfer-encoding", b"upgrade", b"expect"))
"""Headers with which there is more to a request than its head."""
AtOnce = Callable[[str, bytes, list[Header], float], Answer | None]
"""Given path, query string, headers, and for how many seconds the request has been here."""


def _head(status: int, reason: bytes, headers: Iterable[Header], is_last: bool) -> bytes:
    lines = [b"HTTP/1.1 %d %s\r\n" % (status, reason)]
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    lines.append(b"Connection: close\r\n\r\n" if is_last else b"\r\n")
    return b"".join(lines)


class WireCycle(RequestResponseCycle):
    """A request and its answer. One with a reason goes out in one piece: two would be two calls of the system."""

    _head = b""

    def send(self, message: Any) -> Coroutine[Any, Any, None]:
        if self.waiting_for_100_continue:  # whether the body will come, nobody knows (RFC 9110, section 10.1.1)
            self.keep_alive = False
        if "reason" in message:
            return self._begin(message)
        return self._end(message["body"]) if self._head else super().send(message)

    def cut(self, by_reset: bool) -> None:
        """End the connection, whatever was promised: at once and by a reset (RFC 9293, section 3.5.3), or once all is
        sent."""
        self.disconnected = True
        if not by_reset:
            self.transport.close()
            return
        if (connection := self.transport.get_extra_info("socket")) is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    async def _begin(self, message: Any) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        self.response_started = True
        self.waiting_for_100_continue = False
        self._has_body = message["status"] not in _BODILESS
        own = self.default_headers if message.get("own") else []
        headers = (*own, *message["headers"])
        self._head = _head(message["status"], message["reason"], headers, not self.keep_alive)

    async def _end(self, body: bytes) -> None:
        if self.disconnected:
            return
        self.transport.writelines((self._head, body) if self._has_body else (self._head,))
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


def _cut(cycle: WireCycle) -> Callable[[bool], None]:
    """Its method, without holding it: what is in its own scope would."""
    held = ref(cycle)

    def cut(by_reset: bool) -> None:
        if (one := held()) is not None:
            one.cut(by_reset)

    return cut


class Wire(HttpToolsProtocol):
    """A connection over plain TCP or TLS."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        web: Any,
        knows: Callable[[str], bool],
        at_once: AtOnce,
        tunnelled: bytes = b"",
        credentials: bytes | None = None,
    ) -> None:
        """`tunnelled`: whom CONNECT or TLS named. `credentials`: what CONNECT brought as `Proxy-Authorization`; it
        holds for all requests of the tunnel. None without CONNECT."""
        super().__init__(config, server_state, app_state)
        self._api, self._web, self._knows, self._at_once = self.app, web, knows, at_once
        self._tunnelled, self._credentials = tunnelled, credentials
        self._host, self._is_known = b"", False
        self._unused = 0
        """Bytes received of which nothing has come yet."""
        self._progress = self._noted = 0
        self.waited = 0.0
        """Seconds that its first request was here before anybody looked."""
        self._owes = True
        """Whether the client is to send more: its first request, or the rest of one."""
        self._is_in_line = True
        """Whether the first line of a request is to come, or to go on."""
        self._is_in_body = self._has_ended = self._is_done = False
        self._had_turn = False
        """True if a request of the last bytes was answered at once: those behind it wait for other clients."""
        self._verdict = BAD
        self._refusal: Verdict | None = None
        self._running: RequestResponseCycle | None = None
        self._timer: asyncio.TimerHandle | None = None

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._timer = self.loop.call_later(idle_connections.HEAD_SECONDS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._release()
        if self._running:
            self._disconnect(self._running)
        super().connection_lost(exc)
        # Cycle and connection hold each other, and the collector looks seldom at what lived as long as a connection.
        self.cycle = self._running = None  # type: ignore[assignment]

    def _release(self) -> None:
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        self.pipeline.clear()
        if self._timer:
            self._timer.cancel()

    def _look(self) -> None:
        """Leave a client that owes something, of which nothing came since the last look."""
        if self._owes and self._progress == self._noted:
            self.transport.abort()
            return
        self._noted = self._progress
        self._timer = self.loop.call_later(idle_connections.HEAD_SECONDS, self._look)

    def data_received(self, data: bytes) -> None:
        if self._refusal:
            return
        self._unset_keepalive_if_required()
        self._had_turn = False
        self._unused += len(data)
        if self._is_in_line:
            if not data.isascii():
                line, end, others = data.partition(b"\n")
                data = escaped(line) + end + others
            self._is_in_line = b"\n" not in data
        while data:
            try:
                self.parser.feed_data(data)
                break
            except HttpParserUpgrade as stopped:  # declined by going on: what follows is the next request
                data = data[stopped.args[0] :] if stopped.args[0] else b""
            except HttpParserError:
                self._refuse(self._verdict)
                return
        if self._unused > idle_connections.MAX_HEAD:
            self._refuse(TOO_LARGE)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Whether the connection stays open: a client that sends no more still wants its answers."""
        self._has_ended = True
        return self._is_answering() and not self._is_in_body

    # The parser

    def on_message_begin(self) -> None:
        self._owes = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._unused > idle_connections.MAX_HEAD and self._head_size() > idle_connections.MAX_HEAD:
            self._verdict = TOO_LARGE
            raise ValueError("the head is too large")
        self._used()
        self._address()
        self._is_in_body = True
        if not self._answered():
            super().on_headers_complete()

    def _answered(self) -> bool:
        """Answer a plain GET of the API where nothing need be waited for: no task, no messages; half of what a text
        costs. Nothing may be on its way before it."""
        self._is_done = False
        if self.app is not self._api or self._had_turn or self.parser.get_method() != b"GET":
            return False
        if self._is_answering() or self.pipeline:
            return False
        if self.flow.write_paused or self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return False
        if any(name in _LONG for name, _ in self.headers):
            return False
        path, _, query = self.url.partition(b"?")
        answer = self._at_once(path.decode("ascii", "replace"), query.partition(b"#")[0], self.headers, self.waited)
        if answer is None:
            return False
        self.waited = 0.0
        headers = (*self.server_state.default_headers, *all_headers(answer))
        self.transport.writelines((_head(answer.status, PHRASES[answer.status], headers, False), answer.body))
        self._is_done = self._had_turn = True
        return True

    def on_body(self, body: bytes) -> None:
        self._used()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._used()
        self._owes = self._is_in_body = False
        self._is_in_line = True
        if self._is_done:
            self.on_response_complete()
        else:
            super().on_message_complete()

    def _used(self) -> None:
        self._progress += 1
        self._unused = 0

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _address(self) -> None:
        """Find out who is asked. An absolute-form target names the host, whatever the Host header says (RFC 9112,
        section 3.2.2). Raises ValueError."""
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._verdict = VERSION
            raise ValueError("not HTTP/1")
        if self._credentials:
            self.headers.append((b"proxy-authorization", self._credentials))
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts and version == "1.1":
            raise ValueError("no host (RFC 9112, section 3.2)")
        is_proxied = self._credentials is not None or not self.url.startswith((b"/", b"*"))
        cast(dict[str, Any], self.scope)[PROXIED] = is_proxied
        self.url = b"/" if self.url == b"*" else self.url
        if self.url.startswith(b"/"):
            self._address_origin(hosts)
        elif found := absolute(self.url):
            scheme, host, self.url = found
            self.headers[:] = [(b"host", host), *(header for header in self.headers if header[0] != b"host")]
            self.scope["scheme"] = "https" if scheme == b"https" else "http"
            _name(host)
            self.app = self._web
        else:
            raise ValueError("the target has no known form")

    def _address_origin(self, hosts: list[bytes]) -> None:
        if len(hosts) > 1:
            raise ValueError("several hosts")
        if not hosts and self._tunnelled:
            hosts = [self._tunnelled]
            self.headers.append((b"host", self._tunnelled))
        host = hosts[0] if hosts else b""
        if host != self._host:
            name = _name(host) if host else ""
            self._host, self._is_known = host, not is_own(name) and self._knows(name)
        self.app = self._web if self._tunnelled or self._is_known else self._api

    # Answers

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.__class__ = WireCycle
        scope = cast(dict[str, Any], cycle.scope)
        scope["extensions"] = {CUT: _cut(cast(WireCycle, cycle))}
        scope[ARRIVED], self.waited = perf_counter() - self.waited, 0.0
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._refusal:
            self._leave(self._refusal)
        elif is_last and self._has_ended:
            self.transport.close()

    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _refuse(self, verdict: Verdict) -> None:
        """Once the requests before are answered. The request whose body is broken is forgotten."""
        self._refusal = verdict
        is_broken = self._is_in_body and self._is_answering()
        if is_broken and self._running is not self.cycle:
            self.pipeline.popleft()
        elif is_broken and self.cycle.response_started:
            self.transport.close()
        elif is_broken or not self._is_answering():
            self._leave(verdict)

    def _leave(self, verdict: Verdict) -> None:
        self._release()
        if self._running:
            self._disconnect(self._running)
        refuse(self.transport, self.connections, *verdict)

    @staticmethod
    def _disconnect(cycle: RequestResponseCycle) -> None:
        cycle.disconnected = not cycle.response_complete
        cycle.message_event.set()


def _name(host: bytes) -> str:
    name, _ = authority(host)
    if not name:
        raise ValueError("that names no host")
    return name
