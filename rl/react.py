"""ReAct (Yao et al. 2022): tools called in plain text. Reads what models make of it, and only the first action, since
what follows was written before anything was seen. Pure."""

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
"""The argument that is meant where a tool is given one text."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a model's text says."""

    thought: str
    name: str | None
    """None where nothing is called."""
    arguments: str
    """JSON text, or what should have been it."""
    kept: str
    """The text up to the end of its first action."""


def manual(tools: Sequence[Mapping[str, Any]]) -> str:
    """The tools, and how they are called."""
    lines = [_described(tool["function"]) for tool in tools]
    return "\nThe tools:\n\n" + "\n".join(lines) + "\n" + _MANUAL


def read(text: str) -> Read:
    """The first action of a text."""
    action, final = _ACTION.search(text), _FINAL.search(text)
    if action and not (final and final.start() < action.start()):
        return _action(text, action)
    if final:
        end = _end(text, final.end())
        said = text[final.end() : end].strip()
        return Read(_thought(text[: final.start()]), "finish", _finish(said), text[:end].rstrip())
    return Read(_thought(text), None, "", text.rstrip())


def _action(text: str, action: re.Match[str]) -> Read:
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
    following = _NEXT.search(text, start)
    return following.start() if following else len(text)


def _arguments(name: str, text: str) -> str:
    """As JSON: the first object that stands in the text, or the one text that the tool takes."""
    bare = _FENCE.sub("", _FENCE.sub("", text.strip())).strip()
    for place in [found.start() for found in re.finditer(r"\{", bare)][:3]:
        try:
            value, _ = json.JSONDecoder(strict=False).raw_decode(bare, place)
        except (ValueError, RecursionError):
            continue
        return json.dumps(value, ensure_ascii=False)
    if "{" in bare or name not in _TEXT_OF:
        return bare
    inner = re.fullmatch(r"[(\[](?:\w+\s*=\s*)?(.*)[)\]]", bare, re.DOTALL)
    if inner and not re.fullmatch(r"\[r?\d+\]", bare):
        bare = inner[1]
    plain = bare.strip().strip("\"'“”").strip()
    return json.dumps({_TEXT_OF[name]: plain}, ensure_ascii=False) if plain else ""


def _finish(said: str) -> str:
    """A final answer that was written instead of called: its first line, and the addresses below it."""
    line, _, below = said.partition("\n")
    return json.dumps({"answer": line.strip(" *_`"), "citations": _URL.findall(below)}, ensure_ascii=False)


def _thought(text: str) -> str:
    return _THOUGHT.sub("", text).strip()


def _described(function: Mapping[str, Any]) -> str:
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
