"""The front page, and the result page of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zlib import crc32

from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.api.pages import addresses
from webemu.api.pages.search_form import FILE_TYPES, LANGUAGES, SearchForm, list_days, list_engines, read_form
from webemu.api.pages.template import first_param, render_page
from webemu.emulator import urls
from webemu.emulator.highlight import split_at_spans
from webemu.emulator.query import Group, ParsedQuery, list_conditions, parse_query
from webemu.emulator.spelling import apply_corrections, keep_as_typed
from webemu.emulator.types import Hit, Query
from webemu.emulator.world import MAX_RANK, World

PAGE_SIZE = 10
"""Results on a page."""
PAGES_PER_BLOCK = 5
"""Pages that one search fetches, so that the links to the next pages are known."""
MAX_PAGE = MAX_RANK // PAGE_SIZE
"""Number of the last page."""
TINT_COUNT = 8
"""Number of colours for hosts."""
MAX_SUGGESTED = 6
"""Most titles to suggest for a search without results."""
MAX_RELATED = 8
"""Most related searches."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """One result, as the template reads it."""

    url: str
    title: str
    href: str
    """Address of the page: the URL itself for a client of the proxy, else the view of it."""
    breadcrumbs: Sequence[str]
    """Host and parts of the path."""
    host: str
    tint: int
    """Number of the colour of its host."""
    date: str
    snippet: Sequence[tuple[str, bool]]
    """The snippet in pieces, each with True if it is a word of the query."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter in the query, with the address of the search without it."""

    name: str
    """Label of the filter."""
    value: str
    href: str
    """Address of the search without the filter."""


