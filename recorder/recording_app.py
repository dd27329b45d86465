"""ASGI application behind the proxy door of `webemu record`: each request is answered by the crawl or by the live web.

What the collection has, it answers as `webemu serve` would (unless everything is to be fresh). Everything else is sent
to the live web, streamed to the client while it arrives, and written down when it is complete. An exchange that was cut
short, or whose client left, is not written; `Tally` counts it under a reason.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpcore

from webemu.api.app import App
from webemu.api.http.body import read_body
from webemu.api.http.request import Request, read_without_session
from webemu.api.http.response import (
    BREAK_CONNECTION,
    REASON_PHRASES,
    Message,
    Receive,
    Response,
    Scope,
    Send,
    compose_response,
)
from webemu.api.proxy.authority import TlsContextCache
from webemu.api.proxy.protocol_sniffer import ProxyHooks
from webemu.api.services.native_api import decline_inline
from webemu.api.services.own_hosts import is_for_this_server
from webemu.emulator import urls
from webemu.recorder.archive import Archive, Headers, RecordedRequest, ResponseCopy
from webemu.recorder.politeness import AGENT, Politeness, is_call_of_service
from webemu.recorder.upstream import Upstream, iter_body, read_protocol

MAX_BODY_BYTES = 64 << 20
"""Largest body of a request, in bytes."""
MAX_ROBOTS_BYTES = 512 << 10
"""Bytes of a robots.txt that are read (RFC 9309, section 2.5)."""
_NOT_SENT = frozenset(
    b"connection keep-alive proxy-connection proxy-authorization te trailer transfer-encoding upgrade expect "
    b"if-none-match if-modified-since if-match if-unmodified-since if-range".split()
)
"""Request headers that are not passed on: those of the connection, and conditions, since whole answers are recorded."""
_NOT_PASSED = frozenset(b"connection keep-alive proxy-connection transfer-encoding upgrade trailer".split())
"""Response headers that are not passed on to the client."""
REFUSED_BY_ROBOTS, UNREACHABLE, CUT, CLIENT_LEFT = "robots-disallowed", "unreachable", "cut-short", "client-left"
"""Reasons for which an exchange is not written."""
_FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)
"""Errors of a server that cannot be reached, or of a response that was cut short."""


@dataclass(slots=True)
class Tally:
    """Counts of one recording. Grows while requests are answered."""

    exchanges: int = 0
    bytes: int = 0
    """Bytes of recorded bodies."""
    hosts: set[str] = field(default_factory=set)
    from_collection: int = 0
    """Requests that the collection answered."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Requests whose exchange is not written, by reason."""


