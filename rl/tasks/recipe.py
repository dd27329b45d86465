"""Recipes: each turns a collection, a graph or a model into a stream of tasks, in an order that a seed decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webemu.rl.tasks.task import Task

if TYPE_CHECKING:
    from webemu.rl.endpoint import Endpoint
    from webemu.rl.tasks.crawl import Crawl
    from webemu.rl.tasks.graph import Graph

SourceKind = Literal["crawl", "graph", "model"]
"""The source that a recipe draws on."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that a recipe may draw on."""

    crawl: Crawl
    graph: Graph | None = None
    """Facts of a generated web, from its `graph.jsonl`; None for a real crawl."""
    endpoint: Endpoint | None = None
    """A model behind an OpenAI-compatible HTTP API; None if there is none."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named way to make tasks."""

    name: str
    """Name for `--recipes`, and the value of `Task.recipe`."""
    needs: SourceKind
    """The source it needs besides the crawl, which every recipe has."""
    make: Callable[[Sources, int], Iterator[Task]]
    """Called with the sources and a seed. Yields tasks lazily until the sources are exhausted, with no id, split,
    difficulty or filters. The same sources and seed give the same tasks.
    """
    summary: str
    """One line for `--list` and the docs."""
