"""Classes of sources by size: what a small one adds leaves the shards of larger ones as they are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

CLASS_PAGES = (100, 10_000)
"""Pages from which a source is of the next class of size."""


def group_by_class(pages: Mapping[int, int]) -> list[list[int]]:
    """Return the ids of sources by class, the smallest class first, given the number of pages of each."""
    classes: list[list[int]] = [[] for _ in range(len(CLASS_PAGES) + 1)]
    for source in sorted(pages):
        classes[bisect_right(CLASS_PAGES, pages[source])].append(source)
    return classes
