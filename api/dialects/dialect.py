"""What a dialect is, and how a request becomes its answer: authorised, read, asked of the world, said in its words.

A dialect never ranks, clamps or parses a date by laws of its own; what it cannot fill from the crawl is absent or empty
as the service has it, never invented.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson

from webemu.api.http.errors import failure_marks, internal_error, ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator import json_text
from webemu.emulator.errors import BadRequest, EmulatorError, Refused
from webemu.emulator.world import World

Endpoint = Callable[[World, Request], Reply]
JSON = b"application/json"
QUICK_BODY = 2000
"""Longer ones may be batches."""


@dataclass(frozen=True, slots=True)
class Route:
    """One address of a service."""

    methods: tuple[str, ...]
    path: str
    """Regular expression of the whole path, below the service's root."""
    answer: Endpoint
    quick: bool = False
    """Whether it takes no more than a search does: less than to hand it to a thread."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One service."""

    name: str
    """The prefix of its paths on this server: `serper` is served below `/serper/`."""
    service: str
    """What people call it."""
    hosts: tuple[str, ...]
    routes: tuple[Route, ...]
    key: Callable[[Request], str] | None
    """The API key as its clients send it, empty if they send none; None where the service has no keys."""
    refuse: Callable[[EmulatorError, Request], Reply]
    """An error in its own shape: `bad-key`, `rate-limited`, `bad-request`, `no-such-route`, any 5xx."""
    pointed: str
    """How a client is pointed here, for the table in the docs; Markdown."""
    clients: tuple[str, ...] = ()
    """Clients that were run against it, for the same table."""
    at_root: Callable[[Request], bool] = lambda request: False
    """Whether a request to this server without a prefix is meant for it: some clients drop prefixes."""


def answer(dialect: Dialect, keys: frozenset[str], world: World, request: Request) -> Reply:
    """The service's answer; whatever goes wrong is said in its words, and our own failures are marked as ours."""
    try:
        if keys and dialect.key and not _is_known(dialect.key(request), keys, request):
            raise Refused("the API key is not one of those configured", reason="bad-key", status=401)
        return _route(dialect, request).answer(world, request)
    except BlockingIOError:  # not in the event loop: in a thread
        raise
    except BaseException as failure:
        return refused(dialect, ours(failure), request)


def _is_known(key: str, keys: frozenset[str], request: Request) -> bool:
    """Whether a key is one of those configured, or stands for the session that the request is of."""
    return key in keys or (request.session.policy is not None and key == request.session.name)


def refused(dialect: Dialect, error: Exception, request: Request) -> Reply:
    """An error in the words of the service, marked."""
    known = error if isinstance(error, EmulatorError) else internal_error(error, f"{request.method} {request.url}")
    reply = dialect.refuse(known, request)
    marks: Headers = [(b"X-Webemu-Reason", known.reason.encode())]
    return reply._replace(headers=[*reply.headers, *marks, *failure_marks(known)])


def has(dialect: Dialect, path: str) -> bool:
    """Whether a path is one of the service's; its host may have pages besides."""
    return any(re.fullmatch(route.path, path) for route in dialect.routes)


def is_quick(dialect: Dialect, request: Request) -> bool:
    """Whether a request, by host or below the prefix, may be answered in the event loop."""
    path = request.path.removeprefix(f"/{dialect.name}") or "/"
    return len(request.body) < QUICK_BODY and any(
        route.quick and re.fullmatch(route.path, path) for route in dialect.routes
    )


def _route(dialect: Dialect, request: Request) -> Route:
    fitting = [route for route in dialect.routes if re.fullmatch(route.path, request.path)]
    for route in fitting:
        if request.method in route.methods or (request.method == "HEAD" and "GET" in route.methods):
            return route
    if fitting:
        said = f"Method {request.method} is not allowed for {request.path}"
        raise Refused(said, reason="method-not-allowed", status=405)
    raise Refused(f"Cannot {request.method} {request.path}", reason="no-such-route", status=404)


