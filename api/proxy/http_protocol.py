"""uvicorn's HTTP protocol, changed for the web and the API alike: the host of each request decides which app answers
it.

ASGI has no place for a reason phrase, and uvicorn writes header names in lower case. A response that brings a `reason`
is written here as it is; this server's `own` responses also get the default headers (date). uvicorn limits neither the
size of request heads nor the time to send them, drops responses in progress when a later request is malformed, and
closes on clients that have shut down their sending side. This protocol does not.
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
"""Statuses whose responses have no body."""
_LONG = frozenset((b"content-length", b"transfer-encoding", b"upgrade", b"expect"))
"""Headers of requests that do not end with their head."""
AtOnce = Callable[[str, bytes, list[Header], float], Answer | None]
"""Function that takes path, query string, headers, and the seconds for which the request has waited."""


def _head(status: int, reason: bytes, headers: Iterable[Header], is_last: bool) -> bytes:
    """Return the status line and headers of a response. `is_last` adds `Connection: close`."""
    lines = [b"HTTP/1.1 %d %s\r\n" % (status, reason)]
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    lines.append(b"Connection: close\r\n\r\n" if is_last else b"\r\n")
    return b"".join(lines)


class WireCycle(RequestResponseCycle):
    """A request and its response. A response with a reason is sent in one piece, which saves a system call."""

    _head = b""

    def send(self, message: Any) -> Coroutine[Any, Any, None]:
        """Take one ASGI message of the response."""
        if self.waiting_for_100_continue:  # the client may or may not send the body (RFC 9110, section 10.1.1)
            self.keep_alive = False
        if "reason" in message:
            return self._begin(message)
        return self._end(message["body"]) if self._head else super().send(message)

    def cut(self, by_reset: bool) -> None:
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

    async def _begin(self, message: Any) -> None:
        """Keep the head of a response until its body comes."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        self.response_started = True
        self.waiting_for_100_continue = False
        self._has_body = message["status"] not in _BODILESS
        own = self.default_headers if message.get("own") else []
        headers = (*own, *message["headers"])
        self._head = _head(message["status"], message["reason"], headers, not self.keep_alive)

    async def _end(self, body: bytes) -> None:
        """Send head and body together."""
        if self.disconnected:
            return
        self.transport.writelines((self._head, body) if self._has_body else (self._head,))
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


def _cut(cycle: WireCycle) -> Callable[[bool], None]:
    """Return a function that ends the connection of a cycle, without a strong reference to the cycle.

    The function is stored in the scope, which the cycle holds: a strong reference would be circular.
    """
    held = ref(cycle)

    def cut(by_reset: bool) -> None:
        if (one := held()) is not None:
            one.cut(by_reset)

    return cut


