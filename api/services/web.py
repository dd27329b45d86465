"""The emulated web as an ASGI application: any URL, answered as it was when the crawl saw it.

What was not captured is answered plausibly and marked: an unknown host as a name that does not resolve, an unknown
path with the host's own error page if it was captured, else with a plain 404. Services that live on the web (archives,
wikis, search APIs) are modules of their own, found through `webemu.api.services.registry`. Debug headers of this server begin with
`X-Webemu-`. No request leaves this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from http import HTTPStatus
from time import perf_counter
from typing import NamedTuple, TypeVar

from webemu.api.dialects.dialect import Dialect
from webemu.api.http.body import read_body
from webemu.api.http.errors import OF_THE_CRAWL, failure_marks, guarded, internal_error, ours
from webemu.api.http.head import fitted
from webemu.api.http.request import Handler, Request, read, read_plain
from webemu.api.http.response import Answer, Receive, Scope, Send
from webemu.api.mcp.session_errors import is_talk
from webemu.api.observe.counters import Counters
from webemu.api.observe.slow_requests import Watch
from webemu.api.runtime.live_snapshot import Served
from webemu.api.runtime.load_shedding import arrived, is_late, too_late
from webemu.api.runtime.thread_pool import Pool
from webemu.api.services.origin import Headers, Reply, replay
from webemu.api.services.registry import MADE, Services
from webemu.api.sessions.connection_faults import cut, unmarked, wall
from webemu.api.sessions.handler import Desk
from webemu.api.sessions.native import ROUTES
from webemu.api.sessions.responder import NATIVE, Whom, carried, spoken
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, NotCaptured
from webemu.emulator.request_world import CAPTCHA
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World

Answered = TypeVar("Answered", Reply, Reply | None)

PLACE, PAGES = "the web", "pages"
"""Route names in `/v1/stats` for every address of the emulated web, and for this server's own pages."""
MAX_BODY = 8_000_000
"""Largest body of a request, in bytes."""


class Begun(NamedTuple):
    """Start time of a request, and the route under which it will be counted."""

    place: str
    start: float

    def of(self, dialect: Dialect | None) -> Begun:
        """Return the timer with the name of the dialect as its route; itself without a dialect."""
        return self if dialect is None else self._replace(place=dialect.name)


