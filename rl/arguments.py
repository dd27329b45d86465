"""Tool schemas of an episode and the validation of tool arguments. In goes a call as a model wrote it, out come typed
arguments, or `InvalidToolCall` with a message that tells the model how to correct the call. Nothing is executed here;
see `webemu.rl.episode`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from webemu.agent_client.tools import Misuse, function_tool

MOST_ANSWER, MOST_CITED = 20_000, 100
"""Longest `answer` of `finish` in characters, and the largest number of its `citations`."""

TOOLS: tuple[dict[str, Any], ...] = (
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
        answer={"type": "string", "description": "The answer alone.", "maxLength": MOST_ANSWER},
        citations={"type": "array", "items": {"type": "string"}, "maxItems": MOST_CITED,
                   "description": "Addresses or ids of pages that were opened and hold the answer; p1 is the first."},
    ),
)  # fmt: skip
"""Schemas of the tools that every episode has, in OpenAI's function format. The model reads these descriptions."""
ASK_USER = function_tool(
    "ask_user",
    "Ask the person whose question it is for what it leaves open.",
    ["question"],
    question={"type": "string", "description": "One question.", "maxLength": 1000},
)
"""Schema of the extra tool for tasks that have a simulated user."""
_LAWS: dict[str, dict[str, Any]] = {
    tool["function"]["name"]: tool["function"]["parameters"] for tool in (*TOOLS, ASK_USER)
}
"""JSON Schema of the parameters of each tool, by tool name."""
_EXAMPLES = {"string": '"text"', "integer": "2", "array": '["https://example.org/page"]'}
"""Example value of each JSON type, for messages to the model."""


def tools(has_user: bool) -> tuple[dict[str, Any], ...]:
    """Return the tool schemas of an episode in OpenAI's function format; `ask_user` is included only if `has_user`.

    names = [tool["function"]["name"] for tool in list_tools(has_user=False)]
    # ["search", "open", "find", "finish"]
    """
    return (*TOOLS, ASK_USER) if has_user else TOOLS


def read(name: object, arguments: object, has_user: bool = False) -> dict[str, Any]:
    """Return the validated arguments of a tool call. `arguments` is JSON text or an object; optional arguments that
    are null are left out.

        parse_arguments("search", '{"query": "river town", "page": null}')  # {"query": "river town"}

    Raises: InvalidToolCall if the tool does not exist, the JSON is invalid, or an argument is unknown, missing or of
    the wrong type, length or range.
    """
    offered = [tool["function"]["name"] for tool in tools(has_user)]
    if not isinstance(name, str) or name not in offered:
        raise Misuse(f"There is no tool {str(name)[:80]!r}. The tools are: {', '.join(offered)}.")
    told, law = _object(name, arguments), _LAWS[name]
    # Models often write null for an argument that they mean to leave out.
    given = {key: value for key, value in told.items() if value is not None}
    if unknown := sorted(str(key)[:80] for key in given.keys() - law["properties"].keys()):
        raise Misuse(f"{name} does not take {', '.join(unknown[:5])}. {usage(name)}")
    if missing := [key for key in law["required"] if key not in given]:
        raise Misuse(f"{name} needs {', '.join(missing)}. {usage(name)}")
    for key, value in given.items():
        if wrong := _breach(value, law["properties"][key]):
            raise Misuse(f"{key} of {name} must be {wrong}. {usage(name)}")
    return given


def usage(name: str) -> str:
    """Return one sentence that shows how to call a tool, with an example of each required argument."""
    law = _LAWS[name]
    shown = [f'"{key}": {_EXAMPLES[law["properties"][key]["type"]]}' for key in law["required"]]
    others = [key for key in law["properties"] if key not in law["required"]]
    return f"Call {name} with {{{', '.join(shown)}}}" + (f"; it also takes {', '.join(others)}." if others else ".")


def _object(name: str, arguments: object) -> Mapping[str, Any]:
    """Return the arguments as a mapping. Raises: InvalidToolCall if they are not a JSON object."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise Misuse(f"The arguments of {name} are not valid JSON. {usage(name)}") from None
    if not isinstance(arguments, Mapping):
        raise Misuse(f"The arguments of {name} must be a JSON object. {usage(name)}")
    return arguments


def _breach(value: Any, law: Mapping[str, Any]) -> str:
    """Return a description of the value that the schema requires, or an empty string if `value` is valid."""
    if law["type"] == "integer":
        # bool is a subclass of int in Python, but not an integer in JSON.
        ok = isinstance(value, int) and not isinstance(value, bool) and law["minimum"] <= value <= law["maximum"]
        return "" if ok else f"a whole number of {law['minimum']} to {law['maximum']}, not in quotes"
    if law["type"] == "string":
        ok = isinstance(value, str) and len(value) <= law["maxLength"] and bool(value.strip())
        return "" if ok else f"one text of 1 to {law['maxLength']} characters"
    ok = isinstance(value, list) and len(value) <= law["maxItems"] and all(isinstance(one, str) for one in value)
    return "" if ok else f"a list of at most {law['maxItems']} texts"
