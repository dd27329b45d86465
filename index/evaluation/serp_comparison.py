"""Compares results that a live search service gave with those of a collection, query by query.

Two URLs are the same page if they have the same SURT key. The rank-biased overlap is Webber, Moffat and Zobel's
(TOIS 2010), extrapolated to the depth at which the shorter of two lists ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from webemu.emulator import urls
from webemu.index.evaluation.serp_log import RecordedResult, RecordedSearch

PERSISTENCE = 0.9
"""Probability that a reader goes on to the next result: the first ten have .86 of the weight of the overlap."""

Search = Callable[[str, int], Sequence[RecordedResult]]
"""Function from a query and a number of results to results, best first."""


@dataclass(frozen=True, slots=True)
class SerpComparison:
    """One query, answered by a live service and by a collection."""

    query: str
    live: tuple[RecordedResult, ...]
    local: tuple[RecordedResult, ...]
    captured: tuple[bool, ...]
    """True for each live result whose URL the collection has."""
    live_milliseconds: float | None
    local_milliseconds: float

    @property
    def overlap(self) -> float:
        """Share of the live results that the collection's results have; 1 if there are none."""
        live = {urls.surt_key(result.url) for result in self.live}
        return len(live & {urls.surt_key(result.url) for result in self.local}) / len(live) if live else 1.0

    @property
    def captured_share(self) -> float:
        """Share of the live results that the collection has, above which no overlap can be; 1 if there are none."""
        return sum(self.captured) / len(self.captured) if self.captured else 1.0

    @property
    def rank_biased_overlap(self) -> float:
        """Rank-biased overlap of the two lists, in [0, 1]."""
        return rank_biased_overlap(
            [urls.surt_key(result.url) for result in self.live], [urls.surt_key(result.url) for result in self.local]
        )

    @property
    def domain_overlap(self) -> float:
        """Registrable domains that both lists have, as a share of those that one has; 1 if neither has any."""
        live, local = set(_domains(self.live)), set(_domains(self.local))
        return len(live & local) / len(live | local) if live | local else 1.0


def compare_searches(
    searches: Iterable[RecordedSearch], search: Search, has_url: Callable[[str], bool], depth: int
) -> Iterator[SerpComparison]:
    """Yield the comparison of each recorded search with the first `depth` results of a collection."""
    for recorded in searches:
        started = time.perf_counter()
        local = tuple(search(recorded.query, depth))
        milliseconds = 1000 * (time.perf_counter() - started)
        live = recorded.results[:depth]
        captured = tuple(has_url(result.url) for result in live)
        yield SerpComparison(recorded.query, live, local[:depth], captured, recorded.milliseconds, milliseconds)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """Return the extrapolated rank-biased overlap of two rankings, to the depth of the shorter one.

    Two empty rankings agree completely, an empty one and another not at all.
    """
    depth = min(len(first), len(second))
    if not depth:
        return float(len(first) == len(second))
    overlap, weighted = 0, 0.0
    first_seen: set[str] = set()
    second_seen: set[str] = set()
    for rank in range(1, depth + 1):
        first_seen.add(first[rank - 1])
        second_seen.add(second[rank - 1])
        overlap = len(first_seen & second_seen)
        weighted += overlap / rank * persistence**rank
    return overlap / depth * persistence**depth + (1 - persistence) / persistence * weighted


def count_domains(results: Iterable[Sequence[RecordedResult]]) -> dict[str, int]:
    """Return the number of results of each registrable domain, the most frequent first."""
    counts: dict[str, int] = {}
    for domain in chain.from_iterable(map(_domains, results)):
        counts[domain] = counts.get(domain, 0) + 1
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def _domains(results: Iterable[RecordedResult]) -> Iterator[str]:
    """Yield the registrable domain of each result; the host if it has none."""
    for result in results:
        host = urls.host_of(result.url)
        yield urls.split_domain(host)[0] or host
