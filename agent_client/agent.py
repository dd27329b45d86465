"""The agent loop: a policy chooses actions and the web answers them, until the policy answers or runs out of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from webemu.agent_client.client import Client
from webemu.agent_client.tools import call

Tool = Literal["search", "open", "find", "answer"]
"""The tools of an action; `answer` ends the episode."""


@dataclass(frozen=True, slots=True)
class Action:
    """A tool call that a policy wants to make, or `answer` with the argument `text`."""

    tool: Tool
    arguments: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call and the text that came back."""

    tool: Tool
    arguments: Mapping[str, str | int]
    observation: str


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One finished rollout."""

    question: str
    steps: tuple[Step, ...]
    """All tool calls; the answer is not among them."""
    answer: str
    """The answer; empty if none was given in time."""


class Policy(Protocol):
    """Anything that takes a question and the steps so far, and returns the next action."""

    def __call__(self, question: str, steps: tuple[Step, ...]) -> Action: ...


def run(policy: Policy, client: Client, question: str, max_steps: int = 8) -> Trajectory:
    """Run one rollout of at most `max_steps` tool calls.

    Raises InfrastructureError, which makes the rollout unscorable.

        run(scripted_policy, Client(), "Who is the mayor of Wick?").answer
    """
    steps: tuple[Step, ...] = ()
    while (action := policy(question, steps)).tool != "answer":
        if len(steps) == max_steps:
            return Trajectory(question, steps, "")
        observation = call(client, action.tool, action.arguments)
        steps += (Step(action.tool, action.arguments, observation),)
    return Trajectory(question, steps, str(action.arguments.get("text", "")))
