"""Which requests in which order: drawn from what can be asked, the same for the same seed.

Without popularity each query and page is asked once until all were; with it (`zipf`) the one of rank r is asked in
proportion to r^-S. `group` repeats what was drawn: as the samples of one prompt in GRPO ask, close together.
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
"""Groups whose members are mixed with each other."""


@dataclass(frozen=True)
class Pools:
    """What can be asked."""

    queries: Sequence[str]
    pages: Sequence[tuple[str, str]]
    """URL, and a word to find in it."""
    is_in_order: bool = False
    """Whether it happened so (traces): then nothing is drawn or repeated."""

    def parted(self, count: int) -> tuple[Pools, Pools]:
        """So many of each for a run before, and the rest; all for both where there are too few."""
        if self.is_in_order or not count:
            return self, self
        queries, pages = self.queries, self.pages
        at_query, at_page = (len(one) - count if len(one) > 2 * count else 0 for one in (queries, pages))
        before = replace(self, queries=queries[at_query:], pages=pages[at_page:])
        return before, replace(self, queries=queries[: at_query or None], pages=pages[: at_page or None])


@dataclass(frozen=True)
class Drawing:
    """How it is drawn."""

    mix: Mapping[str, float]
    """Share of each kind, in any unit."""
    seed: str
    group: int = 1
    zipf: float = 0.0
    batch: int = 64
    """Queries of one `retrieve`."""


def drawn(pool: Sequence[T], drawing: Drawing, is_in_order: bool) -> Iterator[T]:
    """Members of a pool, without end."""
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
    """So many requests. Raises BadRequest where there is nothing to ask of a kind."""
    for kind in drawing.mix:
        if not (pools.queries if kind in OF_QUERIES else pools.pages):
            what = "queries" if kind in OF_QUERIES else "pages"
            raise BadRequest(f"there are no {what} to ask `{kind}` of", action=f"give a file with --{what}")
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
    kinds = Random(f"{drawing.seed}/kinds").choices(list(drawing.mix), list(drawing.mix.values()), k=count)
    return [make[kind]() for kind in kinds]


def needed(drawing: Drawing, count: int) -> tuple[int, int]:
    """(queries, pages) that differ, at most, in so many requests."""
    total = sum(drawing.mix.values())
    of_pages = sum(share for kind, share in drawing.mix.items() if kind not in OF_QUERIES) / total
    per_request = drawing.batch * drawing.mix.get("retrieve", 0) / total + drawing.mix.get("search", 0) / total
    spare = 1.1 / drawing.group
    return int(count * per_request * spare) + WINDOW, int(count * of_pages * spare) + WINDOW
