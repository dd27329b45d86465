"""Filter for tasks of several pages: each page must be needed.

A page covers a piece of evidence if it is its page, or has its value and nearly all words of its quote. If one page
covers the evidence of all pages, the other pages are decoration.
"""

from __future__ import annotations

import asyncio

from webemu.rl.gates import contains_answer
from webemu.rl.tasks.cached_client import PageText
from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.phrases import content_words
from webemu.rl.tasks.task import Evidence, Task

RESULTS_OPENED = 10
"""Number of results of the question whose pages are read."""
MIN_QUOTE_WORDS, MIN_SHARE = 6, 0.7
"""A page repeats a quote of at least this many content words if it has this share of them."""


async def check_needed(task: Task, context: FilterContext) -> Verdict:
    """Reject a task of several pages if one page suffices, be it of the evidence or among the first results."""
    evidence_urls = list(dict.fromkeys(one.url for one in task.evidence))
    if len(evidence_urls) < 2 or task.answer_type in ("none", "report"):
        return undecided("one page")
    hits = (await context.web.search(task.question))[:RESULTS_OPENED]
    urls = list(dict.fromkeys([*evidence_urls, *(hit.url for hit in hits)]))
    pages = await asyncio.gather(*map(context.web.get_page, urls))
    for url, page in zip(urls, pages, strict=True):
        if page is not None and all(_covers(url, page, one) for one in task.evidence):
            return {"ok": False, "enough": url}
    return {"ok": True}


def _covers(url: str, page: PageText, piece: Evidence) -> bool:
    """True if a page states a piece of evidence."""
    if url == piece.url:
        return True
    words = content_words(piece.quote)
    if len(words) < MIN_QUOTE_WORDS or not contains_answer(page.text, piece.value):
        return False
    page_words = set(content_words(page.text))
    return sum(word in page_words for word in words) >= MIN_SHARE * len(words)
