"""Text tables that the task commands print when they end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from webemu.rl.tasks.build import BuildResult
from webemu.rl.tasks.splits import MAX_COMPONENT_SHARE, SPLIT_NAMES, SplitResult


def format_outcome(result: BuildResult) -> Iterator[str]:
    """Yield the lines of the table of recipes: tasks drawn, kept, and rejected by each filter. Below it stand the
    reasons for which filters could not decide about tasks that were kept.
    """
    width = max([len("recipe"), *map(len, result.counts_by_recipe)])
    yield f"{'recipe':<{width}}  {'drawn':>6}  {'kept':>6}  rejected"
    for name, recipe_counts in result.counts_by_recipe.items():
        yield (
            f"{name:<{width}}  {recipe_counts.drawn_count:>6,}  {recipe_counts.kept_count:>6,}  "
            f"{_format_counts(recipe_counts.rejections)}".rstrip()
        )
    drawn_total = sum(recipe_counts.drawn_count for recipe_counts in result.counts_by_recipe.values())
    all_rejections = sum(
        (recipe_counts.rejections for recipe_counts in result.counts_by_recipe.values()), Counter[str]()
    )
    if len(result.counts_by_recipe) > 1:
        yield (
            f"{'all':<{width}}  {drawn_total:>6,}  {len(result.kept_tasks):>6,}  "
            f"{_format_counts(all_rejections)}".rstrip()
        )
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


def format_yield(result: BuildResult, page_count: int) -> Iterator[str]:
    """Yield a line with the tasks kept per 1,000 pages by recipe; nothing for the tasks of a file."""
    shares = {
        name: counts.kept_count * 1000 / page_count for name, counts in result.counts_by_recipe.items() if page_count
    }
    if shares:
        parts = ", ".join(f"{name} {share:.1f}" for name, share in shares.items())
        yield f"yield      tasks kept per 1,000 of {page_count:,} pages: {parts}"


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
    largest = split_result.component_sizes[0]
    if len(split_result.tasks) > 1 and largest > MAX_COMPONENT_SHARE * len(split_result.tasks):
        options = {"domain": "--split-by host, --split-by page, ", "host": "--split-by path, --split-by page, "}.get(
            by, ""
        )
        yield (
            f"warning    one component holds {largest:,} of {len(split_result.tasks):,} tasks: splits miss their shares"
        )
        yield f"           -> {options}or test on tasks of another collection (a generated web of another seed)"


def _format_counts(counter: Counter[str]) -> str:
    """Return the counts as text, largest first."""
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())
