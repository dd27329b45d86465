"""Jina's search (`s.jina.ai`): results with their pages as markdown, or without (`X-Respond-With: no-content`)."""

from __future__ import annotations

from urllib.parse import unquote

import orjson

from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
)
from webemu.api.dialects.display import display_title, format_day
from webemu.api.dialects.jina import (
    INDEX_TEXT,
    TEXT_TYPE,
    accepted_form,
    load_source,
    read_options,
    render_error,
    wrap_json,
)
from webemu.api.dialects.jina_page import ReaderOptions, build_page_data, count_tokens
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator.errors import EmulatorError, ViewUnavailable
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_RESULTS = 20
"""Most results of one request."""
_OPERATOR_PARAMS = ("ext", "filetype", "intitle")
"""Parameters that become operators of the query."""
_TOKENS_WITHOUT_CONTENT = 10_000
"""Tokens that a response without content counts as."""
UNDATED = "1970-01-01"
"""Date of pages from a text dump without dates; it is not shown."""


def answer_search(world: World, request: Request) -> Response:
    """Answer a search; the query is the path, or `q` in the query string or the body."""
    params = read_params(request)
    query = get_text(params, "q") or ("" if request.path == "/search" else unquote(request.path[1:]))
    if not query.strip():
        return build_response(INDEX_TEXT, content_type=TEXT_TYPE)
    query = " ".join([query, *(f"{name}:{value}" for name in _OPERATOR_PARAMS for value in get_texts(params, name))])
    count = get_number(params, "num", get_number(params, "count", 10, 0, MAX_RESULTS), 0, MAX_RESULTS)
    offset = (get_number(params, "page", 1, 1, 100) - 1) * count
    sites = (*get_texts(params, "site"), *filter(None, get_header(request, b"x-site").split(", ")))
    hits = (
        ()
        if get_text(params, "type") == "images"
        else _search_hits(world, request, query, SearchParams(offset, count, sites=sites))
    )
    if not hits:
        raise ViewUnavailable(f"No search results available for query {query}")
    options = read_options(request, params)
    return _build_results_response(
        request, [_render_result(world, request, hit, options) for hit in hits], options.format == "no-content"
    )


def _search_hits(world: World, request: Request, query: str, search_params: SearchParams) -> tuple[Hit, ...]:
    return search(world, query, search_params, request.session.at_time)[0]


def _render_result(world: World, request: Request, hit: Hit, options: ReaderOptions) -> dict[str, object]:
    """Return one result, with its page unless `no-content` is asked for or the crawl cannot show it."""
    date_member = {} if hit.date == UNDATED else {"date": format_day(hit)}
    row: dict[str, object] = {"title": display_title(hit), "url": hit.url, "description": hit.snippet}
    row |= {**date_member, "content": ""}
    if options.format == "no-content":
        return row
    try:
        page_data = build_page_data(world, load_source(world, request, hit.url), options)
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        return {**row, "usage": {"tokens": 0}}
    return row | {
        name: page_data[name] for name in ("content", "html", "text", "images", "links", "usage") if name in page_data
    }


def _build_results_response(request: Request, rows: list[dict[str, object]], has_no_content: bool) -> Response:
    """Return the results as a response in the form that the client accepts."""
    token_count = _TOKENS_WITHOUT_CONTENT if has_no_content else sum(map(count_tokens, rows))
    usage_headers: Headers = [(b"X-Usage-Tokens", str(token_count).encode())]
    match accepted_form(request):
        case "stream":
            return build_response(
                b"event: data\ndata: " + orjson.dumps(rows) + b"\n\n", content_type=b"text/event-stream"
            )
        case "json":
            return build_response(wrap_json(rows, token_count), headers=usage_headers)
        case _:
            lines = "\n\n".join(_format_result_text(rank, one) for rank, one in enumerate(rows, 1)).rstrip() + "\n"
            return build_response(lines.encode(), headers=usage_headers, content_type=TEXT_TYPE)


def _format_result_text(rank: int, row: dict[str, object]) -> str:
    """Return one result as text."""
    labels = (("Title", "title"), ("URL Source", "url"), ("Description", "description"), ("Date", "date"))
    lines = [f"[{rank}] {name}: {row[key]}" for name, key in labels if key in row]
    content = row.get("content") or row.get("text") or row.get("html") or ""
    return "\n".join(lines) + (f"\n\n{content}" if content else "") + "\n"


DIALECT = Dialect(
    "jina-search",
    "Jina Search",
    ("s.jina.ai",),
    (Route(("GET", "POST"), "(?s:/.*)", answer_search),),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/jina-search/` for `https://s.jina.ai/`",
)
