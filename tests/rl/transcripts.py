"""Transcripts whose reward and mask every adapter must report alike: right, wrong, cut off, and hit by outages."""

from __future__ import annotations

import atexit
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from tests.rl.contract import SEED, Calls, Case, place
from tests.rl.front import before
from tests.rl.openai_server import openai_server
from tests.rl.worlds import World
from webemu.rl.judge.spec import JudgeSpec
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
    verdict: str = ""
    """Verdict of the judge on an open answer: `yes`, `no`, or `none` from one that fails; empty without a judge."""

    @property
    def judge(self) -> JudgeSpec | None:
        return JudgeSpec.from_config(judge_config(self.verdict)) if self.verdict else None

    def case(self) -> Case:
        judge = judge_config(self.verdict) if self.verdict else {}
        return Case(self.name, self.task, self.calls, self.limits, judge=judge)


@cache
def judge_config(verdict: str) -> dict[str, str]:
    """Return the configuration of a judge with one verdict, which a server stands in for until the tests end."""
    reply = "I cannot say." if verdict == "none" else json.dumps({"equivalent": verdict == "yes"})
    stack = ExitStack()
    server = stack.enter_context(openai_server(lambda body: reply))
    atexit.register(stack.close)
    return {"base_url": server.url, "model": f"says {verdict}"}


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
    other_name = (search, read, ("finish", {"answer": "Samuel Clemens", "citations": [page]}))
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
        Transcript("judge allows", task, other_name, 1.0, verdict="yes"),
        Transcript("judge refuses", task, other_name, 0.0, verdict="no"),
        Transcript("judge fails", task, other_name, None, verdict="none"),
        Transcript("right beside a judge that fails", task, right, 1.0, verdict="none"),
    ]  # fmt: skip


NAMES = ("right", "ungrounded", "never opened", "wrong", "abstained", "malformed calls", "malformed answer", "cut off",
         "nothing called", "out of turns", "out of calls", "asked where it was open", "asked in vain",
         "outage at the start", "outage in search", "outage in open", "outage of the ledger",
         "outage and a wrong answer", "judge allows", "judge refuses", "judge fails",
         "right beside a judge that fails")  # fmt: skip


def transcript(world: World, name: str) -> Transcript:
    return next(one for one in transcripts(world) if one.name == name)


@contextmanager
def staged(world: World, played: Transcript) -> Iterator[str]:
    """Yield the address of a server with the transcript's outage; without one, of the server itself."""
    if not played.outage:
        yield world.url
        return
    with before(world.url, "503", 10**6) as front:
        front.free = set(KINDS - {played.outage})
        yield front.url


def expected(url: str, played: Transcript) -> Outcome:
    """Return the outcome of the episode itself."""
    config = place(url, played.case())
    episode = config.new_episode()
    episode.reset(played.task, SEED)
    for name, arguments in played.calls:
        episode.call(name, arguments)
    return outcome_of(dict(config.score(episode.record())))


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
