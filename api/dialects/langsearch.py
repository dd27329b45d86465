"""LangSearch (`api.langsearch.com`): web search in the shape of Bing's, with summaries or whole texts on demand."""

from __future__ import annotations

from urllib.parse import quote

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_digest,
)
from webemu.api.dialects.display import display_title
from webemu.api.dialects.freshness import parse_freshness
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_RESULTS = 50
"""Most results of a search."""
DEFAULT_TEXT_CHARS = 5000
"""Length of a result's text if the request does not limit it, in characters."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v1/web-search`."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("query must not be empty", reason="bad-query")
    hits, _ = search(world, query, _read_search_params(world, request, params), request.session.at_time)
    rows = [_render_page(world, params, hit, index) for index, hit in enumerate(hits)]
    pages: JsonObject = {"webSearchUrl": f"https://langsearch.com/search?q={quote(query)}", "value": rows}
    pages |= {"totalEstimatedMatches": None, "someResultsRemoved": None}
    results = {"_type": "SearchResponse", "queryContext": {"originalQuery": query}, "webPages": pages}
    return build_response({"code": 200, "log_id": request_digest(request)[:16], "msg": None, "data": results})


def _read_search_params(world: World, request: Request, params: JsonObject) -> SearchParams:
    """Return filters from the parameters. Raises BadRequest if too many results are asked for."""
    if (count := get_number(params, "count", 10, 1, 1000)) > MAX_RESULTS:
        raise BadRequest(f"count must not exceed {MAX_RESULTS}", reason="bad-count")
    after, before = parse_freshness(world, request, get_text(params, "freshness", "noLimit"))
    sites, excluded_sites = get_texts(params, "includeDomains"), get_texts(params, "excludeDomains")
    return SearchParams(0, count, after, before, tuple(sites), tuple(excluded_sites))


def _render_page(world: World, params: JsonObject, hit: Hit, index: int) -> JsonObject:
    row: JsonObject = {"id": f"https://api.langsearch.com/v1/#WebPages.{index}", "name": display_title(hit)}
    row |= {"url": hit.url, "displayUrl": hit.url}
    limit = _read_text_limit(params)
    row |= {"text": world.text_of(hit)[1][:limit]} if limit else {"snippet": hit.snippet}
    row |= {"summary": world.passage_of(hit)} if get_flag(params, "summary") else {}
    return row | {"datePublished": f"{hit.date}T00:00:00Z", "dateLastCrawled": None}


def _read_text_limit(params: JsonObject) -> int:
    """Return the length of the text that `contents` asks for, in characters; 0 if results have snippets instead."""
    contents = params.get("contents")
    text = contents.get("text") if isinstance(contents, dict) else None
    if isinstance(text, dict):
        return get_number(text, "max_characters", DEFAULT_TEXT_CHARS, 1, 1_000_000)
    return DEFAULT_TEXT_CHARS if text is True else 0


_ERRORS = {
    "bad-key": (401, "Invalid API KEY"),
    "rate-limited": (429, "You have reached the request limit"),
    "out-of-budget": (429, "You have reached the daily request limit"),
}
"""Status and message by reason of the error."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"code": "400", "log_id", "message"}`."""
    status, message = _ERRORS.get(error.reason, (error.status, error.message))
    return build_response({"code": str(status), "log_id": request_digest(request)[:16], "message": message}, status)


DIALECT = Dialect(
    "langsearch",
    "LangSearch",
    ("api.langsearch.com",),
    (Route(("POST",), "/v1/web-search", answer_search),),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/langsearch/v1/web-search` where a client has an address",
)
