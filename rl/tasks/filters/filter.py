"""What a filter is: it looks at one task and says whether it may stay, and what it saw."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webemu.rl.tasks.cached_client import AT_ONCE, Served
from webemu.rl.tasks.task import Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint
    from webemu.rl.tasks.overlap import Benchmarks

Verdict = dict[str, Any]
"""`ok`: true, false, or null with `why` where the filter could not tell; and what it saw."""


@dataclass(frozen=True, slots=True)
class Means:
    """What filters may use."""

    web: Served
    endpoint: Endpoint | None = None
    """A model that is asked without the web."""
    samples: int = 8
    """How often."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """How often at once."""
    benchmarks: Benchmarks | None = None
    rates: Mapping[str, float] | None = None
    """Pass rate by task id."""
    band: tuple[float, float] = (0.1, 0.9)
    """Lowest and highest pass rate that stays."""
    proven: frozenset[str] = frozenset()
    """Recipes whose answers a graph proves to be the only ones: rival pages are meant."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Filter:
    name: str
    judge: Callable[[Task, Means], Awaitable[Verdict]]
    summary: str
    """One line for `--help` and the docs."""


def untold(why: str, **seen: Any) -> Verdict:
    """The verdict of a filter that could not tell."""
    return {"ok": None, "why": why, **seen}
