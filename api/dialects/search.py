"""A search as services ask for it: words, an offset and a count, conditions; as results with plain fields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from webemu.emulator.query import narrowed
from webemu.emulator.types import Hit, Query
from webemu.emulator.world import World


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of the ranking is wanted, beyond the words of the query."""

    offset: int = 0
    count: int = 10
    after: date | None = None
    """Pages dated on this day or later."""
    before: date | None = None
    """Pages dated on this day or earlier."""
    sites: tuple[str, ...] = ()
    """Any of them; none for all."""
    without_sites: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Phrases that must occur."""
    without_words: tuple[str, ...] = ()
    published: bool = False
    """Only pages that say on which day they were published: what a search for news may show."""


def search(world: World, text: str, wanted: Wanted, at: datetime | None = None) -> tuple[tuple[Hit, ...], bool]:
    """Results from `wanted.offset` on, and whether more follow. Every dialect's ranking is that of the world."""
    words, (before, rest) = said(text, wanted), divmod(wanted.offset, wanted.count or 1)
    if not rest and wanted.count:  # a whole page, of which a session's ledger then tells
        results = world.search(Query(words, before + 1, wanted.count, at, published=wanted.published))
        return results.hits, results.more
    results = world.search(Query(words, 1, wanted.offset + wanted.count, at, published=wanted.published))
    return results.hits[wanted.offset :], results.more


RELATED = 8
"""Most of the queries that are said to be related, where a service says that."""


def known(wanted: Wanted, shown: int, more: bool) -> int:
    """How many results are known of, where a service says so: those up to here, and one more if more follow."""
    return wanted.offset + shown + more if shown else 0


def said(text: str, wanted: Wanted) -> str:
    """The query with its conditions as operators of the world's own language (`webemu.emulator.query`)."""
    parts = _each("site:", wanted.sites) + _each("-site:", wanted.without_sites) + _each("filetype:", wanted.types)
    parts += [f'"{_bare(word)}"' for word in wanted.words] + [f'-"{_bare(word)}"' for word in wanted.without_words]
    if wanted.after:
        parts.append(f"after:{wanted.after.isoformat()}")
    if wanted.before:
        last = min(wanted.before, date.max - timedelta(days=1))
        parts.append(f"before:{(last + timedelta(days=1)).isoformat()}")
    return narrowed(text, parts)


def _each(operator: str, values: Iterable[str]) -> list[str]:
    return [f'{operator}"{_bare(value)}"' for value in values]


def _bare(text: str) -> str:
    return text.replace('"', " ")


def share(score: float) -> float:
    """A score between 0 and 1, in the same order, where a service promises that."""
    return round(score / (1 + score), 6) if score > 0 else 0.0


def since(world: World, days: float, at: datetime | None) -> date:
    """The day so many days before the session's, or before the last of the crawl: no answer hangs on a clock."""
    last = max((archive.last for archive in world.archives()), default=0)
    return ((at or datetime.fromtimestamp(last, UTC)) - timedelta(days=days)).date()


AGES = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
"""Days of the spans that services have names for."""
