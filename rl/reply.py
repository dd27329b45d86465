"""What a model said, in the words of the chat completions API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class ToolCall(NamedTuple):
    id: str
    name: str
    arguments: str
    """As the model wrote them: JSON text, or what should have been it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said."""

    text: str
    calls: tuple[ToolCall, ...]
    message: Mapping[str, Any]
    """To append to the conversation."""
    prompt_tokens: int
    completion_tokens: int
    thought: str = ""
    """What a reasoning model said before, where the server tells it apart."""
    cut: bool = False
    """Whether it was ended by the limit on tokens."""


def message(text: str, calls: Sequence[ToolCall]) -> dict[str, Any]:
    """The assistant's message. Servers read arguments as JSON when they render the conversation, so what is none is
    wrapped into an object; the episode is given what the model wrote."""
    said: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        said["tool_calls"] = [
            {"id": one.id, "type": "function", "function": {"name": _name(one), "arguments": _json(one.arguments)}}
            for one in calls
        ]
    return said


def _name(call: ToolCall) -> str:
    """Servers refuse names with other signs, or none."""
    return re.sub(r"[^\w-]", "_", call.name, flags=re.ASCII)[:64] or "none"


def _json(arguments: str) -> str:
    try:
        return arguments if isinstance(json.loads(arguments), dict) else json.dumps({"unreadable": arguments})
    except (ValueError, RecursionError):
        return json.dumps({"unreadable": arguments}) if arguments.strip() else "{}"
