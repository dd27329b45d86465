"""Which entries of a ranking are shown: visible then, in the dates asked for, no duplicates, no crowd of a domain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from webemu.emulator.dates import day_number
from webemu.emulator.ports import Entry, Finder, Numbers
from webemu.emulator.query import Parsed

PER_DOMAIN = 2
"""At most so many results of one registrable domain among `BLOCK` results."""
BLOCK = 10
WINDOW = 50
"""Other domains are looked for in this much of the ranking, per block so far; crowded results fill what is left."""
WIDEST = 100_000
"""The ranking is read no further than this, however few of its entries pass the filters."""
FOREVER = 2**62

Keep = Callable[[list[Entry]], Iterable[tuple[Entry, int]]]
"""Of a ranking what may be shown, each entry with the number of its domain."""


def shown(finder: Finder, plan: Any, parsed: Parsed, as_of: datetime | None, wanted: int) -> tuple[list[Entry], bool]:
    """The first `wanted` results after filters, duplicate collapse and domain crowding; and whether more follow."""
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
    """The first `wanted` results whatever their domain: the query asked for a site."""
    limit = max(WINDOW, 2 * wanted)
    while True:
        ranked, complete = finder.top(plan, limit)
        kept = [entry for entry, _ in islice(keep(ranked), wanted)]
        if len(kept) == wanted or complete or limit >= WIDEST:
            return kept
        limit *= 4


def _block(finder: Finder, plan: Any, keep: Keep, number: int, taken: set[int]) -> tuple[list[Entry], bool]:
    """The `number`th block of ten, and whether the ranking goes on after it.

    In rank order, at most two of a domain unless the block's window has no others.
    """
    limit = WINDOW * number
    while True:
        ranked, complete = finder.top(plan, limit)
        per_domain: dict[int, int] = {}
        chosen: list[Entry] = []
        crowded: list[Entry] = []
        kept = iter(keep(ranked))
        for entry, of_domain in kept:
            if entry[1] in taken:
                continue
            seen = per_domain[of_domain] = per_domain.get(of_domain, 0) + 1
            if seen > PER_DOMAIN:
                crowded.append(entry)
                continue
            chosen.append(entry)
            if len(chosen) == BLOCK:
                return chosen, bool(crowded) or not complete or any(entry[1] not in taken for entry, _ in kept)
        if len(chosen) + len(crowded) >= BLOCK or complete or limit >= WIDEST:
            room = BLOCK - len(chosen)
            return chosen + crowded[:room], len(crowded) > room or not complete
        limit *= 4


def is_visible(since: int, until: int, moment: int | None) -> bool:
    """Whether a page is what its URL shows at a moment (seconds; None is now)."""
    return until == FOREVER if moment is None else since <= moment < until


def current(ranked: Iterable[Entry], numbers: Iterable[tuple[int, int, int]]) -> list[tuple[Entry, int]]:
    """What of a ranking is what its URL shows today and says what none before it says, each with its domain.

    `numbers`: (until, cluster, domain) of each.
    """
    pages = zip(ranked, numbers, strict=True)
    return list(_distinct((entry, cluster, domain) for entry, (until, cluster, domain) in pages if until == FOREVER))


def _distinct(pages: Iterable[tuple[Entry, int, int]]) -> Iterator[tuple[Entry, int]]:
    """The first of each cluster, with its domain."""
    seen: set[int] = set()
    for entry, cluster, domain in pages:
        if cluster not in seen:
            seen.add(cluster)
            yield entry, domain


def _filter(columns: Numbers, parsed: Parsed, as_of: datetime | None) -> Keep:
    """What of a ranking may be shown: visible at that time, inside the dates asked for, no duplicate of one before."""
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
