"""Whether the pages that are named as evidence say what they are said to."""

from __future__ import annotations

import asyncio

from webemu.rl.tasks.filters.filter import Means, Verdict, untold
from webemu.rl.tasks.task import Evidence, Task


async def quoted(task: Task, means: Means) -> Verdict:
    """Every page of the evidence is served, and its text has the quote, or else the value, up to white space."""
    if not task.evidence:
        return untold("no evidence")
    found = await asyncio.gather(*(_fault(one, means) for one in task.evidence))
    faults = [fault for fault in found if fault]
    return {"ok": False, "faults": faults} if faults else {"ok": True}


async def _fault(one: Evidence, means: Means) -> str:
    page = await means.web.page(one.url)
    if page is None:
        return f"not served: {one.url}"
    wanted = one.quote or one.value
    said = flat(f"{page.title} {page.text}")
    return "" if flat(wanted) in said else f"not on {one.url}: {wanted[:200]}"


def flat(text: str) -> str:
    """With single spaces."""
    return " ".join(text.split())
