"""MCP's methods. Pure functions: a context and parameters in, the `result` member out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed
from typing import Any

from webemu.api.mcp import resources, versions
from webemu.api.mcp.rpc import NO_METHOD, Message, RpcError
from webemu.api.mcp.tools import Toolset, call
from webemu.emulator.session import Session
from webemu.emulator.world import World

CAPABILITIES = {"tools": {"listChanged": False}, "resources": {"subscribe": False, "listChanged": False}}
"""Capabilities that are declared to clients: no notifications, no subscriptions."""


@dataclass(frozen=True, slots=True)
class Context:
    """The world and session to answer from, the tools offered, and the MCP version spoken."""

    world: World
    session: Session
    tools: Toolset
    version: str
    """MCP version of the request."""


Method = Callable[[Context, Mapping[str, Any]], dict[str, Any]]
"""Answers one method: context and parameters in, `result` out."""


def respond(context: Context, message: Message) -> dict[str, Any]:
    """Return the result of a request.

    Raises: RpcError if there is no such method or its parameters are wrong, EmulatorError if the server itself fails.
    """
    is_modern = context.version in versions.MODERN
    table = _MODERN if is_modern else _HANDSHAKE
    if (method := table.get(message.method)) is None:
        raise RpcError(NO_METHOD, f"there is no method {message.method[:80]!r}", 404)
    result = method(context, message.params)
    return _modern(message.method, result) if is_modern else result


def _modern(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """Add the members that versions since 2026-07-28 require: the result is complete, and how long it may be cached.

    Results are not cacheable, because the server may follow a newer snapshot at any time.
    """
    kept = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
    return {**result, "resultType": "complete", **kept}


@cache
def _server() -> dict[str, str]:
    """Return name and version of this server."""
    return {"name": "webemu", "title": "The web", "version": installed("webemu")}


def _initialize(context: Context, params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": versions.agreed(params.get("protocolVersion")),
        "capabilities": CAPABILITIES,
        "serverInfo": _server(),
        "instructions": context.tools.instructions,
    }


def _discover(context: Context, params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": [*versions.MODERN, *reversed(versions.HANDSHAKE)],
        "capabilities": CAPABILITIES,
        "instructions": context.tools.instructions,
        "_meta": {"io.modelcontextprotocol/serverInfo": _server()},
    }


def _tools(context: Context, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"tools": [tool.described() for tool in context.tools.tools]}


def _call(context: Context, params: Mapping[str, Any]) -> dict[str, Any]:
    return call(context.tools, context.world, context.session, params)


def _read(context: Context, params: Mapping[str, Any]) -> dict[str, Any]:
    return resources.read(context.world, context.session, params.get("uri"), context.version)


_BOTH: Mapping[str, Method] = {
    "tools/list": _tools,
    "tools/call": _call,
    "resources/list": lambda context, params: {"resources": []},
    "resources/templates/list": lambda context, params: {"resourceTemplates": resources.TEMPLATES},
    "resources/read": _read,
}
_HANDSHAKE: Mapping[str, Method] = {"initialize": _initialize, "ping": lambda context, params: {}, **_BOTH}
_MODERN: Mapping[str, Method] = {"server/discover": _discover, **_BOTH}
