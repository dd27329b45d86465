"""Many episodes turn by turn: a batch of the model's turns, then all their tool calls at once, until all have ended.

Token ids are only ever joined, never decoded and encoded again. What a model wrote has 1 in the mask, what the web
said 0. TRL's own loop runs the tools of one rollout after those of another.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from webemu.rl.environment import AsyncEpisode
from webemu.rl.rewards import rubric_of
from webemu.rl.rubric import Score
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import Room

Ids = list[int]


class Speaker(Protocol):
    """A model with its tokenizer and chat template."""

    @property
    def end(self) -> int:
        """The id with which every turn ends."""

    def prompt(self, task: Task, tools: Sequence[dict[str, Any]]) -> Ids:
        """The ids with which an episode begins, up to the model's first turn."""

    def turns(self, contexts: list[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        """The model's next turn after each context, with its log probabilities where the engine gives them."""

    def said(self, ids: Ids, context: Ids, tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """A turn as a message: `content`, and where there are any `tool_calls` and `reasoning_content`."""

    def answers(self, shown: Sequence[tuple[str, str]]) -> Ids:
        """The ids of tool messages, (name, text) each, up to the model's next turn."""


@dataclass(slots=True)
class Rollout:
    """One episode as tokens and as what happened."""

    task: Task
    seed: int
    prompt_ids: Ids
    ids: Ids = field(default_factory=list)
    """All after the prompt."""
    mask: Ids = field(default_factory=list)
    """1 for the model's own."""
    logprobs: list[float] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Turns and what the tools showed, in order."""
    over: str = ""
    """Why it is over: `done`, `silent` (a turn without a call), `long` (a turn that was cut off, or no room for what a
    tool showed)."""
    score: Score = field(default_factory=lambda: Score(None, {}))
    latencies: list[float] = field(default_factory=list)
    """Seconds of each tool call."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a batch of rollouts."""

    speaking: float
    tools: float
    scoring: float


def play(
    room: Room,
    speaker: Speaker,
    tasks: Sequence[tuple[Task, int]],
    limits: Limits,
    room_of_ids: int,
    policy: dict[str, Any] | None = None,
) -> tuple[list[Rollout], Timing]:
    """An episode for each (task, seed). No rollout grows beyond `room_of_ids` after its prompt."""
    began = time.perf_counter()
    episodes = [AsyncEpisode(room.client, limits, policy) for _ in tasks]
    room.all(episode.reset(*task) for episode, task in zip(episodes, tasks, strict=True))
    prompts = [speaker.prompt(task, episode.tools) for (task, _), episode in zip(tasks, episodes, strict=True)]
    rollouts = [Rollout(task, seed, ids) for (task, seed), ids in zip(tasks, prompts, strict=True)]
    tools, speaking = time.perf_counter() - began, 0.0
    going = [(one, episode) for one, episode in zip(rollouts, episodes, strict=True) if not episode.done]
    while going:
        at = time.perf_counter()
        _speak(speaker, going, room_of_ids)
        speaking, at = speaking + time.perf_counter() - at, time.perf_counter()
        room.all(_act(speaker, one, episode, room_of_ids) for one, episode in going)
        tools += time.perf_counter() - at
        going = [(one, episode) for one, episode in going if not one.over]
    at = time.perf_counter()
    for one, record in zip(rollouts, room.all(episode.record() for episode in episodes), strict=True):
        one.score = rubric_of(one.task).score(record)
    return rollouts, Timing(speaking, tools, time.perf_counter() - at)


def _speak(speaker: Speaker, going: list[tuple[Rollout, AsyncEpisode]], most: int) -> None:
    turns, logprobs = speaker.turns([one.prompt_ids + one.ids for one, _ in going])
    for number, (one, _) in enumerate(going):
        ids = turns[number][: most - len(one.ids)]
        one.ids += ids
        one.mask += [1] * len(ids)
        one.logprobs += logprobs[number][: len(ids)] if logprobs else []


async def _act(speaker: Speaker, one: Rollout, episode: AsyncEpisode, most: int) -> None:
    turn = _last_turn(one.mask)
    said = speaker.said(one.ids[-turn:], one.prompt_ids + one.ids[:-turn], episode.tools)
    one.messages.append(said)
    if one.ids[-1] != speaker.end:  # half a call is none, and what followed would not be the template's
        one.over = "long"
        return
    calls = [(call["function"]["name"], call["function"].get("arguments")) for call in said.get("tool_calls", ())]
    shown = [(str(name), await _called(one, episode, name, given)) for name, given in calls if not episode.done]
    one.messages += [{"role": "tool", "name": name, "content": said} for name, said in shown]
    if not calls or episode.done:
        one.over = "done" if episode.done else "silent"
        return
    ids = speaker.answers(shown)
    if len(one.ids) + len(ids) >= most:
        one.over = "long"
        return
    one.ids += ids
    one.mask += [0] * len(ids)
    one.logprobs += [0.0] * len(ids) if one.logprobs else []


async def _called(one: Rollout, episode: AsyncEpisode, name: object, given: object) -> str:
    at = time.perf_counter()
    seen = await episode.call(name, given)
    one.latencies.append(time.perf_counter() - at)
    return seen.text


def _last_turn(mask: Ids) -> int:
    """How many ids the model wrote last."""
    count = 0
    for own in reversed(mask):
        if not own:
            break
        count += 1
    return count
