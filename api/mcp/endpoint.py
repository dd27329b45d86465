"""MCP over Streamable HTTP (2025-11-25, basic/transports): one address, POST only, one response per request.

It is stateless: no session id is given out and no stream is kept, so that GET and DELETE are 405. A response is JSON,
or one server-sent event for a client that accepts nothing else. A failure of this server is a 5xx with a JSON-RPC
error, never a tool result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from urllib.parse import urlsplit

import orjson

from webemu.api.http.errors import INFRASTRUCTURE, is_server_fault, log_internal_error, reraise_if_fatal
from webemu.api.http.request import Handler, Request
from webemu.api.http.response import Headers, Response
from webemu.api.mcp import rpc, versions
from webemu.api.mcp.browse import BROWSE
from webemu.api.mcp.documents import DOCUMENTS
from webemu.api.mcp.methods import Context, dispatch
from webemu.api.mcp.research import RESEARCH
from webemu.api.mcp.rpc import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Message, RpcError
from webemu.api.mcp.tools import Toolset
from webemu.emulator import json_text
from webemu.emulator.errors import EmulatorError
from webemu.emulator.world import World

TOOLSETS_BY_PATH = {"": RESEARCH, "/browse": BROWSE, "/documents": DOCUMENTS}
"""Toolsets by what follows `/mcp` in the path."""
MAX_BATCH = 64
"""Most messages in one batch: each may be answered with megabytes."""
_LOCAL_HOST = re.compile(r"localhost|.+\.localhost|webemu|127\.\d+\.\d+\.\d+|::1")
"""Host names of this machine."""
_PREFLIGHT_HEADERS: Headers = [
    (b"Access-Control-Allow-Methods", b"POST, OPTIONS"),
    (b"Access-Control-Allow-Headers", b"*"),
    (b"Access-Control-Max-Age", b"600"),
]


def answer_request(toolset: Toolset, world: World, request: Request) -> Response:
    """Answer any request to one toolset; whatever goes wrong is a JSON-RPC error."""
    shared_headers: Headers = [(b"X-Webemu-Snapshot", world.snapshot.encode())]
    try:
        shared_headers += _check_origin(request)
        if request.method == "OPTIONS":
            return Response(204, b"No Content", [*shared_headers, *_PREFLIGHT_HEADERS], b"")
        return _answer_post(toolset, world, request, shared_headers)
    except RpcError as error:
        allow_header: Headers = [(b"Allow", b"POST")] if error.status == 405 else []
        return build_response(
            error.status, orjson.dumps(rpc.error_response(None, error)), [*shared_headers, *allow_header]
        )


def _check_origin(request: Request) -> Headers:
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
    if not _LOCAL_HOST.fullmatch(host):
        raise RpcError(
            INVALID_REQUEST,
            f"web pages of {host[:100]!r} may not call this server; only those of localhost or *.localhost may",
            403,
        )
    return [(b"Access-Control-Allow-Origin", origin), (b"Vary", b"Origin")]


def _answer_post(toolset: Toolset, world: World, request: Request, shared_headers: Headers) -> Response:
    """Return the response to a posted message or batch. Raises RpcError if HTTP or the JSON is not as MCP requires."""
    if request.method != "POST":
        raise RpcError(
            INVALID_REQUEST,
            f"{request.method} is not supported: POST the message; there is no stream or MCP session",
            405,
        )
    if request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
        raise RpcError(INVALID_REQUEST, "the Content-Type must be application/json", 415)
    as_event = _wants_event(request.headers.get(b"accept", b"*/*").decode("latin-1").lower())
    version = versions.version_of(request)
    value = _parse_body(request.body)
    respond_to = partial(_answer_message, request, Context(world, request.session, toolset, version))
    if not isinstance(value, list):
        answer = respond_to(value)
    elif version in versions.BATCHING and 0 < len(value) <= MAX_BATCH:
        answer = _join_answers([respond_to(one) for one in value])
    else:
        raise RpcError(
            INVALID_REQUEST,
            f"version {version} does not allow {len(value)} messages in one request; send one message at a time, or a"
            f" batch of 1 to {MAX_BATCH} in version {versions.BATCHING[-1]}",
        )
    headers = [*shared_headers, INFRASTRUCTURE] if answer.has_failed else shared_headers
    body = b"" if answer.message is None else orjson.dumps(answer.message)
    return build_response(answer.status, body, headers, as_event and answer.status == 200)


def _wants_event(accept: str) -> bool:
    """True if the client accepts a server-sent event and no JSON. Raises RpcError if it accepts neither."""
    kinds = {kind.partition(";")[0].strip() for kind in accept.split(",")}
    if kinds & {"application/json", "application/*", "*/*"}:
        return False
    if kinds & {"text/event-stream", "text/*"}:
        return True
    raise RpcError(INVALID_REQUEST, "the Accept header must allow application/json or text/event-stream", 406)


def _parse_body(body: bytes) -> object:
    """Return the body as JSON. Raises RpcError if it is none."""
    try:
        return json_text.parse_json(body)
    except ValueError as error:
        raise RpcError(PARSE_ERROR, f"the body is not valid JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class MessageAnswer:
    """Answer to one message, or to a batch."""

    status: int
    """HTTP status."""
    message: dict[str, object] | list[dict[str, object]] | None = None
    """JSON-RPC message, a list for a batch; None for no body."""
    has_failed: bool = False
    """True if this server failed."""


def _answer_message(request: Request, context: Context, value: object) -> MessageAnswer:
    """Answer one message. Never raises, unless the process is to end."""
    try:
        message = rpc.parse_message(value)
    except RpcError as error:
        return MessageAnswer(error.status, rpc.error_response(None, error))
    if message is None or message.id is None:  # a response of the client or a notification gets no answer
        return MessageAnswer(202)
    try:
        return MessageAnswer(200, rpc.success_response(message.id, _compute_result(request, context, message)))
    except BaseException as failure:
        rpc_error, has_failed = _to_rpc_error(failure, request)
    # Up to 2025-11-25 a JSON-RPC error is sent with HTTP status 200, like a result.
    is_sent_as_result = rpc_error.status < 500 and context.version in versions.HANDSHAKE
    status = 200 if is_sent_as_result else rpc_error.status
    return MessageAnswer(status, rpc.error_response(message.id, rpc_error), has_failed)


def _compute_result(request: Request, context: Context, message: Message) -> dict[str, object]:
    """Return the result of a request, after its headers are checked if its version requires that."""
    if context.version in versions.MODERN:
        versions.check_envelope(request, message, context.version)
    return dispatch(context, message)


def _to_rpc_error(exception: BaseException, request: Request) -> tuple[RpcError, bool]:
    """Return the JSON-RPC error of an exception, and True if this server failed."""
    error = reraise_if_fatal(exception)
    if isinstance(error, RpcError):
        return error, False
    emulator_error = (
        error if isinstance(error, EmulatorError) else log_internal_error(error, f"{request.method} {request.url}")
    )
    error_data = {"reason": emulator_error.reason} | (
        {"failure": "infrastructure"} if is_server_fault(emulator_error) else {}
    )
    return RpcError(INTERNAL_ERROR, emulator_error.message, emulator_error.status, error_data), is_server_fault(
        emulator_error
    )


def _join_answers(answers: Sequence[MessageAnswer]) -> MessageAnswer:
    """Join the answers of a batch; only those with a message are sent."""
    messages = [answer.message for answer in answers if isinstance(answer.message, dict)]
    return MessageAnswer(200 if messages else 202, messages or None, any(answer.has_failed for answer in answers))


def build_response(status: int, body: bytes, headers: Headers, as_event: bool = False) -> Response:
    """Return the HTTP response, its body as JSON or as one server-sent event."""
    if as_event:
        body = b"event: message\ndata: %b\n\n" % body
    content_type = b"text/event-stream" if as_event else b"application/json"
    standard_headers: Headers = [(b"Content-Type", content_type)] if body else []
    standard_headers.append((b"Content-Length", b"%d" % len(body)))
    return Response(status, HTTPStatus(status).phrase.encode(), [*standard_headers, *headers], body)


def _handler_of(toolset: Toolset) -> Handler:
    return partial(answer_request, toolset)


def _path_test(path: str) -> Callable[[Request], bool]:
    return lambda request: request.path.rstrip("/") == path


ENDPOINTS: Sequence[tuple[Callable[[Request], bool], Handler]] = [
    (_path_test(f"/mcp{path}"), _handler_of(tools)) for path, tools in TOOLSETS_BY_PATH.items()
]
"""Tests for a request's path, each with the handler of its toolset."""
