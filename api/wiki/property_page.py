"""Types shared by the modules of `action=query`: an entry for each requested page, and one page of a property's
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import Found
from webemu.api.wiki.params import Ask
from webemu.emulator.article import Article

MAX_ITEMS = 100_000
"""Largest continuation offset that is accepted."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Page requested in `action=query`."""

    title: str
    found: Found | None = None
    """Captured page, or the target of an unfollowed redirect; None if it was not captured."""
    moved: bool = False
    """True if the title is a redirect that was not to be followed; `page` is its target."""
    pageid: int = 0
    """Requested page id, if no captured page has it; otherwise 0."""
    invalid: str = ""
    """Reason why the title is invalid; empty if it is valid."""
    index: int = 0
    """Rank in the output of a generator, from 1; 0 without a generator."""

    @property
    def article(self) -> Article | None:
        """Article of the page; None if it is missing or an unfollowed redirect."""
        return self.found.article if self.found and not self.moved else None


@dataclass(frozen=True, slots=True)
class Filled:
    """Fields that a property adds to each page, in the order of the entries."""

    fields: list[Tree]
    on: Tree = field(default_factory=dict)
    """Parameters that continue with the remaining values; empty if there are none."""


Property: TypeAlias = Callable[[Ask, Sequence[Entry]], Filled]
"""Computes a property of the given pages."""


def portioned(ask: Ask, name: str, letters: str, items: Sequence[Sequence[Tree]]) -> Filled:
    """Paginate the items of all pages as if they were one list.

    `<prefix>limit` items are returned from offset `<prefix>continue` on; `name` is the key they get in each page.
    """
    start, limit = ask.number(f"{letters}continue", 0, most=MAX_ITEMS), ask.number(f"{letters}limit", 10, 1)
    fields: list[Tree] = []
    at = 0  # number of items on the pages before this one
    for of_page in items:
        shown = list(of_page[max(0, start - at) : max(0, start + limit - at)])
        fields.append({name: shown} if shown else {})
        at += len(of_page)
    return Filled(fields, {f"{letters}continue": str(start + limit)} if at > start + limit else {})
