"""An attempt at a task: an episode, and the transcript of what was said, called and seen in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from webemu.rl.environment import AsyncEpisode
from webemu.rl.record import Record
from webemu.rl.state import Observation
from webemu.rl.tasks import Task


@dataclass(frozen=True, slots=True)
class Step:
    """One call and what came back."""

    tool: str
    arguments: str | Mapping[str, Any]
    """As they were given: an object, or the model's own text."""
    observation: str
    kind: str
    id: str = ""
    """Of the call, in the endpoint's words."""


@dataclass(slots=True)
class Turn:
    """What an agent said and called at once."""

    text: str = ""
    thought: str = ""
    """What a reasoning model said before, where the server tells it apart."""
    told: str = ""
    """What it was told where it called nothing."""
    steps: list[Step] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class Attempt:
    episode: AsyncEpisode
    task: Task
    """With the gold: for the oracle alone."""
    seed: int
    question: str = ""
    """As it was shown."""
    turns: list[Turn] = field(default_factory=list)
    stopped: str = ""
    """Why it ended without an answer: `silent`, `too-long`."""
    outage: str = ""
    """Of the model's endpoint."""

    @property
    def done(self) -> bool:
        return self.episode.done or bool(self.stopped or self.outage)

    @property
    def steps(self) -> list[Step]:
        return [step for turn in self.turns for step in turn.steps]

    def random(self, what: str) -> Random:
        """Draws that are the attempt's own."""
        return Random(f"{self.seed}:{self.task.id}:{what}")

    async def begin(self) -> None:
        self.question = (await self.episode.reset(self.task, self.seed)).text

    async def act(self, tool: str, **arguments: Any) -> Observation:
        """A call of a policy without a model, as a turn of its own."""
        turn = Turn()
        self.turns.append(turn)
        return await self.call(turn, tool, arguments)

    async def call(self, turn: Turn, tool: str, arguments: str | Mapping[str, Any], name: str = "") -> Observation:
        """One call within a turn."""
        seen = await self.episode.call(tool, arguments)
        turn.steps.append(Step(tool, arguments, seen.text, seen.kind, name))
        return seen

    async def record(self) -> Record:
        return await self.episode.record()


Policy = Callable[[Attempt], Awaitable[None]]
"""Plays an attempt that has begun to its end. Raises EndpointError only where every further attempt would meet it."""
