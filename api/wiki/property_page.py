"""Types shared by the modules of `action=query`: an entry for each requested page, and one page of a property's
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import WikiPage
from webemu.api.wiki.params import WikiCall
from webemu.emulator.article import Article

MAX_ITEMS = 100_000
"""Largest continuation offset that is accepted."""


@dataclass(frozen=True, slots=True)
class PageEntry:
    """Page requested in `action=query`."""

    title: str
    page: WikiPage | None = None
    """Captured page, or the target of an unfollowed redirect; None if it was not captured."""
    is_redirect: bool = False
    """True if the title is a redirect that was not to be followed; `page` is its target."""
    missing_id: int = 0
    """Requested page id, if no captured page has it; otherwise 0."""
    title_error: str = ""
    """Reason why the title is invalid; empty if it is valid."""
    index: int = 0
    """Rank in the output of a generator, from 1; 0 without a generator."""

    @property
    def article(self) -> Article | None:
        """Article of the page; None if it is missing or an unfollowed redirect."""
        return self.page.article if self.page and not self.is_redirect else None


@dataclass(frozen=True, slots=True)
class PropertyPage:
    """Fields that a property adds to each page, in the order of the entries."""

    fields_by_page: list[Tree]
    continuation: Tree = field(default_factory=dict)
    """Parameters that continue with the remaining values; empty if there are none."""


Property: TypeAlias = Callable[[WikiCall, Sequence[PageEntry]], PropertyPage]
"""Computes a property of the given pages."""


def paginate(call: WikiCall, name: str, param_prefix: str, items_by_page: Sequence[Sequence[Tree]]) -> PropertyPage:
    """Paginate the items of all pages as if they were one list.

    `<prefix>limit` items are returned from offset `<prefix>continue` on; `name` is the key they get in each page.
    """
    start, limit = (
        call.number(f"{param_prefix}continue", 0, maximum=MAX_ITEMS),
        call.number(f"{param_prefix}limit", 10, 1),
    )
    fields_by_page: list[Tree] = []
    offset = 0  # number of items on the pages before this one
    for page_items in items_by_page:
        selected = list(page_items[max(0, start - offset) : max(0, start + limit - offset)])
        fields_by_page.append({name: selected} if selected else {})
        offset += len(page_items)
    return PropertyPage(
        fields_by_page, {f"{param_prefix}continue": str(start + limit)} if offset > start + limit else {}
    )
