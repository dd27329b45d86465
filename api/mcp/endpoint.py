"""MCP over Streamable HTTP (2025-11-25, basic/transports): one address, POST alone, one answer per request.

Stateless: no session id is given out and no stream is kept, so GET and DELETE are 405. Answers are JSON, or one
server-sent event for a client that takes nothing else. Our failures are 5xx with a JSON-RPC error, never results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import orjson

from webemu.api.http.errors import INFRASTRUCTURE, internal_error, is_ours, ours
from webemu.api.http.request import Handler, Request
from webemu.api.mcp import rpc, versions
from webemu.api.mcp.browse import BROWSE
from webemu.api.mcp.documents import DOCUMENTS
from webemu.api.mcp.methods import Context, respond
from webemu.api.mcp.research import RESEARCH
from webemu.api.mcp.rpc import INTERNAL, INVALID_REQUEST, PARSE, Message, RpcError
from webemu.api.mcp.tools import Toolset
from webemu.api.services.origin import Headers, Reply
from webemu.emulator import json_text
from webemu.emulator.errors import EmulatorError
from webemu.emulator.world import World

TOOLSETS = {"": RESEARCH, "/browse": BROWSE, "/documents": DOCUMENTS}
"""By what follows `/mcp`."""
MOST_MESSAGES = 256
"""In one batch."""
_LOCAL = re.compile(r"localhost|.+\.localhost|webemu|127\.\d+\.\d+\.\d+|::1")
_ALLOWED: Headers = [
    (b"Access-Control-Allow-Methods", b"POST, OPTIONS"),
    (b"Access-Control-Allow-Headers", b"*"),
    (b"Access-Control-Max-Age", b"600"),
]


def answer(tools: Toolset, world: World, request: Request) -> Reply:
    """The answer to any request; whatever goes wrong is a JSON-RPC error."""
    shared: Headers = [(b"X-Webemu-Snapshot", world.snapshot.encode())]
    try:
        shared += _origin(request)
        if request.method == "OPTIONS":
            return Reply(204, b"No Content", [*shared, *_ALLOWED], b"")
        return _posted(tools, world, request, shared)
    except RpcError as error:
        told: Headers = [(b"Allow", b"POST")] if error.status == 405 else []
        return reply(error.status, orjson.dumps(rpc.failed(None, error)), [*shared, *told])


def _origin(request: Request) -> Headers:
    """A page in a browser may ask if it is of this machine: no name that is rebound to us is (DNS rebinding)."""
    if (origin := request.headers.get(b"origin")) is None:
        return []
    try:
        host = urlsplit(origin.decode("latin-1")).hostname or ""
    except ValueError:
        host = ""
    if not _LOCAL.fullmatch(host):
        raise RpcError(INVALID_REQUEST, "pages of other sites may not ask", 403)
    return [(b"Access-Control-Allow-Origin", origin), (b"Vary", b"Origin")]


def _posted(tools: Toolset, world: World, request: Request, shared: Headers) -> Reply:
    if request.method != "POST":
        raise RpcError(INVALID_REQUEST, "messages are posted; there is no stream and no session here", 405)
    if request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise RpcError(INVALID_REQUEST, "send application/json", 415)
    as_event = _as_event(request.headers.get(b"accept", b"*/*").decode("latin-1").lower())
    version = versions.of(request)
    value = _value(request.body)
    respond_to = partial(_answered, request, Context(world, request.session, tools, version))
    if not isinstance(value, list):
        status, told, failed = respond_to(value)
    elif version in versions.BATCHING and 0 < len(value) <= MOST_MESSAGES:
        status, told, failed = _batch([respond_to(one) for one in value])
    else:
        raise RpcError(INVALID_REQUEST, f"{len(value)} messages in one request of version {version}")
    headers = [*shared, INFRASTRUCTURE] if failed else shared
    return reply(status, b"" if told is None else orjson.dumps(told), headers, as_event and status == 200)


def _as_event(accept: str) -> bool:
    kinds = {kind.partition(";")[0].strip() for kind in accept.split(",")}
    if kinds & {"application/json", "application/*", "*/*"}:
        return False
    if kinds & {"text/event-stream", "text/*"}:
        return True
    raise RpcError(INVALID_REQUEST, "accept application/json or text/event-stream", 406)


def _value(body: bytes) -> Any:
    try:
        return json_text.read(body)
    except ValueError as error:
        raise RpcError(PARSE, f"the body is no JSON: {error}") from error


Answered = tuple[int, Any, bool]
"""Status of HTTP, what is said (None if nothing is), and whether it is a failure of ours."""


def _answered(request: Request, context: Context, value: Any) -> Answered:
    try:
        message = rpc.read(value)
    except RpcError as error:
        return error.status, rpc.failed(None, error), False
    if message is None or "id" not in value:
        return 202, None, False
    try:
        return 200, rpc.succeeded(message.id, _result(request, context, message)), False
    except BaseException as failure:
        told, is_failure = _error(failure, request)
    # Up to 2025-11-25 an error that answers a request is sent as any answer is.
    is_said = told.status < 500 and context.version in versions.HANDSHAKE
    return 200 if is_said else told.status, rpc.failed(message.id, told), is_failure


def _result(request: Request, context: Context, message: Message) -> dict[str, Any]:
    if context.version in versions.MODERN:
        versions.check(request, message, context.version)
    return respond(context, message)


def _error(failure: BaseException, request: Request) -> tuple[RpcError, bool]:
    error = ours(failure)
    if isinstance(error, RpcError):
        return error, False
    known = error if isinstance(error, EmulatorError) else internal_error(error, f"{request.method} {request.url}")
    told = {"reason": known.reason} | ({"failure": "infrastructure"} if is_ours(known) else {})
    return RpcError(INTERNAL, known.message, known.status, told), is_ours(known)


def _batch(answered: Sequence[Answered]) -> Answered:
    said = [told for _, told, _ in answered if told is not None]
    return 200 if said else 202, said or None, any(failed for _, _, failed in answered)


def reply(status: int, body: bytes, headers: Headers, as_event: bool = False) -> Reply:
    if as_event:
        body = b"event: message\ndata: %b\n\n" % body
    kind = b"text/event-stream" if as_event else b"application/json"
    told: Headers = [(b"Content-Type", kind)] if body else []
    told.append((b"Content-Length", b"%d" % len(body)))
    return Reply(status, HTTPStatus(status).phrase.encode(), [*told, *headers], body)


def _handler(tools: Toolset) -> Handler:
    return partial(answer, tools)


def _at(path: str) -> Callable[[Request], bool]:
    return lambda request: request.path.rstrip("/") == path


ENDPOINTS: Sequence[tuple[Callable[[Request], bool], Handler]] = [
    (_at(f"/mcp{path}"), _handler(tools)) for path, tools in TOOLSETS.items()
]
