"""MCP under a session: which messages a session counts, and responses to those that its policy does not let through.

For a tool call, weather and budget are a result that the model reads; anything else is a JSON-RPC error for its host.
"""

from __future__ import annotations

from typing import Any

import orjson

from webemu.api.dialects.dialect import Dialect
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.mcp import rpc, versions
from webemu.api.mcp.endpoint import ENDPOINTS, reply
from webemu.api.mcp.rpc import INTERNAL, RpcError
from webemu.api.mcp.tools import mistaken
from webemu.api.services.origin import Reply
from webemu.emulator import json_text
from webemu.emulator.errors import EmulatorError
from webemu.emulator.weather import REASON

OF_TOOLS = ("rate-limited", "out-of-budget", REASON)
"""Reasons that a tool call reports to the model as its result."""


def is_talk(request: Request) -> bool:
    """True if the message is MCP's own, such as a handshake: no session counts it and no fault is injected."""
    if not any(is_meant(request) for is_meant, _ in ENDPOINTS):
        return False
    message = _message(request.body)
    return message is not None and message.method not in ("tools/call", "resources/read")


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render the response to a request that the session does not let through."""
    message = _message(request.body)
    if error.reason in OF_TOOLS and message is not None and message.method == "tools/call":
        modern = request.headers.get(b"mcp-protocol-version", b"").decode("latin-1") in versions.MODERN
        result = mistaken(error) | ({"resultType": "complete"} if modern else {})
        return reply(200, orjson.dumps(rpc.succeeded(message.id, result)), [])
    told: dict[str, Any] = {"reason": error.reason} | ({"failure": "infrastructure"} if is_ours(error) else {})
    failed = RpcError(INTERNAL, error.message, error.status, told)
    return reply(error.status, orjson.dumps(rpc.failed(message.id if message else None, failed)), [])


def _message(body: bytes) -> rpc.Message | None:
    """Return the message in a body, None if it is no valid one."""
    try:
        return rpc.read(json_text.read(body))
    except (ValueError, RpcError):
        return None


DIALECT = Dialect("mcp", "MCP", (), (), None, refuse, "`http://127.0.0.1:8800/mcp`")
"""A dialect without routes, used only to render errors; `webemu.api.mcp.endpoint` answers the requests."""
