"""JSON-RPC 2.0 as MCP has it: messages read, results and errors written. Nothing of HTTP, nothing of the web."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webemu.emulator.errors import EmulatorError

PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_RESOURCE, HEADER_MISMATCH, NO_VERSION = -32002, -32020, -32022
"""MCP's own. `NO_RESOURCE` is that of versions up to 2025-11-25."""

Id = str | int | float | None


class RpcError(EmulatorError):
    """A message that has no result."""

    def __init__(self, code: int, message: str, status: int = 400, data: Any = None) -> None:
        super().__init__(message, reason="bad-message")
        self.code = code
        self.status = status
        """Of HTTP, where the error is the whole answer."""
        self.data = data


@dataclass(frozen=True, slots=True)
class Message:
    """A request; or, without an id, a notification."""

    method: str
    params: Mapping[str, Any]
    id: Id = None


def read(value: Any) -> Message | None:
    """A request or notification; None for an answer of the client's, which nobody waits for. Raises RpcError."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'a message is an object with "jsonrpc": "2.0"')
    if "method" not in value and ("result" in value or "error" in value):
        return None
    method, params, number = value.get("method"), value.get("params"), value.get("id")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "the message has no method")
    if not isinstance(params, dict | None):
        raise RpcError(INVALID_REQUEST, "params is no object")
    if "id" in value and (isinstance(number, bool) or not isinstance(number, str | int | float)):
        raise RpcError(INVALID_REQUEST, "id is neither a text nor a number")
    return Message(method, params or {}, number)


def succeeded(id: Id, result: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def failed(id: Id, error: RpcError) -> dict[str, Any]:
    told: dict[str, Any] = {"code": error.code, "message": error.message}
    return {"jsonrpc": "2.0", "id": id, "error": told | ({} if error.data is None else {"data": error.data})}
