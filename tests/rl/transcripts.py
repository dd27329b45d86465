"""Transcripts whose reward and mask every adapter must report alike: right, wrong, cut off, and hit by outages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.rl.contract import SEED, Calls, Case, place
from tests.rl.front import before
from tests.rl.worlds import World
from webemu.rl.adapters.environment_config import episode_result
from webemu.rl.judge.judge import NO_VERDICT
from webemu.rl.record import EpisodeRecord
from webemu.rl.rubric import Rubric, Score
from webemu.rl.state import Limits
from webemu.rl.tasks import Reply, Task

KINDS = frozenset(("POST sessions", "GET sessions", "GET search", "GET fetch"))
"""Kinds of requests of an episode, as `tests.rl.front` names them."""


@dataclass(frozen=True)
class Transcript:
    """Calls of an episode and what they must earn."""

    name: str
    task: Task
    calls: Calls
    earns: float | None
    """Reward; None where the episode is masked."""
    outage: str = ""
    """Kind of request that the server does not answer."""
    limits: Limits = field(default_factory=lambda: Limits(retries=0))
    judge_fails: bool = False

    def case(self) -> Case:
        return Case(self.name, self.task, self.calls, self.limits)


@dataclass(frozen=True)
class Outcome:
    """Outcome as a trainer reads it."""

    reward: float | None
    masked: str

    def __post_init__(self) -> None:
        """Leave out the session's name, which differs from episode to episode."""
        object.__setattr__(self, "masked", re.sub(r"\bws-[\w-]+", "…", self.masked))


def transcripts(world: World) -> list[Transcript]:
    task, other = world.of("founded_by"), world.of("population")
    page, gold, elsewhere = task.evidence[0].url, task.answers[0], other.evidence[0].url
    search: tuple[Any, Any] = ("search", {"query": task.question})
    read: tuple[Any, Any] = ("open", {"link": page})
    finish: tuple[Any, Any] = ("finish", {"answer": gold, "citations": [page]})
    vague = replace(task, id="vague", user=(Reply(("when", "year"), "I mean in 1901."),))
    ask: tuple[Any, Any] = ("ask_user", {"question": "In which year?"})
    right = (search, read, finish)
    return [
        Transcript("right", task, right, 1.0),
        Transcript("ungrounded", task, (search, ("open", {"link": elsewhere}),
                   ("finish", {"answer": gold, "citations": [elsewhere]})), 0.0),
        Transcript("never opened", task, (search, finish), 0.0),
        Transcript("wrong", task, (search, read, ("finish", {"answer": "Nobody", "citations": [page]})), 0.0),
        Transcript("abstained", task, (search, read, ("finish", {"answer": "not found", "citations": []})), 0.0),
        Transcript("malformed calls", task, (("search", {"query": ["a", "b"]}), ("open", {}),
                   ("finish", {"answer": gold, "citations": page}), *right), 1.0),
        Transcript("malformed answer", task,
                   (read, ("finish", {"answer": f"{gold} <|im_end|>", "citations": [page]})), 0.0),
        Transcript("cut off", task, (search, read), 0.0),
        Transcript("nothing called", task, (), 0.0),
        Transcript("out of turns", task, right, 0.0, limits=Limits(turns=2, retries=0)),
        Transcript("out of calls", task, right, 0.0, limits=Limits(calls=1, retries=0)),
        Transcript("asked where it was open", vague, (ask, *right), 1.0),
        Transcript("asked in vain", task, (ask, ask, ask, ask, *right), 0.94),
        Transcript("outage at the start", task, right, None, "POST sessions"),
        Transcript("outage in search", task, right, None, "GET search"),
        Transcript("outage in open", task, right, None, "GET fetch"),
        Transcript("outage of the ledger", task, right, None, "GET sessions"),
        Transcript("outage and a wrong answer", task, (search, read, ("finish", {"answer": "No", "citations": []})),
                   None, "GET fetch"),
        Transcript("no judge", task, right, None, judge_fails=True),
    ]  # fmt: skip


NAMES = ("right", "ungrounded", "never opened", "wrong", "abstained", "malformed calls", "malformed answer", "cut off",
         "nothing called", "out of turns", "out of calls", "asked where it was open", "asked in vain",
         "outage at the start", "outage in search", "outage in open", "outage of the ledger",
         "outage and a wrong answer", "no judge")  # fmt: skip


def transcript(world: World, name: str) -> Transcript:
    return next(one for one in transcripts(world) if one.name == name)


@contextmanager
def staged(world: World, played: Transcript) -> Iterator[str]:
    """Yield the address of a server with the transcript's outage; without one, of the server itself. A judge that fails
    stands in for every rubric.
    """
    with pytest.MonkeyPatch.context() as patch:
        if played.judge_fails:
            patch.setattr(Rubric, "score", score_without_judge)
        if not played.outage:
            yield world.url
            return
        with before(world.url, "503", 10**6) as front:
            front.free = set(KINDS - {played.outage})
            yield front.url


def score_without_judge(rubric: Rubric, record: EpisodeRecord) -> Score:
    """Score as a judge does that is part of the reward and gives no verdict."""
    return Score(None, {term.name: None for term in rubric.terms}, NO_VERDICT)


def expected(url: str, played: Transcript) -> Outcome:
    """Return the outcome of the episode itself."""
    episode = place(url, played.case()).new_episode()
    episode.reset(played.task, SEED)
    for name, arguments in played.calls:
        episode.call(name, arguments)
    return outcome_of(episode_result(episode.record()))


def outcome_of(earned: Mapping[str, Any]) -> Outcome:
    """Return the outcome that a result tells; an episode that was never ended has none, and earned nothing."""
    return Outcome(earned.get("reward", 0.0), earned.get("masked", ""))


def advantages(outcomes: Sequence[Outcome]) -> list[float]:
    """Return the advantages of a group as TRL has them: the mean leaves masked episodes out, and theirs are 0."""
    rewards = [one.reward for one in outcomes if one.reward is not None]
    mean = sum(rewards) / len(rewards)
    return [0.0 if one.reward is None else one.reward - mean for one in outcomes]


def as_text(name: str, arguments: Any) -> str:
    """Return a call as a model writes it in text."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"
