"""Selects which entries of a ranking are shown: visible at the time, within the dates, no duplicates, few per domain.

The ranking itself comes from a `SearchPlan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import islice

from webemu.emulator.dates import to_day_number
from webemu.emulator.ports import DocValues, ScoredDoc, SearchPlan
from webemu.emulator.query import ParsedQuery

MAX_PER_DOMAIN = 2
"""Maximum number of results per registrable domain among `BLOCK_SIZE` results."""
BLOCK_SIZE = 10
"""Results of one block."""
WINDOW_DEPTH = 50
"""Depth of the ranking, per block so far, that is searched for other domains before crowded results fill the block."""
MAX_DEPTH = 100_000
"""Maximum depth to which a ranking is read, however few of its entries pass the filters."""
FOREVER = 2**62
"""End of visibility of a page that no later capture replaces."""

EntryFilter = Callable[[list[ScoredDoc]], Iterable[tuple[ScoredDoc, int]]]
"""Returns the entries of a ranking that may be shown, each with the number of its domain."""


def select_results(
    plan: SearchPlan, doc_values: DocValues, parsed: ParsedQuery, as_of: datetime | None, limit: int
) -> tuple[list[ScoredDoc], bool]:
    """Return the first `limit` results after filters, duplicate collapse and domain limit, and True if more follow."""
    entry_filter = _make_filter(doc_values, parsed, as_of)
    if parsed.is_site_restricted:
        uncrowded = _select_from_any_domain(plan, entry_filter, limit + 1)
        return uncrowded[:limit], len(uncrowded) > limit
    entries: list[ScoredDoc] = []
    more = True
    selected_docs: set[int] = set()
    blocks = (limit - 1) // BLOCK_SIZE + 1
    if blocks > 1:
        plan.top(WINDOW_DEPTH * blocks)  # one deep search, from which plans serve the shallower ones of the blocks
    for number in range(1, blocks + 1):
        block, more = _select_block(plan, entry_filter, number, selected_docs)
        entries += block
        if not more:
            break
        selected_docs.update(doc for _, doc in block)
    return entries[:limit], more or len(entries) > limit


def _select_from_any_domain(plan: SearchPlan, entry_filter: EntryFilter, count: int) -> list[ScoredDoc]:
    """Return the first `count` results without a limit per domain, for a query that names its sites."""
    limit = max(WINDOW_DEPTH, 2 * count)
    while True:
        ranked, complete = plan.top(limit)
        selected = [entry for entry, _ in islice(entry_filter(ranked), count)]
        if len(selected) == count or complete or limit >= MAX_DEPTH:
            return selected
        limit *= 4


def _select_block(
    plan: SearchPlan, entry_filter: EntryFilter, number: int, selected_docs: set[int]
) -> tuple[list[ScoredDoc], bool]:
    """Return the `number`th block of ten results, from 1, and True if the ranking goes on after it.

    Results are in rank order, at most two per domain unless the block's window has no other domains.
    """
    limit = WINDOW_DEPTH * number
    while True:
        ranked, complete = plan.top(limit)
        per_domain: dict[int, int] = {}
        selected: list[ScoredDoc] = []
        crowded: list[ScoredDoc] = []
        candidates = iter(entry_filter(ranked))
        for entry, domain in candidates:
            # Earlier blocks may have taken entries out of order, below their position in the ranking.
            if entry[1] in selected_docs:
                continue
            count = per_domain[domain] = per_domain.get(domain, 0) + 1
            if count > MAX_PER_DOMAIN:
                crowded.append(entry)
                continue
            selected.append(entry)
            if len(selected) == BLOCK_SIZE:  # whatever is left, crowded or not, belongs to later blocks
                return selected, bool(crowded) or not complete or any(
                    entry[1] not in selected_docs for entry, _ in candidates
                )
        if len(selected) + len(crowded) >= BLOCK_SIZE or complete or limit >= MAX_DEPTH:
            free = BLOCK_SIZE - len(selected)
            return selected + crowded[:free], len(crowded) > free or not complete
        limit *= 4


def is_visible(since: int, until: int, moment: int | None) -> bool:
    """True if a page is what its URL shows at a moment (seconds; None is now)."""
    return until == FOREVER if moment is None else since <= moment < until


def drop_duplicates(ranked: Iterable[ScoredDoc], rows: Iterable[tuple[int, int, int]]) -> list[tuple[ScoredDoc, int]]:
    """Return the entries that are visible now, the best of each duplicate cluster, each with its domain.

    `rows` are (until, cluster, domain) of each entry.
    """
    pages = zip(ranked, rows, strict=True)
    return list(
        _first_per_cluster((entry, cluster, domain) for entry, (until, cluster, domain) in pages if until == FOREVER)
    )


def _first_per_cluster(pages: Iterable[tuple[ScoredDoc, int, int]]) -> Iterator[tuple[ScoredDoc, int]]:
    """Yield the first entry of each cluster, with its domain."""
    seen_clusters: set[int] = set()
    for entry, cluster, domain in pages:
        if cluster not in seen_clusters:
            seen_clusters.add(cluster)
            yield entry, domain


def _make_filter(doc_values: DocValues, parsed: ParsedQuery, as_of: datetime | None) -> EntryFilter:
    """Return the filter of a query: visible at that time, within its dates, no duplicates."""
    if as_of is None and not parsed.has_date_filter:
        return doc_values.drop_duplicates
    since, day, rows = doc_values.since, doc_values.day, doc_values.rows
    moment = None if as_of is None else int(as_of.timestamp())
    after = to_day_number(parsed.after) if parsed.after else -(2**31)
    before = to_day_number(parsed.before) if parsed.before else 2**31

    def filter_entries(ranked: list[ScoredDoc]) -> Iterator[tuple[ScoredDoc, int]]:
        pages = zip(ranked, rows([doc for _, doc in ranked]), strict=True)
        return _first_per_cluster(
            (entry, cluster, domain)
            for entry, (until, cluster, domain) in pages
            if is_visible(since[entry[1]], until, moment) and after <= day[entry[1]] < before
        )

    return filter_entries
