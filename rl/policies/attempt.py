"""Attempt of an agent policy at a task: an episode with its transcript of turns, calls and observations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from webemu.rl.environment import AsyncEpisode
from webemu.rl.record import EpisodeRecord
from webemu.rl.state import Observation
from webemu.rl.tasks import Task


@dataclass(frozen=True, slots=True)
class Step:
    """Tool call with its observation."""

    tool: str
    arguments: str | Mapping[str, object]
    """Arguments as they were given: an object, or the model's own text."""
    observation: str
    kind: str
    """Kind of the observation (`webemu.rl.state.ObservationKind`)."""
    id: str = ""
    """Id of the call at the endpoint; empty without one."""


@dataclass(slots=True)
class Turn:
    """Message of an agent with the calls in it."""

    text: str = ""
    thought: str = ""
    """Reasoning before the text, if the server reports it separately."""
    reminder: str = ""
    """User message that followed because the turn had no call."""
    steps: list[Step] = field(default_factory=list)
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class Attempt:
    """Attempt in progress."""

    episode: AsyncEpisode
    task: Task
    """Task with its gold answer, which only the oracle may use."""
    seed: int
    question: str = ""
    """Question as the episode showed it."""
    turns: list[Turn] = field(default_factory=list)
    stop_reason: str = ""
    """Reason why it ended without an answer: `silent` (turns without a call) or `too-long`; empty otherwise."""
    endpoint_outage: str = ""
    """Outage of the model's endpoint; empty if there was none."""

    @property
    def done(self) -> bool:
        """True if the attempt has ended."""
        return self.episode.done or bool(self.stop_reason or self.endpoint_outage)

    @property
    def steps(self) -> list[Step]:
        """Calls of all turns in order."""
        return [step for turn in self.turns for step in turn.steps]

    def seeded_random(self, purpose: str) -> Random:
        """Return a random generator that depends on the attempt's seed, its task and `purpose` alone."""
        return Random(f"{self.seed}:{self.task.id}:{purpose}")

    async def begin(self) -> None:
        """Open the session and read the question."""
        self.question = (await self.episode.reset(self.task, self.seed)).text

    async def act(self, tool: str, **arguments: object) -> Observation:
        """Call a tool in a turn of its own, for policies without a model.

        await attempt.act("search", query="river town")
        """
        turn = Turn()
        self.turns.append(turn)
        return await self.call(turn, tool, arguments)

    async def call(
        self, turn: Turn, tool: str, arguments: str | Mapping[str, object], call_id: str = ""
    ) -> Observation:
        """Call a tool within a turn. `call_id` is the id of the call at the endpoint."""
        observation = await self.episode.call(tool, arguments)
        turn.steps.append(Step(tool, arguments, observation.text, observation.kind, call_id))
        return observation

    async def record(self) -> EpisodeRecord:
        """Return the episode as rewards read it."""
        return await self.episode.record()


AgentPolicy = Callable[[Attempt], Awaitable[None]]
"""Function that plays an attempt that has begun to its end. Raises: EndpointError only if every further attempt would
fail in the same way.
"""
