"""Whether the evidence is found by our own search: a script looks for it that knows what an agent can know.

For each page: the rank that queries made of the question alone give it; else whether what the pages that were reached
say, their values, finds it; else whether one of them links to it; else whether a page among the first results has the
same quotes (a twin, of which results show one). No model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache

from webemu.emulator import urls
from webemu.rl.tasks.cached_client import DEPTH, PLAIN, Found, Served
from webemu.rl.tasks.filters.filter import Means, Verdict, untold
from webemu.rl.tasks.filters.quote import flat
from webemu.rl.tasks.phrases import content, queries
from webemu.rl.tasks.task import Evidence, Task

FIRST = 10
"""Results that a step looks at, and that twins are looked for among."""
CUTS = (1, 5, 10, DEPTH)
"""At which recall is told."""


async def answerable(task: Task, means: Means) -> Verdict:
    """Every page of the evidence is reached. `ranks`: best over all queries; `alone`: of the question as it stands."""
    if not task.evidence:
        return untold("no evidence")
    urls_of = list(dict.fromkeys(one.url for one in task.evidence))
    told = await asyncio.gather(*(ranks(task.question, urls_of, means.web, setting) for setting in means.web.settings))
    alone, found = ({name: one[k] for name, one in zip(means.web.settings, told, strict=True)} for k in (0, 1))
    ways = await _ways(task, dict(zip(urls_of, found[PLAIN], strict=True)), means.web)
    return {"ok": all(ways.values()), "ways": list(ways.values()), "ranks": found, "alone": alone}


async def ranks(
    question: str, pages: Sequence[str], web: Served, setting: str = PLAIN
) -> tuple[list[int | None], list[int | None]]:
    """Rank of each page for the question as it stands, and the best over all queries made of it."""
    results = await asyncio.gather(*(web.search(query, setting) for query in queries(question)))
    each = [[rank_of(url, found) for found in results] for url in pages]
    return [own[0] for own in each], [min((rank for rank in own if rank), default=None) for own in each]


async def _ways(task: Task, found: Mapping[str, int | None], web: Served) -> dict[str, str]:
    """How each page is reached: `search`, `step`, `link`, `twin`; empty where it is not. What one page says may lead to
    any other, so those that are not reached are looked for again as long as others are."""
    ways = {url: "search" if rank else "" for url, rank in found.items()}
    for _ in found:
        missing = [url for url, way in ways.items() if not way]
        reached = [one for one in task.evidence if ways[one.url]]
        later = {url: await _way(task, reached, url, web) for url in missing}
        if not any(later.values()):
            break
        ways |= later
    return ways


async def _way(task: Task, reached: Sequence[Evidence], url: str, web: Served) -> str:
    for value in {one.value: 0 for one in reached if one.value}:
        # What it is called, with and without what is asked of it.
        for query in (value, " ".join([value, *content(task.question)])):
            if rank_of(url, (await web.search(query))[:FIRST]):
                return "step"
    for other in {one.url: 0 for one in reached}:
        page = await web.page(other, "links")
        if page is not None and url in page.text.split():
            return "link"
    return "twin" if await _has_twin(task, url, web) else ""


async def _has_twin(task: Task, url: str, web: Served) -> bool:
    quotes = [flat(one.quote) for one in task.evidence if one.url == url and one.quote]
    if not quotes:
        return False
    found = await asyncio.gather(*(web.search(query) for query in queries(task.question)))
    pages = await asyncio.gather(*map(web.page, {hit.url: 0 for hits in found for hit in hits[:FIRST]}))
    return any(page is not None and all(quote in flat(page.text) for quote in quotes) for page in pages)


def rank_of(url: str, found: Sequence[Found]) -> int | None:
    """At which place a page stands among results, in whatever spelling."""
    wanted = _canonical(url)
    return next((place for place, hit in enumerate(found, 1) if _canonical(hit.url) == wanted), None)


@lru_cache(maxsize=65_536)
def _canonical(url: str) -> str:
    return urls.canonical_key(urls.normalize(url))


def recall(found: Sequence[int | None]) -> dict[int, float]:
    """Share of pages at or above each cut."""
    return {cut: sum(rank is not None and rank <= cut for rank in found) / max(1, len(found)) for cut in CUTS}
