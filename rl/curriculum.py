"""Which tasks come next, with how many turns and in how much noise: a curriculum over buckets of hops and recipe.

Pure and seeded: the same tasks, seed and outcomes give the same draws, and `saved` goes on where it stopped. Knows no
trainer: ask `draw` for the tasks of a step, and tell `learn` how each attempt ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Self

from webemu.rl.gates import holds
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise

Bucket = tuple[int, str]
"""Hops and recipe."""
TOLD = "-told"
"""Behind the id of a task that tells its first hop."""


@dataclass(frozen=True, slots=True)
class Plan:
    explore: float = 0.1
    """Share of draws that is spread over all open buckets evenly."""
    replay: float = 0.1
    """Share of draws from what was solved and is easy by now."""
    mutate: float = 0.2
    """Share of draws made from failures (WebRL, Qi et al. 2024)."""
    promote: float = 0.8
    """Pass rate of half of a level's buckets that opens the next number of hops."""
    weight: float = 0.05
    """Of one outcome in a pass rate, once there were some."""
    memory: int = 2000
    """Failures, and solved tasks, that are remembered."""


@dataclass(slots=True)
class Rate:
    """A pass rate that forgets: a moving average which begins at a half."""

    passed: float = 0.5
    seen: int = 0

    def learn(self, outcome: float, weight: float) -> None:
        self.seen += 1
        self.passed += max(weight, 1 / (self.seen + 1)) * (outcome - self.passed)

    @property
    def worth(self) -> float:
        """Variance of an outcome: nothing is learned from what always or never succeeds."""
        return self.passed * (1 - self.passed)


@dataclass(slots=True)
class Curriculum:
    tasks: Sequence[Task]
    reserve: Sequence[Task] = ()
    """Tasks of the same recipes about other entities, drawn in place of failed ones only."""
    seed: int = 0
    plan: Plan = field(default_factory=Plan)
    step: int = 0
    level: int = 0
    """Hops that are open; no task has more."""
    masked: int = 0
    """Outcomes that were none."""
    rates: dict[Bucket, Rate] = field(default_factory=dict, init=False)
    _failed: dict[str, None] = field(default_factory=dict, init=False)
    _solved: dict[str, None] = field(default_factory=dict, init=False)
    _spent: set[str] = field(default_factory=set, init=False)
    """Of the reserve."""
    _pools: dict[Bucket, list[Task]] = field(default_factory=dict, init=False)
    _known: dict[str, Task] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("a curriculum needs at least one task")
        for task in self.tasks:
            self._pools.setdefault(_bucket(task), []).append(task)
        self._known = {task.id: task for task in (*self.tasks, *self.reserve)}
        self.level = self.level or min(hops for hops, _ in self._pools)

    def draw(self, count: int) -> list[Task]:
        """The tasks of the next step."""
        rng = Random(f"{self.seed}:{self.step}")
        self.step += 1
        return [self._draw(rng) for _ in range(count)]

    def learn(self, task: Task, outcome: float | None) -> None:
        """How an attempt ended: 1 for right, 0 for wrong, None where it was masked and says nothing."""
        if outcome is None:
            self.masked += 1
            return
        rate = self.rates.setdefault(_bucket(task), Rate())
        rate.learn(outcome, self.plan.weight)
        if outcome < 0.5:
            _remember(self._failed, task.id, self.plan.memory)
        else:
            self._failed.pop(task.id, None)
            _remember(self._solved, task.id, self.plan.memory)
        self._promote()

    def chances(self) -> dict[Bucket, float]:
        """How likely a fresh draw is of each open bucket."""
        worth = {one: self.rates.get(one, Rate()).worth for one in self._pools if one[0] <= self.level}
        total, even = sum(worth.values()), self.plan.explore / len(worth)
        share = 1 - self.plan.explore
        return {one: even + (share * value / total if total else share / len(worth)) for one, value in worth.items()}

    def saved(self) -> str:
        """Everything but the tasks, as JSON."""
        rates = [[*bucket, rate.passed, rate.seen] for bucket, rate in self.rates.items()]
        names = {"failed": [*self._failed], "solved": [*self._solved], "spent": sorted(self._spent)}
        state = {"seed": self.seed, "step": self.step, "level": self.level, "masked": self.masked}
        return json.dumps(state | names | {"rates": rates})

    @classmethod
    def resumed(cls, saved: str, tasks: Sequence[Task], reserve: Sequence[Task] = (), plan: Plan | None = None) -> Self:
        """One that goes on. Raises ValueError or KeyError on what `saved` did not write."""
        told: dict[str, Any] = json.loads(saved)
        state = {name: int(told[name]) for name in ("seed", "step", "level", "masked")}
        one = cls(tasks, reserve, state["seed"], plan or Plan(), state["step"], state["level"], state["masked"])
        one.rates = {(int(hops), str(recipe)): Rate(passed, seen) for hops, recipe, passed, seen in told["rates"]}
        one._failed, one._solved = dict.fromkeys(told["failed"]), dict.fromkeys(told["solved"])
        one._spent = set(told["spent"])
        return one

    def _draw(self, rng: Random) -> Task:
        roll, plan = rng.random(), self.plan
        if roll < plan.replay and (easy := [name for name in self._solved if self._is_easy(name)]):
            return self._task(rng.choice(easy))
        if roll > 1 - plan.mutate and self._failed and (made := self._mutated(rng)):
            return made
        chances = self.chances()
        return rng.choice(self._pools[rng.choices([*chances], [*chances.values()])[0]])

    def _mutated(self, rng: Random) -> Task | None:
        """In place of the oldest failure: where its bucket is hard, the same with a hop told; else another entity."""
        task = self._task(next(iter(self._failed)))
        self._failed.pop(task.id)
        others = [one for one in self.reserve if _bucket(one) == _bucket(task) and one.id not in self._spent]
        hard = self.rates.get(_bucket(task), Rate()).passed < 1 - self.plan.promote
        if told := (with_a_hop_told(task) if hard or not others else None):
            return told
        if not others:
            return None
        chosen = rng.choice(others)
        self._spent.add(chosen.id)
        return chosen

    def _promote(self) -> None:
        here = [self.rates.get(one, Rate()).passed for one in self._pools if one[0] == self.level]
        beyond = [hops for hops, _ in self._pools if hops > self.level]
        if beyond and 2 * sum(passed > self.plan.promote for passed in here) >= len(here):
            self.level = min(beyond)

    def _is_easy(self, name: str) -> bool:
        return self.rates.get(_bucket(self._task(name)), Rate()).passed > self.plan.promote

    def _task(self, name: str) -> Task:
        """By its id; what was made of a task is made again. Raises KeyError."""
        if name in self._known:
            return self._known[name]
        parent, told, _ = name.rpartition(TOLD)
        made = with_a_hop_told(self._task(parent)) if told else None
        if made is None:
            raise KeyError(f"the curriculum has no task {name!r}")
        return made


