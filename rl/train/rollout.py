"""Batched rollouts: many episodes turn by turn. The model samples one turn of each, then all tool calls run
concurrently, until every episode has ended.

Token ids are only ever joined, never decoded and encoded again. The mask is 1 for tokens of the model and 0 for those
of the tools. TRL's own loop would run the tools of one rollout after those of another.
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
    """Port: a model with its tokenizer and chat template."""

    @property
    def end(self) -> int:
        """Token id that ends every turn."""

    def prompt(self, task: Task, tools: Sequence[dict[str, Any]]) -> Ids:
        """Return the token ids with which an episode begins, up to the model's first turn."""

    def turns(self, contexts: list[Ids]) -> tuple[list[Ids], list[list[float]] | None]:
        """Return the model's next turn after each context, and its log probabilities if the engine provides them."""

    def said(self, ids: Ids, context: Ids, tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return a turn as a message with `content`, and with `tool_calls` and `reasoning_content` if there are any."""

    def answers(self, shown: Sequence[tuple[str, str]]) -> Ids:
        """Return the token ids of tool messages, given as (name, text), up to the model's next turn."""


@dataclass(slots=True)
class Rollout:
    """Episode as tokens and as messages."""

    task: Task
    seed: int
    prompt_ids: Ids
    ids: Ids = field(default_factory=list)
    """Token ids after the prompt."""
    mask: Ids = field(default_factory=list)
    """1 for each token of the model, 0 for each token of the tools."""
    logprobs: list[float] = field(default_factory=list)
    """Log probability of each token, 0 for those of the tools; empty if the engine provides none."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Turns of the model and tool messages, in order."""
    over: str = ""
    """Reason why it ended: `done`, `silent` (a turn without a call), or `long` (a turn that was cut off, or no tokens
    left for the result of a tool).
    """
    score: Score = field(default_factory=lambda: Score(None, {}))
    latencies: list[float] = field(default_factory=list)
    """Seconds of each tool call."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that a batch of rollouts spent on sampling, on tools and on scoring."""

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
    """Play an episode for each (task, seed) and return the rollouts in order, with their timing. No rollout has more
    than `token_budget` tokens after its prompt.
    """
    began = time.perf_counter()
    episodes = [AsyncEpisode(room.client, limits, policy) for _ in tasks]
    # Sessions are opened concurrently as well.
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
    """Sample a turn of each running rollout and append it, cut to the token limit."""
    turns, logprobs = speaker.turns([one.prompt_ids + one.ids for one, _ in going])
    for number, (one, _) in enumerate(going):
        ids = turns[number][: most - len(one.ids)]
        one.ids += ids
        one.mask += [1] * len(ids)
        one.logprobs += logprobs[number][: len(ids)] if logprobs else []


async def _act(speaker: Speaker, one: Rollout, episode: AsyncEpisode, most: int) -> None:
    """Run the tool calls of a rollout's last turn and append their results, or end the rollout."""
    turn = _last_turn(one.mask)
    said = speaker.said(one.ids[-turn:], one.prompt_ids + one.ids[:-turn], episode.tools)
    one.messages.append(said)
    if one.ids[-1] != speaker.end:  # cut off: half a call cannot run, and what follows would break the template
        one.over = "long"
        return
    calls = [(call["function"]["name"], call["function"].get("arguments")) for call in said.get("tool_calls", ())]
    shown = [(str(name), await _called(one, episode, name, given)) for name, given in calls if not episode.done]
    one.messages += [{"role": "tool", "name": name, "content": said} for name, said in shown]
    if not calls or episode.done:
        one.over = "done" if episode.done else "silent"
        return
    ids = speaker.answers(shown)
    # At least one token must remain for the model's next turn.
    if len(one.ids) + len(ids) >= most:
        one.over = "long"
        return
    one.ids += ids
    one.mask += [0] * len(ids)
    one.logprobs += [0.0] * len(ids) if one.logprobs else []


async def _called(one: Rollout, episode: AsyncEpisode, name: object, given: object) -> str:
    """Run a tool call, measure it, and return the text of the observation."""
    at = time.perf_counter()
    seen = await episode.call(name, given)
    one.latencies.append(time.perf_counter() - at)
    return seen.text


def _last_turn(mask: Ids) -> int:
    """Return the number of tokens in the model's last turn."""
    count = 0
    for own in reversed(mask):
        if not own:
            break
        count += 1
    return count
