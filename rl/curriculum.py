"""Curriculum over buckets of tasks with equal hops and recipe: chooses the tasks of a step, the turn limit and the
weather rates.

Pure and seeded: the same tasks, seed and outcomes give the same draws, and a curriculum restored from `to_json`
continues where it stopped. It is independent of any trainer: call `draw` for the tasks of a step, and `learn` with the
outcome of each attempt.
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
"""Number of hops and name of the recipe."""
TOLD = "-told"
"""Suffix of the id of a task whose question reveals its first hop."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a curriculum: shares in [0, 1] unless noted."""

    explore: float = 0.1
    """Share of the draws that is spread evenly over all open buckets."""
    replay: float = 0.1
    """Share of the draws that repeats solved tasks whose bucket has become easy."""
    mutate: float = 0.2
    """Share of the draws that is derived from failed tasks (WebRL, Qi et al. 2024)."""
    promote: float = 0.8
    """Pass rate that half of the current level's buckets must exceed before the next number of hops opens."""
    weight: float = 0.05
    """Least weight of one outcome in a bucket's moving average."""
    memory: int = 2000
    """Number of failed tasks, and of solved tasks, that are remembered."""


@dataclass(slots=True)
class Rate:
    """Moving average of the pass rate of a bucket. It starts at 0.5 and forgets old outcomes."""

    passed: float = 0.5
    """Average outcome, in [0, 1]."""
    seen: int = 0
    """Number of outcomes so far."""

    def learn(self, outcome: float, weight: float) -> None:
        """Add an outcome in [0, 1]. The weight falls as 1 / (n + 1) until it reaches `weight`."""
        self.seen += 1
        # The starting value of 0.5 weighs as much as one outcome: hence n + 1.
        self.passed += max(weight, 1 / (self.seen + 1)) * (outcome - self.passed)

    @property
    def worth(self) -> float:
        """Variance of an outcome: 0 for tasks that always or never succeed, since nothing can be learned from them."""
        return self.passed * (1 - self.passed)


