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
from typing import Self, TypedDict

from webemu.rl.gates import contains_phrase
from webemu.rl.state import Limits
from webemu.rl.tasks import Task
from webemu.rl.verify import normalise

Bucket = tuple[int, str]
"""Number of hops and name of the recipe."""
REVEALED_SUFFIX = "-told"
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


class _CurriculumState(TypedDict):
    """State of a curriculum in JSON, as `Curriculum.to_json` writes it."""

    seed: int
    step: int
    level: int
    masked: int
    failed: list[str]
    solved: list[str]
    spent: list[str]
    """Ids of the reserve tasks that were used."""
    rates: list[tuple[int, str, float, int]]
    """Hops, recipe, average and number of outcomes of each bucket."""


@dataclass(slots=True)
class PassRate:
    """Moving average of the pass rate of a bucket. It starts at 0.5 and forgets old outcomes."""

    average: float = 0.5
    """Average outcome, in [0, 1]."""
    outcomes: int = 0
    """Number of outcomes so far."""

    def learn(self, outcome: float, weight: float) -> None:
        """Add an outcome in [0, 1]. The weight falls as 1 / (n + 1) until it reaches `weight`."""
        self.outcomes += 1
        # The starting value of 0.5 weighs as much as one outcome: hence n + 1.
        self.average += max(weight, 1 / (self.outcomes + 1)) * (outcome - self.average)

    @property
    def learning_value(self) -> float:
        """Variance of an outcome: 0 for tasks that always or never succeed, since nothing can be learned from them."""
        return self.average * (1 - self.average)


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
    rates: dict[Bucket, PassRate] = field(default_factory=dict, init=False)
    """Pass rate of each bucket that has an outcome."""
    _failed_ids: dict[str, None] = field(default_factory=dict, init=False)
    _solved_ids: dict[str, None] = field(default_factory=dict, init=False)
    _used_reserve_ids: set[str] = field(default_factory=set, init=False)
    """Ids of reserve tasks that were drawn already."""
    _tasks_by_bucket: dict[Bucket, list[Task]] = field(default_factory=dict, init=False)
    _tasks_by_id: dict[str, Task] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("a curriculum needs at least one task, got none")
        for task in self.tasks:
            self._tasks_by_bucket.setdefault(_bucket_of(task), []).append(task)
        self._tasks_by_id = {task.id: task for task in (*self.tasks, *self.reserve)}
        self.level = self.level or min(hops for hops, _ in self._tasks_by_bucket)

    def draw(self, count: int) -> list[Task]:
        """Return the tasks of the next step; a task may occur more than once."""
        rng = Random(f"{self.seed}:{self.step}")
        self.step += 1
        return [self._draw_one(rng) for _ in range(count)]

    def learn(self, task: Task, outcome: float | None) -> None:
        """Record the outcome of an attempt: 1 if right, 0 if wrong, None if it was masked and says nothing about the
        model.
        """
        if outcome is None:
            self.masked += 1
            return
        rate = self.rates.setdefault(_bucket_of(task), PassRate())
        rate.learn(outcome, self.plan.weight)
        if outcome < 0.5:
            _move_to_end(self._failed_ids, task.id, self.plan.memory)
        else:
            self._failed_ids.pop(task.id, None)
            _move_to_end(self._solved_ids, task.id, self.plan.memory)
        self._open_next_level()

    def bucket_probabilities(self) -> dict[Bucket, float]:
        """Return the probability of each open bucket in draws that are neither replays nor mutations. They sum to 1."""
        values = {
            one: self.rates.get(one, PassRate()).learning_value for one in self._tasks_by_bucket if one[0] <= self.level
        }
        total, even_share = sum(values.values()), self.plan.explore / len(values)
        share = 1 - self.plan.explore
        return {
            one: even_share + (share * value / total if total else share / len(values)) for one, value in values.items()
        }

    def to_json(self) -> str:
        """Return the state as JSON, without the tasks and the plan. `from_json` restores it."""
        rates = [[*bucket, rate.average, rate.outcomes] for bucket, rate in self.rates.items()]
        names = {"failed": [*self._failed_ids], "solved": [*self._solved_ids], "spent": sorted(self._used_reserve_ids)}
        state = {"seed": self.seed, "step": self.step, "level": self.level, "masked": self.masked}
        return json.dumps(state | names | {"rates": rates})

    @classmethod
    def from_json(
        cls, state_json: str, tasks: Sequence[Task], reserve: Sequence[Task] = (), plan: Plan | None = None
    ) -> Self:
        """Return a curriculum that continues from the state in `state_json`.

        Raises: ValueError or KeyError if `state_json` was not written by `to_json`.
        """
        state: _CurriculumState = json.loads(state_json)
        numbers = int(state["step"]), int(state["level"]), int(state["masked"])
        curriculum = cls(tasks, reserve, int(state["seed"]), plan or Plan(), *numbers)
        curriculum.rates = {
            (int(hops), str(recipe)): PassRate(average, outcomes) for hops, recipe, average, outcomes in state["rates"]
        }
        curriculum._failed_ids, curriculum._solved_ids = (
            dict.fromkeys(state["failed"]),
            dict.fromkeys(state["solved"]),
        )
        curriculum._used_reserve_ids = set(state["spent"])
        return curriculum

    def _draw_one(self, rng: Random) -> Task:
        # One roll decides: replay at its lower end, mutation at its upper end, a fresh draw in between.
        roll, plan = rng.random(), self.plan
        if roll < plan.replay and (easy_ids := [name for name in self._solved_ids if self._is_easy(name)]):
            return self._find_task(rng.choice(easy_ids))
        if roll > 1 - plan.mutate and self._failed_ids and (task := self._replace_oldest_failure(rng)):
            return task
        probabilities = self.bucket_probabilities()
        return rng.choice(self._tasks_by_bucket[rng.choices([*probabilities], [*probabilities.values()])[0]])

    def _replace_oldest_failure(self, rng: Random) -> Task | None:
        """Return a task in place of the oldest failure, and forget that failure. If its bucket is hard, or the reserve
        has no task of the bucket left, this is the same task with its first hop revealed, where possible; otherwise it
        is a task about another entity from the reserve. None if there is neither.
        """
        task = self._find_task(next(iter(self._failed_ids)))
        self._failed_ids.pop(task.id)
        unused_tasks = [
            one for one in self.reserve if _bucket_of(one) == _bucket_of(task) and one.id not in self._used_reserve_ids
        ]
        is_hard = self.rates.get(_bucket_of(task), PassRate()).average < 1 - self.plan.promote
        if easier_task := (reveal_first_hop(task) if is_hard or not unused_tasks else None):
            return easier_task
        if not unused_tasks:
            return None
        other_task = rng.choice(unused_tasks)
        self._used_reserve_ids.add(other_task.id)
        return other_task

    def _open_next_level(self) -> None:
        """Open the next number of hops once half of the buckets of this level are easy."""
        level_averages = [
            self.rates.get(one, PassRate()).average for one in self._tasks_by_bucket if one[0] == self.level
        ]
        higher_levels = [hops for hops, _ in self._tasks_by_bucket if hops > self.level]
        if higher_levels and 2 * sum(average > self.plan.promote for average in level_averages) >= len(level_averages):
            self.level = min(higher_levels)

    def _is_easy(self, task_id: str) -> bool:
        return self.rates.get(_bucket_of(self._find_task(task_id)), PassRate()).average > self.plan.promote

    def _find_task(self, task_id: str) -> Task:
        """Return the task with this id; a task with a revealed hop is derived again. Raises: KeyError if there is
        none.
        """
        if task_id in self._tasks_by_id:
            return self._tasks_by_id[task_id]
        parent_id, suffix, _ = task_id.rpartition(REVEALED_SUFFIX)
        task = reveal_first_hop(self._find_task(parent_id)) if suffix else None
        if task is None:
            raise KeyError(
                f"the curriculum has no task with the id {task_id!r}; restore it with the task "
                "file that it was saved with"
            )
        return task


