"""Functions of a server that a world calls. `webemu.emulator.world` has the world itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the world imports this module
    from webemu.emulator.passage import HitPassages
    from webemu.emulator.types import Query
    from webemu.emulator.world import World


@dataclass(frozen=True, slots=True)
class WorldHooks:
    """Functions of the server that a world calls."""

    run_batch: Callable[[World, Sequence[Query]], list[HitPassages]] | None = None
    """Runs a large batch of queries together with sibling processes that serve the same snapshot; None to run it
    alone.
    """
    on_query: Callable[[str], None] | None = None
    """Called with the text of each search; None for nothing."""
    on_vain: Callable[[Literal["search", "url"], str], None] | None = None
    """Called with each search that found nothing and each URL that was not captured; None for nothing."""


NO_HOOKS = WorldHooks()
"""Hooks of a world that stands alone."""
