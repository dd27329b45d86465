"""Turns recipes into a task file: draws tasks from each recipe in turn, runs the filters, keeps what passes.

The same recipes, collection and seed give the same tasks: only the order of drawing decides what is kept. Recipes run
between two turns of the event loop, because recipes with a model run a loop of their own.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from math import ceil
from types import MappingProxyType

from webemu.emulator import urls
from webemu.rl.tasks.difficulty import estimate_difficulty
from webemu.rl.tasks.filters import FILTERS, Filter, FilterContext
from webemu.rl.tasks.filters.answerable import read_ranks, recall_at_cutoffs
from webemu.rl.tasks.filters.duplicates import DuplicateFilter
from webemu.rl.tasks.filters.filter import Verdict
from webemu.rl.tasks.task import Task
from webemu.rl.verify import normalise

BATCH_SIZE = 64
"""Number of tasks that are filtered concurrently."""
MAX_DRAWS_PER_TASK = 25
"""Number of tasks drawn per requested task before the build gives up."""
DUPLICATE_FILTER = "duplicate"
"""Name of the last filter, which compares a task with those that were kept."""


QUOTA_FILTER = "quota"
"""Name under which tasks are rejected whose host, recipe or difficulty already has its share."""
QUOTA_UNITS = ("host", "recipe", "easy")
"""Units that a quota may name. `easy`: tasks of a difficulty below `EASY_BELOW`."""
EASY_BELOW = 0.25
"""Difficulty below which a task is easy."""


MAX_ANSWER_SHARE = 0.01
"""Largest share of tasks with the same answer in the family `crawl`: to know a favourite must gain nothing."""
MIN_SAME_ANSWERS = 2
"""Number of tasks that may have the same answer however few tasks there are."""


class Quota:
    """Largest number of tasks of one host, of one recipe, and of all easy tasks."""

    def __init__(self, shares: Mapping[str, float], count: int, natural: frozenset[str] = frozenset()) -> None:
        """Make a quota. `shares` holds shares of `count` by unit; a unit that is missing has no limit. The answers of
        the recipes in `natural` are limited in any case.
        """
        self.count, self._natural = count, natural
        self._limits = {unit: ceil(share * count) for unit, share in shares.items()}
        self._limits["answer"] = max(MIN_SAME_ANSWERS, ceil(MAX_ANSWER_SHARE * count))
        self._counts: Counter[tuple[str, str]] = Counter()

    def exceeded_unit(self, task: Task) -> str:
        """Return the unit whose limit one more such task exceeds; empty if none."""
        keys = self._keys(task)
        return next((f"{unit} {name}".strip() for unit, name in keys if self._is_full(unit, name)), "")

    def _is_full(self, unit: str, name: str) -> bool:
        return unit in self._limits and self._counts[unit, name] >= self._limits[unit]

    def add(self, task: Task) -> None:
        """Count a task that was kept."""
        self._counts.update(self._keys(task))

    def _keys(self, task: Task) -> list[tuple[str, str]]:
        """Return the unit and the name of each limit that a task counts towards."""
        hosts = {urls.host_of(one.url) for one in task.evidence}
        easy = [("easy", "")] if task.difficulty is not None and task.difficulty < EASY_BELOW else []
        answer = [("answer", normalise(task.answers[0]))] if task.recipe in self._natural else []
        return [("recipe", task.recipe), *(("host", host) for host in sorted(hosts)), *easy, *answer]


@dataclass(slots=True)
class RecipeCounts:
    """Number of tasks of one recipe that were drawn, kept and rejected."""

    drawn_count: int = 0
    """Number of tasks that went through the filters."""
    kept_count: int = 0
    """Number of tasks that passed all filters."""
    rejections: Counter[str] = field(default_factory=Counter)
    """Number of rejected tasks by the name of the filter."""


@dataclass(slots=True)
class BuildResult:
    """Tasks that passed, tasks that did not, and the counts per recipe."""

    kept_tasks: list[Task] = field(default_factory=list)
    """Tasks that passed all filters, in the order of drawing."""
    rejected_tasks: list[Task] = field(default_factory=list)
    """Each has the verdicts up to the filter that rejected it."""
    counts_by_recipe: defaultdict[str, RecipeCounts] = field(default_factory=lambda: defaultdict(RecipeCounts))
    """Counts by recipe name."""

    def compute_recall(self) -> dict[tuple[str, str], dict[int, float]]:
        """Return the share of evidence pages that search finds, by (setting, searcher) and cutoff.

        The searcher is "alone", who searches for the bare question, or "script", who tries several queries.
        """
        ranks_by_searcher: defaultdict[tuple[str, str], list[int | None]] = defaultdict(list)
        for task in (*self.kept_tasks, *self.rejected_tasks):
            verdict = task.filters.get("answerable", {})
            question_ranks = read_ranks(verdict, "alone")
            for setting, best_ranks in read_ranks(verdict, "ranks").items():
                ranks_by_searcher[setting, "alone"] += question_ranks[setting]
                ranks_by_searcher[setting, "script"] += best_ranks
        return {key: recall_at_cutoffs(ranks) for key, ranks in ranks_by_searcher.items()}


def build(
    streams: Mapping[str, Iterator[Task]],
    count: int,
    context: FilterContext,
    runner: asyncio.Runner,
    filters: Sequence[Filter] = FILTERS,
    quotas: Mapping[str, float] = MappingProxyType({}),
    on_progress: Callable[[BuildResult], None] = lambda _: None,
) -> BuildResult:
    """Draw and filter tasks until `count` of them pass, or as many as there are.

    `streams` holds the tasks of each recipe by its name; `runner` has the event loop that `context` belongs to;
    `on_progress` is called after each batch.

        with asyncio.Runner() as runner:
            result = build({"infobox": recipe.make(sources, 0)}, 100, context, runner)
    """
    result, duplicate_filter, quota = BuildResult(), DuplicateFilter(), Quota(quotas, count, context.natural)
    open_streams = dict(streams)
    while (
        len(result.kept_tasks) < count
        and sum(recipe_counts.drawn_count for recipe_counts in result.counts_by_recipe.values())
        < MAX_DRAWS_PER_TASK * count
    ):
        batch = list(islice(_take_turns(open_streams, _choose_recipes(open_streams, result, count)), BATCH_SIZE))
        if not batch:
            break
        for task in runner.run(_filter_all(batch, context, filters)):
            _record_outcome(task, result, duplicate_filter, quota)
        on_progress(result)
    return result


def _choose_recipes(streams: Mapping[str, Iterator[Task]], result: BuildResult, count: int) -> list[str]:
    """Return the recipes that have not yet given an equal share of the tasks, or all recipes once each has."""
    # A recipe with few tasks leaves its share to the others, once they have given theirs.
    share = count / max(1, len(streams))
    return [name for name in streams if result.counts_by_recipe[name].kept_count < share] or list(streams)


def _take_turns(streams: dict[str, Iterator[Task]], names: list[str]) -> Iterator[Task]:
    """Yield one task of each recipe in turn. An exhausted recipe is removed from `streams`."""
    # Recomputed each round, because exhausted recipes leave.
    while names := [name for name in names if name in streams]:
        for name in names:
            task = next(streams[name], None)
            if task is None:
                del streams[name]
            else:
                yield task if task.id else replace(task, id=make_task_id(task))


def make_task_id(task: Task) -> str:
    """Return an id made of the recipe's name and a hash of question, answers and evidence."""
    content = "\n".join(
        [task.question, *task.answers, *(f"{one.url} {one.quote} {one.value}" for one in task.evidence)]
    )
    return f"{task.recipe}-{blake2b(content.encode(), digest_size=6).hexdigest()}"


