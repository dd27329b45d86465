"""Sequences of requests, drawn from pools of queries and pages; the same seed gives the same sequence.

Without popularity every query and page comes once before any comes again. With `zipf` = S the one of rank r comes in
proportion to r^-S. `group` repeats what was drawn, close together, as the samples of one prompt do in GRPO.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, cycle, islice
from random import Random
from typing import TypeVar

from webemu.api.bench.load import Request
from webemu.api.bench.request_factory import QUERY_KINDS, VIEWS, RequestFactory
from webemu.emulator.errors import BadRequest

T = TypeVar("T")
WINDOW_GROUPS = 16
"""Groups whose members are shuffled among each other."""


@dataclass(frozen=True)
class RequestPools:
    """Queries and pages that requests are drawn from."""

    queries: Sequence[str]
    """Search queries."""
    pages: Sequence[tuple[str, str]]
    """URLs, each with a word to find in the page."""
    is_in_order: bool = False
    """True for recorded traces: they are replayed in order, and nothing is drawn or repeated."""

    def split_for_warm_up(self, count: int) -> tuple[RequestPools, RequestPools]:
        """Return two pools: `count` queries and pages for the warm-up, and the remaining ones.

        A pool with fewer than twice as many goes to both, and so do recorded traces.
        """
        if self.is_in_order or not count:
            return self, self
        queries, pages = self.queries, self.pages
        query_start, page_start = (len(one) - count if len(one) > 2 * count else 0 for one in (queries, pages))
        warm_up = replace(self, queries=queries[query_start:], pages=pages[page_start:])
        return warm_up, replace(self, queries=queries[: query_start or None], pages=pages[: page_start or None])


@dataclass(frozen=True)
class SamplingPlan:
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


def draw_members(pool: Sequence[T], plan: SamplingPlan, is_in_order: bool) -> Iterator[T]:
    """Yield members of a non-empty pool without end, in the order that the plan draws."""
    if is_in_order:
        yield from cycle(pool)
    random = Random(f"{plan.seed}/{len(pool)}")
    order = list(pool)
    random.shuffle(order)
    weights = list(accumulate((rank + 1) ** -plan.zipf for rank in range(len(order)))) if plan.zipf else None
    endless = cycle(order)
    while True:
        drawn_members = (
            random.choices(order, cum_weights=weights, k=WINDOW_GROUPS)
            if weights
            else list(islice(endless, WINDOW_GROUPS))
        )
        window = drawn_members * plan.group
        if plan.group > 1:
            random.shuffle(window)
        yield from window


def build_requests(pools: RequestPools, plan: SamplingPlan, factory: RequestFactory, count: int) -> list[Request]:
    """Return `count` requests of the plan's kinds. Raises BadRequest if a kind has no queries or pages to draw from."""
    for kind in plan.mix:
        if not (pools.queries if kind in QUERY_KINDS else pools.pages):
            pool_name = "queries" if kind in QUERY_KINDS else "pages"
            raise BadRequest(
                f"there are no {pool_name} for requests of kind {kind!r}", action=f"give a file with --{pool_name}"
            )
    queries = draw_members(pools.queries, plan, pools.is_in_order)
    pages = draw_members(pools.pages, plan, pools.is_in_order)
    builders: dict[str, Callable[[], Request]] = {
        "search": lambda: factory.search(next(queries)),
        "retrieve": lambda: factory.retrieve(list(islice(queries, plan.batch))),
        **{view: partial(_build_view, factory, pages, view) for view in VIEWS},
        "find": lambda: factory.find(*next(pages)),
        "page": lambda: factory.page(next(pages)[0]),
    }
    # Kinds have a generator of their own, so that another mix draws the same queries and pages.
    kinds = Random(f"{plan.seed}/kinds").choices(list(plan.mix), list(plan.mix.values()), k=count)
    return [builders[kind]() for kind in kinds]


def _build_view(factory: RequestFactory, pages: Iterator[tuple[str, str]], view: str) -> Request:
    """Return a request for the next page in a view."""
    return factory.view(view, next(pages)[0])


def distinct_counts(plan: SamplingPlan, count: int) -> tuple[int, int]:
    """Return how many distinct (queries, pages) `count` requests need at most, with 10% to spare."""
    total = sum(plan.mix.values())
    page_share = sum(share for kind, share in plan.mix.items() if kind not in QUERY_KINDS) / total
    per_request = plan.batch * plan.mix.get("retrieve", 0) / total + plan.mix.get("search", 0) / total
    # The mix is drawn at random, so a kind may come more often than its share.
    margin = 1.1 / plan.group
    return int(count * per_request * margin) + WINDOW_GROUPS, int(count * page_share * margin) + WINDOW_GROUPS
