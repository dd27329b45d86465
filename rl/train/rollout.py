"""Batched rollouts: many episodes turn by turn. The model samples one turn of each, and the tool calls of a turn run as
soon as it ends, while others are still being sampled, until every episode has ended.

Nothing depends on that order: an episode has a session of its own, and the next turns begin when all calls are done.

Token ids are only ever joined, never decoded and encoded again. The mask is 1 for tokens of the model and 0 for those
of the tools. TRL's own loop would run the tools of one rollout after those of another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from webemu.rl.environment import AsyncEpisode
from webemu.rl.judge.spec import JudgeSpec
from webemu.rl.rubric import Score
from webemu.rl.scoring import score_episodes
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.messages import Message

Ids = list[int]
OnTurn = Callable[[int, Ids], None]
"""Function that receives the number of a context and its turn."""
OnProgress = Callable[["Sequence[Rollout]"], None]
"""Function that receives the rollouts of a batch whenever each of them has made one more turn or has ended."""


class Codec(Protocol):
    """Port: a tokenizer with its chat template."""

    @property
    def end_id(self) -> int:
        """Token id that ends every turn."""

    def encode_prompt(self, task: Task, tools: Sequence[Mapping[str, object]]) -> Ids:
        """Return the token ids with which an episode begins, up to the model's first turn."""

    def parse_turn(self, ids: Ids, context: Ids, tools: Sequence[Mapping[str, object]]) -> Message:
        """Return a turn as a message with `content`, and with `tool_calls` and `reasoning_content` if there are any."""

    def encode_tool_results(self, results: Sequence[tuple[str, str]]) -> Ids:
        """Return the token ids of tool messages, given as (name, text), up to the model's next turn."""


class Sampler(Codec, Protocol):
    """Port: a model with its tokenizer and chat template."""

    def sample_turns(
        self, contexts: list[Ids], on_turn: OnTurn | None = None
    ) -> tuple[list[Ids], list[list[float]] | None]:
        """Return the model's next turn after each context, and its log probabilities if the engine provides them.

        An engine that provides none may pass turns to `on_turn` as soon as they end.
        """


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
    messages: list[Message] = field(default_factory=list)
    """Turns of the model and tool messages, in order."""
    end_reason: str = ""
    """Reason why it ended: `done`, `silent` (a turn without a call), or `long` (a turn that was cut off, or no tokens
    left for the result of a tool).
    """
    score: Score = field(default_factory=lambda: Score(None, {}))
    latencies: list[float] = field(default_factory=list)
    """Seconds of each tool call."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that a batch of rollouts spent on sampling, on waiting for tools and on scoring. Tools that run while the
    model still samples cost nothing.
    """

    sampling_seconds: float
    tool_seconds: float
    scoring_seconds: float
    tokens: int = 0
    """Tokens that the model sampled."""


def add_timings(timings: Sequence[Timing]) -> Timing:
    """Return the sums of several batches."""
    return Timing(
        sum(one.sampling_seconds for one in timings),
        sum(one.tool_seconds for one in timings),
        sum(one.scoring_seconds for one in timings),
        sum(one.tokens for one in timings),
    )


def play(
    loop_thread: EventLoopThread,
    sampler: Sampler,
    tasks: Sequence[tuple[Task, int]],
    limits: Limits,
    token_budget: int,
    policy: Mapping[str, object] | None = None,
    judge: JudgeSpec | None = None,
    on_progress: OnProgress = lambda rollouts: None,
) -> tuple[list[Rollout], Timing]:
    """Play an episode for each (task, seed) and return the rollouts in order, with their timing. No rollout has more
    than `token_budget` tokens after its prompt. A judge decides what the rules leave open.
    """
    started = time.perf_counter()
    episodes = [AsyncEpisode(loop_thread.client, limits, policy) for _ in tasks]
    # Sessions are opened concurrently as well.
    loop_thread.gather(episode.reset(*task) for episode, task in zip(episodes, tasks, strict=True))
    prompts = [sampler.encode_prompt(task, episode.tools) for (task, _), episode in zip(tasks, episodes, strict=True)]
    rollouts = [Rollout(task, seed, ids) for (task, seed), ids in zip(tasks, prompts, strict=True)]
    tool_seconds, sampling_seconds = time.perf_counter() - started, 0.0
    active = [(rollout, episode) for rollout, episode in zip(rollouts, episodes, strict=True) if not episode.done]
    while active:
        phase_started = time.perf_counter()
        futures = _play_turn(loop_thread, sampler, active, token_budget)
        sampling_seconds, phase_started = sampling_seconds + time.perf_counter() - phase_started, time.perf_counter()
        loop_thread.collect(futures)
        tool_seconds += time.perf_counter() - phase_started
        on_progress(rollouts)
        active = [(rollout, episode) for rollout, episode in active if not rollout.end_reason]
    phase_started = time.perf_counter()
    records = loop_thread.gather(episode.record() for episode in episodes)
    for rollout, score in zip(rollouts, score_episodes(records, judge), strict=True):
        rollout.score = score
    sampled_tokens = sum(sum(one.mask) for one in rollouts)
    return rollouts, Timing(sampling_seconds, tool_seconds, time.perf_counter() - phase_started, sampled_tokens)