def with_a_hop_told(task: Task) -> Task | None:
    """The task with what its first page says before the question; None where that is not known or says the answer."""
    if task.hops < 2 or len(task.evidence) < 2 or task.answer_type in ("none", "report"):
        return None
    quote = " ".join(task.evidence[0].quote.split())
    if not quote or any(holds(normalise(quote), normalise(answer)) for answer in task.answers):
        return None
    question = f"One page says: “{quote}” {task.question}"
    return replace(
        task, id=f"{task.id}{TOLD}", question=question, evidence=task.evidence[1:], hops=task.hops - 1, filters={}
    )


def horizon(limits: Limits, step: int, schedule: Iterable[tuple[int, int]]) -> Limits:
    """Turns that grow by steps (ScalingInter-RL, Xi et al. 2025): `((0, 6), (100, 12))` allows 12 from step 100."""
    turns = [turns for begin, turns in sorted(schedule) if begin <= step]
    return replace(limits, turns=turns[-1]) if turns else limits


def noise(start: Mapping[str, float], end: Mapping[str, float], progress: float) -> dict[str, float]:
    """Rates of a session's weather (docs/sessions.md) that rise with `progress`, from 0 to 1."""
    return {name: growth(start.get(name, 0.0), end.get(name, 0.0), progress) for name in {**start, **end}}


def growth(start: float, end: float, progress: float, base: float = 4.0) -> float:
    """Slowly first (ZeroSearch, Sun et al. 2025, equation 1)."""
    return start + (float(base**progress) - 1) / (base - 1) * (end - start)


def _bucket(task: Task) -> Bucket:
    return task.hops, task.recipe


def _remember(names: dict[str, None], name: str, most: int) -> None:
    names.pop(name, None)
    names[name] = None
    if len(names) > most:
        del names[next(iter(names))]
