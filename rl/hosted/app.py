"""The web application of `webemu hosted-tools`: `POST /v1/responses` and `POST /v1/messages`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import InfrastructureError
from webemu.rl.adapters.http import HttpError, read_body
from webemu.rl.endpoint import Endpoint, EndpointError
from webemu.rl.hosted import anthropic_messages, openai_responses
from webemu.rl.hosted.turn import ChatMessage, HostedTools, Turn, run_turn
from webemu.rl.hosted.wire import InvalidRequest, Json, encode_events, read_number, read_temperature

MAX_BODY_BYTES = 16 << 20
"""Largest request body in bytes: a conversation with all pages that were read."""
MARKED_AS_OURS = {"X-Webemu-Failure": "infrastructure"}
"""Header of failures of the model or of the emulated web, by which a trainer masks the rollout."""


class WireFormat(NamedTuple):
    """One vendor's API."""

    read_tools: Callable[[Json], HostedTools]
    read_messages: Callable[[Json], list[ChatMessage]]
    render: Callable[[Json, Turn], Json]
    list_events: Callable[[Json], Iterator[Json]]
    render_error: Callable[[int, str], Json]
    limit: str
    """Member of a request that limits its tokens."""


FORMATS = {
    path: WireFormat(
        module.read_tools, module.read_messages, module.render, module.list_events, module.render_error, limit
    )
    for path, module, limit in (
        ("/v1/responses", openai_responses, "max_output_tokens"),
        ("/v1/messages", anthropic_messages, "max_tokens"),
    )
}
"""APIs by their path."""


def build_app(endpoint: Endpoint, server: str) -> Starlette:
    """Return the application, in front of a model and of the emulated web at an address.

    A request's `X-Webemu-Session` holds for its searches and pages.
    """

    async def answer(request: Request) -> Response:
        wire_format = FORMATS[request.url.path]
        try:
            return await _answer(wire_format, endpoint, server, request)
        except (InvalidRequest, HttpError) as error:
            status = error.status if isinstance(error, HttpError) else 400
            return JSONResponse(wire_format.render_error(status, str(error)), status)
        except EndpointError as error:
            is_too_long = error.reason == "too-long"
            status, headers = (400, {}) if is_too_long else (502, MARKED_AS_OURS)
            return JSONResponse(wire_format.render_error(status, str(error)), status, headers)
        except InfrastructureError as error:
            return JSONResponse(wire_format.render_error(503, str(error)), 503, MARKED_AS_OURS)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with endpoint:
            yield

    return Starlette(routes=[Route(path, answer, methods=["POST"]) for path in FORMATS], lifespan=lifespan)


async def _answer(wire_format: WireFormat, endpoint: Endpoint, server: str, request: Request) -> Response:
    """Answer a request. Raises InvalidRequest, HttpError or InfrastructureError."""
    try:
        body = json.loads(await read_body(request, MAX_BODY_BYTES))
    except (ValueError, RecursionError):
        raise InvalidRequest("the body is not JSON") from None
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be a JSON object")
    tools, messages = wire_format.read_tools(body), wire_format.read_messages(body)
    async with AsyncClient(server, session=request.headers.get("X-Webemu-Session")) as web:
        turn = await run_turn(
            endpoint,
            web,
            messages,
            tools,
            temperature=read_temperature(body.get("temperature")),
            max_tokens=read_number(body.get(wire_format.limit)),
        )
    rendered = wire_format.render(body, turn)
    if body.get("stream") is True:
        return Response(encode_events(wire_format.list_events(rendered)), media_type="text/event-stream")
    return JSONResponse(rendered)
