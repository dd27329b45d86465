"""MCP's methods. Pure functions: a context and parameters in, the `result` member out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as installed

from webemu.api.mcp import resources, versions
from webemu.api.mcp.rpc import METHOD_NOT_FOUND, Message, RpcError
from webemu.api.mcp.tools import Toolset, call_tool
from webemu.emulator.session import Session
from webemu.emulator.world import World

CAPABILITIES = {"tools": {"listChanged": False}, "resources": {"subscribe": False, "listChanged": False}}
"""Capabilities that are declared to clients: no notifications, no subscriptions."""


@dataclass(frozen=True, slots=True)
class Context:
    """The world and session to answer from, the tools offered, and the MCP version spoken."""

    world: World
    session: Session
    toolset: Toolset
    version: str
    """MCP version of the request."""


Method = Callable[[Context, Mapping[str, object]], dict[str, object]]
"""Answers one method: context and parameters in, `result` out."""


def dispatch(context: Context, message: Message) -> dict[str, object]:
    """Return the result of a request.

    Raises: RpcError if there is no such method or its parameters are wrong, EmulatorError if the server itself fails.
    """
    is_modern = context.version in versions.MODERN
    methods = _MODERN_METHODS if is_modern else _HANDSHAKE_METHODS
    if (method := methods.get(message.method)) is None:
        raise RpcError(METHOD_NOT_FOUND, f"there is no method {message.method[:80]!r}", 404)
    result = method(context, message.params)
    return _with_cache_members(message.method, result) if is_modern else result


def _with_cache_members(method: str, result: dict[str, object]) -> dict[str, object]:
    """Add the members that versions since 2026-07-28 require: the result is complete, and how long it may be cached.

    Results are not cacheable, because the server may follow a newer snapshot at any time.
    """
    cache_members = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
    return {**result, "resultType": "complete", **cache_members}


@cache
def _server_info() -> dict[str, str]:
    """Return name and version of this server."""
    return {"name": "web", "title": "The web", "version": installed("webemu")}


def _answer_initialize(context: Context, params: Mapping[str, object]) -> dict[str, object]:
    return {
        "protocolVersion": versions.negotiate_version(params.get("protocolVersion")),
        "capabilities": CAPABILITIES,
        "serverInfo": _server_info(),
        "instructions": context.toolset.instructions,
    }


def _answer_discover(context: Context, params: Mapping[str, object]) -> dict[str, object]:
    return {
        "supportedVersions": [*versions.MODERN, *reversed(versions.HANDSHAKE)],
        "capabilities": CAPABILITIES,
        "instructions": context.toolset.instructions,
        "_meta": {"io.modelcontextprotocol/serverInfo": _server_info()},
    }


def _list_tools(context: Context, params: Mapping[str, object]) -> dict[str, object]:
    return {"tools": [tool.to_dict() for tool in context.toolset.tools]}


def _call_tool(context: Context, params: Mapping[str, object]) -> dict[str, object]:
    return call_tool(context.toolset, context.world, context.session, params)


def _read_resource(context: Context, params: Mapping[str, object]) -> dict[str, object]:
    return resources.read_resource(context.world, context.session, params.get("uri"), context.version)


_COMMON_METHODS: Mapping[str, Method] = {
    "tools/list": _list_tools,
    "tools/call": _call_tool,
    "resources/list": lambda context, params: {"resources": []},
    "resources/templates/list": lambda context, params: {"resourceTemplates": resources.RESOURCE_TEMPLATES},
    "resources/read": _read_resource,
}
_HANDSHAKE_METHODS: Mapping[str, Method] = {
    "initialize": _answer_initialize,
    "ping": lambda context, params: {},
    **_COMMON_METHODS,
}
_MODERN_METHODS: Mapping[str, Method] = {"server/discover": _answer_discover, **_COMMON_METHODS}