def answer_home(world: World, request: Request) -> Response:
    """Answer `/`: the search box, and the size of the crawl, which a session that sees a part of it is not told.

    The trainer's side is linked only where no policy holds: an agent has no business there.
    """
    policy = request.session.policy
    figures = {} if policy is not None and policy.restricts_content else world.figures()
    dated_archives = [archive for archive in world.archives() if archive.last_time]
    times = (
        min((archive_info.first_time for archive_info in dated_archives), default=0),
        max((archive_info.last_time for archive_info in dated_archives), default=0),
    )
    return render_page(
        world,
        "home.html",
        figures=figures,
        times=[addresses.format_timestamp(time) for time in times if time],
        has_trainer_side=policy is None,
        origin=request.origin,
    )


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search?q=&page=`, with filters, an engine and a day; without a query, the front page.

    Raises: BadRequest if the engine is unknown or the day is no time.
    """
    form = read_form(request)
    text = form.text
    if not text:
        return answer_home(world, request)
    page = _parse_page_number(first_param(request, "page"))
    block, latest = (page - 1) // PAGES_PER_BLOCK, form.latest_moment(request)
    # One search covers a block of pages, so that the links to the following pages are right.
    results = world.search(Query(text, block + 1, PAGE_SIZE * PAGES_PER_BLOCK, latest, form.engine))
    offset = (page - 1) % PAGES_PER_BLOCK * PAGE_SIZE
    # A session of a past day is told corrections of that day only, which the world has checked.
    corrected_text = apply_corrections(text, results.corrections)
    words = parse_query(corrected_text).words
    last_page = min(MAX_PAGE, block * PAGES_PER_BLOCK + -(-len(results.hits) // PAGE_SIZE) + results.more)
    return render_page(
        world,
        "results.html",
        query=text,
        form=form,
        choices=_list_choices(world, request),
        page=page,
        total=block * PAGES_PER_BLOCK * PAGE_SIZE + len(results.hits),
        has_more=results.more,
        results=[
            _build_view(world, request, hit, words, form.day) for hit in results.hits[offset : offset + PAGE_SIZE]
        ],
        pages=list(_linked_page_numbers(page, last_page)),
        last=last_page,
        relaxed=results.relaxed,
        corrected_text=corrected_text if results.corrections else "",
        typed_text=keep_as_typed(text, results.corrections),
        suggestion=world.correct(corrected_text) if page == 1 and latest is None else None,
        conditions=_list_conditions(form),
        related=world.related_queries(corrected_text, results.hits, MAX_RELATED),
        similar_titles=_suggest_titles(world, latest, words) if not results.hits else [],
    )


def _list_choices(world: World, request: Request) -> dict[str, Sequence[str] | dict[str, str]]:
    """Return what the filters of the page offer, by the name of the field."""
    return {
        "languages": LANGUAGES,
        "types": FILE_TYPES,
        "engines": list_engines(world),
        "days": list_days(world.archives(), request.session.at_time),
    }


def _list_conditions(form: SearchForm) -> list[Condition]:
    """Return the filters of a search, each with the address of the search without it."""
    conditions = [
        _describe_condition(form, parsed, remaining_query) for parsed, remaining_query in list_conditions(form.text)
    ]
    labels = {"engine": "engine", "at": "as of"}
    parameters = form.kept_parameters.items()
    return conditions + [Condition(labels[name], value, form.url_without(name)) for name, value in parameters]


def _parse_page_number(text: str) -> int:
    """Return the number of a page, clamped to those that exist; 1 if the text is no number."""
    return min(MAX_PAGE, max(1, int(text))) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _linked_page_numbers(page: int, last: int) -> Iterator[int]:
    """Yield the numbers of pages around the current one that become links."""
    return (
        number
        for number in range(max(1, page - PAGES_PER_BLOCK), page + PAGES_PER_BLOCK + 1)
        if number <= max(last, page)
    )


def _build_view(world: World, request: Request, hit: Hit, words: str, day: str) -> ResultView:
    url, host = hit.url, urls.host_of(hit.url)
    return ResultView(
        url=url,
        title=hit.title,
        href=addresses.direct_url(request, url) or addresses.view_url(url, timestamp=day),
        breadcrumbs=addresses.split_breadcrumbs(url),
        host=host,
        tint=crc32(urls.split_domain(host)[0].encode()) % TINT_COUNT,
        date=hit.date,
        snippet=split_at_spans(hit.snippet, world.occurrences(hit.snippet, words)),
    )


_FILTER_LABELS = {
    "phrases": "exactly",
    "excluded_terms": "without",
    "sites": "site",
    "excluded_sites": "without site",
    "titles": "in the title",
    "texts": "in the text",
    "urls": "in the URL",
    "types": "file type",
    "before": "before",
    "after": "since",
    "required": "with",
    "languages": "language",
    "numbers": "a number from",
    "any_of": "any of",
    "excluded_groups": "without",
}
"""Labels of filters by the attribute of the parsed query that holds them."""


def _describe_condition(form: SearchForm, parsed: ParsedQuery, remaining_query: str) -> Condition:
    """Return a filter for display; `parsed` holds it alone, `remaining_query` is the query without it."""
    name, value = next((name, value) for name in _FILTER_LABELS if (value := getattr(parsed, name)))
    return Condition(
        _FILTER_LABELS[name],
        _format_filter_value(value),
        form.url(remaining_query) if remaining_query else "/",
    )


def _format_filter_value(value: date | tuple[str | Group | tuple[int, int], ...]) -> str:
    """Return the first value of a filter as text."""
    if isinstance(value, date):
        return str(value)
    first_value = value[0]
    if isinstance(first_value, Group):
        return first_value.text
    return first_value if isinstance(first_value, str) else f"{first_value[0]} to {first_value[1]}"


def _suggest_titles(world: World, latest: datetime | None, words: str) -> list[str]:
    """Return titles that begin like words of the query.

    Titles have no date, so that a search of the web of a past day gets none.
    """
    if latest is not None:
        return []
    titles = (title for word in words.split()[:3] for title in world.suggest(word[:6], MAX_SUGGESTED))
    return list(dict.fromkeys(titles))[:MAX_SUGGESTED]
