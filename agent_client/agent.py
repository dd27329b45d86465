"""The agent loop: a policy chooses, the web answers, until there is an answer or no step is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from webemu.agent_client.client import Client
from webemu.agent_client.tools import call

Tool = Literal["search", "open", "find", "answer"]


@dataclass(frozen=True, slots=True)
class Action:
    """What a policy wants: a tool call, or `answer` with the argument `text`."""

    tool: Tool
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One call and the text that came back."""

    tool: Tool
    arguments: Mapping[str, Any]
    observation: str


@dataclass(frozen=True, slots=True)
class Trajectory:
    question: str
    steps: tuple[Step, ...]
    """Every tool call; the answer is not one."""
    answer: str
    """Empty where none was given in time."""


class Policy(Protocol):
    """Anything that reads a question and what was seen so far, and says what to do next."""

    def __call__(self, question: str, steps: tuple[Step, ...]) -> Action: ...


def run(policy: Policy, client: Client, question: str, max_steps: int = 8) -> Trajectory:
    """One rollout of at most `max_steps` tool calls. Raises InfrastructureError, which makes it unscorable."""
    steps: tuple[Step, ...] = ()
    while (action := policy(question, steps)).tool != "answer":
        if len(steps) == max_steps:
            return Trajectory(question, steps, "")
        observation = call(client, action.tool, action.arguments)
        steps += (Step(action.tool, action.arguments, observation),)
    return Trajectory(question, steps, str(action.arguments.get("text", "")))
