"""A page as `action=query` speaks of it, and what its modules hand back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import Found
from webemu.api.wiki.params import Ask
from webemu.emulator.article import Article

MAX_ITEMS = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A page that was asked about."""

    title: str
    found: Found | None = None
    """None if it is not there."""
    moved: bool = False
    """It is a redirect that was not to be followed; `found` is where it leads."""
    pageid: int = 0
    """Where it was asked for by a number that no page has."""
    invalid: str = ""
    """What is wrong with the title."""
    index: int = 0
    """Its place in what a generator gave."""

    @property
    def article(self) -> Article | None:
        return self.found.article if self.found and not self.moved else None


@dataclass(frozen=True, slots=True)
class Filled:
    """What a property says of each page, in their order."""

    fields: list[Tree]
    on: Tree = field(default_factory=dict)
    """Parameters that lead to what is left to say."""


Property: TypeAlias = Callable[[Ask, Sequence[Entry]], Filled]


def portioned(ask: Ask, name: str, letters: str, items: Sequence[Sequence[Tree]]) -> Filled:
    """The items of all pages as one list, of which `<letters>limit` are shown, from `<letters>continue` on."""
    start, limit = ask.number(f"{letters}continue", 0, most=MAX_ITEMS), ask.number(f"{letters}limit", 10, 1)
    fields: list[Tree] = []
    at = 0
    for of_page in items:
        shown = list(of_page[max(0, start - at) : max(0, start + limit - at)])
        fields.append({name: shown} if shown else {})
        at += len(of_page)
    return Filled(fields, {f"{letters}continue": str(start + limit)} if at > start + limit else {})
