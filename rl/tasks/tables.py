"""What the commands print at their end. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby

from webemu.rl.tasks.build import Built
from webemu.rl.tasks.splits import NAMES, Split

TOO_LARGE = 0.5
"""Share of all tasks that one component may hold without a word."""


def outcome(built: Built) -> Iterator[str]:
    """Recipe by recipe: drawn, kept, and rejected by which filter; then what filters could not tell."""
    width = max([len("recipe"), *map(len, built.tallies)])
    yield f"{'recipe':<{width}}  {'drawn':>6}  {'kept':>6}  rejected"
    for name, tally in built.tallies.items():
        yield f"{name:<{width}}  {tally.drawn:>6,}  {tally.kept:>6,}  {_counts(tally.rejected)}".rstrip()
    drawn = sum(tally.drawn for tally in built.tallies.values())
    everything = sum((tally.rejected for tally in built.tallies.values()), Counter[str]())
    if len(built.tallies) > 1:
        yield f"{'all':<{width}}  {drawn:>6,}  {len(built.kept):>6,}  {_counts(everything)}".rstrip()
    untold = Counter(
        f"{name}: {verdict['why']}"
        for task in built.kept
        for name, verdict in task.filters.items()
        if verdict["ok"] is None
    )
    for reason, count in untold.most_common():
        yield f"not told   {reason} ({count:,} of the kept)"


def recalls(built: Built) -> Iterator[str]:
    """Share of evidence pages that search shows, by setting, for the question as it stands and for the script."""
    for (setting, who), shares in built.recall().items():
        yield f"recall     {setting}, {who}: " + "  ".join(f"@{cut} {share:.3f}" for cut, share in shares.items())


def dropped(counts: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """What recipes looked at and made no task of."""
    for name, of in groupby(sorted(counts.items()), key=lambda one: one[0][0]):
        yield f"dropped    {name or 'pages'}: {_counts(Counter({reason: count for (_, reason), count in of}))}"


def splits(made: Split, by: str) -> Iterator[str]:
    """Tasks and components of each split, and a warning where one component outgrows all splits."""
    if not made.tasks:
        return
    told = (f"{name} {made.counts[name]:,} of {made.components.get(name, 0):,}" for name in NAMES if made.counts[name])
    sizes = ", ".join(f"{size:,}" for size in made.sizes[:3])
    yield f"splits     {', '.join(told)} components by {by}, the largest of {sizes} tasks"
    largest = made.sizes[0]
    if len(made.tasks) > 1 and largest > TOO_LARGE * len(made.tasks):
        ways = {"domain": "--split-by host, --split-by page, ", "host": "--split-by page, "}.get(by, "")
        yield f"warning    one component holds {largest:,} of {len(made.tasks):,} tasks: no splits as asked"
        yield f"           -> {ways}or test on tasks of another collection (a generated web of another seed)"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counter.most_common())
