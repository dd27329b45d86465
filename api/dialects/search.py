"""Searches in the form that services ask for: words, offset, count and filters.

Dialects translate their parameters to `SearchParams` and call `search`. The filters become operators of the world's
own query language, so that every service ranks alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from webemu.emulator.query import add_conditions
from webemu.emulator.spelling import apply_corrections
from webemu.emulator.types import Correction, Hit, Query
from webemu.emulator.world import World


@dataclass(frozen=True, slots=True)
class SearchParams:
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
    excluded_sites: tuple[str, ...] = ()
    """Sites to leave out."""
    file_types: tuple[str, ...] = ()
    """File types of which any must match, such as `pdf`; empty for all."""
    required_phrases: tuple[str, ...] = ()
    """Phrases that must all occur."""
    excluded_phrases: tuple[str, ...] = ()
    """Phrases that must not occur."""
    published: bool = False
    """True for only those pages that declare a publication date, as a news search needs."""
    keeps_spelling: bool = False
    """True to ask for misspelled words as typed."""


class SearchAnswer(NamedTuple):
    """Results of one search, and what of the query was changed for them."""

    hits: tuple[Hit, ...]
    has_more: bool
    """True if results follow these."""
    corrections: tuple[Correction, ...]
    corrected_text: str
    """The text with its corrections made; empty if there are none."""
    unquoted_text: str
    """The text without the quotes of phrases that were given up; empty if every phrase binds."""


NO_ANSWER = SearchAnswer((), has_more=False, corrections=(), corrected_text="", unquoted_text="")
"""Answer to a search for a kind of results that a crawl has none of."""


def search(
    world: World, text: str, search_params: SearchParams, at_time: datetime | None = None
) -> tuple[tuple[Hit, ...], bool]:
    """Return the results from `search_params.offset` on, and True if more follow.

    With `at_time` only pages captured until that moment count.

        hits, more = search(world, "harbour fees", SearchParams(count=5, sites=("port1.example",)))
    """
    answer = search_corrected(world, text, search_params, at_time)
    return answer.hits, answer.has_more


def search_corrected(
    world: World, text: str, search_params: SearchParams, at_time: datetime | None = None
) -> SearchAnswer:
    """Return what `search` returns, with the text as it was corrected and relaxed: for services that say so."""
    pages_before, remainder = divmod(search_params.offset, search_params.count or 1)
    # One page of the world's if possible: the session's ledger records its number and ranks.
    is_page = not remainder and search_params.count > 0
    page, size = (pages_before + 1, search_params.count) if is_page else (1, search_params.offset + search_params.count)
    query = Query(
        build_query(text, search_params),
        page,
        size,
        at_time,
        published=search_params.published,
        keeps_spelling=search_params.keeps_spelling,
    )
    results = world.search(query)
    hits = results.hits if is_page else results.hits[search_params.offset :]
    corrected_text = apply_corrections(text, results.corrections) if hits and results.corrections else ""
    unquoted_text = remove_quotes(corrected_text or text, results.relaxed) if hits else ""
    return SearchAnswer(hits, results.more, results.corrections, corrected_text, unquoted_text)


def remove_quotes(text: str, relaxed: Iterable[str]) -> str:
    """Return a query without the quotes of its phrases among the conditions that were given up; empty without any.

    remove_quotes('Denver "the great final" +2016', ['"the great final"', "+2016"])    # "Denver the great final +2016"
    """
    unquoted = text
    for condition in relaxed:
        if condition.startswith('"'):
            unquoted = unquoted.replace(condition, condition.strip('"'))
    return unquoted if unquoted != text else ""


MAX_RELATED = 8
"""Most related queries in a response, for services that return them."""


def estimate_total(search_params: SearchParams, hit_count: int, has_more: bool) -> int:
    """Return the total that services report: results up to this page, plus one if more follow; 0 for an empty page.

    Results are not counted beyond that.
    """
    return search_params.offset + hit_count + has_more if hit_count else 0


def build_query(text: str, search_params: SearchParams) -> str:
    """Return the query with its filters as operators of the world's query language (`webemu.emulator.query`).

    `before:` excludes its day, so that the last day wanted is moved by one.
    """
    operators = (
        _quote_each("site:", search_params.sites)
        + _quote_each("-site:", search_params.excluded_sites)
        + _quote_each("filetype:", search_params.file_types)
    )
    operators += [f'intext:"{_replace_quotes(phrase)}"' for phrase in search_params.required_phrases] + [
        f'-"{_replace_quotes(phrase)}"' for phrase in search_params.excluded_phrases
    ]
    if search_params.after:
        operators.append(f"after:{search_params.after.isoformat()}")
    if search_params.before:
        # The greatest date has no following day.
        last_day = min(search_params.before, date.max - timedelta(days=1))
        operators.append(f"before:{(last_day + timedelta(days=1)).isoformat()}")
    return add_conditions(text, operators)


def _quote_each(operator: str, values: Iterable[str]) -> list[str]:
    """Return an operator with each value, in quotes."""
    return [f'{operator}"{_replace_quotes(value)}"' for value in values]


def _replace_quotes(text: str) -> str:
    """Replace double quotes, which would end the operator's value."""
    return text.replace('"', " ")


def normalize_score(score: float) -> float:
    """Map a score to 0..1, keeping the order, for services that promise that range."""
    return round(score / (1 + score), 6) if score > 0 else 0.0


def date_days_ago(world: World, days: float, at_time: datetime | None) -> date:
    """Return the date `days` before the session's, or before the last capture: no response depends on the clock."""
    last_capture_time = max((archive.last_time for archive in world.archives()), default=-1)
    return ((at_time or datetime.fromtimestamp(last_capture_time, UTC)) - timedelta(days=days)).date()


AGE_DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
"""Days of the time spans that services name alike."""
