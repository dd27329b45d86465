"""ReAct (Yao et al. 2022): tool calls in plain text. Parses what models write, with much tolerance for its layout.
Only the first action counts, since the model wrote the rest before it saw an observation. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from webemu.rl.tool_schema import FunctionSchema, ToolSchema

_ACTION = re.compile(r"^[ \t>*#_`-]*action[ \t*_`]*:[ \t*_`]*(?=\S)", re.IGNORECASE | re.MULTILINE)
_INPUT = re.compile(r"^[ \t>*#_`-]*action[ _]input[ \t*_`]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)
_FINAL = re.compile(r"^[ \t>*#_`-]*final[ _]answer[ \t*_`]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(r"^[ \t>*#_`-]*thought[ \t*_`]*:[ \t*_]*", re.IGNORECASE | re.MULTILINE)
_NEXT = re.compile(
    r"^[ \t>*#_`-]*(?:observation|thought|action|final[ _]answer)[ \t*_`]*:", re.IGNORECASE | re.MULTILINE
)
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_FENCE = re.compile(r"^\s*```\w*\s*|\s*```\s*$")
_URL = re.compile(r"https?://[^\s\"'<>)\],]+")
_MAIN_ARGUMENT = {"search": "query", "open": "link", "find": "pattern", "ask_user": "question"}
"""Argument that is meant if a tool is given one bare text."""


@dataclass(frozen=True, slots=True)
class ReactStep:
    """Thought and first action in a model's text."""

    thought: str
    name: str | None
    """Name of the tool; None if no tool is called."""
    arguments: str
    """Arguments as the model wrote them, meant to be JSON."""
    consumed_text: str
    """Text up to the end of its first action, to be kept in the conversation."""


def describe_tools(tools: Sequence[ToolSchema]) -> str:
    """Return the part of the system prompt that describes the tools and the format of a call."""
    lines = [_describe_tool(tool["function"]) for tool in tools]
    return "\nThe tools:\n\n" + "\n".join(lines) + "\n" + _MANUAL


def parse_step(text: str) -> ReactStep:
    r"""Return the thought and the first action of a text. A written final answer counts as a call of `finish`.

    step = parse_step('Thought: look it up\nAction: search\nAction Input: {"query": "Arlen"}')
    step.name, step.arguments  # ("search", '{"query": "Arlen"}')
    """
    action, final = _ACTION.search(text), _FINAL.search(text)
    if action and not (final and final.start() < action.start()):
        return _parse_action(text, action)
    if final:
        end = _end_of_section(text, final.end())
        answer_text = text[final.end() : end].strip()
        return ReactStep(
            _strip_labels(text[: final.start()]), "finish", _finish_arguments(answer_text), text[:end].rstrip()
        )
    return ReactStep(_strip_labels(text), None, "", text.rstrip())


def _parse_action(text: str, action: re.Match[str]) -> ReactStep:
    """Parse the action at a match of `_ACTION`. Its arguments follow `Action Input:`, or the tool's name."""
    line_end = text.find("\n", action.end())
    line = text[action.end() : len(text) if line_end < 0 else line_end]
    name_match = _NAME.match(line)
    name, rest_of_line = (name_match[0], line[name_match.end() :].strip(" \t*_`")) if name_match else (line.strip(), "")
    input_match = _INPUT.search(text, action.end())
    next_label = _NEXT.search(text, action.end())
    if input_match and not (next_label and next_label.start() < input_match.start()):
        end = _end_of_section(text, input_match.end())
        arguments = text[input_match.end() : end]
    else:
        end = _end_of_section(text, action.end())
        below = text[action.end() + len(line) : end]
        arguments = rest_of_line + below if rest_of_line or below.lstrip()[:1] in ("{", "`") else ""
    return ReactStep(
        _strip_labels(text[: action.start()]), name, _parse_arguments(name, arguments), text[:end].rstrip()
    )


def _end_of_section(text: str, start: int) -> int:
    """Return the offset of the next label (thought, action, observation, final answer), or of the end of the text."""
    next_label = _NEXT.search(text, start)
    return next_label.start() if next_label else len(text)


def _parse_arguments(name: str, text: str) -> str:
    """Return the arguments as JSON: the first object in the text, or the bare text as the tool's main argument."""
    bare = _FENCE.sub("", _FENCE.sub("", text.strip())).strip()
    for offset in [match.start() for match in re.finditer(r"\{", bare)][:3]:
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(bare, offset)
        except (ValueError, RecursionError):
            continue
        return json.dumps(value, ensure_ascii=False)
    if "{" in bare or name not in _MAIN_ARGUMENT:
        return bare
    # Some models write the argument as in a Python call: (query="...").
    inner = re.fullmatch(r"[(\[](?:\w+\s*=\s*)?(.*)[)\]]", bare, re.DOTALL)
    # [8] and [r3] are link ids, whose brackets belong to them.
    if inner and not re.fullmatch(r"\[r?\d+\]", bare):
        bare = inner[1]
    argument = bare.strip().strip("\"'“”").strip()
    return json.dumps({_MAIN_ARGUMENT[name]: argument}, ensure_ascii=False) if argument else ""


def _finish_arguments(answer_text: str) -> str:
    """Return the arguments of `finish` for a written final answer: its first line, and the URLs below it."""
    line, _, below = answer_text.partition("\n")
    return json.dumps({"answer": line.strip(" *_`"), "citations": _URL.findall(below)}, ensure_ascii=False)


def _strip_labels(text: str) -> str:
    return _THOUGHT.sub("", text).strip()


def _describe_tool(function: FunctionSchema) -> str:
    """Return the description of a tool, with one line for each argument."""
    schema = function["parameters"]
    arguments = [
        f'  "{name}"{"" if name in schema["required"] else " (may be left out)"}: {one["type"]}. {one["description"]}'
        for name, one in schema["properties"].items()
    ]
    return "\n".join([f"{function['name']}: {function['description']}", *arguments])


_MANUAL = """
Write exactly this, and nothing after it; the observation is given to you:

Thought: what to do next
Action: the name of one tool
Action Input: its arguments as one JSON object, such as {"query": "town on the river"}

At the end:

Thought: what was found
Action: finish
Action Input: {"answer": "the answer", "citations": ["r1"]}
"""
