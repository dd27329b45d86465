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

from webemu.api.http.response import BREAK_CONNECTION, REASON_PHRASES, ApiResponse, Header, build_headers
from webemu.api.proxy import idle_connections
from webemu.api.proxy.idle_connections import refuse
from webemu.api.proxy.target import escape_non_ascii, parse_authority, split_absolute
from webemu.api.runtime.load_shedding import ARRIVAL_KEY
from webemu.api.services.own_hosts import PROXIED, is_own_host

Refusal = tuple[bytes, bytes]
"""Status line and reason of a refusal."""
BAD_REQUEST: Refusal = (b"400 Bad Request", b"bad-request")
HEAD_TOO_LARGE: Refusal = (b"431 Request Header Fields Too Large", b"request-too-large")
BAD_VERSION: Refusal = (b"505 HTTP Version Not Supported", b"bad-version")
_BODILESS_STATUSES = (204, 304)
"""Statuses whose responses have no body."""
_BODY_HEADERS = frozenset((b"content-length", b"transfer-encoding", b"upgrade", b"expect"))
"""Headers of requests that do not end with their head."""
TryInline = Callable[[str, bytes, list[Header], float], ApiResponse | None]
"""Function that takes path, query string, headers, and the seconds for which the request has waited."""


def _render_head(status: int, reason: bytes, headers: Iterable[Header], is_last: bool) -> bytes:
    """Return the status line and headers of a response. `is_last` adds `Connection: close`."""
    lines = [b"HTTP/1.1 %d %s\r\n" % (status, reason)]
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    lines.append(b"Connection: close\r\n\r\n" if is_last else b"\r\n")
    return b"".join(lines)