class Web:
    """ASGI application for requests whose Host is a host of the web."""

    def __init__(
        self, served: Served, services: Services, pool: Pool, counters: Counters, watch: Watch, desk: Desk
    ) -> None:
        self._served = served
        self._services = services
        self._pool = pool
        self._counters = counters
        self._watch = watch
        self._desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        await guarded(self._answer, _plain_answer, scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, under its session if it has one, and send the response."""
        request: Request | None = None
        begun = Begun(PLACE, arrived(scope))
        late = is_late(begun.start)  # asked now: reading the body would count as waiting
        try:
            if (request := await _read(scope, receive)) is None:
                return
            service = self._services.hosts.get(request.host)
            begun = begun.of(self._dialect(service))
            request = self._carried(request, service)
            if late:
                reply = self._whom(request.host, service, answer).refuse(request, too_late())
            elif request.session.id:
                handler = partial(_serve, service) if service else answer
                await self._attend(request, self._whom(request.host, service, handler), scope, send, begun)
                return
            else:
                reply = await self._reply(request)
        except BaseException as failure:
            reply = self._misread(failure, scope, is_own=False)
        await self._send(reply, scope, send, request is None or request.session.marks, begun)

    async def own(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Answer a request to one of this server's own pages or services; return False if there is none at its path."""
        begun = Begun(PAGES, arrived(scope))
        late = is_late(begun.start)
        reply: Reply | None
        try:
            if (request := await _read(scope, receive)) is None:
                return True
            request, whom = self._own(request)
            if whom is None:
                return False
            begun = Begun(request.path, begun.start) if whom is NATIVE else begun.of(self._dialect(whom.handler))
            if late:
                reply = whom.refuse(request, too_late())
            elif request.session.id and not is_talk(request):
                return await self._attend(request, whom, scope, send, begun)
            else:
                reply = await self._asked(whom.handler, whom.handler, request)
        except BaseException as failure:
            reply = self._misread(failure, scope, is_own=True)
        if reply is not None:
            await self._send(reply, scope, send, True, begun)
        return reply is not None

    def _misread(self, failure: BaseException, scope: Scope, is_own: bool) -> Reply:
        """Return the error response to a request that could not be read, or not answered, in the format of its
        service.
        """
        request = read_plain(scope)
        service = self._services.own(request) if is_own else self._services.hosts.get(request.host)
        whom = NATIVE if is_own and service is None else self._whom(request.host, service, answer)
        return whom.refuse(request, ours(failure))

    def _own(self, request: Request) -> tuple[Request, Whom | None]:
        """Return the request with its session, and who answers it for this server; None if no page or service does."""
        if request.path in ROUTES:
            return carried(request, None), NATIVE
        if (handler := self._services.own(request)) is None:
            return request, None
        return self._carried(request, handler), self._whom(NATIVE.service, handler, handler)

    def _dialect(self, service: Handler | None) -> Dialect | None:
        return self._services.dialects.get(service) if service else None

    def _carried(self, request: Request, service: Handler | None) -> Request:
        """Return the request with the session that it carries in place of an API key, if any."""
        return carried(request, self._dialect(service))

    def _whom(self, name: str, service: Handler | None, handler: Handler) -> Whom:
        """Return who answers a request: a service with its dialect, else the plain web."""
        dialect = self._dialect(service)
        return spoken(dialect, handler) if dialect else Whom(name, handler, _refused)

    async def _attend(self, request: Request, whom: Whom, scope: Scope, send: Send, begun: Begun) -> bool:
        """Answer a request under the policy of its session; return False if the service has no answer."""
        outcome = await self._desk.attend(request, whom)
        if outcome.cut:
            reply = outcome.reply and self._fitted(outcome.reply)
            await cut(outcome._replace(reply=reply), scope, send)
        elif outcome.reply is not None:
            await self._send(outcome.reply, scope, send, outcome.marks, begun, outcome.delay_ms / 1000)
        return outcome.reply is not None or bool(outcome.cut)

    async def _asked(
        self, service: Handler, handler: Callable[[World, Request], Answered], request: Request
    ) -> Answered:
        """Return what a service answers, on the event loop if that is as quick as a search, else from a thread."""
        world = self._served.world
        if self._services.is_quick(service, request):
            world = self._desk.worlds.plain()
            if not world.is_far:
                return handler(world, request)
        return await self._pool.run(partial(handler, world, request))

    async def _reply(self, request: Request) -> Reply:
        """Answer on the event loop if neither the disk nor long work is needed, else in a thread."""
        world = self._served.world
        if service := self._services.hosts.get(request.host):
            return await self._asked(service, partial(_serve, service), request)
        try:
            return answer(world, request, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(answer, world, request))

    async def _send(self, reply: Reply, scope: Scope, send: Send, marks: bool, begun: Begun, held: float = 0.0) -> None:
        """Send a response and count the request.

        `weather_seconds` is the delay injected by the weather of a session, which does not make the request slow.
        Debug headers are removed unless `keeps_debug_headers`.
        """
        reply = self._fitted(reply)
        seconds = perf_counter() - begun.start
        self._counters.count(begun.place, reply.status, seconds)
        if reply.status >= 500 or seconds - held >= self._watch.slow:
            asked = (scope["method"], scope["path"])
            self._watch.note(begun.place, asked, reply.status, seconds - held, reply.headers, reply.body)
        headers = reply.headers if marks else unmarked(reply.headers)
        await send({"type": "http.response.start", "status": reply.status, "reason": reply.reason, "headers": headers})
        bodiless = scope["method"] == "HEAD" or reply.status in (204, 304)
        await send({"type": "http.response.body", "body": b"" if bodiless else reply.body})

    def _fitted(self, reply: Reply) -> Reply:
        """Return the response with only those headers that every client accepts; count the headers that are dropped."""
        headers, dropped = fitted(reply.headers)
        self._counters.drop(dropped)
        return reply._replace(headers=headers) if dropped else reply

    def knows(self, host: str) -> bool:
        """True if a host name resolves on the emulated web, or an IP address was captured; False until a snapshot is
        open.
        """
        try:
            name = host.lower().rstrip(".")
            name = f"[{name}]" if ":" in name else name  # IPv6 addresses have brackets in URLs
            return self._services.has(name) or self._served.world.knows_host(name)
        except EmulatorError:
            return False

    def holds(self, scope: Scope) -> bool:
        """True if the very URL was captured; False until a snapshot is open."""
        try:
            return self._served.world.holds(read_plain(scope).url)
        except EmulatorError:
            return False


async def _read(scope: Scope, receive: Receive) -> Request | None:
    """Return the request with its body; None if the client disconnected. Raises BadRequest and HttpError."""
    request = read(scope)
    if request.method in ("GET", "HEAD"):
        return request
    body = await read_body(scope, receive, MAX_BODY)
    return None if body is None else request._replace(body=body)


def _serve(service: Handler, world: World, request: Request) -> Reply:
    """Answer a request to the host of a service: its captured pages come first, the service has the rest."""
    if request.method in ("GET", "HEAD") and world.holds(request.url):
        return answer(world, request)
    return service(world, request) or answer(world, request)


def answer(world: World, request: Request, wait: bool = True) -> Reply:
    """Return the response of the emulated web.

    Raises:
        EmulatorError: the page cannot be served.
        BlockingIOError: `wait` is False, and the answer needs a disk or long work.
    """
    if request.method in ("GET", "HEAD"):
        try:
            return _seen(world, request, wait)
        except NotCaptured as error:
            if not wait:
                raise BlockingIOError from error
            return _first(MADE, world, request) or _unseen(world, request, error)
    refused = _plain(405, b"Method Not Allowed", "The crawl asked only with GET.", [(b"Allow", b"GET, HEAD")])
    return _first(MADE, world, request) or refused


def _seen(world: World, request: Request, wait: bool) -> Reply:
    """Return the recorded response of the captured page. Raises NotCaptured."""
    wanted = PageRequest(request.url, "raw", at=_moment(request), follow=False)
    capture, payload = world.payload(wanted, wait)
    return _marked(replay(payload, request.method, request.headers, world.decoded), capture, world.snapshot, [])


def _first(handlers: Sequence[Handler], world: World, request: Request) -> Reply | None:
    """Return the response of the first handler that has one; None if none has."""
    replies = (handler(world, request) for handler in handlers)
    return next((reply for reply in replies if reply), None)


def _unseen(world: World, request: Request, error: NotCaptured) -> Reply:
    """Return the response for a URL that was not captured: no such host, the host's own error page, or a plain 404."""
    host = urls.host(urls.exact(request.url))
    mark = (b"X-Webemu-Reason", error.reason.encode())
    if not world.knows_host(host):
        return _plain(502, b"Bad Gateway", f"The name {host} does not resolve: {error.message}.", [mark])
    if (found := world.missing(host, _moment(request))) is None:
        return _plain(404, b"Not Found", "Not Found", [mark])
    reply = replay(found[1], request.method, request.headers, world.decoded)
    return _marked(reply, found[0], world.snapshot, [mark])


def _refused(request: Request, error: Exception) -> Reply:
    """Return the error response of the plain web: an imitated CAPTCHA page, or a plain text."""
    known = error if isinstance(error, EmulatorError) else internal_error(error, f"{request.method} {request.url}")
    return wall(known.message) if known.reason == CAPTCHA else failed(known)


def failed(error: EmulatorError) -> Reply:
    """Return the response for an error of this server or of the crawl: 502 if the crawl caused it, else the error's
    status.
    """
    marks: Headers = [(b"X-Webemu-Reason", error.reason.encode())]
    status = 502 if error.reason in OF_THE_CRAWL else error.status
    reason = HTTPStatus(status).phrase.encode()
    return _plain(status, reason, error.message, [*marks, *failure_marks(error)])


def _plain_answer(error: EmulatorError) -> Answer:
    """Return the error as a plain text, for failures outside the routing."""
    reply = failed(error)
    return Answer(reply.body, "", reply.status, b"text/plain; charset=utf-8", tuple(reply.headers[2:]))


@lru_cache(4096)
def _date(time: int) -> bytes:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def _marked(reply: Reply, capture: Capture, snapshot: str, marks: Headers) -> Reply:
    """Return the response with debug headers: URL, time and snapshot of the capture, then `extra_headers`."""
    ours: Headers = [
        (b"X-Webemu-Url", capture.url.encode("ascii", "backslashreplace")),
        (b"X-Webemu-Fetched", _date(capture.time)),
        (b"X-Webemu-Snapshot", snapshot.encode()),
    ]
    return Reply(reply.status, reply.reason, [*reply.headers, *ours, *marks], reply.body)


def _plain(status: int, reason: bytes, text: str, headers: Headers) -> Reply:
    """Return a plain text response. The two headers of the body come first."""
    body = f"{text}\n".encode()
    told: Headers = [(b"Content-Type", b"text/plain; charset=utf-8"), (b"Content-Length", b"%d" % len(body))]
    return Reply(status, reason, [*told, *headers], body)


def _moment(request: Request) -> datetime | None:
    """Return the requested time: `Accept-Datetime` (RFC 7089, section 2.1.1), else that of the session; None for the
    latest.

    An unreadable date counts as none.
    """
    if (date := request.headers.get(b"accept-datetime")) is None:
        return request.session.at
    try:
        return parsedate_to_datetime(date.decode("ascii")).astimezone(UTC)
    except (ValueError, OverflowError):
        return request.session.at
