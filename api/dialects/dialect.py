"""The `Dialect` type, and the way from a request to a service's response: check the key, find the route, call its
endpoint.

A dialect translates parameters and results only. It never ranks, limits or parses dates by rules of its own. What it
cannot fill from the crawl is absent or empty, whichever the real service does, and is never invented.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

import orjson

from webemu.api.dialects.refusals import reword_error
from webemu.api.http.errors import log_internal_error, reraise_if_fatal, server_fault_headers
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response, compose_response
from webemu.emulator import json_text
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.session import OPENED_PREFIX
from webemu.emulator.world import World

JsonObject = dict[str, object]
"""A JSON object: parameters of a request, or a part of a response."""
Endpoint = Callable[[World, Request], Response]
"""Answers one route: a request to the service, and the world to answer it from."""
JSON_TYPE = b"application/json"
"""Content type of responses unless another one is given."""
MAX_INLINE_BODY_BYTES = 2000
"""Largest request body, in bytes, that is answered on the event loop. Longer ones may be batches."""


@dataclass(frozen=True, slots=True)
class Route:
    """One route of a service: methods, path and the endpoint that answers it."""

    methods: tuple[str, ...]
    """HTTP methods; `GET` includes `HEAD`."""
    path: str
    """Regular expression that the whole path must match, below the service's root."""
    endpoint: Endpoint
    """Function that answers the route."""
    runs_inline: bool = False
    """True if the endpoint takes no longer than one search, so that handing it to a thread would cost more."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One service as a frozen value: addresses, endpoints, and the functions that differ between services."""

    name: str
    """Prefix of its paths on this server: `serper` is served below `/serper/`."""
    service: str
    """Name that people know it by."""
    hosts: tuple[str, ...]
    """Host names that it answers; empty for a service that people run themselves."""
    routes: tuple[Route, ...]
    """Routes in the order in which they are tried; the first that matches path and method answers."""
    read_key: Callable[[Request], str] | None
    """Returns the API key that a request carries, empty if it has none; None for a service without keys."""
    render_error: Callable[[EmulatorError, Request], Response]
    """Renders an error in the service's own shape: `bad-key`, `rate-limited`, `bad-request`, `no-such-route` or any
    5xx.
    """
    setup_hint: str
    """Setting or argument that points a client at this server, as Markdown for the table in `docs/dialects.md`."""
    clients: tuple[str, ...] = ()
    """Client libraries that the tests run against it, for the same table."""
    is_meant_at_root: Callable[[Request], bool] | None = None
    """Returns True for a request to this server's root, without the prefix, that is meant for this service: some
    clients drop prefixes.
    """


def answer_request(dialect: Dialect, keys: frozenset[str], world: World, request: Request) -> Response:
    """Answer a request as the service would.

    Any error becomes the service's own error response; a failure of this server also carries the headers that tell a
    trainer so. An empty `keys` accepts any API key, and none. Raises BlockingIOError if called on the event loop for
    an answer that has to be computed in a thread.

        response = answer_request(serper.DIALECT, frozenset(), world, request)
    """
    try:
        if keys and dialect.read_key and not _is_valid_key(dialect.read_key(request), keys, request):
            raise ServiceRefusal("the API key is not one of those configured", reason="bad-key", status=401)
        return _find_route(dialect, request).endpoint(world, request)
    except BlockingIOError:
        # Not an error of the service: the caller is on the event loop and has to try again in a thread.
        raise
    except BaseException as failure:
        return build_error_response(dialect, reraise_if_fatal(failure), request)


def _is_valid_key(key: str, keys: frozenset[str], request: Request) -> bool:
    """True if the key is a configured one, or the name of the opened session under which the request runs."""
    return key in keys or (key == request.session.name and key.startswith(OPENED_PREFIX))


def build_error_response(dialect: Dialect, error: Exception, request: Request) -> Response:
    """Return the service's response for an error, with this server's debug and failure headers added.

    An exception that is no EmulatorError is logged and reported as an internal error. Messages are in the words of the
    live web (`webemu.api.dialects.refusals`).
    """
    emulator_error = (
        error if isinstance(error, EmulatorError) else log_internal_error(error, f"{request.method} {request.url}")
    )
    response = dialect.render_error(reword_error(emulator_error), request)
    debug_headers: Headers = [(b"X-Webemu-Reason", emulator_error.reason.encode())]
    return response._replace(headers=[*response.headers, *debug_headers, *server_fault_headers(emulator_error)])


def has_route(dialect: Dialect, path: str) -> bool:
    """True if the service has a route for the path, whatever the method. Captured pages may answer other paths of its
    host.
    """
    return any(re.fullmatch(route.path, path) for route in dialect.routes)


def runs_inline(dialect: Dialect, request: Request) -> bool:
    """True if the request, sent to the service's host or below its prefix, may be answered on the event loop."""
    path = request.path.removeprefix(f"/{dialect.name}") or "/"
    return len(request.body) < MAX_INLINE_BODY_BYTES and any(
        route.runs_inline and re.fullmatch(route.path, path) for route in dialect.routes
    )


def _find_route(dialect: Dialect, request: Request) -> Route:
    """Return the route that answers a request.

    Raises: ServiceRefusal with status 405 if the path has routes for other methods only, else with 404.
    """
    routes = [route for route in dialect.routes if re.fullmatch(route.path, request.path)]
    for route in routes:
        if request.method in route.methods or (request.method == "HEAD" and "GET" in route.methods):
            return route
    if routes:
        message = f"Method {request.method} is not allowed for {request.path}"
        raise ServiceRefusal(message, reason="method-not-allowed", status=405)
    raise ServiceRefusal(f"Cannot {request.method} {request.path}", reason="no-such-route", status=404)


