"""Shape of a line of `episodes.jsonl`: an attempt at a task, as `webemu eval` writes it and `webemu.rl.sft` reads it.
These are types for plain JSON objects; nothing is checked at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from webemu.rl.tasks import AnswerType


class StepRow(TypedDict):
    """Tool call with its observation."""

    tool: str
    arguments: str | Mapping[str, object]
    """Arguments as they were given: an object, or the model's own text."""
    observation: str
    kind: str
    """Kind of the observation (`webemu.rl.state.ObservationKind`)."""
    id: str
    earned: NotRequired[dict[str, float]]
    """Parts of the reward terms that the call earned or lost (`webemu.rl.credit`); missing if there are none."""


class TurnRow(TypedDict, total=False):
    """Message of an agent with the calls in it. Empty fields are left out."""

    text: str
    thought: str
    told: str
    """User message that followed because the turn had no call."""
    steps: list[StepRow]
    prompt_tokens: int
    completion_tokens: int


class AttemptRow(TypedDict):
    """Everything about an attempt, gold answers included: for people and programs, never for models."""

    task: str
    """Id of the task."""
    sample: int
    """Number of the attempt at the task, from 0."""
    seed: int
    question: str
    answers: list[str]
    evidence: list[str]
    """URLs of the pages that state the answer."""
    recipe: str
    hops: int
    difficulty: NotRequired[float | None]
    """Difficulty of the task; missing in rows of earlier versions, None if it was not measured."""
    answer_type: AnswerType
    split: str
    user: bool
    """True if the task has a simulated user."""
    turns: list[TurnRow]
    answer: str
    """Answer of the agent."""
    citations: list[str]
    opened: list[str]
    """URLs of the pages that reached the agent."""
    end: str
    """Reason why the attempt ended."""
    mask: str
    """Reason why the attempt is masked; empty if it counts."""
    reward: float | None
    """Reward; None if the attempt is masked."""
    terms: dict[str, float | None]
    recall: float | None
    """Share of the evidence that was opened; None if the task has none or the attempt is masked."""
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """Duration of the attempt."""
