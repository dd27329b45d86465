"""Filters by measurements made elsewhere: overlap with benchmarks, and the pass rate of a model."""

from __future__ import annotations

from webemu.rl.tasks.filters.filter import FilterContext, Verdict, undecided
from webemu.rl.tasks.task import Task


async def check_overlap(task: Task, context: FilterContext) -> Verdict:
    """Reject a task that shares 13 words in a row with a benchmark's question, or repeats a shorter one."""
    if context.benchmarks is None:
        return undecided("no benchmark was given")
    if overlap := context.benchmarks.find_overlap(task.question):
        return {"ok": False, "file": overlap.source, "words": overlap.words}
    return {"ok": True}


async def check_pass_rate(task: Task, context: FilterContext) -> Verdict:
    """Reject a task whose pass rate in an evaluation is outside the band."""
    if context.rates is None:
        return undecided("no results were given")
    rate = context.rates.get(task.id)
    if rate is None:
        return undecided("not among the results")
    low, high = context.band
    return {"ok": low <= rate <= high, "rate": round(rate, 4)}