def _play_turn(
    loop_thread: EventLoopThread, sampler: Sampler, active: list[tuple[Rollout, AsyncEpisode]], token_budget: int
) -> list[Future[None]]:
    """Sample a turn of each running rollout, begin its tool calls, and return what will be done with them."""
    futures: dict[int, Future[None]] = {}

    def begin_tools(number: int, ids: Ids, logprobs: Sequence[float] = ()) -> None:
        rollout, episode = active[number]
        append_turn(rollout, ids[: token_budget - len(rollout.ids)], logprobs)
        futures[number] = loop_thread.start(run_tools(sampler, rollout, episode, token_budget))

    contexts = [rollout.prompt_ids + rollout.ids for rollout, _ in active]
    turns, logprobs = sampler.sample_turns(contexts, begin_tools)
    for number, ids in enumerate(turns):
        if number not in futures:
            begin_tools(number, ids, logprobs[number] if logprobs else ())
    return list(futures.values())


def append_turn(rollout: Rollout, ids: Ids, logprobs: Sequence[float] = ()) -> None:
    """Append a turn of the model, with log probabilities if there are any."""
    rollout.ids += ids
    rollout.mask += [1] * len(ids)
    rollout.logprobs += logprobs[: len(ids)]


async def run_tools(codec: Codec, rollout: Rollout, episode: AsyncEpisode, token_budget: int) -> None:
    """Run the tool calls of a rollout's last turn and append their results, or end the rollout."""
    turn_length = _last_turn_length(rollout.mask)
    message = codec.parse_turn(
        rollout.ids[-turn_length:], rollout.prompt_ids + rollout.ids[:-turn_length], episode.tools
    )
    rollout.messages.append(message)
    if rollout.ids[-1] != codec.end_id:  # cut off: half a call cannot run, and what follows would break the template
        rollout.end_reason = "long"
        return
    calls = [(call["function"]["name"], call["function"].get("arguments")) for call in message.get("tool_calls", ())]
    tool_results = [
        (str(name), await _call_tool(rollout, episode, name, tool_arguments))
        for name, tool_arguments in calls
        if not episode.done
    ]
    rollout.messages += [{"role": "tool", "name": name, "content": text} for name, text in tool_results]
    if not calls or episode.done:
        rollout.end_reason = "done" if episode.done else "silent"
        return
    ids = codec.encode_tool_results(tool_results)
    # At least one token must remain for the model's next turn.
    if len(rollout.ids) + len(ids) >= token_budget:
        rollout.end_reason = "long"
        return
    rollout.ids += ids
    rollout.mask += [0] * len(ids)
    rollout.logprobs += [0.0] * len(ids) if rollout.logprobs else []


async def _call_tool(rollout: Rollout, episode: AsyncEpisode, name: object, tool_arguments: object) -> str:
    """Run a tool call, measure it, and return the text of the observation."""
    started = time.perf_counter()
    observation = await episode.call(name, tool_arguments)
    rollout.latencies.append(time.perf_counter() - started)
    return observation.text


def _last_turn_length(mask: Ids) -> int:
    """Return the number of tokens in the model's last turn."""
    count = 0
    for is_own in reversed(mask):
        if not is_own:
            break
        count += 1
    return count