def build_response(
    value: object, status: int = 200, headers: Headers | None = None, content_type: bytes = JSON_TYPE
) -> Response:
    """Return a response with the value as its body: bytes as they are, anything else as JSON.

    build_response({"results": []})
    build_response(b"OK", content_type=b"text/plain; charset=utf-8")
    """
    body = value if isinstance(value, bytes) else orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    response = compose_response(status, content_type, body, headers or [])
    return response._replace(reason=REASON_PHRASES.get(status, b""))


def read_params(request: Request) -> dict[str, object]:
    """Return the parameters of a request by name: of the query string, then of a posted form or JSON object.

    A member of the body replaces a query parameter of the same name; of a repeated parameter the last value counts.
    Raises: BadRequest if the body is neither a form nor a JSON object.
    """
    params: dict[str, object] = dict(request.parameters)
    # A form is part of `Request.parameters` already; any other body has to be JSON, whatever its content type.
    if request.body.strip() and not _is_form(request.headers):
        try:
            body = json_text.parse_json(request.body)
        except ValueError as error:
            raise BadRequest(f"the body is no JSON: {error}", action="send a JSON object") from error
        if not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object", action="send a JSON object")
        params |= body
    return params


def _is_form(headers: Mapping[bytes, bytes]) -> bool:
    """True if the body is a URL-encoded form, which `Request.parameters` has already read."""
    return headers.get(b"content-type", b"").startswith(b"application/x-www-form-urlencoded")


def get_text(params: Mapping[str, object], name: str, default: str = "") -> str:
    """Return a parameter as text; `default` if it is missing or null. Raises BadRequest on a list or an object."""
    value = params.get(name)
    if value is None:
        return default
    if isinstance(value, (dict, list)):
        raise BadRequest(f"{name} must be text, not a list or an object", reason=f"bad-{name}")
    return str(value)


def get_number(params: Mapping[str, object], name: str, default: int, minimum: int, maximum: int) -> int:
    """Return a parameter as a whole number, clamped to its bounds; `default` if it is missing, null or empty.

    Raises: BadRequest if the value is not a whole number.
    """
    value = params.get(name)
    if value is None or value == "":
        return default
    if isinstance(value, (str, int, float)):
        with suppress(ValueError):
            return max(minimum, min(maximum, int(value)))
    raise BadRequest(f"{name} is no whole number", reason=f"bad-{name}")


def get_flag(params: Mapping[str, object], name: str, default: bool = False) -> bool:
    """Return a parameter as a boolean: JSON's own, or true for `true`, `1`, `yes`, `on` in any case, false for other
    text.
    """
    value = params.get(name)
    if value is None or value == "":
        return default
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1", "yes", "on")


def get_texts(params: Mapping[str, object], name: str) -> list[str]:
    """Return a parameter as a list of texts: a JSON list, or one text split at commas; empty if it is missing or null.

    Raises: BadRequest if it is neither.
    """
    value = params.get(name)
    if value is None:
        return []
    if isinstance(value, str):
        return [one.strip() for one in value.split(",") if one.strip()]
    if not isinstance(value, list):
        raise BadRequest(f"{name} must be a list or text", reason=f"bad-{name}")
    return [str(one) for one in value]


def request_digest(request: Request) -> str:
    """Return 64 hexadecimal digits computed from method, URL and body: the request id of services that send one.

    Equal requests have equal ids, so that responses can be compared byte by byte.
    """
    return sha256(b"\0".join((request.method.encode(), request.url.encode(), request.body))).hexdigest()


def request_uuid(request: Request) -> str:
    """Return the request id of `request_digest` in the form of a UUID."""
    return str(UUID(request_digest(request)[:32]))


def body_fields(request: Request) -> frozenset[str]:
    """Return the member names of the JSON object in the body; empty if the body is anything else. Never raises.

    Services that share a path at the root are told apart by these names.
    """
    try:
        value = json_text.parse_json(request.body)
    except ValueError:
        return frozenset()
    return frozenset(value) if isinstance(value, dict) else frozenset()


def get_header(request: Request, name: bytes, scheme: str = "") -> str:
    """Return a header's value, empty if it is missing; with a `scheme` such as `Bearer`, the token after it."""
    value = request.headers.get(name, b"").decode("latin-1").strip()
    if not scheme:
        return value
    actual_scheme, _, token = value.partition(" ")
    return token.strip() if actual_scheme.lower() == scheme.lower() else ""


REASON_PHRASES = {
    200: b"OK", 201: b"Created", 202: b"Accepted", 302: b"Found", 400: b"Bad Request", 401: b"Unauthorized",
    402: b"Payment Required", 403: b"Forbidden", 404: b"Not Found", 405: b"Method Not Allowed", 408: b"Request Timeout",
    409: b"Conflict", 413: b"Content Too Large", 422: b"Unprocessable Entity", 429: b"Too Many Requests",
    432: b"Request Failed", 451: b"Unavailable For Legal Reasons", 500: b"Internal Server Error", 502: b"Bad Gateway",
    503: b"Service Unavailable", 504: b"Gateway Timeout",
}  # fmt: skip
"""Reason phrases by status code. Tavily's 432 is in no RFC."""
