"""JSON-RPC 2.0 as MCP uses it: reads messages, writes results and errors. It knows neither HTTP nor the web."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webemu.emulator.errors import EmulatorError

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
RESOURCE_NOT_FOUND, HEADER_MISMATCH, UNSUPPORTED_VERSION = -32002, -32020, -32022
"""Error codes of MCP itself. `RESOURCE_NOT_FOUND` is used by versions up to 2025-11-25."""

RequestId = str | int | float | None
"""Id of a request, chosen by the client."""


class RpcError(EmulatorError):
    """A message that gets an error instead of a result."""

    def __init__(self, code: int, message: str, status: int = 400, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message, reason="bad-message")
        self.code = code
        self.status = status
        """HTTP status, if the error is the whole response."""
        self.data = data
        """Details for the client's program."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request; without an id, a notification."""

    method: str
    params: Mapping[str, object]
    id: RequestId = None
    """Id to answer under; None for a notification."""


def parse_message(value: object) -> Message | None:
    """Return a request or notification; None for a response of the client, which this server never waits for.

    Raises: RpcError if it is no valid message.
    """
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'a message must be a JSON object with "jsonrpc": "2.0"')
    if "method" not in value and ("result" in value or "error" in value):
        return None
    method, params, request_id = value.get("method"), value.get("params"), value.get("id")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "method must be a string")
    if not isinstance(params, dict | None):
        raise RpcError(INVALID_REQUEST, "params must be an object")
    if "id" in value and (isinstance(request_id, bool) or not isinstance(request_id, str | int | float)):
        raise RpcError(INVALID_REQUEST, "id must be a string or a number")
    return Message(method, params or {}, request_id)


def success_response(id: RequestId, result: Mapping[str, object]) -> dict[str, object]:
    """Return the response that carries a result."""
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error_response(id: RequestId, error: RpcError) -> dict[str, object]:
    """Return the response that carries an error; `id` is None if the request's is unknown."""
    error_payload: dict[str, object] = {"code": error.code, "message": error.message}
    return {"jsonrpc": "2.0", "id": id, "error": error_payload | ({} if error.data is None else {"data": error.data})}
