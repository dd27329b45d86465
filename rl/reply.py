"""Message of a model in the vocabulary of the chat completions API."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class ToolCall(NamedTuple):
    """Tool call of a model."""

    id: str
    name: str
    arguments: str
    """Arguments as the model wrote them, meant to be JSON."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Parsed answer of a model."""

    text: str
    calls: tuple[ToolCall, ...]
    message: Mapping[str, object]
    """Assistant message to append to the conversation."""
    prompt_tokens: int
    completion_tokens: int
    thought: str = ""
    """Reasoning before the text, if the server reports it separately."""
    was_cut_off: bool = False
    """True if the token limit ended the text."""


def assistant_message(text: str, calls: Sequence[ToolCall]) -> dict[str, object]:
    """Return the assistant message for the conversation.

    Servers parse arguments as JSON when they render the conversation, so invalid arguments are wrapped into an object.
    The episode still receives what the model wrote.
    """
    fields: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        fields["tool_calls"] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": _sanitize_name(one), "arguments": _to_json_object(one.arguments)},
            }
            for one in calls
        ]
    return fields


def _sanitize_name(call: ToolCall) -> str:
    """Return a tool name that servers accept: they refuse an empty name, and other characters."""
    return re.sub(r"[^\w-]", "_", call.name, flags=re.ASCII)[:64] or "none"


def _to_json_object(arguments: str) -> str:
    try:
        return arguments if isinstance(json.loads(arguments), dict) else json.dumps({"unreadable": arguments})
    except (ValueError, RecursionError):
        return json.dumps({"unreadable": arguments}) if arguments.strip() else "{}"
