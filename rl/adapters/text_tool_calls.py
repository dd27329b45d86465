"""Tool calls in a model's text, for trainers that hand over text: `<tool_call>` with JSON, or Search-R1's tags.

    <tool_call>{"name": "open", "arguments": {"link": "r1"}}</tool_call>
    <search>words</search>   <open>r1</open>   <find>text</find>   <ask_user>question</ask_user>
    <answer>the answer <cite>r1</cite></answer>

Any other text becomes a call without a name, which the episode answers with an explanation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from webemu.rl.tool_schema import ToolSchema

# A call whose end tag was cut off, by a limit on tokens for instance, is read to the end of the text.
_CALL_TAG = re.compile(r"<(tool_call|search|open|find|ask_user|answer)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_CITATION = re.compile(r"<cite>(.*?)</cite>", re.DOTALL)
_MANUAL_TEMPLATE = """
The tools:

{tools}

Call one at a time, in these lines and nothing after them:

<tool_call>
{{"name": "search", "arguments": {{"query": "…"}}}}
</tool_call>
"""
_ARGUMENT_NAMES = {"search": "query", "open": "link", "find": "pattern", "ask_user": "question"}


@dataclass(frozen=True, slots=True)
class TextCall:
    """Tool call as a text states it. The episode checks both fields and explains what is wrong."""

    name: object
    """Name of the tool; None if the text calls none."""
    arguments: object
    """Arguments as an object, or as the text of broken JSON."""


def parse_calls(text: str) -> tuple[TextCall, ...]:
    """Return the calls in order, after the reasoning (`</think>`); always at least one.

    parse_calls("<search>river</search>")   # (TextCall("search", {"query": "river"}),)
    """
    visible_text = text.rpartition("</think>")[2].partition("<think>")[0]
    return tuple(_parse_tag(match[1], match[2].strip()) for match in _CALL_TAG.finditer(visible_text)) or (
        TextCall(None, None),
    )


def tool_manual(tools: Sequence[ToolSchema]) -> str:
    """Return the part of the prompt that describes the tools to a model that calls them in text."""
    return _MANUAL_TEMPLATE.format(tools="\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools))


def _parse_tag(tag: str, content: str) -> TextCall:
    if tag == "tool_call":
        return _parse_json_call(content)
    if tag == "answer":
        citations = [one.strip() for one in _CITATION.findall(content)]
        return TextCall("finish", {"answer": _CITATION.sub("", content).strip(), "citations": citations})
    return TextCall(tag, {_ARGUMENT_NAMES[tag]: content})


def _parse_json_call(content: str) -> TextCall:
    """Return the call in a JSON object; broken JSON gives the name if it can be found, and the raw text."""
    try:
        call_object = json.loads(content)
    except (ValueError, RecursionError):
        match = re.search(r'"name"\s*:\s*"(\w+)"', content)
        return TextCall(match[1] if match else None, content)
    if not isinstance(call_object, dict):
        return TextCall(None, content)
    return TextCall(call_object.get("name"), call_object.get("arguments", call_object.get("parameters")))
