"""Tools: their definition, a set of them, and a call with the arguments that a model wrote.

Error texts teach the model the right call. These mistakes are forgiven: a list of one instead of its member, a number
as text, a number out of bounds, another name for an argument, arguments as JSON text, and unknown arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NotRequired, TypedDict

from webemu.api.http.errors import CRAWL_FAULT_REASONS, is_server_fault
from webemu.api.mcp.rpc import INVALID_PARAMS, RpcError
from webemu.emulator import json_text
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, ViewUnavailable
from webemu.emulator.session import Session
from webemu.emulator.world import World


class ArgumentSchema(TypedDict):
    """JSON Schema of one argument. Whole numbers have both bounds."""

    type: Literal["string", "integer", "boolean", "array"]
    description: str
    minimum: NotRequired[int]
    maximum: NotRequired[int]
    enum: NotRequired[Sequence[str]]
    """Texts that are allowed; any text without it."""
    items: NotRequired[Mapping[str, str]]
    """JSON Schema of an array's members."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call by name, checked against the properties of its tool; those that are left out are absent."""

    texts: Mapping[str, str]
    numbers: Mapping[str, int]
    """Whole numbers, clamped to their bounds."""
    unchecked_values: Mapping[str, object] = field(default_factory=dict)
    """Truth values and arrays as they were written, unchecked; a text that stands for an array is its only member."""


class ToolResult(NamedTuple):
    """Result of a tool: the text that the model reads, and the same as an object if the tool has an output schema."""

    text: str
    """Text that the model reads."""
    structured: Mapping[str, object] | None = None
    """The same as an object, None for a tool without an output schema."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its declaration and the function that runs it."""

    name: str
    title: str
    description: str
    """Description for the model."""
    properties: Mapping[str, ArgumentSchema]
    """JSON Schema of each argument, by its name."""
    required: tuple[str, ...]
    """Names of the arguments that a call must have."""
    run: Callable[[World, Session, Arguments], ToolResult]
    """Runs the tool with checked arguments."""
    output_schema: Mapping[str, object] | None = None
    """JSON Schema of the result's object; None if the result is only text."""

    def to_dict(self) -> dict[str, object]:
        """Return the entry of `tools/list`."""
        schema = {"type": "object", "properties": self.properties, "required": self.required}
        entry: dict[str, object] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": schema,
        }
        hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True}
        return entry | ({"outputSchema": self.output_schema} if self.output_schema else {}) | {"annotations": hints}