def reveal_first_hop(task: Task) -> Task | None:
    """Return the task with the quote of its first page put before the question, and one hop less. None if the task has
    fewer than two hops or two pieces of evidence, if its first quote is unknown, or if that quote contains the answer.
    """
    if task.hops < 2 or len(task.evidence) < 2 or task.answer_type in ("none", "report"):
        return None
    quote = " ".join(task.evidence[0].quote.split())
    if not quote or any(contains_phrase(normalise(quote), normalise(answer)) for answer in task.answers):
        return None
    question = f"One page says: “{quote}” {task.question}"
    return replace(
        task,
        id=f"{task.id}{REVEALED_SUFFIX}",
        question=question,
        evidence=task.evidence[1:],
        hops=task.hops - 1,
        filters={},
    )


def limit_turns(limits: Limits, step: int, schedule: Iterable[tuple[int, int]]) -> Limits:
    """Return the limits with the number of turns that the schedule allows at a step (ScalingInter-RL, Xi et al. 2025).
    Entries are (first step, turns): `((0, 6), (100, 12))` allows 12 turns from step 100.
    """
    turns = [turns for begin, turns in sorted(schedule) if begin <= step]
    return replace(limits, turns=turns[-1]) if turns else limits


def interpolate_weather(start: Mapping[str, float], end: Mapping[str, float], progress: float) -> dict[str, float]:
    """Return weather rates of a session (docs/sessions.md) between `start` and `end`; `progress` runs from 0 to 1."""
    return {name: interpolate_slowly(start.get(name, 0.0), end.get(name, 0.0), progress) for name in {**start, **end}}


def interpolate_slowly(start: float, end: float, progress: float, base: float = 4.0) -> float:
    """Interpolate from `start` to `end`, slowly at first (ZeroSearch, Sun et al. 2025, equation 1)."""
    return start + (float(base**progress) - 1) / (base - 1) * (end - start)


def _bucket_of(task: Task) -> Bucket:
    return task.hops, task.recipe


def _move_to_end(names: dict[str, None], name: str, limit: int) -> None:
    """Move a name to the end of the ordered set, and drop the oldest one beyond the limit."""
    names.pop(name, None)
    names[name] = None
    if len(names) > limit:
        del names[next(iter(names))]