def reply(value: object, status: int = 200, headers: Headers | None = None, kind: bytes = JSON) -> Reply:
    """A value as JSON, or bytes as they are."""
    body = value if isinstance(value, bytes) else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    told: Headers = [(b"Content-Type", kind), (b"Content-Length", b"%d" % len(body))]
    return Reply(status, REASONS.get(status, b""), [*told, *(headers or [])], body)


def fields(request: Request) -> dict[str, Any]:
    """What is asked, by name: of the query, then of a form or a JSON object in the body. Raises BadRequest."""
    asked: dict[str, Any] = dict(request.parameters)
    if request.body.strip() and not _is_form(request.headers):
        try:
            value = json_text.read(request.body)
        except ValueError as error:
            raise BadRequest(f"the body is no JSON: {error}", action="send a JSON object") from error
        if not isinstance(value, dict):
            raise BadRequest("the body is no JSON object", action="send a JSON object")
        asked |= value
    return asked


def _is_form(headers: Mapping[bytes, bytes]) -> bool:
    return headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")


def text(asked: Mapping[str, Any], name: str, default: str = "") -> str:
    """A parameter as text; `default` if it is missing or null. Raises BadRequest on a list or an object."""
    value = asked.get(name)
    if value is None:
        return default
    if isinstance(value, (dict, list)):
        raise BadRequest(f"{name} is no text", reason=f"bad-{name}")
    return str(value)


def number(asked: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A parameter as a whole number, moved into its bounds. Raises BadRequest on what is no number."""
    value = asked.get(name)
    if value is None or value == "":
        return default
    try:
        return max(least, min(most, int(value)))
    except (TypeError, ValueError):
        raise BadRequest(f"{name} is no whole number", reason=f"bad-{name}") from None


def flag(asked: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """A parameter as yes or no: JSON's, or `true`, `1`, `yes`, `on` in any case."""
    value = asked.get(name)
    if value is None or value == "":
        return default
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1", "yes", "on")


def texts(asked: Mapping[str, Any], name: str) -> list[str]:
    """A parameter as several texts: a JSON list, or one text with commas between them."""
    value = asked.get(name)
    if value is None:
        return []
    if isinstance(value, str):
        return [one.strip() for one in value.split(",") if one.strip()]
    if not isinstance(value, list):
        raise BadRequest(f"{name} is no list", reason=f"bad-{name}")
    return [str(one) for one in value]


def fingerprint(request: Request) -> str:
    """64 hexadecimal digits that name what was asked: the number of a request where services give it one."""
    return sha256(b"\0".join((request.method.encode(), request.url.encode(), request.body))).hexdigest()


def uuid(request: Request) -> str:
    """The same as a UUID."""
    return str(UUID(fingerprint(request)[:32]))


def members(request: Request) -> frozenset[str]:
    """Names in the JSON object of the body, none where it is none: whose request this is. Raises nothing."""
    try:
        value = json_text.read(request.body)
    except ValueError:
        return frozenset()
    return frozenset(value) if isinstance(value, dict) else frozenset()


def header(request: Request, name: bytes, scheme: str = "") -> str:
    """A header's value, after its scheme (`Bearer`) if that is given; empty if it is not there."""
    value = request.headers.get(name, b"").decode("latin-1").strip()
    if not scheme:
        return value
    before, _, token = value.partition(" ")
    return token.strip() if before.lower() == scheme.lower() else ""


REASONS = {
    200: b"OK", 201: b"Created", 202: b"Accepted", 302: b"Found", 400: b"Bad Request", 401: b"Unauthorized",
    402: b"Payment Required", 403: b"Forbidden", 404: b"Not Found", 405: b"Method Not Allowed", 408: b"Request Timeout",
    409: b"Conflict", 413: b"Content Too Large", 422: b"Unprocessable Entity", 429: b"Too Many Requests",
    432: b"Request Failed", 451: b"Unavailable For Legal Reasons", 500: b"Internal Server Error", 502: b"Bad Gateway",
    503: b"Service Unavailable", 504: b"Gateway Timeout",
}  # fmt: skip
