"""uvicorn's HTTP protocol, changed for the web and the API alike: the host of each request decides which app answers
it.

uvicorn limits neither the size of request heads nor the time to send them, drops responses in progress when a later
request is malformed, and closes on clients that have shut down their sending side. This protocol does not. The states
of a connection are in `webemu.api.proxy.connection_state`, its responses in `webemu.api.proxy.response_cycle`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from webemu.api.http.disconnect import LEAVING
from webemu.api.http.errors import AsgiApp
from webemu.api.http.listener_rules import LISTENER
from webemu.api.http.response import BREAK_CONNECTION, REASON_PHRASES, ApiResponse, Header, build_headers
from webemu.api.proxy import idle_connections
from webemu.api.proxy.connection_state import (
    ANSWERED,
    BODY,
    ENDED,
    FREE,
    HEAD,
    IDLE,
    LINE,
    OPEN,
    REFUSED,
    SPENT,
    InlineTurn,
    Intake,
    Reading,
)
from webemu.api.proxy.idle_connections import refuse
from webemu.api.proxy.response_cycle import BufferedResponseCycle, render_head, weak_break_connection
from webemu.api.proxy.target import escape_non_ascii, parse_authority, split_absolute
from webemu.api.proxy.unix import name_listener
from webemu.api.runtime.load_shedding import ARRIVAL_KEY
from webemu.api.services.own_hosts import PROXIED, is_own_host

Refusal = tuple[bytes, bytes]
"""Status line and reason of a refusal."""
BAD_REQUEST: Refusal = (b"400 Bad Request", b"bad-request")
HEAD_TOO_LARGE: Refusal = (b"431 Request Header Fields Too Large", b"request-too-large")
BAD_VERSION: Refusal = (b"505 HTTP Version Not Supported", b"bad-version")
_BODY_HEADERS = frozenset((b"content-length", b"transfer-encoding", b"upgrade", b"expect"))
"""Headers of requests that do not end with their head."""
LEAVING_SECONDS = 0.1
"""Seconds after the end of what a client sends, in which long work for it still goes on."""
TryInline = Callable[[str, bytes, list[Header], float], ApiResponse | None]
"""Function that takes path, query string, headers, and the seconds for which the request has waited."""


class HttpProtocol(HttpToolsProtocol):
    """HTTP connection over plain TCP or TLS."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        web: AsgiApp,
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
        self._api, self._web = self.app, cast(ASGI3Application, web)
        self._is_captured_host, self._try_inline = is_captured_host, try_inline
        self._tunnelled, self._credentials = tunnelled, credentials
        self._host, self._host_app = b"", self._api
        """Host of the last request in origin form, and the app that answers it."""
        self._unparsed_bytes = 0
        """Bytes received since the parser last produced something."""
        self._has_progressed = False
        """True if the parser produced something since the last check."""
        self.queued_seconds = 0.0
        """Seconds for which the first request waited in the kernel before it was read."""
        self._reading: Reading = LINE
        self._intake: Intake = OPEN
        self._inline_turn: InlineTurn = FREE
        self._refusal = BAD_REQUEST
        """Refusal of the request at hand if the parser cannot go on."""
        self._running_cycle: RequestResponseCycle | None = None
        self._listener: int | str = 0
        """Port, or path of the Unix socket with the user of its other end, at which the connection arrived."""
        self._timer: asyncio.TimerHandle | None = None
        self._leaving = asyncio.Event()

    # The connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        local_address = transport.get_extra_info("sockname")
        self._listener = local_address[1] if isinstance(local_address, tuple) else name_listener(transport)
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
        if self._reading is not IDLE and not self._has_progressed:
            self.transport.abort()
            return
        self._has_progressed = False
        self._timer = self.loop.call_later(idle_connections.HEAD_SECONDS, self._check_progress)

    def data_received(self, data: bytes) -> None:
        """Feed bytes to the parser; refuse the connection if they are malformed or too many."""
        if self._intake is REFUSED:
            return
        self._unset_keepalive_if_required()
        if self._inline_turn is SPENT:
            self._inline_turn = FREE
        self._unparsed_bytes += len(data)
        if self._reading is LINE or self._reading is IDLE:
            data = self._read_line(data)
        while data:
            try:
                self.parser.feed_data(data)
                break
            except HttpParserUpgrade as upgrade:  # an upgrade is declined by going on: what follows is the next request
                data = data[upgrade.args[0] :] if upgrade.args[0] else b""
            except HttpParserError:
                self._refuse(self._refusal)
                return
        if self._unparsed_bytes > idle_connections.MAX_HEAD_BYTES:
            self._refuse(HEAD_TOO_LARGE)

    def _read_line(self, data: bytes) -> bytes:
        """Return bytes that begin in a request line, with that line in ASCII: some clients send raw non-ASCII bytes in
        the target, which browsers escape.
        """
        if not data.isascii():
            line, end, following = data.partition(b"\n")
            data = escape_non_ascii(line) + end + following
        # Empty lines between requests belong to none (RFC 9112, section 2.2).
        if b"\n" in data and (self._reading is LINE or not data.isspace()):
            self._reading = HEAD
        return data

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return True if the connection stays open: a client that sends no more may still wait for its responses."""
        if self._intake is OPEN:
            self._intake = ENDED
            self.loop.call_later(LEAVING_SECONDS, self._leaving.set)
        return self._is_answering() and self._reading is not BODY

    # The parser

    def on_message_begin(self) -> None:
        if self._reading is IDLE:
            self._reading = LINE
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Answer the request inline if possible, else start it as uvicorn does."""
        if (
            self._unparsed_bytes > idle_connections.MAX_HEAD_BYTES
            and self._head_size() > idle_connections.MAX_HEAD_BYTES
        ):
            self._refusal = HEAD_TOO_LARGE
            raise ValueError("the request head is too large")
        self._note_progress()
        self._resolve_target()
        self._reading = BODY
        if not self._try_answer_inline():
            super().on_headers_complete()

    def _try_answer_inline(self) -> bool:
        """Answer a plain GET of the API on the event loop, without a task and ASGI messages; return False if that is
        impossible.

        This halves the cost of returning a text. No earlier request of the connection may be unanswered.
        """
        if self.app is not self._api or self._inline_turn is not FREE or self.parser.get_method() != b"GET":
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
            (render_head(answer.status, REASON_PHRASES[answer.status], headers, False), answer.body)
        )
        self._inline_turn = ANSWERED
        return True

    def on_body(self, body: bytes) -> None:
        self._note_progress()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._note_progress()
        self._reading = IDLE
        if self._inline_turn is ANSWERED:
            self._inline_turn = SPENT
            self.on_response_complete()
        else:
            super().on_message_complete()

    def _note_progress(self) -> None:
        """Note that the parser produced something from the bytes received."""
        self._has_progressed = True
        self._unparsed_bytes = 0

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _resolve_target(self) -> None:
        """Find the app and the host of a request. Raises ValueError if the request is malformed.

        An absolute-form target names the host, whatever the Host header says (RFC 9112, section 3.2.2).
        """
        version = self.parser.get_http_version()
        if version not in ("1.0", "1.1"):
            self._refusal = BAD_VERSION
            raise ValueError("the version is neither HTTP/1.0 nor HTTP/1.1")
        if self._credentials:
            self.headers.append((b"proxy-authorization", self._credentials))
        hosts = [value for name, value in self.headers if name == b"host"]
        if not hosts and version == "1.1":
            raise ValueError("the Host header is missing (RFC 9112, section 3.2)")
        is_proxied = self._credentials is not None or not self.url.startswith((b"/", b"*"))
        scope = cast(dict[str, object], self.scope)
        scope[PROXIED], scope[LISTENER] = is_proxied, self._listener
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
            is_web_host = not is_own_host(name) and self._is_captured_host(name)
            self._host, self._host_app = host, self._web if is_web_host else self._api
        self.app = self._web if self._tunnelled else self._host_app

    # Answers

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        cycle.__class__ = (
            BufferedResponseCycle  # uvicorn creates the cycle itself and offers no way to choose its class
        )
        scope = cast(dict[str, object], cycle.scope)
        scope["extensions"] = {BREAK_CONNECTION: weak_break_connection(cast(BufferedResponseCycle, cycle))}
        scope[LEAVING] = self._leaving
        scope[ARRIVAL_KEY], self.queued_seconds = perf_counter() - self.queued_seconds, 0.0
        self._running_cycle = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and self._intake is REFUSED:
            self._close_after_refusal()
        elif is_last and self._intake is ENDED:
            self.transport.close()

    def _is_answering(self) -> bool:
        return self._running_cycle is not None and not self._running_cycle.response_complete

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse the connection after the requests before are answered. A request whose body is malformed gets no
        answer.
        """
        self._intake, self._refusal = REFUSED, refusal
        is_broken = self._reading is BODY and self._is_answering()
        # uvicorn has queued the broken request behind a running one, or has started it already.
        if is_broken and self._running_cycle is not self.cycle:
            self.pipeline.popleft()
        elif is_broken and self.cycle.response_started:
            self.transport.close()
        elif is_broken or not self._is_answering():
            self._close_after_refusal()

    def _close_after_refusal(self) -> None:
        """Send the refusal and close the connection."""
        self._release()
        if self._running_cycle:
            self._disconnect(self._running_cycle)
        refuse(self.transport, self.connections, *self._refusal)

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
