"""Tool calls in a model's text, for trainers that hand over text: `<tool_call>` with JSON, or Search-R1's tags.

    <tool_call>{"name": "open", "arguments": {"link": "r1"}}</tool_call>
    <search>words</search>   <open>r1</open>   <find>text</find>   <ask_user>question</ask_user>
    <answer>the answer <cite>r1</cite></answer>

Any other text becomes a call without a name, which the episode answers with an explanation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# A call whose end tag was cut off, by a limit on tokens for instance, is read to the end of the text.
_CALL = re.compile(r"<(tool_call|search|open|find|ask_user|answer)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_CITED = re.compile(r"<cite>(.*?)</cite>", re.DOTALL)
_MANUAL = """
The tools:

{tools}

Call one at a time, in these lines and nothing after them:

<tool_call>
{{"name": "search", "arguments": {{"query": "…"}}}}
</tool_call>
"""
_ARGUMENT = {"search": "query", "open": "link", "find": "pattern", "ask_user": "question"}


def calls(text: str) -> tuple[tuple[object, object], ...]:
    """Return name and arguments of each call in order, after the reasoning (`</think>`); always at least one.

    parse_calls("<search>river</search>")   # (("search", {"query": "river"}),)
    """
    said = text.rpartition("</think>")[2].partition("<think>")[0]
    return tuple(_call(found[1], found[2].strip()) for found in _CALL.finditer(said)) or ((None, None),)


def manual(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return the part of the prompt that describes the tools to a model that calls them in text."""
    return _MANUAL.format(tools="\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools))


def _call(tag: str, inner: str) -> tuple[object, object]:
    if tag == "tool_call":
        return _json_call(inner)
    if tag == "answer":
        cited: list[Any] = [one.strip() for one in _CITED.findall(inner)]
        return "finish", {"answer": _CITED.sub("", inner).strip(), "citations": cited}
    return tag, {_ARGUMENT[tag]: inner}


def _json_call(inner: str) -> tuple[object, object]:
    """Return name and arguments of a JSON call; broken JSON gives the name if it can be found, and the raw text."""
    try:
        told = json.loads(inner)
    except (ValueError, RecursionError):
        name = re.search(r'"name"\s*:\s*"(\w+)"', inner)
        return (name[1] if name else None), inner
    if not isinstance(told, dict):
        return None, inner
    return told.get("name"), told.get("arguments", told.get("parameters"))
