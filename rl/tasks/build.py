"""From recipes to a task file: tasks are drawn in turn from each recipe, judged by the filters, and kept or counted.

The same recipes, collection and seed give the same tasks: what is kept depends on the order of drawing alone. Recipes
run between the turns of the event loop, since those with a model run one of their own.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice

from webemu.rl.tasks.difficulty import difficulty
from webemu.rl.tasks.filters import FILTERS, Filter, Means
from webemu.rl.tasks.filters.answerable import recall
from webemu.rl.tasks.filters.duplicates import Kept
from webemu.rl.tasks.filters.filter import Verdict
from webemu.rl.tasks.task import Task

BATCH = 64
"""Tasks that are judged at once."""
TRIES = 25
"""Tasks drawn for each that is wanted, before the build gives up."""
DUPLICATE = "duplicate"


@dataclass(slots=True)
class Tally:
    """What became of the tasks of one recipe."""

    drawn: int = 0
    kept: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """By the filter that said no."""


@dataclass(slots=True)
class Built:
    """What a build gives."""

    kept: list[Task] = field(default_factory=list)
    rejected: list[Task] = field(default_factory=list)
    tallies: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    def recall(self) -> dict[tuple[str, str], dict[int, float]]:
        """Share of evidence pages found, by setting and by who searches: the question `alone`, or the `script`."""
        told: defaultdict[tuple[str, str], list[int | None]] = defaultdict(list)
        for task in (*self.kept, *self.rejected):
            verdict = task.filters.get("answerable", {})
            for setting in verdict.get("ranks", ()):
                told[setting, "alone"] += verdict["alone"][setting]
                told[setting, "script"] += verdict["ranks"][setting]
        return {key: recall(ranks) for key, ranks in told.items()}


def build(
    draws: Mapping[str, Iterator[Task]],
    count: int,
    means: Means,
    runner: asyncio.Runner,
    filters: Sequence[Filter] = FILTERS,
    told: Callable[[Built], None] = lambda _: None,
) -> Built:
    """So many tasks that pass, or as many as there are. `draws`: tasks of each recipe by its name; `runner` has the
    loop that `means` belong to; `told` is called after each batch."""
    built, kept = Built(), Kept()
    waiting = dict(draws)
    while len(built.kept) < count and sum(tally.drawn for tally in built.tallies.values()) < TRIES * count:
        drawn = list(islice(_in_turn(waiting, _wanting(waiting, built, count)), BATCH))
        if not drawn:
            break
        for task in runner.run(_all_judged(drawn, means, filters)):
            _sort(task, built, kept, count)
        told(built)
    return built


def _wanting(waiting: Mapping[str, Iterator[Task]], built: Built, count: int) -> list[str]:
    """Recipes that have not given their even share; all of them once each has."""
    share = count / max(1, len(waiting))
    return [name for name in waiting if built.tallies[name].kept < share] or list(waiting)


def _in_turn(waiting: dict[str, Iterator[Task]], names: list[str]) -> Iterator[Task]:
    """One task of each recipe after another; a recipe that has no more leaves."""
    while names := [name for name in names if name in waiting]:
        for name in names:
            task = next(waiting[name], None)
            if task is None:
                del waiting[name]
            else:
                yield task if task.id else replace(task, id=identity(task))


def identity(task: Task) -> str:
    """An id that says what a task is."""
    about = "\n".join([task.question, *task.answers, *(f"{one.url} {one.quote} {one.value}" for one in task.evidence)])
    return f"{task.recipe}-{blake2b(about.encode(), digest_size=6).hexdigest()}"


async def _all_judged(tasks: Sequence[Task], means: Means, filters: Sequence[Filter]) -> list[Task]:
    return await asyncio.gather(*(_judged(task, means, filters) for task in tasks))


async def _judged(task: Task, means: Means, filters: Sequence[Filter]) -> Task:
    verdicts: dict[str, Verdict] = {}
    for one in filters:
        verdicts[one.name] = await one.judge(task, means)
        if verdicts[one.name]["ok"] is False:
            break
    return replace(task, filters=verdicts, difficulty=difficulty(task, verdicts))


def _sort(task: Task, built: Built, kept: Kept, count: int) -> None:
    """Keep a task, or count why not."""
    if len(built.kept) == count:
        return
    tally = built.tallies[task.recipe]
    tally.drawn += 1
    if refused(task) == "":
        task = replace(task, filters={**task.filters, DUPLICATE: kept.judge(task)})
    if reason := refused(task):
        tally.rejected[reason] += 1
        built.rejected.append(task)
    else:
        tally.kept += 1
        built.kept.append(task)
        kept.add(task)


def refused(task: Task) -> str:
    """Name of the filter that said no; empty where none did."""
    return next((name for name, verdict in task.filters.items() if verdict["ok"] is False), "")
