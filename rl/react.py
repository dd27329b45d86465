"""ReAct (Yao et al. 2022): tool calls in plain text. Parses what models write, with much tolerance for its layout.
Only the first action counts, since the model wrote the rest before it saw an observation. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
_TEXT_OF = {"search": "query", "open": "link", "find": "pattern", "ask_user": "question"}
"""Argument that is meant if a tool is given one bare text."""


@dataclass(frozen=True, slots=True)
class Read:
    """Thought and first action in a model's text."""

    thought: str
    name: str | None
    """Name of the tool; None if no tool is called."""
    arguments: str
    """Arguments as the model wrote them, meant to be JSON."""
    kept: str
    """Text up to the end of its first action, to be kept in the conversation."""


def manual(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the part of the system prompt that describes the tools and the format of a call."""
    lines = [_described(tool["function"]) for tool in tools]
    return "\nThe tools:\n\n" + "\n".join(lines) + "\n" + _MANUAL


def read(text: str) -> Read:
    r"""Return the thought and the first action of a text. A written final answer counts as a call of `finish`.

    step = parse_step('Thought: look it up\nAction: search\nAction Input: {"query": "Arlen"}')
    step.name, step.arguments  # ("search", '{"query": "Arlen"}')
    """
    action, final = _ACTION.search(text), _FINAL.search(text)
    if action and not (final and final.start() < action.start()):
        return _action(text, action)
    if final:
        end = _end(text, final.end())
        said = text[final.end() : end].strip()
        return Read(_thought(text[: final.start()]), "finish", _finish(said), text[:end].rstrip())
    return Read(_thought(text), None, "", text.rstrip())


def _action(text: str, action: re.Match[str]) -> Read:
    """Parse the action at a match of `_ACTION`. Its arguments follow `Action Input:`, or the tool's name."""
    line_end = text.find("\n", action.end())
    line = text[action.end() : len(text) if line_end < 0 else line_end]
    found = _NAME.match(line)
    name, rest = (found[0], line[found.end() :].strip(" \t*_`")) if found else (line.strip(), "")
    given = _INPUT.search(text, action.end())
    following = _NEXT.search(text, action.end())
    if given and not (following and following.start() < given.start()):
        end = _end(text, given.end())
        arguments = text[given.end() : end]
    else:
        end = _end(text, action.end())
        below = text[action.end() + len(line) : end]
        arguments = rest + below if rest or below.lstrip()[:1] in ("{", "`") else ""
    return Read(_thought(text[: action.start()]), name, _arguments(name, arguments), text[:end].rstrip())


def _end(text: str, start: int) -> int:
    """Return the offset of the next label (thought, action, observation, final answer), or of the end of the text."""
    following = _NEXT.search(text, start)
    return following.start() if following else len(text)


def _arguments(name: str, text: str) -> str:
    """Return the arguments as JSON: the first object in the text, or the bare text as the tool's main argument."""
    bare = _FENCE.sub("", _FENCE.sub("", text.strip())).strip()
    for place in [found.start() for found in re.finditer(r"\{", bare)][:3]:
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(bare, place)
        except (ValueError, RecursionError):
            continue
        return json.dumps(value, ensure_ascii=False)
    if "{" in bare or name not in _TEXT_OF:
        return bare
    # Some models write the argument as in a Python call: (query="...").
    inner = re.fullmatch(r"[(\[](?:\w+\s*=\s*)?(.*)[)\]]", bare, re.DOTALL)
    # [8] and [r3] are link ids, whose brackets belong to them.
    if inner and not re.fullmatch(r"\[r?\d+\]", bare):
        bare = inner[1]
    plain = bare.strip().strip("\"'“”").strip()
    return json.dumps({_TEXT_OF[name]: plain}, ensure_ascii=False) if plain else ""


def _finish(said: str) -> str:
    """Return the arguments of `finish` for a written final answer: its first line, and the URLs below it."""
    line, _, below = said.partition("\n")
    return json.dumps({"answer": line.strip(" *_`"), "citations": _URL.findall(below)}, ensure_ascii=False)


def _thought(text: str) -> str:
    return _THOUGHT.sub("", text).strip()


def _described(function: Mapping[str, Any]) -> str:
    """Return the description of a tool, with one line for each argument."""
    law = function["parameters"]
    arguments = [
        f'  "{name}"{"" if name in law["required"] else " (may be left out)"}: {one["type"]}. {one["description"]}'
        for name, one in law["properties"].items()
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
