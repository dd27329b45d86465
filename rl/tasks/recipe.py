"""What a recipe is: from what the house knows to tasks, one after another in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webemu.rl.tasks.task import Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint
    from webemu.rl.tasks.crawl import Crawl
    from webemu.rl.tasks.graph import Graph

Needs = Literal["crawl", "graph", "model"]


@dataclass(frozen=True, slots=True)
class Sources:
    """What a recipe may draw on."""

    crawl: Crawl
    graph: Graph | None = None
    """Of a generated web: `graph.jsonl`."""
    endpoint: Endpoint | None = None
    """A model, asked over HTTP."""


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    needs: Needs
    """Beside the crawl, which all have."""
    make: Callable[[Sources, int], Iterator[Task]]
    """Tasks without split, difficulty and filters, lazily, until the sources are exhausted. The same sources and the
    same seed give the same tasks. Ids are given by the builder."""
    summary: str
    """One line for `--help` and the docs."""
