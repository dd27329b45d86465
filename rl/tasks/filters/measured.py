"""What was measured elsewhere: overlap with benchmarks, and how often a model passes."""

from __future__ import annotations

from webemu.rl.tasks.filters.filter import Means, Verdict, untold
from webemu.rl.tasks.task import Task


async def new(task: Task, means: Means) -> Verdict:
    """Shares no 13 words in a row with a benchmark's question, and is none of its shorter ones."""
    if means.benchmarks is None:
        return untold("no benchmark was given")
    if found := means.benchmarks.shared(task.question):
        return {"ok": False, "file": found[0], "words": found[1]}
    return {"ok": True}


async def in_band(task: Task, means: Means) -> Verdict:
    """Is passed neither always nor never, by the results of an evaluation."""
    if means.rates is None:
        return untold("no results were given")
    rate = means.rates.get(task.id)
    if rate is None:
        return untold("not among the results")
    low, high = means.band
    return {"ok": low <= rate <= high, "rate": round(rate, 4)}
