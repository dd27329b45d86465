"""Chat messages as trainers, chat templates and trajectory files hold them: plain dictionaries with these fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Required, TypedDict

from webemu.rl.chat import answer_rules
from webemu.rl.tasks import AnswerType

RULES_KEYWORD = "rules"
"""System prompt of a recipe that stands for the rules of each task's answer type, as in evaluation."""


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


def system_messages(system: str, answer_type: AnswerType) -> list[Message]:
    """Return the system message of a conversation about a task; none if `system` is empty. `RULES_KEYWORD` stands for
    `webemu.rl.chat.answer_rules`: a report must not be learned under the rules of short answers.
    """
    text = answer_rules(answer_type) if system == RULES_KEYWORD else system
    return [{"role": "system", "content": text}] if text else []
