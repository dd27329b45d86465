"""Filter by evidence: the pages must contain the words that are quoted from them."""

from __future__ import annotations

import asyncio

from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.task import Evidence, Task


async def check_quotes(task: Task, context: FilterContext) -> Verdict:
    """Reject a task if a page of its evidence is not served, or its text lacks the quote (or the value, if there is no
    quote). White space may differ.
    """
    if not task.evidence:
        return undecided("no evidence")
    outcomes = await asyncio.gather(*(_find_fault(one, context) for one in task.evidence))
    faults = [fault for fault in outcomes if fault]
    return {"ok": False, "faults": faults} if faults else {"ok": True}


async def _find_fault(piece: Evidence, context: FilterContext) -> str:
    """Return the fault of one piece of evidence; empty if it has none."""
    page = await context.web.get_page(piece.url)
    if page is None:
        return f"not served: {piece.url}"
    expected = piece.quote or piece.value
    page_text = collapse_spaces(f"{page.title} {page.text}")
    return "" if collapse_spaces(expected) in page_text else f"not on {piece.url}: {expected[:200]}"


def collapse_spaces(text: str) -> str:
    """Return the text on one line with single spaces."""
    return " ".join(text.split())
