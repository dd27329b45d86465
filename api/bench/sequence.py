"""Sequences of requests, drawn from pools of queries and pages; the same seed gives the same sequence.

Without popularity every query and page comes once before any comes again. With `zipf` = S the one of rank r comes in
proportion to r^-S. `group` repeats what was drawn, close together, as the samples of one prompt do in GRPO.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, cycle, islice
from random import Random
from typing import TypeVar

from webemu.api.bench.load import Request
from webemu.api.bench.request_factory import OF_QUERIES, Asking
from webemu.emulator.errors import BadRequest

T = TypeVar("T")
WINDOW = 16
"""Groups whose members are shuffled among each other."""


@dataclass(frozen=True)
class Pools:
    """Queries and pages that requests are drawn from."""

    queries: Sequence[str]
    """Search queries."""
    pages: Sequence[tuple[str, str]]
    """URLs, each with a word to find in the page."""
    is_in_order: bool = False
    """True for recorded traces: they are replayed in order, and nothing is drawn or repeated."""

    def parted(self, count: int) -> tuple[Pools, Pools]:
        """Return two pools: `count` queries and pages for the warm-up, and the remaining ones.

        A pool with fewer than twice as many goes to both, and so do recorded traces.
        """
        if self.is_in_order or not count:
            return self, self
        queries, pages = self.queries, self.pages
        at_query, at_page = (len(one) - count if len(one) > 2 * count else 0 for one in (queries, pages))
        before = replace(self, queries=queries[at_query:], pages=pages[at_page:])
        return before, replace(self, queries=queries[: at_query or None], pages=pages[: at_page or None])


@dataclass(frozen=True)
class Drawing:
    """Parameters of the draw."""

    mix: Mapping[str, float]
    """Relative share of each kind of request."""
    seed: str
    group: int = 1
    """Number of times that each drawn request is repeated."""
    zipf: float = 0.0
    """Exponent of the popularity distribution; 0 draws without repeats."""
    batch: int = 64
    """Queries of one `retrieve` request."""


def drawn(pool: Sequence[T], drawing: Drawing, is_in_order: bool) -> Iterator[T]:
    """Yield members of a non-empty pool without end, in the order that the plan draws."""
    if is_in_order:
        yield from cycle(pool)
    chosen = Random(f"{drawing.seed}/{len(pool)}")
    order = list(pool)
    chosen.shuffle(order)
    weights = list(accumulate((rank + 1) ** -drawing.zipf for rank in range(len(order)))) if drawing.zipf else None
    once = cycle(order)
    while True:
        some = chosen.choices(order, cum_weights=weights, k=WINDOW) if weights else list(islice(once, WINDOW))
        window = some * drawing.group
        if drawing.group > 1:
            chosen.shuffle(window)
        yield from window


def sequence(pools: Pools, drawing: Drawing, asking: Asking, count: int) -> list[Request]:
    """Return `count` requests of the plan's kinds. Raises BadRequest if a kind has no queries or pages to draw from."""
    for kind in drawing.mix:
        if not (pools.queries if kind in OF_QUERIES else pools.pages):
            what = "queries" if kind in OF_QUERIES else "pages"
            raise BadRequest(f"there are no {what} for requests of kind {kind!r}", action=f"give a file with --{what}")
    queries = drawn(pools.queries, drawing, pools.is_in_order)
    pages = drawn(pools.pages, drawing, pools.is_in_order)
    make: dict[str, Callable[[], Request]] = {
        "search": lambda: asking.search(next(queries)),
        "retrieve": lambda: asking.retrieve(list(islice(queries, drawing.batch))),
        "text": lambda: asking.text(next(pages)[0]),
        "raw": lambda: asking.raw(next(pages)[0]),
        "find": lambda: asking.find(*next(pages)),
        "page": lambda: asking.page(next(pages)[0]),
    }
    # Kinds have a generator of their own, so that another mix draws the same queries and pages.
    kinds = Random(f"{drawing.seed}/kinds").choices(list(drawing.mix), list(drawing.mix.values()), k=count)
    return [make[kind]() for kind in kinds]


def needed(drawing: Drawing, count: int) -> tuple[int, int]:
    """Return how many distinct (queries, pages) `count` requests need at most, with 10% to spare."""
    total = sum(drawing.mix.values())
    of_pages = sum(share for kind, share in drawing.mix.items() if kind not in OF_QUERIES) / total
    per_request = drawing.batch * drawing.mix.get("retrieve", 0) / total + drawing.mix.get("search", 0) / total
    # The mix is drawn at random, so a kind may come more often than its share.
    spare = 1.1 / drawing.group
    return int(count * per_request * spare) + WINDOW, int(count * of_pages * spare) + WINDOW
