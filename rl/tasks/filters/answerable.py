"""Filter by reachability: a script that knows only what an agent can know must reach every page of the evidence.

It tries four ways for each page: the rank that queries made from the question give it; a search for the values found
on pages already reached; a link on one of those pages; a page among the first results with the same quotes (of near
duplicates, results show only one). It needs no model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from webemu.emulator import urls
from webemu.rl.tasks.cached_client import MAX_RESULTS, PLAIN_SETTING, CachedClient, Result
from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.filters.quote import collapse_spaces
from webemu.rl.tasks.phrases import build_queries, content_words
from webemu.rl.tasks.task import Evidence, Task

FIRST_RESULTS = 10
"""Number of results that a search step looks at, and among which pages with the same quotes are looked for."""
RECALL_CUTOFFS = (1, 5, 10, MAX_RESULTS)
"""Cutoffs at which recall is reported."""


@dataclass(frozen=True, slots=True)
class PageRanks:
    """Ranks of pages, in the order in which they were asked for; None for a page that was not found."""

    for_question: list[int | None]
    """Ranks for the bare question."""
    best: list[int | None]
    """Best ranks over all queries made from the question."""


async def check_answerable(task: Task, context: FilterContext) -> Verdict:
    """Reject a task if a page of its evidence cannot be reached.

    Observations: `ways`, the way to each page; per setting `rank_pages`, the best over all queries, and
    `question_ranks`, those for the bare question.
    """
    if not task.evidence:
        return undecided("no evidence")
    page_urls = list(dict.fromkeys(one.url for one in task.evidence))
    ranks_by_setting = await asyncio.gather(
        *(rank_pages(task.question, page_urls, context.web, setting) for setting in context.web.settings)
    )
    ranks = dict(zip(context.web.settings, ranks_by_setting, strict=True))
    question_ranks = {name: one.for_question for name, one in ranks.items()}
    best_ranks = {name: one.best for name, one in ranks.items()}
    # Ways are looked for without a policy; the other settings only count for recall.
    ways = await _find_ways(task, dict(zip(page_urls, best_ranks[PLAIN_SETTING], strict=True)), context.web)
    return {"ok": all(ways.values()), "ways": list(ways.values()), "ranks": best_ranks, "alone": question_ranks}


def read_ranks(verdict: Mapping[str, object], searcher: Literal["alone", "ranks"]) -> dict[str, list[int | None]]:
    """Return the ranks by setting in a verdict of `check_answerable`: for the bare question (`alone`), or the best over
    all queries (`ranks`). Empty if the filter could not decide or did not run.
    """
    ranks = verdict.get(searcher)
    if not isinstance(ranks, Mapping):
        return {}
    return {str(setting): list(page_ranks) for setting, page_ranks in ranks.items()}


async def rank_pages(question: str, pages: Sequence[str], web: CachedClient, setting: str = PLAIN_SETTING) -> PageRanks:
    """Return the ranks of pages, for the bare question and over all queries made from it."""
    results = await asyncio.gather(*(web.search(query, setting) for query in build_queries(question)))
    ranks_by_page = [[find_rank(url, hits) for hits in results] for url in pages]
    return PageRanks(
        [page_ranks[0] for page_ranks in ranks_by_page],
        [min((rank for rank in page_ranks if rank), default=None) for page_ranks in ranks_by_page],
    )


async def _find_ways(task: Task, best_ranks: Mapping[str, int | None], web: CachedClient) -> dict[str, str]:
    """Return the way to each page: `search`, `step`, `link` or `twin`; empty if it cannot be reached.

    Any page may lead to any other, so the remaining ones are tried again as long as a round reaches one more.
    """
    ways = {url: "search" if rank else "" for url, rank in best_ranks.items()}
    # Each round must reach a page, so there are at most as many rounds as pages.
    for _ in best_ranks:
        missing = [url for url, way in ways.items() if not way]
        reached = [one for one in task.evidence if ways[one.url]]
        new_ways = {url: await _find_way(task, reached, url, web) for url in missing}
        if not any(new_ways.values()):
            break
        ways |= new_ways
    return ways


async def _find_way(task: Task, reached: Sequence[Evidence], url: str, web: CachedClient) -> str:
    """Return the way to a page from those already reached; empty if there is none."""
    for value in {one.value: 0 for one in reached if one.value}:
        # The value alone, and together with the content words of the question.
        for query in (value, " ".join([value, *content_words(task.question)])):
            if find_rank(url, (await web.search(query))[:FIRST_RESULTS]):
                return "step"
    for reached_url in {one.url: 0 for one in reached}:
        # The view `links` lists the targets of a page as words.
        page = await web.get_page(reached_url, "links")
        if page is not None and url in page.text.split():
            return "link"
    return "twin" if await _has_twin(task, url, web) else ""


async def _has_twin(task: Task, url: str, web: CachedClient) -> bool:
    """True if one of the first results has all quotes that the page is evidence for."""
    quotes = [collapse_spaces(one.quote) for one in task.evidence if one.url == url and one.quote]
    if not quotes:
        return False
    result_lists = await asyncio.gather(*(web.search(query) for query in build_queries(task.question)))
    pages = await asyncio.gather(
        *map(web.get_page, {hit.url: 0 for hits in result_lists for hit in hits[:FIRST_RESULTS]})
    )
    return any(page is not None and all(quote in collapse_spaces(page.text) for quote in quotes) for page in pages)


def find_rank(url: str, results: Sequence[Result]) -> int | None:
    """Return the rank of a page among results, whatever the spelling of its URL; None if it is not among them."""
    canonical_url = _canonical(url)
    return next((rank for rank, hit in enumerate(results, 1) if _canonical(hit.url) == canonical_url), None)


@lru_cache(maxsize=65_536)
def _canonical(url: str) -> str:
    """Return the canonical form of a URL, for comparison."""
    return urls.canonical_key(urls.normalize(url))


def recall_at_cutoffs(page_ranks: Sequence[int | None]) -> dict[int, float]:
    """Return the share of pages with a rank at or above each cutoff."""
    return {
        cutoff: sum(rank is not None and rank <= cutoff for rank in page_ranks) / max(1, len(page_ranks))
        for cutoff in RECALL_CUTOFFS
    }
