"""MCP in sessions: what is of the web and what is not, and what is said where a session lets nothing through.

To a tool call weather and budget are a result that the model reads; all else is a JSON-RPC error for its host.
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


def is_talk(request: Request) -> bool:
    """Whether a request is MCP's own, such as a handshake: no session counts it, no weather strikes it."""
    if not any(is_meant(request) for is_meant, _ in ENDPOINTS):
        return False
    message = _message(request.body)
    return message is not None and message.method not in ("tools/call", "resources/read")


def refuse(error: EmulatorError, request: Request) -> Reply:
    """The answer to a request that does not come through."""
    message = _message(request.body)
    if error.reason in OF_TOOLS and message is not None and message.method == "tools/call":
        modern = request.headers.get(b"mcp-protocol-version", b"").decode("latin-1") in versions.MODERN
        result = mistaken(error) | ({"resultType": "complete"} if modern else {})
        return reply(200, orjson.dumps(rpc.succeeded(message.id, result)), [])
    told: dict[str, Any] = {"reason": error.reason} | ({"failure": "infrastructure"} if is_ours(error) else {})
    failed = RpcError(INTERNAL, error.message, error.status, told)
    return reply(error.status, orjson.dumps(rpc.failed(message.id if message else None, failed)), [])


def _message(body: bytes) -> rpc.Message | None:
    try:
        return rpc.read(json_text.read(body))
    except (ValueError, RpcError):
        return None


DIALECT = Dialect("mcp", "MCP", (), (), None, refuse, "`http://127.0.0.1:8800/mcp`")
"""Only for what is refused: `webemu.api.mcp.endpoint` answers the rest."""
