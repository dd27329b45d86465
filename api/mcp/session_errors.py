"""MCP under a session: which messages a session counts, and responses to those that its policy does not let through.

For a tool call, weather and budget are a result that the model reads; anything else is a JSON-RPC error for its host.
"""

from __future__ import annotations

import orjson

from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.mcp import rpc, versions
from webemu.api.mcp.endpoint import ENDPOINTS, build_response
from webemu.api.mcp.rpc import INTERNAL_ERROR, RpcError
from webemu.api.mcp.tools import tool_error
from webemu.emulator import json_text
from webemu.emulator.errors import EmulatorError
from webemu.emulator.weather import INJECTED_REASON

TOOL_ERROR_REASONS = ("rate-limited", "out-of-budget", INJECTED_REASON)
"""Reasons that a tool call reports to the model as its result."""


def is_protocol_message(request: Request) -> bool:
    """True if the message is MCP's own, such as a handshake: no session counts it and no fault is injected."""
    if not (any(matches(request) for matches, _ in ENDPOINTS) or request.path.rstrip("/").endswith("/mcp")):
        return False
    message = _parse_body(request.body)
    return message is not None and message.method not in ("tools/call", "resources/read")


def render_error(error: EmulatorError, request: Request, names_reason: bool = True) -> Response:
    """Render the response to a request that the session does not let through.

    Without `names_reason` the error carries no data: a server that is imitated has no reasons of this one's.
    """
    message = _parse_body(request.body)
    if error.reason in TOOL_ERROR_REASONS and message is not None and message.method == "tools/call":
        is_modern = request.headers.get(b"mcp-protocol-version", b"").decode("latin-1") in versions.MODERN
        result = tool_error(error) | ({"resultType": "complete"} if is_modern else {})
        return build_response(200, orjson.dumps(rpc.success_response(message.id, result)), [])
    error_data = {"reason": error.reason} | ({"failure": "infrastructure"} if is_server_fault(error) else {})
    rpc_error = RpcError(INTERNAL_ERROR, error.message, error.status, error_data if names_reason else None)
    return build_response(
        error.status, orjson.dumps(rpc.error_response(message.id if message else None, rpc_error)), []
    )


def _parse_body(body: bytes) -> rpc.Message | None:
    """Return the message in a body, None if it is no valid one."""
    try:
        return rpc.parse_message(json_text.parse_json(body))
    except (ValueError, RpcError):
        return None
