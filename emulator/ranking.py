"""Selects which entries of a ranking are shown: visible at the time, within the dates, no duplicates, few per domain.

The ranking itself comes from a `Ranker`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from webemu.emulator.dates import day_number
from webemu.emulator.ports import Entry, Finder, Numbers
from webemu.emulator.query import Parsed

PER_DOMAIN = 2
"""Maximum number of results per registrable domain among `BLOCK_SIZE` results."""
BLOCK = 10
"""Results of one block."""
WINDOW = 50
"""Depth of the ranking, per block so far, that is searched for other domains before crowded results fill the block."""
WIDEST = 100_000
"""Maximum depth to which a ranking is read, however few of its entries pass the filters."""
FOREVER = 2**62
"""End of visibility of a page that no later capture replaces."""

Keep = Callable[[list[Entry]], Iterable[tuple[Entry, int]]]
"""Returns the entries of a ranking that may be shown, each with the number of its domain."""


def shown(finder: Finder, plan: Any, parsed: Parsed, as_of: datetime | None, wanted: int) -> tuple[list[Entry], bool]:
    """Return the first `wanted` results after filters, duplicate collapse and domain limit, and True if more follow."""
    keep = _filter(finder.columns, parsed, as_of)
    if parsed.sited:
        plain = _plain(finder, plan, keep, wanted + 1)
        return plain[:wanted], len(plain) > wanted
    entries: list[Entry] = []
    more = True
    taken: set[int] = set()
    for number in range(1, (wanted - 1) // BLOCK + 2):
        block, more = _block(finder, plan, keep, number, taken)
        entries += block
        if not more:
            break
        taken.update(doc for _, doc in block)
    return entries[:wanted], more or len(entries) > wanted


def _plain(finder: Finder, plan: Any, keep: Keep, wanted: int) -> list[Entry]:
    """Return the first `wanted` results without a limit per domain, for a query that names its sites."""
    limit = max(WINDOW, 2 * wanted)
    while True:
        ranked, complete = finder.top(plan, limit)
        kept = [entry for entry, _ in islice(keep(ranked), wanted)]
        if len(kept) == wanted or complete or limit >= WIDEST:
            return kept
        limit *= 4


def _block(finder: Finder, plan: Any, keep: Keep, number: int, taken: set[int]) -> tuple[list[Entry], bool]:
    """Return the `number`th block of ten results, from 1, and True if the ranking goes on after it.

    Results are in rank order, at most two per domain unless the block's window has no other domains.
    """
    limit = WINDOW * number
    while True:
        ranked, complete = finder.top(plan, limit)
        per_domain: dict[int, int] = {}
        chosen: list[Entry] = []
        crowded: list[Entry] = []
        kept = iter(keep(ranked))
        for entry, of_domain in kept:
            # Earlier blocks may have taken entries out of order, below their position in the ranking.
            if entry[1] in taken:
                continue
            seen = per_domain[of_domain] = per_domain.get(of_domain, 0) + 1
            if seen > PER_DOMAIN:
                crowded.append(entry)
                continue
            chosen.append(entry)
            if len(chosen) == BLOCK:  # whatever is left, crowded or not, belongs to later blocks
                return chosen, bool(crowded) or not complete or any(entry[1] not in taken for entry, _ in kept)
        if len(chosen) + len(crowded) >= BLOCK or complete or limit >= WIDEST:
            room = BLOCK - len(chosen)
            return chosen + crowded[:room], len(crowded) > room or not complete
        limit *= 4


def is_visible(since: int, until: int, moment: int | None) -> bool:
    """True if a page is what its URL shows at a moment (seconds; None is now)."""
    return until == FOREVER if moment is None else since <= moment < until


def current(ranked: Iterable[Entry], numbers: Iterable[tuple[int, int, int]]) -> list[tuple[Entry, int]]:
    """Return the entries that are visible now, the best of each duplicate cluster, each with its domain.

    `numbers` are (until, cluster, domain) of each entry.
    """
    pages = zip(ranked, numbers, strict=True)
    return list(_distinct((entry, cluster, domain) for entry, (until, cluster, domain) in pages if until == FOREVER))


def _distinct(pages: Iterable[tuple[Entry, int, int]]) -> Iterator[tuple[Entry, int]]:
    """Yield the first entry of each cluster, with its domain."""
    seen: set[int] = set()
    for entry, cluster, domain in pages:
        if cluster not in seen:
            seen.add(cluster)
            yield entry, domain


def _filter(columns: Numbers, parsed: Parsed, as_of: datetime | None) -> Keep:
    """Return the filter of a query: visible at that time, within its dates, no duplicates."""
    if as_of is None and not parsed.dated:
        return columns.current
    since, day, rows = columns.since, columns.day, columns.rows
    moment = None if as_of is None else int(as_of.timestamp())
    after = day_number(parsed.after) if parsed.after else -(2**31)
    before = day_number(parsed.before) if parsed.before else 2**31

    def keep(ranked: list[Entry]) -> Iterator[tuple[Entry, int]]:
        pages = zip(ranked, rows([doc for _, doc in ranked]), strict=True)
        return _distinct(
            (entry, cluster, domain)
            for entry, (until, cluster, domain) in pages
            if is_visible(since[entry[1]], until, moment) and after <= day[entry[1]] < before
        )

    return keep
