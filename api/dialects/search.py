"""Searches in the form that services ask for: words, offset, count and filters.

Dialects translate their parameters to `SearchParams` and call `search`. The filters become operators of the world's
own query language, so that every service ranks alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from webemu.emulator.query import narrowed
from webemu.emulator.types import Hit, Query
from webemu.emulator.world import World


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filters and paging of one search; the words of the query are separate."""

    offset: int = 0
    """Results to skip."""
    count: int = 10
    """Results to return at most."""
    after: date | None = None
    """Pages dated on this day or later."""
    before: date | None = None
    """Pages dated on this day or earlier."""
    sites: tuple[str, ...] = ()
    """Sites of which any must match; empty for all sites."""
    without_sites: tuple[str, ...] = ()
    """Sites to leave out."""
    types: tuple[str, ...] = ()
    """File types of which any must match, such as `pdf`; empty for all."""
    words: tuple[str, ...] = ()
    """Phrases that must all occur."""
    without_words: tuple[str, ...] = ()
    """Phrases that must not occur."""
    published: bool = False
    """True for only those pages that declare a publication date, as a news search needs."""


def search(world: World, text: str, wanted: Wanted, at: datetime | None = None) -> tuple[tuple[Hit, ...], bool]:
    """Return the results from `search_params.offset` on, and True if more follow.

    With `at_time` only pages captured until that moment count.

        hits, more = search(world, "harbour fees", SearchParams(count=5, sites=("port1.example",)))
    """
    words, (before, rest) = said(text, wanted), divmod(wanted.offset, wanted.count or 1)
    if not rest and wanted.count:  # one page of the world's: the session's ledger records its number and ranks
        results = world.search(Query(words, before + 1, wanted.count, at, published=wanted.published))
        return results.hits, results.more
    results = world.search(Query(words, 1, wanted.offset + wanted.count, at, published=wanted.published))
    return results.hits[wanted.offset :], results.more


RELATED = 8
"""Most related queries in a response, for services that return them."""


def known(wanted: Wanted, shown: int, more: bool) -> int:
    """Return the total that services report: results up to this page, plus one if more follow; 0 for an empty page.

    Results are not counted beyond that.
    """
    return wanted.offset + shown + more if shown else 0


def said(text: str, wanted: Wanted) -> str:
    """Return the query with its filters as operators of the world's query language (`webemu.emulator.query`).

    `before:` excludes its day, so that the last day wanted is moved by one.
    """
    parts = _each("site:", wanted.sites) + _each("-site:", wanted.without_sites) + _each("filetype:", wanted.types)
    parts += [f'"{_bare(word)}"' for word in wanted.words] + [f'-"{_bare(word)}"' for word in wanted.without_words]
    if wanted.after:
        parts.append(f"after:{wanted.after.isoformat()}")
    if wanted.before:
        # The greatest date has no following day.
        last = min(wanted.before, date.max - timedelta(days=1))
        parts.append(f"before:{(last + timedelta(days=1)).isoformat()}")
    return narrowed(text, parts)


def _each(operator: str, values: Iterable[str]) -> list[str]:
    """Return an operator with each value, in quotes."""
    return [f'{operator}"{_bare(value)}"' for value in values]


def _bare(text: str) -> str:
    """Replace double quotes, which would end the operator's value."""
    return text.replace('"', " ")


def share(score: float) -> float:
    """Map a score to 0..1, keeping the order, for services that promise that range."""
    return round(score / (1 + score), 6) if score > 0 else 0.0


def since(world: World, days: float, at: datetime | None) -> date:
    """Return the date `days` before the session's, or before the last capture: no response depends on the clock."""
    last = max((archive.last for archive in world.archives()), default=0)
    return ((at or datetime.fromtimestamp(last, UTC)) - timedelta(days=days)).date()


AGES = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
"""Days of the time spans that services name alike."""
