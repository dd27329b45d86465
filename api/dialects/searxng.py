"""SearXNG, which people run themselves: JSON, CSV and RSS in its formats, HTML as this server's own pages."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from webemu.api.dialects.dialect import Dialect, Route, build_response, get_header, get_text, get_texts, read_params
from webemu.api.dialects.display import display_title
from webemu.api.dialects.search import MAX_RELATED, NO_ANSWER, SearchParams, date_days_ago, search_corrected
from webemu.api.dialects.template import RSS_TYPE, render_template
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

PAGE_SIZE = 10
"""Results on a page."""
DEFAULT_ENGINE = "duckduckgo"
"""Engine that results claim to come from, unless the request names one."""
_AGE_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
"""Days of the values of `time_range`."""
_PAGE_CATEGORIES = {"general", "news"}
"""Categories of which a crawl of pages has results."""
_OTHER_CATEGORIES = {"images", "videos", "music", "files", "maps", "map"}
"""Categories of which it has none."""
_COLUMNS = ("title", "url", "content", "host", "engine", "score", "type")
"""Columns of the CSV format."""
_TEXT_TYPE, _CSV_TYPE, _SUGGESTIONS_TYPE = (
    b"text/plain; charset=utf-8",
    b"application/csv",
    b"application/x-suggestions+json",
)


@dataclass(frozen=True, slots=True)
class _SearchRequest:
    """Parameters of a search, checked."""

    query: str
    page: int
    """Number of the page, from 1."""
    time_range: str
    """Age of results: a key of `_AGE_DAYS`, or empty."""
    categories: list[str]
    engine: str
    """Engine that results claim to come from."""


class _OtherQueries(NamedTuple):
    """Queries that a response names besides the one that was sent."""

    correction: str
    """The query as it was corrected; empty if it was not."""
    related: list[str]


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search` and `/` in the format asked for, HTML by default."""
    params = read_params(request)
    write = _WRITERS.get(get_text(params, "format"), _write_html)
    if write is _write_html and not get_text(params, "q").strip():
        return render_template("searxng.html", search=None, results=[], correction="")
    search_request = _parse_search(params)
    after = (
        date_days_ago(world, _AGE_DAYS[search_request.time_range], request.session.at_time)
        if search_request.time_range
        else None
    )
    kinds = {*_read_kinds(params)}
    search_params = SearchParams((search_request.page - 1) * PAGE_SIZE, PAGE_SIZE, after, published=kinds == {"news"})
    at_time = request.session.at_time
    has_results = bool(kinds & _PAGE_CATEGORIES)
    answer = search_corrected(world, search_request.query, search_params, at_time) if has_results else NO_ANSWER
    rows = [_render_result(hit, rank, search_request) for rank, hit in enumerate(answer.hits, search_params.offset + 1)]
    related = world.related_queries(search_request.query, answer.hits, MAX_RELATED) if write is _write_json else []
    return write(request, search_request, rows, _OtherQueries(answer.corrected_text, related))


def _parse_search(params: dict[str, object]) -> _SearchRequest:
    """Return the parameters, checked. Raises BadRequest in the service's words if one is wrong."""
    if not (query := get_text(params, "q")).strip():
        raise BadRequest("No query", reason="missing-q")
    number = get_text(params, "pageno", "1")
    # Only the first digits are converted, so that a very long number costs nothing.
    if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) < 10_000):
        raise _invalid_parameter(number, "pageno")
    if (span := get_text(params, "time_range")) and span not in _AGE_DAYS:
        raise _invalid_parameter(span, "time_range")
    if (level := get_text(params, "safesearch", "0")) not in ("0", "1", "2"):
        raise _invalid_parameter(level, "safesearch")
    engines = get_texts(params, "engines")
    return _SearchRequest(query, int(number), span, _read_categories(params), engines[0] if engines else DEFAULT_ENGINE)


def _read_categories(params: dict[str, object]) -> list[str]:
    """Return the categories asked for: from the list, and from the check boxes of a form."""
    boxes = [name.removeprefix("category_") for name in params if name.startswith("category_")]
    ticked = [name for name in boxes if get_text(params, f"category_{name}", "on").lower() != "off"]
    return [name.lower() for name in (*get_texts(params, "categories"), *ticked)]


def _read_kinds(params: dict[str, object]) -> list[str]:
    """Return the kinds of results asked for: categories, and those that names of engines (`bing images`) imply."""
    last_words = [engine.lower().rpartition(" ")[2] for engine in get_texts(params, "engines")]
    engine_kinds = [word if word in _OTHER_CATEGORIES or word == "news" else "general" for word in last_words]
    return [*_read_categories(params), *engine_kinds] or ["general"]


def _invalid_parameter(value: str, name: str) -> BadRequest:
    """Return the service's error for a wrong parameter."""
    return BadRequest(f'Invalid value "{value[:100]}" for parameter {name}', reason=f"bad-{name}")


def _render_result(hit: Hit, position: int, search_request: _SearchRequest) -> dict[str, object]:
    parts = urls.split_url(hit.url)
    url_parts = [parts.scheme, parts.netloc, parts.path, "", parts.query, parts.fragment]
    row: dict[str, object] = {"url": hit.url, "title": display_title(hit), "content": hit.snippet, "thumbnail": ""}
    row |= {"engine": search_request.engine, "template": "default.html", "parsed_url": url_parts}
    row |= dict.fromkeys(("img_src", "iframe_src", "audio_src"), "")
    row |= {"publishedDate": f"{hit.date}T00:00:00", "pubdate": f"{hit.date} 00:00:00", "length": None}
    row |= dict.fromkeys(("views", "author", "metadata", "priority"), "")
    row |= {"engines": [search_request.engine], "positions": [position], "score": 1 / position}
    return {**row, "category": search_request.categories[0] if search_request.categories else "general"}