async def _filter_all(tasks: Sequence[Task], context: FilterContext, filters: Sequence[Filter]) -> list[Task]:
    """Return the tasks with their verdicts, in order, filtered concurrently."""
    return await asyncio.gather(*(_filter_one(task, context, filters) for task in tasks))


async def _filter_one(task: Task, context: FilterContext, filters: Sequence[Filter]) -> Task:
    """Return the task with its difficulty and the verdicts of all filters, up to the first one that rejects it."""
    verdicts: dict[str, Verdict] = {}
    for task_filter in filters:
        verdicts[task_filter.name] = await task_filter.judge(task, context)
        if verdicts[task_filter.name]["ok"] is False:
            break
    return replace(task, filters=verdicts, difficulty=estimate_difficulty(task, verdicts))


def _record_outcome(task: Task, result: BuildResult, duplicate_filter: DuplicateFilter, quota: Quota) -> None:
    """Add the task to those that are kept or to those that are rejected, and count it. Does nothing once all that
    were requested are there.
    """
    # Tasks after the last one wanted are not counted, so that figures do not depend on the batch size.
    if len(result.kept_tasks) == quota.count:
        return
    recipe_counts = result.counts_by_recipe[task.recipe]
    recipe_counts.drawn_count += 1
    # Duplicates are judged last and one by one: the verdict depends on what was kept before.
    if rejecting_filter(task) == "":
        task = replace(task, filters={**task.filters, DUPLICATE_FILTER: duplicate_filter.judge(task)})
    if rejecting_filter(task) == "" and (unit := quota.exceeded_unit(task)):
        task = replace(task, filters={**task.filters, QUOTA_FILTER: {"ok": False, "unit": unit}})
    if rejected_by := rejecting_filter(task):
        recipe_counts.rejections[rejected_by] += 1
        result.rejected_tasks.append(task)
    else:
        recipe_counts.kept_count += 1
        result.kept_tasks.append(task)
        duplicate_filter.add(task)
        quota.add(task)


def rejecting_filter(task: Task) -> str:
    """Return the name of the filter that rejected the task; empty if none did."""
    return next((name for name, verdict in task.filters.items() if verdict["ok"] is False), "")
