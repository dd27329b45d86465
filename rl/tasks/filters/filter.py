"""Interface of a filter: it looks at one task and returns a verdict, with the observations behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webemu.rl.tasks.cached_client import MAX_CONCURRENCY, CachedClient
from webemu.rl.tasks.task import Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint
    from webemu.rl.tasks.overlap import BenchmarkIndex

Verdict = dict[str, object]
"""`ok`: true, false, or null with `why` if the filter could not decide. The other keys are observations."""


@dataclass(frozen=True, slots=True)
class FilterContext:
    """Resources and settings that filters may use."""

    web: CachedClient
    """The collection behind a server."""
    endpoint: Endpoint | None = None
    """A model that is asked without access to the web; None if there is none."""
    samples: int = 8
    """Number of answers that the model gives per task."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENCY))
    """Limits the number of concurrent requests to the model."""
    benchmarks: BenchmarkIndex | None = None
    """Questions that tasks must not overlap with; None if there are none."""
    rates: Mapping[str, float] | None = None
    """Measured pass rates by task id; None if nothing was measured."""
    band: tuple[float, float] = (0.1, 0.9)
    """Lowest and highest pass rate of a task that is kept."""
    proven: frozenset[str] = frozenset()
    """Recipes whose answers a graph proves to be the only ones. Pages that seem to state another answer do not reject
    them.
    """
    natural: frozenset[str] = frozenset()
    """Recipes that may have the same answer in few tasks only."""
    needs_opening: frozenset[str] = frozenset()
    """Recipes whose answers must not stand in the snippets of the first results."""
    seed: int = 0
    """Seed of the samples that the model gives."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A named check of tasks."""

    name: str
    """Key of the verdict in `Task.filters`."""
    judge: Callable[[Task, FilterContext], Awaitable[Verdict]]
    """Returns the verdict on a task. Its observations can be written as JSON."""


def undecided(why: str, **observations: object) -> Verdict:
    """Return the verdict of a filter that could not decide, with the reason and its observations."""
    return {"ok": None, "why": why, **observations}