class Wire(HttpToolsProtocol):
    """HTTP connection over plain TCP or TLS."""

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
        """Prepare the connection.

        `tunnelled` is the host named by CONNECT or TLS. `credentials` is the `Proxy-Authorization` of CONNECT, which
        holds for all requests of the tunnel; None without CONNECT.
        """
        super().__init__(config, server_state, app_state)
        self._api, self._web, self._knows, self._at_once = self.app, web, knows, at_once
        self._tunnelled, self._credentials = tunnelled, credentials
        self._host, self._is_known = b"", False
        self._unused = 0
        """Bytes received since the parser last produced something."""
        self._progress = self._noted = 0
        self.waited = 0.0
        """Seconds for which the first request waited in the kernel before it was read."""
        self._owes = True
        """True while the client has yet to send something: its first request, or the rest of one."""
        self._is_in_line = True
        """True while the first line of a request is expected or incomplete."""
        self._is_in_body = self._has_ended = self._is_done = False
        self._had_turn = False
        """True if a request in the last bytes was answered inline. Those behind it in the same bytes take the usual
        way, so that other clients get their turn.
        """
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
        # Cycle and connection refer to each other, and old objects like these are rarely garbage collected.
        self.cycle = self._running = None  # type: ignore[assignment]

    def _release(self) -> None:
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        self.pipeline.clear()
        if self._timer:
            self._timer.cancel()

    def _look(self) -> None:
        """Close the connection of a client that owes something and sent nothing useful since the last check."""
        if self._owes and self._progress == self._noted:
            self.transport.abort()
            return
        self._noted = self._progress
        self._timer = self.loop.call_later(idle_connections.HEAD_SECONDS, self._look)

    def data_received(self, data: bytes) -> None:
        """Feed bytes to the parser; refuse the connection if they are malformed or too many."""
        if self._refusal:
            return
        self._unset_keepalive_if_required()
        self._had_turn = False
        self._unused += len(data)
        if self._is_in_line:  # some clients send raw non-ASCII bytes in the target; browsers escape them
            if not data.isascii():
                line, end, others = data.partition(b"\n")
                data = escaped(line) + end + others
            self._is_in_line = b"\n" not in data
        while data:
            try:
                self.parser.feed_data(data)
                break
            except HttpParserUpgrade as stopped:  # an upgrade is declined by going on: what follows is the next request
                data = data[stopped.args[0] :] if stopped.args[0] else b""
            except HttpParserError:
                self._refuse(self._verdict)
                return
        if self._unused > idle_connections.MAX_HEAD:
            self._refuse(TOO_LARGE)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return True if the connection stays open: a client that sends no more may still wait for its responses."""
        self._has_ended = True
        return self._is_answering() and not self._is_in_body

    # The parser

    def on_message_begin(self) -> None:
        self._owes = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Answer the request inline if possible, else start it as uvicorn does."""
        if self._unused > idle_connections.MAX_HEAD and self._head_size() > idle_connections.MAX_HEAD:
            self._verdict = TOO_LARGE
            raise ValueError("the request head is too large")
        self._used()
        self._address()
        self._is_in_body = True
        if not self._answered():
            super().on_headers_complete()

    def _answered(self) -> bool:
        """Answer a plain GET of the API on the event loop, without a task and ASGI messages; return False if that is
        impossible.

        This halves the cost of returning a text. No earlier request of the connection may be unanswered.
        """
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
        """Note that the parser produced something from the bytes received."""
        self._progress += 1
        self._unused = 0

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _address(self) -> None:
        """Find the app and the host of a request. Raises ValueError if the request is malformed.

        An absolute-form target names the host, whatever the Host header says (RFC 9112, section 3.2.2).
        """
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._verdict = VERSION
            raise ValueError("the version is neither HTTP/1.0 nor HTTP/1.1")
        if self._credentials:
            self.headers.append((b"proxy-authorization", self._credentials))
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts and version == "1.1":
            raise ValueError("the Host header is missing (RFC 9112, section 3.2)")
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
        """Find the app and the host of a request with an origin-form target."""
        if len(hosts) > 1:
            raise ValueError("there is more than one Host header")
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
        cycle.__class__ = WireCycle  # uvicorn creates the cycle itself and offers no way to choose its class
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
        """Refuse the connection after the requests before are answered. A request whose body is malformed gets no
        answer.
        """
        self._refusal = verdict
        is_broken = self._is_in_body and self._is_answering()
        # uvicorn has queued the broken request behind a running one, or has started it already.
        if is_broken and self._running is not self.cycle:
            self.pipeline.popleft()
        elif is_broken and self.cycle.response_started:
            self.transport.close()
        elif is_broken or not self._is_answering():
            self._leave(verdict)

    def _leave(self, verdict: Verdict) -> None:
        """Send the refusal and close the connection."""
        self._release()
        if self._running:
            self._disconnect(self._running)
        refuse(self.transport, self.connections, *verdict)

    @staticmethod
    def _disconnect(cycle: RequestResponseCycle) -> None:
        """Tell the app of a request that its client is gone."""
        cycle.disconnected = not cycle.response_complete
        cycle.message_event.set()


def _name(host: bytes) -> str:
    """Return the host name of an authority. Raises ValueError if it is malformed."""
    name, _ = authority(host)
    if not name:
        raise ValueError("the authority is malformed")
    return name
