"""MCP over Streamable HTTP (2025-11-25, basic/transports): one address, POST only, one response per request.

It is stateless: no session id is given out and no stream is kept, so that GET and DELETE are 405. A response is JSON,
or one server-sent event for a client that accepts nothing else. A failure of this server is a 5xx with a JSON-RPC
error, never a tool result.
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
"""Toolsets by what follows `/mcp` in the path."""
MOST_MESSAGES = 256
"""Most messages in one batch."""
_LOCAL = re.compile(r"localhost|.+\.localhost|webemu|127\.\d+\.\d+\.\d+|::1")
"""Host names of this machine."""
_ALLOWED: Headers = [
    (b"Access-Control-Allow-Methods", b"POST, OPTIONS"),
    (b"Access-Control-Allow-Headers", b"*"),
    (b"Access-Control-Max-Age", b"600"),
]


def answer(tools: Toolset, world: World, request: Request) -> Reply:
    """Answer any request to one toolset; whatever goes wrong is a JSON-RPC error."""
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
    """Return the CORS headers for a web page that calls this server.

    Only pages of this machine may: a name that is rebound to this address is refused (DNS rebinding). Raises RpcError
    with status 403.
    """
    if (origin := request.headers.get(b"origin")) is None:
        return []
    try:
        host = urlsplit(origin.decode("latin-1")).hostname or ""
    except ValueError:
        host = ""
    if not _LOCAL.fullmatch(host):
        raise RpcError(
            INVALID_REQUEST,
            f"web pages of {host[:100]!r} may not call this server; only those of localhost or *.localhost may",
            403,
        )
    return [(b"Access-Control-Allow-Origin", origin), (b"Vary", b"Origin")]


def _posted(tools: Toolset, world: World, request: Request, shared: Headers) -> Reply:
    """Return the response to a posted message or batch. Raises RpcError if HTTP or the JSON is not as MCP requires."""
    if request.method != "POST":
        raise RpcError(
            INVALID_REQUEST,
            f"{request.method} is not supported: POST the message; there is no stream or MCP session",
            405,
        )
    if request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise RpcError(INVALID_REQUEST, "the Content-Type must be application/json", 415)
    as_event = _as_event(request.headers.get(b"accept", b"*/*").decode("latin-1").lower())
    version = versions.of(request)
    value = _value(request.body)
    respond_to = partial(_answered, request, Context(world, request.session, tools, version))
    if not isinstance(value, list):
        status, told, failed = respond_to(value)
    elif version in versions.BATCHING and 0 < len(value) <= MOST_MESSAGES:
        status, told, failed = _batch([respond_to(one) for one in value])
    else:
        raise RpcError(
            INVALID_REQUEST,
            f"version {version} does not allow {len(value)} messages in one request; send one message at a time, or a"
            f" batch of 1 to {MOST_MESSAGES} in version {versions.BATCHING[-1]}",
        )
    headers = [*shared, INFRASTRUCTURE] if failed else shared
    return reply(status, b"" if told is None else orjson.dumps(told), headers, as_event and status == 200)


def _as_event(accept: str) -> bool:
    """True if the client accepts a server-sent event and no JSON. Raises RpcError if it accepts neither."""
    kinds = {kind.partition(";")[0].strip() for kind in accept.split(",")}
    if kinds & {"application/json", "application/*", "*/*"}:
        return False
    if kinds & {"text/event-stream", "text/*"}:
        return True
    raise RpcError(INVALID_REQUEST, "the Accept header must allow application/json or text/event-stream", 406)


def _value(body: bytes) -> Any:
    """Return the body as JSON. Raises RpcError if it is none."""
    try:
        return json_text.read(body)
    except ValueError as error:
        raise RpcError(PARSE, f"the body is not valid JSON: {error}") from error


Answered = tuple[int, Any, bool]
"""HTTP status, JSON-RPC message (None for no body), and True if this server failed."""


def _answered(request: Request, context: Context, value: Any) -> Answered:
    """Answer one message. Never raises, unless the process is to end."""
    try:
        message = rpc.read(value)
    except RpcError as error:
        return error.status, rpc.failed(None, error), False
    if message is None or "id" not in value:  # a response of the client or a notification gets no answer
        return 202, None, False
    try:
        return 200, rpc.succeeded(message.id, _result(request, context, message)), False
    except BaseException as failure:
        told, is_failure = _error(failure, request)
    # Up to 2025-11-25 a JSON-RPC error is sent with HTTP status 200, like a result.
    is_said = told.status < 500 and context.version in versions.HANDSHAKE
    return 200 if is_said else told.status, rpc.failed(message.id, told), is_failure


def _result(request: Request, context: Context, message: Message) -> dict[str, Any]:
    """Return the result of a request, after its headers are checked if its version requires that."""
    if context.version in versions.MODERN:
        versions.check(request, message, context.version)
    return respond(context, message)


def _error(failure: BaseException, request: Request) -> tuple[RpcError, bool]:
    """Return the JSON-RPC error of an exception, and True if this server failed."""
    error = ours(failure)
    if isinstance(error, RpcError):
        return error, False
    known = error if isinstance(error, EmulatorError) else internal_error(error, f"{request.method} {request.url}")
    told = {"reason": known.reason} | ({"failure": "infrastructure"} if is_ours(known) else {})
    return RpcError(INTERNAL, known.message, known.status, told), is_ours(known)


def _batch(answered: Sequence[Answered]) -> Answered:
    """Join the answers of a batch; only those with a message are sent."""
    said = [told for _, told, _ in answered if told is not None]
    return 200 if said else 202, said or None, any(failed for _, _, failed in answered)


def reply(status: int, body: bytes, headers: Headers, as_event: bool = False) -> Reply:
    """Return the HTTP response, its body as JSON or as one server-sent event."""
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
"""Tests for a request's path, each with the handler of its toolset."""