@dataclass(slots=True)
class Curriculum:
    """Sampler of training tasks that follows the pass rates of the model.

        curriculum = Curriculum(load(Path("tasks.jsonl")), seed=1)
        for task in curriculum.draw(8):
            curriculum.learn(task, outcome=1.0)

    Raises: ValueError if there are no tasks.
    """

    tasks: Sequence[Task]
    """Tasks to draw from."""
    reserve: Sequence[Task] = ()
    """Tasks of the same recipes about other entities, drawn only in place of failed tasks."""
    seed: int = 0
    plan: Plan = field(default_factory=Plan)
    step: int = 0
    """Number of calls of `draw` so far."""
    level: int = 0
    """Largest number of hops that is open; tasks with more hops are not drawn."""
    masked: int = 0
    """Number of masked attempts, which have no outcome."""
    rates: dict[Bucket, Rate] = field(default_factory=dict, init=False)
    """Pass rate of each bucket that has an outcome."""
    _failed: dict[str, None] = field(default_factory=dict, init=False)
    _solved: dict[str, None] = field(default_factory=dict, init=False)
    _spent: set[str] = field(default_factory=set, init=False)
    """Ids of reserve tasks that were drawn already."""
    _pools: dict[Bucket, list[Task]] = field(default_factory=dict, init=False)
    _known: dict[str, Task] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("a curriculum needs at least one task, got none")
        for task in self.tasks:
            self._pools.setdefault(_bucket(task), []).append(task)
        self._known = {task.id: task for task in (*self.tasks, *self.reserve)}
        self.level = self.level or min(hops for hops, _ in self._pools)

    def draw(self, count: int) -> list[Task]:
        """Return the tasks of the next step; a task may occur more than once."""
        rng = Random(f"{self.seed}:{self.step}")
        self.step += 1
        return [self._draw(rng) for _ in range(count)]

    def learn(self, task: Task, outcome: float | None) -> None:
        """Record the outcome of an attempt: 1 if right, 0 if wrong, None if it was masked and says nothing about the
        model.
        """
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
        """Return the probability of each open bucket in draws that are neither replays nor mutations. They sum to 1."""
        worth = {one: self.rates.get(one, Rate()).worth for one in self._pools if one[0] <= self.level}
        total, even = sum(worth.values()), self.plan.explore / len(worth)
        share = 1 - self.plan.explore
        return {one: even + (share * value / total if total else share / len(worth)) for one, value in worth.items()}

    def saved(self) -> str:
        """Return the state as JSON, without the tasks and the plan. `from_json` restores it."""
        rates = [[*bucket, rate.passed, rate.seen] for bucket, rate in self.rates.items()]
        names = {"failed": [*self._failed], "solved": [*self._solved], "spent": sorted(self._spent)}
        state = {"seed": self.seed, "step": self.step, "level": self.level, "masked": self.masked}
        return json.dumps(state | names | {"rates": rates})

    @classmethod
    def resumed(cls, saved: str, tasks: Sequence[Task], reserve: Sequence[Task] = (), plan: Plan | None = None) -> Self:
        """Return a curriculum that continues from the state in `state_json`.

        Raises: ValueError or KeyError if `state_json` was not written by `to_json`.
        """
        told: dict[str, Any] = json.loads(saved)
        state = {name: int(told[name]) for name in ("seed", "step", "level", "masked")}
        one = cls(tasks, reserve, state["seed"], plan or Plan(), state["step"], state["level"], state["masked"])
        one.rates = {(int(hops), str(recipe)): Rate(passed, seen) for hops, recipe, passed, seen in told["rates"]}
        one._failed, one._solved = dict.fromkeys(told["failed"]), dict.fromkeys(told["solved"])
        one._spent = set(told["spent"])
        return one

    def _draw(self, rng: Random) -> Task:
        # One roll decides: replay at its lower end, mutation at its upper end, a fresh draw in between.
        roll, plan = rng.random(), self.plan
        if roll < plan.replay and (easy := [name for name in self._solved if self._is_easy(name)]):
            return self._task(rng.choice(easy))
        if roll > 1 - plan.mutate and self._failed and (made := self._mutated(rng)):
            return made
        chances = self.chances()
        return rng.choice(self._pools[rng.choices([*chances], [*chances.values()])[0]])

    def _mutated(self, rng: Random) -> Task | None:
        """Return a task in place of the oldest failure, and forget that failure. If its bucket is hard, or the reserve
        has no task of the bucket left, this is the same task with its first hop revealed, where possible; otherwise it
        is a task about another entity from the reserve. None if there is neither.
        """
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
        """Open the next number of hops once half of the buckets of this level are easy."""
        here = [self.rates.get(one, Rate()).passed for one in self._pools if one[0] == self.level]
        beyond = [hops for hops, _ in self._pools if hops > self.level]
        if beyond and 2 * sum(passed > self.plan.promote for passed in here) >= len(here):
            self.level = min(beyond)

    def _is_easy(self, name: str) -> bool:
        return self.rates.get(_bucket(self._task(name)), Rate()).passed > self.plan.promote

    def _task(self, name: str) -> Task:
        """Return the task with this id; a task with a revealed hop is derived again. Raises: KeyError if there is
        none.
        """
        if name in self._known:
            return self._known[name]
        parent, told, _ = name.rpartition(TOLD)
        made = with_a_hop_told(self._task(parent)) if told else None
        if made is None:
            raise KeyError(
                f"the curriculum has no task with the id {name!r}; restore it with the task file that it was saved with"
            )
        return made


def with_a_hop_told(task: Task) -> Task | None:
    """Return the task with the quote of its first page put before the question, and one hop less. None if the task has
    fewer than two hops or two pieces of evidence, if its first quote is unknown, or if that quote contains the answer.
    """
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
    """Return the limits with the number of turns that the schedule allows at a step (ScalingInter-RL, Xi et al. 2025).
    Entries are (first step, turns): `((0, 6), (100, 12))` allows 12 turns from step 100.
    """
    turns = [turns for begin, turns in sorted(schedule) if begin <= step]
    return replace(limits, turns=turns[-1]) if turns else limits


def noise(start: Mapping[str, float], end: Mapping[str, float], progress: float) -> dict[str, float]:
    """Return weather rates of a session (docs/sessions.md) between `start` and `end`; `progress` runs from 0 to 1."""
    return {name: growth(start.get(name, 0.0), end.get(name, 0.0), progress) for name in {**start, **end}}


def growth(start: float, end: float, progress: float, base: float = 4.0) -> float:
    """Interpolate from `start` to `end`, slowly at first (ZeroSearch, Sun et al. 2025, equation 1)."""
    return start + (float(base**progress) - 1) / (base - 1) * (end - start)


def _bucket(task: Task) -> Bucket:
    return task.hops, task.recipe


def _remember(names: dict[str, None], name: str, most: int) -> None:
    """Move a name to the end of the ordered set, and drop the oldest one beyond the limit."""
    names.pop(name, None)
    names[name] = None
    if len(names) > most:
        del names[next(iter(names))]
