"""Tool schemas of an episode and the validation of tool arguments. In goes a call as a model wrote it, out come typed
arguments, or `InvalidToolCall` with a message that tells the model how to correct the call. Nothing is executed here;
see `webemu.rl.episode`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from webemu.agent_client.tools import InvalidToolCall
from webemu.rl.tool_schema import ParameterSchema, ParametersSchema, ToolSchema, function_tool

MAX_ANSWER_CHARACTERS, MAX_CITATIONS = 20_000, 100
"""Longest `answer` of `finish` in characters, and the largest number of its `citations`."""

TOOLS: tuple[ToolSchema, ...] = (
    function_tool(
        "search",
        "Search the web. Gives ten results, each with a link id such as r3.",
        ["query"],
        query={"type": "string", "description": "What to search for.", "maxLength": 4096},
        page={"type": "integer", "description": "Page of results, from 1.", "minimum": 1, "maximum": 100},
    ),
    function_tool(
        "open",
        "Open a page and read its text. Links stand in it as [8].",
        ["link"],
        link={"type": "string", "description": "An address, r3 of the last results, or 8 of the page that is open.",
              "maxLength": 4096},
        cursor={"type": "integer", "description": "Character to begin at, from 0.", "minimum": 0, "maximum": 10**9},
    ),
    function_tool(
        "find",
        "Find a text in the page that is open, upper and lower case alike.",
        ["pattern"],
        pattern={"type": "string", "description": "The text to find.", "maxLength": 1000},
    ),
    function_tool(
        "finish",
        "Give the one answer and the pages it stands on. This ends the work.",
        ["answer", "citations"],
        answer={"type": "string", "description": "The answer alone.", "maxLength": MAX_ANSWER_CHARACTERS},
        citations={"type": "array", "items": {"type": "string"}, "maxItems": MAX_CITATIONS,
                   "description": "Addresses or ids of pages that were opened and hold the answer; p1 is the first."},
    ),
    function_tool(
        "ask_user",
        "Ask the person whose question it is for what it leaves open. Costs as much as a search.",
        ["question"],
        question={"type": "string", "description": "One question about one thing.", "maxLength": 1000},
    ),
)  # fmt: skip
"""Schemas of the tools in OpenAI's function format, the same for every task: a tool that only some tasks had would give
away that their questions leave something open. The model reads these descriptions.
"""
_SCHEMAS: dict[str, ParametersSchema] = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
"""JSON Schema of the parameters of each tool, by tool name."""
_EXAMPLES = {"string": '"text"', "integer": "2", "array": '["https://example.org/page"]'}
"""Example value of each JSON type, for messages to the model."""


def parse_arguments(name: object, arguments: object) -> dict[str, object]:
    """Return the validated arguments of a tool call. `arguments` is JSON text or an object; optional arguments that
    are null are left out.

        parse_arguments("search", '{"query": "river town", "page": null}')  # {"query": "river town"}

    Raises: InvalidToolCall if the tool does not exist, the JSON is invalid, or an argument is unknown, missing or of
    the wrong type, length or range.
    """
    if not isinstance(name, str) or name not in _SCHEMAS:
        raise InvalidToolCall(f"There is no tool {str(name)[:80]!r}. The tools are: {', '.join(_SCHEMAS)}.")
    raw_arguments, schema = _parse_object(name, arguments), _SCHEMAS[name]
    # Models often write null for an argument that they mean to leave out.
    call_arguments = {key: value for key, value in raw_arguments.items() if value is not None}
    if unknown := sorted(str(key)[:80] for key in call_arguments.keys() - schema["properties"].keys()):
        raise InvalidToolCall(f"{name} does not take {', '.join(unknown[:5])}. {describe_usage(name)}")
    if missing := [key for key in schema["required"] if key not in call_arguments]:
        raise InvalidToolCall(f"{name} needs {', '.join(missing)}. {describe_usage(name)}")
    for key, value in call_arguments.items():
        if requirement := _unmet_requirement(value, schema["properties"][key]):
            raise InvalidToolCall(f"{key} of {name} must be {requirement}. {describe_usage(name)}")
    return call_arguments


def describe_usage(name: str) -> str:
    """Return one sentence that shows how to call a tool, with an example of each required argument."""
    schema = _SCHEMAS[name]
    examples = [f'"{key}": {_EXAMPLES[schema["properties"][key]["type"]]}' for key in schema["required"]]
    optional = [key for key in schema["properties"] if key not in schema["required"]]
    return f"Call {name} with {{{', '.join(examples)}}}" + (
        f"; it also takes {', '.join(optional)}." if optional else "."
    )


def _parse_object(name: str, arguments: object) -> Mapping[str, object]:
    """Return the arguments as a mapping. Raises: InvalidToolCall if they are not a JSON object."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise InvalidToolCall(f"The arguments of {name} are not valid JSON. {describe_usage(name)}") from None
    if not isinstance(arguments, Mapping):
        raise InvalidToolCall(f"The arguments of {name} must be a JSON object. {describe_usage(name)}")
    return arguments


def _unmet_requirement(value: object, schema: ParameterSchema) -> str:
    """Return a description of the value that the schema requires, or an empty string if `value` is valid."""
    if schema["type"] == "integer":
        # bool is a subclass of int in Python, but not an integer in JSON.
        is_valid = (
            isinstance(value, int) and not isinstance(value, bool) and schema["minimum"] <= value <= schema["maximum"]
        )
        return "" if is_valid else f"a whole number of {schema['minimum']} to {schema['maximum']}, not in quotes"
    if schema["type"] == "string":
        is_valid = isinstance(value, str) and len(value) <= schema["maxLength"] and bool(value.strip())
        return "" if is_valid else f"one text of 1 to {schema['maxLength']} characters"
    is_valid = (
        isinstance(value, list) and len(value) <= schema["maxItems"] and all(isinstance(one, str) for one in value)
    )
    return "" if is_valid else f"a list of at most {schema['maxItems']} texts"
