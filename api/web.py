"""The emulated web as an ASGI app: any URL, answered as it was when the crawl saw it.

What was not seen is answered plausibly, and marked: an unknown host as a name that does not resolve, an unknown path as
the host itself says so, else plainly. Marks of ours are in `X-Webemu-*` headers. No request leaves this machine.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from http import HTTPStatus

from api.answer import Receive, Scope, Send
from api.counters import Counters
from api.errors import INFRASTRUCTURE, internal_error, is_ours, ours
from api.origin import Headers, Reply, replay
from api.pool import Pool
from api.served import Served
from emulator import urls
from emulator.errors import EmulatorError, NotCaptured
from emulator.types import Capture, PageRequest
from emulator.world import World

PLACE = "the web"
"""What `/v1/stats` calls every address of the emulated web."""


class Web:
    """Answers requests whose Host is a host of the web."""

    def __init__(self, served: Served, pool: Pool, counters: Counters) -> None:
        self._served = served
        self._pool = pool
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        asked = _by_name(scope["headers"])
        url = _url(scope, asked)
        try:
            reply = await self._pool.run(partial(self._answer, method, url, asked))
        except BaseException as failure:
            error = ours(failure)
            reply = _failed(error if isinstance(error, EmulatorError) else internal_error(error, f"{method} {url}"))
        self._counters.count(PLACE, reply.status)
        start = {
            "type": "http.response.start",
            "status": reply.status,
            "reason": reply.reason,
            "headers": reply.headers,
        }
        await send(start)
        bodiless = method == "HEAD" or reply.status == 304
        await send({"type": "http.response.body", "body": b"" if bodiless else reply.body})

    def knows(self, host: str) -> bool:
        """Whether the crawl has anything of a host; no host is known before a snapshot is open."""
        try:
            return not is_own(host.lower()) and self._served.world.knows_host(host.lower().rstrip("."))
        except EmulatorError:
            return False

    def _answer(self, method: str, url: str, asked: dict[bytes, bytes]) -> Reply:
        world = self._served.world
        if method not in ("GET", "HEAD"):
            return _plain(405, b"Method Not Allowed", "The crawl asked only with GET.", [(b"Allow", b"GET, HEAD")])
        return _seen(world, method, url, asked)


def _failed(error: EmulatorError) -> Reply:
    """What went wrong here and not in the web: 502 where the crawl is at fault, else the status the API has for it."""
    marks: Headers = [(b"X-Webemu-Reason", error.reason.encode())]
    status = error.status if is_ours(error) else 502
    reason = HTTPStatus(status).phrase.encode()
    return _plain(status, reason, error.message, [*marks, INFRASTRUCTURE] if is_ours(error) else marks)


def _seen(world: World, method: str, url: str, asked: dict[bytes, bytes]) -> Reply:
    at = _moment(asked.get(b"accept-datetime", b""))
    try:
        capture, payload = world.payload(PageRequest(url, "raw", at=at, follow=False))
    except NotCaptured as error:
        host = urls.host(urls.exact(url))
        mark = (b"X-Webemu-Reason", error.reason.encode())
        if not world.knows_host(host):
            return _plain(502, b"Bad Gateway", f"The name {host} does not resolve: {error.message}.", [mark])
        if (found := world.missing(host, at)) is None:
            return _plain(404, b"Not Found", "Not Found", [mark])
        return _marked(replay(found[1], method, asked, world.decoded), found[0], world.snapshot, [mark])
    return _marked(replay(payload, method, asked, world.decoded), capture, world.snapshot, [])


def _marked(reply: Reply, capture: Capture, snapshot: str, marks: Headers) -> Reply:
    fetched = datetime.fromtimestamp(capture.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ours: Headers = [
        (b"X-Webemu-Url", capture.url.encode("ascii", "backslashreplace")),
        (b"X-Webemu-Fetched", fetched.encode()),
        (b"X-Webemu-Snapshot", snapshot.encode()),
    ]
    return Reply(reply.status, reply.reason, [*reply.headers, *ours, *marks], reply.body)


def _plain(status: int, reason: bytes, text: str, headers: Headers) -> Reply:
    body = f"{text}\n".encode()
    told: Headers = [(b"Content-Type", b"text/plain; charset=utf-8"), (b"Content-Length", b"%d" % len(body))]
    return Reply(status, reason, [*told, *headers], body)


def host_of(headers: Headers) -> str:
    """The host that is asked for, without its port; empty if none is named."""
    for name, value in headers:
        if name == b"host":
            return _bare(value)
    return ""


@lru_cache(4096)
def _bare(value: bytes) -> str:
    text = value.decode("latin-1").lower()
    return text[1:].partition("]")[0] if text.startswith("[") else text.partition(":")[0].rstrip(".")


@lru_cache(4096)
def is_own(host: str) -> bool:
    """Whether a host is this server under any name: an address, `localhost`, `webemu`; no site of the web is."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host in ("", "localhost", "webemu")
    return True


def _by_name(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = found[name] + b", " + value if name in found else value
    return found


def _url(scope: Scope, asked: dict[bytes, bytes]) -> str:
    host = asked.get(b"host", b"").decode("latin-1")
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    return f"{scope['scheme']}://{host}{target.decode('latin-1')}"


def _moment(date: bytes) -> datetime | None:
    """`Accept-Datetime` (RFC 7089, section 2.1.1); what is no date asks for nothing."""
    try:
        return parsedate_to_datetime(date.decode("ascii")).astimezone(UTC) if date else None
    except ValueError:
        return None