class RecordingApp:
    """ASGI application of a recording; its attribute `doors` makes it a proxy (`webemu.api.proxy`)."""

    def __init__(
        self,
        archive: Archive,
        upstream: Upstream,
        certificates: TlsContextCache,
        collection: App | None = None,
        obeys_robots: bool = True,
    ) -> None:
        """Take the parts. `collection` answers what it has; without one, all is asked of the live web."""
        self.tally = Tally()
        self.doors = ProxyHooks(self.serve_web, lambda _host: True, certificates, decline_inline)
        self._archive = archive
        self._upstream = upstream
        self._collection = collection
        self._politeness = Politeness(self._fetch_robots, obeys_robots)
        self._writing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the lifespan of the collection, and requests for this proxy itself, which has nothing to say."""
        if scope["type"] != "http":
            if self._collection:
                await self._collection(scope, receive, send)
            else:
                await _serve_lifespan(receive, send)
            return
        await _send(send, _refusal(404, "This is the proxy of webemu record; it has no pages of its own.", "proxy"))

    async def serve_web(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to the web."""
        if is_for_this_server(scope, ()):
            await self(scope, receive, send)
            return
        body = await read_body(scope, receive, MAX_BODY_BYTES)
        if body is None:
            self.tally.dropped[CLIENT_LEFT] += 1
            return
        request = read_without_session(scope)._replace(body=body)
        collection = self._collection
        if collection is not None and await asyncio.to_thread(collection.has_answer, request):
            self.tally.from_collection += 1
            await collection.serve_web(scope, _repeat_body(body, receive), send)
        else:
            await self._ask_live(request, scope, receive, send)

    async def _ask_live(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request from the live web unless a robots.txt forbids it."""
        origin = f"{request.scheme}://{request.authority}"
        is_call = is_call_of_service(request.method, request.url, request.headers)
        if not is_call and request.path != "/robots.txt" and not await self._politeness.allows(origin, request.url):
            self.tally.dropped[REFUSED_BY_ROBOTS] += 1
            text = f"robots.txt of {request.host} does not allow programs to read this page."
            await _send(send, _refusal(403, text, REFUSED_BY_ROBOTS))
            return
        sent = RecordedRequest(
            request.method,
            request.url,
            [header for header in scope["headers"] if header[0] not in _NOT_SENT],
            request.body,
            datetime.now(UTC),
        )
        await self._pass_on(sent, request.host, scope, receive, send)

    async def _pass_on(self, sent: RecordedRequest, host: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a request to the live web, its response to the client, and both to the archive."""
        has_started = False
        client_left = asyncio.ensure_future(receive())
        try:
            async with self._exchange(sent, host) as (response, copy):
                has_started = True
                await send(_start_message(response))
                async for part in iter_body(response):
                    copy.add(part)
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                    if client_left.done():
                        self.tally.dropped[CLIENT_LEFT] += 1
                        return
                await self._write(sent, host, copy)
            await send({"type": "http.response.body", "body": b""})
        except _FAILURES as error:
            self.tally.dropped[CUT if has_started else UNREACHABLE] += 1
            if has_started:
                scope["extensions"][BREAK_CONNECTION](True)
                return
            text = f"{host} could not be asked: {type(error).__name__} {error}"
            await _send(send, _refusal(502, text.strip(), UNREACHABLE))
        finally:
            client_left.cancel()
            with suppress(asyncio.CancelledError):
                await client_left

    @asynccontextmanager
    async def _exchange(
        self, sent: RecordedRequest, host: str
    ) -> AsyncIterator[tuple[httpcore.Response, ResponseCopy]]:
        """Open the response to a request, and the copy that is taken of it."""
        async with (
            self._politeness.take_turn(host),
            self._upstream.stream(sent.method, sent.url, sent.headers, sent.body) as response,
        ):
            retry_after = next((value for name, value in response.headers if name.lower() == b"retry-after"), b"")
            self._politeness.note_response(host, response.status, retry_after)
            reason = response.extensions.get("reason_phrase", b"") or REASON_PHRASES.get(response.status, b"")
            copy = ResponseCopy(response.status, reason, response.headers, read_protocol(response))
            try:
                yield response, copy
            finally:
                copy.close()

    async def _write(self, sent: RecordedRequest, host: str, copy: ResponseCopy) -> None:
        """Write one exchange, in a thread and one at a time."""
        async with self._writing:
            await asyncio.to_thread(self._archive.write, sent, copy)
        self.tally.exchanges += 1
        self.tally.bytes += copy.bytes
        self.tally.hosts.add(host)

    async def _fetch_robots(self, url: str) -> tuple[int, bytes]:
        """Return status and body of a robots.txt, which is recorded like a page; status 0 if there is no response."""
        host = urls.host_of(url)
        sent = RecordedRequest("GET", url, _robots_headers(url), b"", datetime.now(UTC))
        body = bytearray()
        try:
            async with self._exchange(sent, host) as (response, copy):
                async for part in iter_body(response):
                    copy.add(part)
                    body += part[: MAX_ROBOTS_BYTES - len(body)]
                await self._write(sent, host, copy)
                return response.status, bytes(body)
        except _FAILURES:
            return 0, b""

    async def close(self) -> None:
        """Close connections and archive."""
        await self._upstream.close()
        self._archive.close()


def _robots_headers(url: str) -> Headers:
    """Return the headers of a request for robots.txt, without content coding: the body is read here."""
    return [
        (b"host", url.split("/")[2].encode()),
        (b"user-agent", AGENT.encode()),
        (b"accept", b"*/*"),
        (b"accept-encoding", b"identity"),
    ]


def _start_message(response: httpcore.Response) -> Message:
    headers = [(name, value) for name, value in response.headers if name.lower() not in _NOT_PASSED]
    return {"type": "http.response.start", "status": response.status, "headers": headers}


def _refusal(status: int, text: str, reason: str) -> Response:
    """Return the response to a request that was not passed on."""
    header = (b"X-Webemu-Reason", reason.encode())
    return compose_response(status, b"text/plain; charset=utf-8", f"{text}\n".encode(), [header])


async def _send(send: Send, reply: Response) -> None:
    """Send a complete response."""
    await send(
        {"type": "http.response.start", "status": reply.status, "reason": reply.reason, "headers": reply.headers}
    )
    await send({"type": "http.response.body", "body": reply.body})


def _repeat_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that was read already."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


async def _serve_lifespan(receive: Receive, send: Send) -> None:
    """Answer the events of the ASGI lifespan, with nothing to open or to close."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return
