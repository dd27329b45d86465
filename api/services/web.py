"""The emulated web as an ASGI app: any URL, answered as it was when the crawl saw it.

What was not seen is answered plausibly, and marked: an unknown host as a name that does not resolve, an unknown path as
the host itself says so, else plainly. Services that live on the web (archives, wikis) have modules of their own.
Marks of ours are in `X-Webemu-*` headers. No request leaves this machine.
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
"""What `/v1/stats` calls every address of the emulated web, and this server's own pages."""
MAX_BODY = 8_000_000


class Begun(NamedTuple):
    """A request that is counted when it ends."""

    place: str
    start: float

    def of(self, dialect: Dialect | None) -> Begun:
        return self if dialect is None else self._replace(place=dialect.name)


class Web:
    """Answers requests whose Host is a host of the web."""

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
        await guarded(self._answer, _plain_answer, scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: Request | None = None
        begun = Begun(PLACE, arrived(scope))
        late = is_late(begun.start)
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
        """Answer for one of this server's own pages and services; False if it has none there."""
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
        """Return what whoever is asked says of a request that could not be read, or answered in its words."""
        request = read_plain(scope)
        service = self._services.own(request) if is_own else self._services.hosts.get(request.host)
        whom = NATIVE if is_own and service is None else self._whom(request.host, service, answer)
        return whom.refuse(request, ours(failure))

    def _own(self, request: Request) -> tuple[Request, Whom | None]:
        """Who answers for this server, and the request with its session; None if that is neither page nor service."""
        if request.path in ROUTES:
            return carried(request, None), NATIVE
        if (handler := self._services.own(request)) is None:
            return request, None
        return self._carried(request, handler), self._whom(NATIVE.service, handler, handler)

    def _dialect(self, service: Handler | None) -> Dialect | None:
        return self._services.dialects.get(service) if service else None

    def _carried(self, request: Request, service: Handler | None) -> Request:
        return carried(request, self._dialect(service))

    def _whom(self, name: str, service: Handler | None, handler: Handler) -> Whom:
        dialect = self._dialect(service)
        return spoken(dialect, handler) if dialect else Whom(name, handler, _refused)

    async def _attend(self, request: Request, whom: Whom, scope: Scope, send: Send, begun: Begun) -> bool:
        """Answer a session with a policy; False where there is no answer."""
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
        """What a service answers: at once if that takes no longer than a search, else from the pool."""
        world = self._served.world
        if self._services.is_quick(service, request):
            world = self._desk.worlds.plain()
            if not world.is_far:
                return handler(world, request)
        return await self._pool.run(partial(handler, world, request))

    async def _reply(self, request: Request) -> Reply:
        """At once where that takes no disk and no long work, else from the pool."""
        world = self._served.world
        if service := self._services.hosts.get(request.host):
            return await self._asked(service, partial(_serve, service), request)
        try:
            return answer(world, request, wait=False)
        except BlockingIOError:
            return await self._pool.run(partial(answer, world, request))

    async def _send(self, reply: Reply, scope: Scope, send: Send, marks: bool, begun: Begun, held: float = 0.0) -> None:
        """`held`: seconds that a session's weather took, which is nobody's slowness."""
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
        """Return the reply with headers that every client can take; those left out are counted."""
        headers, dropped = fitted(reply.headers)
        self._counters.drop(dropped)
        return reply._replace(headers=headers) if dropped else reply

    def knows(self, host: str) -> bool:
        """True if a name resolves on the web, or an address was captured; False before a snapshot is open."""
        try:
            name = host.lower().rstrip(".")
            name = f"[{name}]" if ":" in name else name
            return self._services.has(name) or self._served.world.knows_host(name)
        except EmulatorError:
            return False

    def holds(self, scope: Scope) -> bool:
        """True if the very URL was captured; False before a snapshot is open."""
        try:
            return self._served.world.holds(read_plain(scope).url)
        except EmulatorError:
            return False


async def _read(scope: Scope, receive: Receive) -> Request | None:
    """The whole request, None if the asker left. Raises BadRequest and HttpError."""
    request = read(scope)
    if request.method in ("GET", "HEAD"):
        return request
    body = await read_body(scope, receive, MAX_BODY)
    return None if body is None else request._replace(body=body)


def _serve(service: Handler, world: World, request: Request) -> Reply:
    """What was captured of a service's own host is answered as any page is; the service has the rest."""
    if request.method in ("GET", "HEAD") and world.holds(request.url):
        return answer(world, request)
    return service(world, request) or answer(world, request)


def answer(world: World, request: Request, wait: bool = True) -> Reply:
    """What the web answers. Raises EmulatorError; and BlockingIOError where it must not wait but would have to."""
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
    wanted = PageRequest(request.url, "raw", at=_moment(request), follow=False)
    capture, payload = world.payload(wanted, wait)
    return _marked(replay(payload, request.method, request.headers, world.decoded), capture, world.snapshot, [])


def _first(handlers: Sequence[Handler], world: World, request: Request) -> Reply | None:
    replies = (handler(world, request) for handler in handlers)
    return next((reply for reply in replies if reply), None)


def _unseen(world: World, request: Request, error: NotCaptured) -> Reply:
    host = urls.host(urls.exact(request.url))
    mark = (b"X-Webemu-Reason", error.reason.encode())
    if not world.knows_host(host):
        return _plain(502, b"Bad Gateway", f"The name {host} does not resolve: {error.message}.", [mark])
    if (found := world.missing(host, _moment(request))) is None:
        return _plain(404, b"Not Found", "Not Found", [mark])
    reply = replay(found[1], request.method, request.headers, world.decoded)
    return _marked(reply, found[0], world.snapshot, [mark])


def _refused(request: Request, error: Exception) -> Reply:
    known = error if isinstance(error, EmulatorError) else internal_error(error, f"{request.method} {request.url}")
    return wall(known.message) if known.reason == CAPTCHA else failed(known)


def failed(error: EmulatorError) -> Reply:
    """What went wrong here and not in the web: 502 where the crawl is at fault, else the status the API has for it."""
    marks: Headers = [(b"X-Webemu-Reason", error.reason.encode())]
    status = 502 if error.reason in OF_THE_CRAWL else error.status
    reason = HTTPStatus(status).phrase.encode()
    return _plain(status, reason, error.message, [*marks, *failure_marks(error)])


def _plain_answer(error: EmulatorError) -> Answer:
    reply = failed(error)
    return Answer(reply.body, "", reply.status, b"text/plain; charset=utf-8", tuple(reply.headers[2:]))


@lru_cache(4096)
def _date(time: int) -> bytes:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


def _marked(reply: Reply, capture: Capture, snapshot: str, marks: Headers) -> Reply:
    ours: Headers = [
        (b"X-Webemu-Url", capture.url.encode("ascii", "backslashreplace")),
        (b"X-Webemu-Fetched", _date(capture.time)),
        (b"X-Webemu-Snapshot", snapshot.encode()),
    ]
    return Reply(reply.status, reply.reason, [*reply.headers, *ours, *marks], reply.body)


def _plain(status: int, reason: bytes, text: str, headers: Headers) -> Reply:
    body = f"{text}\n".encode()
    told: Headers = [(b"Content-Type", b"text/plain; charset=utf-8"), (b"Content-Length", b"%d" % len(body))]
    return Reply(status, reason, [*told, *headers], body)


def _moment(request: Request) -> datetime | None:
    """`Accept-Datetime` (RFC 7089, section 2.1.1), else the session's; what is no date asks for nothing."""
    if (date := request.headers.get(b"accept-datetime")) is None:
        return request.session.at
    try:
        return parsedate_to_datetime(date.decode("ascii")).astimezone(UTC)
    except (ValueError, OverflowError):
        return request.session.at