def _write_json(
    request: Request, search_request: _SearchRequest, rows: list[dict[str, object]], other_queries: _OtherQueries
) -> Response:
    """Return the results and suggestions as JSON. The number of results is 0, as most engines report it."""
    payload = {
        "query": search_request.query,
        "number_of_results": 0,
        "results": rows,
        "answers": [],
        "corrections": [other_queries.correction] if other_queries.correction else [],
        "infoboxes": [],
        "suggestions": other_queries.related,
    }
    return build_response({**payload, "unresponsive_engines": []})


def _write_csv(
    request: Request, search_request: _SearchRequest, results: list[dict[str, object]], other_queries: _OtherQueries
) -> Response:
    """Return the results as CSV; suggestions have no column."""
    rows = ({**result, "host": urls.split_url(get_text(result, "url")).netloc, "type": "result"} for result in results)
    return _write_table([[row[name] for name in _COLUMNS] for row in rows])


def _write_table(rows: list[list[object]]) -> Response:
    file = io.StringIO()
    csv.writer(file).writerows([_COLUMNS, *rows])
    disposition = (b"Content-Disposition", b"attachment;Filename=searx.csv")
    return build_response(file.getvalue().encode("utf-8", "replace"), headers=[disposition], content_type=_CSV_TYPE)


def _write_rss(
    request: Request, search_request: _SearchRequest, rows: list[dict[str, object]], other_queries: _OtherQueries
) -> Response:
    return render_template(
        "searxng.rss", RSS_TYPE, origin=request.origin, query=search_request.query, results=rows, problem=""
    )


def _write_html(
    request: Request, search_request: _SearchRequest, rows: list[dict[str, object]], other_queries: _OtherQueries
) -> Response:
    """Return the results as a page of SearXNG's simple theme."""
    return render_template("searxng.html", search=search_request, results=rows, correction=other_queries.correction)


_WRITERS: dict[str, Callable[[Request, _SearchRequest, list[dict[str, object]], _OtherQueries], Response]] = {
    "json": _write_json,
    "csv": _write_csv,
    "rss": _write_rss,
}
"""Functions that write a response, by format; the remaining format is HTML."""


def answer_autocompleter(world: World, request: Request) -> Response:
    """Answer `/autocompleter` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    typed = get_text(read_params(request), "q")[:200]
    titles = world.suggest(typed, 10) if typed and request.session.at_time is None else []
    if get_header(request, b"x-requested-with") == "XMLHttpRequest":
        return build_response(titles)
    ranks = [600 - index for index in range(len(titles))]
    return build_response(
        orjson.dumps([typed, titles, [], [], {"google:suggestrelevance": ranks}]), content_type=_SUGGESTIONS_TYPE
    )


def answer_config(world: World, request: Request) -> Response:
    """Answer `/config` with the abilities of this instance."""
    engine = {"name": DEFAULT_ENGINE, "categories": ["general"], "shortcut": "ddg", "enabled": True, "paging": True}
    engine |= {"language_support": True, "languages": ["en"], "regions": [], "safesearch": True}
    engine |= {"time_range_support": True, "timeout": 3.0}
    payload: dict[str, object] = {
        "categories": ["general"],
        "engines": [engine],
        "plugins": [],
        "instance_name": "SearXNG",
    }
    payload |= {"locales": {"en": "English"}, "default_locale": "", "autocomplete": "", "safe_search": 0}
    payload |= {"default_theme": "simple", "version": "", "brand": {}, "doi_resolvers": [], "default_doi_resolver": ""}
    return build_response(payload)


def answer_healthz(world: World, request: Request) -> Response:
    """Answer `/healthz`: the server is up."""
    return build_response(b"OK", content_type=_TEXT_TYPE)


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error in the format asked for; as plain text if that has no place for errors."""
    message = "Too Many Requests" if error.status == 429 else error.message
    params = dict(request.parameters)
    if params.get("format") == "json":
        return build_response({"error": message}, error.status)
    if params.get("format") == "rss":
        query = params.get("q", "")
        return render_template(
            "searxng.rss", RSS_TYPE, error.status, origin=request.origin, query=query, results=[], problem=message
        )
    return build_response(message.encode(), error.status, content_type=_TEXT_TYPE)


def _is_meant_at_root(request: Request) -> bool:
    """True for searches in another format than HTML, posted forms, and paths that only SearXNG has.

    Other searches at the root are for this server's own pages.
    """
    if request.path in ("/", "/search"):
        params = dict(request.parameters)
        is_form = request.method == "POST" and b"x-api-key" not in request.headers
        return "q" in params and (is_form or params.get("format") in _WRITERS)
    return request.path in ("/autocompleter", "/healthz")


DIALECT = Dialect(
    "searxng",
    "SearXNG",
    (),
    (
        Route(("GET", "POST"), "/(search)?", answer_search, True),
        Route(("GET", "POST"), "/autocompleter", answer_autocompleter),
        Route(("GET",), "/config", answer_config),
        Route(("GET",), "/healthz", answer_healthz),
    ),
    None,
    render_error,
    "its URL is `http://127.0.0.1:8800/searxng`; the server's root does as well where a format is named",
    ("httpx",),
    _is_meant_at_root,
)
