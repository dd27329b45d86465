"""Text tables that the task commands print when they end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from webemu.rl.tasks.build import BuildResult, RecipeCounts
from webemu.rl.tasks.splits import MAX_COMPONENT_SHARE, SPLIT_NAMES, SplitResult

_YIELD_HEADING = "  per 1,000 pages"


def format_outcome(result: BuildResult, page_count: int = 0) -> Iterator[str]:
    """Yield the lines of the table of recipes: tasks drawn, kept, kept per 1,000 pages, and rejected by each filter.
    Below it stand the reasons for which filters could not decide about tasks that were kept.

    `page_count` is the number of pages that the tasks are made from; 0 leaves their column out.
    """
    width = max([len("recipe"), *map(len, result.counts_by_recipe)])
    counts = dict(result.counts_by_recipe)
    if len(counts) > 1:
        counts["all"] = RecipeCounts(
            sum(one.drawn_count for one in counts.values()),
            len(result.kept_tasks),
            sum((one.rejections for one in counts.values()), Counter[str]()),
        )
    yield f"{'recipe':<{width}}  {'drawn':>6}  {'kept':>6}{_YIELD_HEADING * bool(page_count)}  rejected"
    for name, row in counts.items():
        share = f"  {1000 * row.kept_count / page_count:>15,.1f}" if page_count else ""
        yield (
            f"{name:<{width}}  {row.drawn_count:>6,}  {row.kept_count:>6,}{share}  {_format_counts(row.rejections)}"
        ).rstrip()
    undecided_counts = Counter(
        f"{name}: {verdict['why']}"
        for task in result.kept_tasks
        for name, verdict in task.filters.items()
        if verdict["ok"] is None
    )
    for reason, count in undecided_counts.most_common():
        yield f"undecided  {reason} ({count:,} of the tasks kept)"


def format_recall(result: BuildResult) -> Iterator[str]:
    """Yield lines with the share of evidence pages that search finds, by setting: for the bare question and for the
    script.
    """
    for (setting, searcher), shares in result.compute_recall().items():
        yield f"recall     {setting}, {searcher}: " + "  ".join(
            f"@{cutoff} {share:.3f}" for cutoff, share in shares.items()
        )


def format_skipped(counts: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield a line per recipe with the reasons why pages or facts became no task, and their counts."""
    for name, entries in groupby(sorted(counts.items()), key=lambda entry: entry[0][0]):
        yield (
            f"dropped    {name or 'pages'}: "
            f"{_format_counts(Counter({reason: count for (_, reason), count in entries}))}"
        )


def format_splits(split_result: SplitResult) -> Iterator[str]:
    """Yield lines with the tasks and components of each split, and a warning if one component is too large to split.

    Yields nothing if there are no tasks.
    """
    by = split_result.granularity
    if not split_result.tasks:
        return
    parts = (
        f"{name} {split_result.task_counts[name]:,} of {split_result.component_counts.get(name, 0):,}"
        for name in SPLIT_NAMES
        if split_result.task_counts[name]
    )
    sizes = ", ".join(f"{size:,}" for size in split_result.component_sizes[:3])
    yield f"splits     {', '.join(parts)} components by {by}, the largest of {sizes} tasks"
    if split_result.left_out:
        yield f"           {split_result.left_out:,} of train left out: dev or test has their answer or a name"
    if split_result.guessed_count:
        yield f"           {split_result.guessed_count:,} left out: guessed from the questions and answers of others"
    largest = split_result.component_sizes[0]
    is_lumped = len(split_result.tasks) > 1 and largest > MAX_COMPONENT_SHARE * len(split_result.tasks)
    if is_lumped:
        yield (
            f"warning    one component holds {largest:,} of {len(split_result.tasks):,} tasks: splits miss their shares"
        )
    elif split_result.small_splits:
        targets = ", ".join(f"{name} {split_result.target_counts[name]:,.0f}" for name in split_result.small_splits)
        yield f"warning    few components have most tasks: {targets} would be the share"
    if is_lumped or split_result.small_splits:
        options = {"domain": "--split-by host, --split-by page, ", "host": "--split-by path, --split-by page, "}.get(
            by, ""
        )
        yield f"           -> {options}or test on tasks of another collection (a generated web of another seed)"


def _format_counts(counter: Counter[str]) -> str:
    """Return the counts as text, largest first."""
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())
