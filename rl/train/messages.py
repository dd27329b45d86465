"""Chat messages as trainers, chat templates and trajectory files hold them: plain dictionaries with these fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypedDict


class FunctionCall(TypedDict, total=False):
    """Function that the model calls."""

    name: Required[str]
    arguments: object
    """Arguments by name; whatever else the model wrote, if it wrote no object."""


class ToolCall(TypedDict):
    """Tool call in a message of the assistant."""

    type: str
    function: FunctionCall


class Message(TypedDict, total=False):
    """Message of a conversation."""

    role: Required[str]
    content: str
    reasoning_content: str
    """Thoughts of the model before its turn."""
    name: str
    """Name of the tool whose result this is."""
    tool_calls: list[ToolCall]


class SftRow(TypedDict):
    """Conversation to learn from, with the tools that its template shows."""

    messages: list[Message]
    tools: list[Mapping[str, object]]
    """Schemas in OpenAI's function format (`webemu.rl.arguments.TOOLS`)."""