class BufferedResponseCycle(RequestResponseCycle):
    """A request and its response. A response with a reason is sent in one piece, which saves a system call."""

    _pending_head = b""

    def send(self, message: Any) -> Coroutine[Any, Any, None]:
        """Take one ASGI message of the response."""
        if self.waiting_for_100_continue:  # the client may or may not send the body (RFC 9110, section 10.1.1)
            self.keep_alive = False
        if "reason" in message:
            return self._start_response(message)
        return self._finish_response(message["body"]) if self._pending_head else super().send(message)

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

    async def _start_response(self, message: Any) -> None:
        """Keep the head of a response until its body comes."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        self.response_started = True
        self.waiting_for_100_continue = False
        self._has_body = message["status"] not in _BODILESS_STATUSES
        default_headers = self.default_headers if message.get("own") else []
        headers = (*default_headers, *message["headers"])
        self._pending_head = _render_head(message["status"], message["reason"], headers, not self.keep_alive)

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


def _weak_break_connection(cycle: BufferedResponseCycle) -> Callable[[bool], None]:
    """Return a function that ends the connection of a cycle, without a strong reference to the cycle.

    The function is stored in the scope, which the cycle holds: a strong reference would be circular.
    """
    cycle_ref = ref(cycle)

    def break_connection(by_reset: bool) -> None:
        if (live_cycle := cycle_ref()) is not None:
            live_cycle.break_connection(by_reset)

    return break_connection


class HttpProtocol(HttpToolsProtocol):
    """HTTP connection over plain TCP or TLS."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        web: Any,
        is_captured_host: Callable[[str], bool],
        try_inline: TryInline,
        tunnelled: bytes = b"",
        credentials: bytes | None = None,
    ) -> None:
        """Prepare the connection.

        `tunnelled` is the host named by CONNECT or TLS. `credentials` is the `Proxy-Authorization` of CONNECT, which
        holds for all requests of the tunnel; None without CONNECT.
        """
        super().__init__(config, server_state, app_state)
        self._api, self._web, self._is_captured_host, self._try_inline = self.app, web, is_captured_host, try_inline
        self._tunnelled, self._credentials = tunnelled, credentials
        self._host, self._is_web_host = b"", False
        self._unparsed_bytes = 0
        """Bytes received since the parser last produced something."""
        self._progress_count = self._last_progress_count = 0
        self.queued_seconds = 0.0
        """Seconds for which the first request waited in the kernel before it was read."""
        self._expects_data = True
        """True while the client has yet to send something: its first request, or the rest of one."""
        self._is_in_request_line = True
        """True while the first line of a request is expected or incomplete."""
        self._is_in_body = self._has_eof = self._is_answered_inline = False
        self._has_answered_inline = False
        """True if a request in the last bytes was answered inline. Those behind it in the same bytes take the usual
        way, so that other clients get their turn.
        """
        self._parse_refusal = BAD_REQUEST
        self._refusal: Refusal | None = None
        self._running_cycle: RequestResponseCycle | None = None
        self._timer: asyncio.TimerHandle | None = None

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._timer = self.loop.call_later(idle_connections.HEAD_SECONDS, self._check_progress)

    def connection_lost(self, exc: Exception | None) -> None:
        self._release()
        if self._running_cycle:
            self._disconnect(self._running_cycle)
        super().connection_lost(exc)
        # Cycle and connection refer to each other, and old objects like these are rarely garbage collected.
        self.cycle = self._running_cycle = None  # type: ignore[assignment]

    def _release(self) -> None:
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        self.pipeline.clear()
        if self._timer:
            self._timer.cancel()

    def _check_progress(self) -> None:
        """Close the connection of a client that owes something and sent nothing useful since the last check."""
        if self._expects_data and self._progress_count == self._last_progress_count:
            self.transport.abort()
            return
        self._last_progress_count = self._progress_count
        self._timer = self.loop.call_later(idle_connections.HEAD_SECONDS, self._check_progress)

    def data_received(self, data: bytes) -> None:
        """Feed bytes to the parser; refuse the connection if they are malformed or too many."""
        if self._refusal:
            return
        self._unset_keepalive_if_required()
        self._has_answered_inline = False
        self._unparsed_bytes += len(data)
        if self._is_in_request_line:  # some clients send raw non-ASCII bytes in the target; browsers escape them
            if not data.isascii():
                line, end, following = data.partition(b"\n")
                data = escape_non_ascii(line) + end + following
            self._is_in_request_line = b"\n" not in data
        while data:
            try:
                self.parser.feed_data(data)
                break
            except HttpParserUpgrade as upgrade:  # an upgrade is declined by going on: what follows is the next request
                data = data[upgrade.args[0] :] if upgrade.args[0] else b""
            except HttpParserError:
                self._refuse(self._parse_refusal)
                return
        if self._unparsed_bytes > idle_connections.MAX_HEAD_BYTES:
            self._refuse(HEAD_TOO_LARGE)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return True if the connection stays open: a client that sends no more may still wait for its responses."""
        self._has_eof = True
        return self._is_answering() and not self._is_in_body

    # The parser

    def on_message_begin(self) -> None:
        self._expects_data = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Answer the request inline if possible, else start it as uvicorn does."""
        if (
            self._unparsed_bytes > idle_connections.MAX_HEAD_BYTES
            and self._head_size() > idle_connections.MAX_HEAD_BYTES
        ):
            self._parse_refusal = HEAD_TOO_LARGE
            raise ValueError("the request head is too large")
        self._note_progress()
        self._resolve_target()
        self._is_in_body = True
        if not self._try_answer_inline():
            super().on_headers_complete()

    def _try_answer_inline(self) -> bool:
        """Answer a plain GET of the API on the event loop, without a task and ASGI messages; return False if that is
        impossible.

        This halves the cost of returning a text. No earlier request of the connection may be unanswered.
        """
        self._is_answered_inline = False
        if self.app is not self._api or self._has_answered_inline or self.parser.get_method() != b"GET":
            return False
        if self._is_answering() or self.pipeline:
            return False
        if self.flow.write_paused or self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return False
        if any(name in _BODY_HEADERS for name, _ in self.headers):
            return False
        path, _, query = self.url.partition(b"?")
        answer = self._try_inline(
            path.decode("ascii", "replace"), query.partition(b"#")[0], self.headers, self.queued_seconds
        )
        if answer is None:
            return False
        self.queued_seconds = 0.0
        headers = (*self.server_state.default_headers, *build_headers(answer))
        self.transport.writelines(
            (_render_head(answer.status, REASON_PHRASES[answer.status], headers, False), answer.body)
        )
        self._is_answered_inline = self._has_answered_inline = True
        return True

    def on_body(self, body: bytes) -> None:
        self._note_progress()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._note_progress()
        self._expects_data = self._is_in_body = False
        self._is_in_request_line = True
        if self._is_answered_inline:
            self.on_response_complete()
        else:
            super().on_message_complete()

    def _note_progress(self) -> None:
        """Note that the parser produced something from the bytes received."""
        self._progress_count += 1
        self._unparsed_bytes = 0

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _resolve_target(self) -> None:
        """Find the app and the host of a request. Raises ValueError if the request is malformed.

        An absolute-form target names the host, whatever the Host header says (RFC 9112, section 3.2.2).
        """
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._parse_refusal = BAD_VERSION
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
            self._resolve_origin_form(hosts)
        elif target_parts := split_absolute(self.url):
            scheme, host, self.url = target_parts
            self.headers[:] = [(b"host", host), *(header for header in self.headers if header[0] != b"host")]
            self.scope["scheme"] = "https" if scheme == b"https" else "http"
            _parse_host(host)
            self.app = self._web
        else:
            raise ValueError("the target has no known form")

    def _resolve_origin_form(self, hosts: list[bytes]) -> None:
        """Find the app and the host of a request with an origin-form target."""
        if len(hosts) > 1:
            raise ValueError("there is more than one Host header")
        if not hosts and self._tunnelled:
            hosts = [self._tunnelled]
            self.headers.append((b"host", self._tunnelled))
        host = hosts[0] if hosts else b""
        if host != self._host:
            name = _parse_host(host) if host else ""
            self._host, self._is_web_host = host, not is_own_host(name) and self._is_captured_host(name)
        self.app = self._web if self._tunnelled or self._is_web_host else self._api

    # Answers

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.__class__ = (
            BufferedResponseCycle  # uvicorn creates the cycle itself and offers no way to choose its class
        )
        scope = cast(dict[str, Any], cycle.scope)
        scope["extensions"] = {BREAK_CONNECTION: _weak_break_connection(cast(BufferedResponseCycle, cycle))}
        scope[ARRIVAL_KEY], self.queued_seconds = perf_counter() - self.queued_seconds, 0.0
        self._running_cycle = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._refusal:
            self._close_after_refusal(self._refusal)
        elif is_last and self._has_eof:
            self.transport.close()

    def _is_answering(self) -> bool:
        return self._running_cycle is not None and not self._running_cycle.response_complete

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse the connection after the requests before are answered. A request whose body is malformed gets no
        answer.
        """
        self._refusal = refusal
        is_broken = self._is_in_body and self._is_answering()
        # uvicorn has queued the broken request behind a running one, or has started it already.
        if is_broken and self._running_cycle is not self.cycle:
            self.pipeline.popleft()
        elif is_broken and self.cycle.response_started:
            self.transport.close()
        elif is_broken or not self._is_answering():
            self._close_after_refusal(refusal)

    def _close_after_refusal(self, refusal: Refusal) -> None:
        """Send the refusal and close the connection."""
        self._release()
        if self._running_cycle:
            self._disconnect(self._running_cycle)
        refuse(self.transport, self.connections, *refusal)

    @staticmethod
    def _disconnect(cycle: RequestResponseCycle) -> None:
        """Tell the app of a request that its client is gone."""
        cycle.disconnected = not cycle.response_complete
        cycle.message_event.set()


def _parse_host(host: bytes) -> str:
    """Return the host name of an authority. Raises ValueError if it is malformed."""
    name, _ = parse_authority(host)
    if not name:
        raise ValueError("the authority is malformed")
    return name
