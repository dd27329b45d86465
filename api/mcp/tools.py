"""What a tool is, a set of them, and a call made of what a model wrote; what is wrong with it is said to teach.

Forgiven: a list of one for its member, a number as a text, a number out of its bounds, another name for an argument,
arguments as a JSON text, arguments that no tool knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webemu.api.http.errors import OF_THE_CRAWL, is_ours
from webemu.api.mcp.rpc import INVALID_PARAMS, RpcError
from webemu.emulator import json_text
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, NoView
from webemu.emulator.session import Session
from webemu.emulator.world import World

Arguments = Mapping[str, Any]


class Said(NamedTuple):
    """What a tool answers: what the model reads, and the same as a value where the tool has a schema for it."""

    text: str
    value: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    """JSON Schema of each argument: `string` or `integer`; these two are all that is read here."""
    required: tuple[str, ...]
    use: Callable[[World, Session, Arguments], Said]
    output: Mapping[str, Any] | None = None
    """JSON Schema of the value."""

    def described(self) -> dict[str, Any]:
        """An entry of `tools/list`."""
        schema = {"type": "object", "properties": self.properties, "required": self.required}
        told = {"name": self.name, "title": self.title, "description": self.description, "inputSchema": schema}
        hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True}
        return told | ({"outputSchema": self.output} if self.output else {}) | {"annotations": hints}


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of one address."""

    instructions: str
    tools: tuple[Tool, ...]
    by_name: Mapping[str, Tool] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {tool.name: tool for tool in self.tools})


def call(tools: Toolset, world: World, session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `tools/call`. Raises RpcError on an unknown tool, and the failures that are ours."""
    if (tool := tools.by_name.get(str(params.get("name")))) is None:
        known = ", ".join(tools.by_name)
        raise RpcError(INVALID_PARAMS, f"there is no tool {str(params.get('name'))[:80]!r}; the tools are: {known}")
    try:
        said = tool.use(world, session, read(tool, params.get("arguments")))
    except EmulatorError as error:
        if is_ours(error):
            raise
        return mistaken(error)
    value = {} if said.value is None else {"structuredContent": said.value}
    return {"content": [_text(said.text)], **value, "isError": False}


def mistaken(error: EmulatorError) -> dict[str, Any]:
    """The result of a call that has none, for the model to read."""
    return {"content": [_text(refusal(error))], "isError": True}


def read(tool: Tool, given: Any) -> dict[str, Any]:
    """The arguments a model wrote, by name, in their types. Raises BadRequest."""
    if isinstance(given, str):
        try:
            given = json_text.read(given.encode() or b"{}")
        except ValueError:
            given = {tool.required[0]: given}
    if not isinstance(given, dict | None):
        raise BadRequest("the arguments are no object", action=_usage(tool))
    # Right names last, so that they win over others for the same argument.
    pairs = sorted((given or {}).items(), key=lambda pair: pair[0] in tool.properties)
    known = {_name(tool, name): value for name, value in pairs if value is not None}
    if missing := [name for name in tool.required if name not in known]:
        raise BadRequest(f"{tool.name} needs {', '.join(missing)}", action=_usage(tool))
    return {name: _value(tool, name, known[name]) for name in tool.properties if name in known}


_ALIASES = {
    "query": ("q", "queries", "text", "search_query", "keywords"),
    "id": ("url", "link", "ids"),
    "url": ("id", "link", "uri", "href", "urls"),
    "docid": ("id", "url", "doc_id"),
    "pattern": ("query", "text"),
    "size": ("count", "limit", "num_results", "top_k", "topn"),
}


def _name(tool: Tool, name: str) -> str:
    """The argument that a name stands for; itself if no tool has one like it."""
    if name in tool.properties:
        return name
    return next((known for known in tool.properties if name in _ALIASES.get(known, ())), name)


def _value(tool: Tool, name: str, value: Any) -> Any:
    law = tool.properties[name]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    found = _integer(value, law) if law["type"] == "integer" else _string(value)
    if found is None:
        raise BadRequest(f"{name} must be one {law['type']}", action=_usage(tool))
    if "enum" in law and found not in law["enum"]:
        raise BadRequest(f"{name} must be one of {', '.join(law['enum'])}", action=_usage(tool))
    return found


def _integer(value: Any, law: Mapping[str, Any]) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}(?:\.0*)?\s*", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return None
    return int(max(law["minimum"], min(law["maximum"], value)))


def _string(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def _usage(tool: Tool) -> str:
    names = [name if name in tool.required else f"[{name}]" for name in tool.properties]
    return f"call it as {tool.name}({', '.join(names)})"


_ABSENT = {
    "host-not-captured": "This site could not be found.",
    "redirect-not-captured": "This page redirects to one that does not exist.",
    "redirect-loop": "This page redirects to itself.",
}


def refusal(error: EmulatorError) -> str:
    """Why there is no result, in the words of a browser rather than of an archive."""
    if isinstance(error, NotCaptured):
        return _ABSENT.get(error.reason, "This page does not exist.") + " Search for another one."
    if isinstance(error, NoView):
        return "This page has no text: it is a picture or another file."
    if error.reason in OF_THE_CRAWL:
        return "This page cannot be shown. Search for another one."
    return ": ".join(part for part in (error.message, error.action) if part) + "."


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