@dataclass(frozen=True, slots=True)
class Toolset:
    """Tools of one address, with instructions for the model."""

    instructions: str
    """Text that a host may add to the model's prompt."""
    tools: tuple[Tool, ...]
    by_name: Mapping[str, Tool] = field(init=False)
    """Tools by name, computed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {tool.name: tool for tool in self.tools})


def call_tool(toolset: Toolset, world: World, session: Session, params: Mapping[str, object]) -> dict[str, object]:
    """Return the result of `tools/call`.

    Raises: RpcError if there is no such tool, EmulatorError if the server itself fails.
    """
    if (tool := toolset.by_name.get(str(params.get("name")))) is None:
        tool_names = ", ".join(toolset.by_name)
        raise RpcError(
            INVALID_PARAMS, f"there is no tool {str(params.get('name'))[:80]!r}; the tools are: {tool_names}"
        )
    try:
        tool_result = tool.run(world, session, read_arguments(tool, params.get("arguments")))
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        return tool_error(error)
    structured = {} if tool_result.structured is None else {"structuredContent": tool_result.structured}
    return {"content": [_text_content(tool_result.text)], **structured, "isError": False}


def tool_error(error: EmulatorError) -> dict[str, object]:
    """Return the result of a failed call, as text for the model."""
    return {"content": [_text_content(refusal_text(error))], "isError": True}


def read_arguments(tool: Tool, arguments: object) -> Arguments:
    """Return the arguments that a model wrote, by their right names and in their types.

    Raises: BadRequest if one is missing or cannot be read.
    """
    if isinstance(arguments, str):
        try:
            arguments = json_text.parse_json(arguments.encode() or b"{}")
        except ValueError:
            arguments = {tool.required[0]: arguments}  # a model that has one thing to say may leave out its name
    if not isinstance(arguments, dict | None):
        raise BadRequest("the arguments must be a JSON object", action=_usage_hint(tool))
    # Right names come last, so that they win over other names of the same argument.
    pairs = sorted((arguments or {}).items(), key=lambda pair: pair[0] in tool.properties)
    named_arguments = {_canonical_name(tool, name): value for name, value in pairs if value is not None}
    if missing := [name for name in tool.required if name not in named_arguments]:
        raise BadRequest(f"{tool.name} needs {', '.join(missing)}", action=_usage_hint(tool))
    texts: dict[str, str] = {}
    numbers: dict[str, int] = {}
    unchecked_values: dict[str, object] = {}
    for name in [name for name in tool.properties if name in named_arguments]:
        kind, value = tool.properties[name]["type"], named_arguments[name]
        if kind == "integer":
            numbers[name] = _read_number(tool, name, value)
        elif kind == "string":
            texts[name] = _read_text(tool, name, value)
        else:
            unchecked_values[name] = [value] if kind == "array" and isinstance(value, str) else value
    return Arguments(texts, numbers, unchecked_values)


_ALIASES = {
    "query": ("q", "queries", "text", "search_query", "keywords"),
    "id": ("url", "link", "ids"),
    "url": ("id", "link", "uri", "href", "urls"),
    "urls": ("url", "ids", "id", "links"),
    "docid": ("id", "url", "doc_id"),
    "pattern": ("query", "text"),
    "size": ("count", "limit", "num_results", "top_k", "topn"),
}
"""Other names that models write, by the name of the argument."""


def _canonical_name(tool: Tool, name: str) -> str:
    """Return the argument that a name stands for; the name itself if the tool has no such argument."""
    if name in tool.properties:
        return name
    return next((argument for argument in tool.properties if name in _ALIASES.get(argument, ())), name)


def _read_number(tool: Tool, name: str, value: object) -> int:
    """Return a number clamped to its bounds. Raises BadRequest if it is no whole number."""
    value = _unwrap_single(value)
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,15}(?:\.0*)?\s*", value):
        value = float(value)
    # The last comparison excludes fractions, NaN and infinity.
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise BadRequest(f"{name} must be one integer", action=_usage_hint(tool))
    schema = tool.properties[name]
    return int(max(schema["minimum"], min(schema["maximum"], value)))


def _read_text(tool: Tool, name: str, value: object) -> str:
    """Return a text, or a number as text. Raises BadRequest if it is neither, or not among the allowed texts."""
    value = _unwrap_single(value)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadRequest(f"{name} must be one string", action=_usage_hint(tool))
    allowed_texts = tool.properties[name].get("enum")
    if allowed_texts is not None and str(value) not in allowed_texts:
        raise BadRequest(f"{name} must be one of {', '.join(allowed_texts)}", action=_usage_hint(tool))
    return str(value)


def _unwrap_single(value: object) -> object:
    """Return the member of a list of one; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _usage_hint(tool: Tool) -> str:
    """Return a hint that shows the call with its arguments."""
    names = [name if name in tool.required else f"[{name}]" for name in tool.properties]
    return f"call it as {tool.name}({', '.join(names)})"


_NOT_CAPTURED_TEXTS = {
    "host-not-captured": "This site could not be found.",
    "redirect-not-captured": "This page redirects to one that does not exist.",
    "redirect-loop": "This page redirects to itself.",
}
"""Texts by reason of the error, for the model."""


def refusal_text(error: EmulatorError) -> str:
    """Return why there is no result, as text for the model, in the words of a browser rather than of an archive."""
    if isinstance(error, NotCaptured):
        return _NOT_CAPTURED_TEXTS.get(error.reason, "This page does not exist.") + " Search for another one."
    if isinstance(error, ViewUnavailable):
        return "This page has no text: it is a picture or another file."
    if error.reason in CRAWL_FAULT_REASONS:
        return "This page cannot be shown. Search for another one."
    return ": ".join(part for part in (error.message, error.action) if part) + "."


def _text_content(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
