"""SearchApi (`www.searchapi.io`): results of engines as JSON, by GET or POST, with the key as Bearer or parameter.

Answer boxes and knowledge graphs are absent, because a crawl has none. A search without results has no
`organic_results`, as the service has it.
"""

from __future__ import annotations

from datetime import date
from urllib.parse import urlencode

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.display import display_title, format_breadcrumbs, format_day, split_highlights
from webemu.api.dialects.search import AGE_DAYS, MAX_RELATED, SearchParams, date_days_ago, estimate_total, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_WEB_ENGINES = {"google", "google_light", "bing", "baidu", "duckduckgo", "yahoo", "yandex"}
_NEWS_ENGINES = {"google_news", "google_news_light", "bing_news"}
_HIDDEN_PARAMS = {"api_key"}
"""Parameters that a response does not repeat."""
_SITE = "https://www.searchapi.io"


def answer_search(world: World, request: Request) -> Response:
    """Answer `/api/v1/search`."""
    params = read_params(request)
    engine, query = _read_engine_and_query(params)
    search_params = _read_search_params(world, request, params, engine in _NEWS_ENGINES)
    hits, has_more = search(world, query, search_params, request.session.at_time)
    rows = [_render_result(world, hit, rank, query) for rank, hit in enumerate(hits, search_params.offset + 1)]
    payload: JsonObject = {
        "search_metadata": _render_metadata(world, request, query),
        "search_parameters": _render_parameters(params, engine),
        "search_information": _render_information(query, estimate_total(search_params, len(hits), has_more)),
    }
    payload |= {"organic_results": rows} if rows else {}
    if engine in _WEB_ENGINES and (related := world.related_queries(query, hits, MAX_RELATED)):
        payload["related_searches"] = [{"query": entry, "link": _google_url(entry)} for entry in related]
    return build_response(payload | (_render_pagination(query, search_params, has_more) if rows else {}))


def _read_engine_and_query(params: JsonObject) -> tuple[str, str]:
    """Return engine and query. Raises BadRequest if one is missing or unsupported."""
    engine = get_text(params, "engine")
    if not engine:
        raise BadRequest("Missing required parameter: engine.", reason="bad-engine")
    if engine not in _WEB_ENGINES | _NEWS_ENGINES:
        raise BadRequest(f"Unsupported engine: {engine[:100]}.", reason="bad-engine")
    if not (query := get_text(params, "q")).strip():
        raise BadRequest("Missing required parameter: q.", reason="bad-q")
    return engine, query


def _read_search_params(world: World, request: Request, params: JsonObject, is_news: bool) -> SearchParams:
    """Return filters and paging. The page is counted from 1."""
    count, page = get_number(params, "num", 10, 1, 100), get_number(params, "page", 1, 1, 100)
    age = AGE_DAYS.get(get_text(params, "time_period").removeprefix("last_"))
    after = date_days_ago(world, age, request.session.at_time) if age else _read_day(params, "time_period_min")
    return SearchParams((page - 1) * count, count, after, _read_day(params, "time_period_max"), published=is_news)


def _read_day(params: JsonObject, name: str) -> date | None:
    """Return a day written as `01/31/2024`, None if it is missing or not a day."""
    try:
        month, day, year = (int(part) for part in get_text(params, name).split("/"))
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def _render_metadata(world: World, request: Request, query: str) -> JsonObject:
    """Return the metadata of a search. Its time is the session's day, so that equal requests get equal bytes."""
    search_id = f"search_{request_digest(request)[:24]}"
    payload: JsonObject = {"id": search_id, "status": "Success"}
    payload["created_at"] = f"{date_days_ago(world, 0, request.session.at_time)}T00:00:00Z"
    payload |= dict.fromkeys(("request_time_taken", "parsing_time_taken", "total_time_taken"), 0.0)
    payload["request_url"] = _google_url(query)
    return payload | {
        "html_url": f"{_SITE}/api/v1/searches/{search_id}.html",
        "json_url": f"{_SITE}/api/v1/searches/{search_id}",
    }


def _google_url(query: str) -> str:
    """Return the address of Google's result page for a query."""
    return "https://www.google.com/search?" + urlencode({"q": query})


def _render_parameters(params: JsonObject, engine: str) -> JsonObject:
    """Return the parameters of the search as the response repeats them."""
    defaults: JsonObject = {"engine": engine, "q": "", "device": "desktop", "google_domain": "google.com"}
    defaults |= {"hl": "en", "gl": "us"}
    return defaults | {name: value for name, value in params.items() if name not in _HIDDEN_PARAMS}


def _render_information(query: str, total: int) -> JsonObject:
    return {"query_displayed": query, "total_results": total, "time_taken_displayed": 0.0}


def _render_result(world: World, hit: Hit, position: int, query: str) -> JsonObject:
    row: JsonObject = {"position": position, "title": display_title(hit), "link": hit.url}
    row["source"] = urls.split_domain(urls.host_of(hit.url))[0]
    row |= {"domain": urls.host_of(hit.url), "displayed_link": format_breadcrumbs(hit.url)}
    words = dict.fromkeys(piece for piece, is_word in split_highlights(world, hit.snippet, query) if is_word)
    return row | {"snippet": hit.snippet, "snippet_highlighted_words": list(words), "date": format_day(hit)}


def _render_pagination(query: str, search_params: SearchParams, has_more: bool) -> JsonObject:
    """Return the page's number and the address of Google's next page, if there is one."""
    pagination: JsonObject = {"current": search_params.offset // search_params.count + 1}
    if has_more:
        pagination["next"] = f"{_google_url(query)}&start={search_params.offset + search_params.count}"
    return {"pagination": pagination}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"error": "..."}`."""
    limit_message = "You have reached your search limit. Please upgrade your plan or wait until it is renewed."
    bad_key = "Invalid API key. Your API key should be here: https://www.searchapi.io/api_tokens"
    messages = {"bad-key": bad_key, "rate-limited": limit_message, "out-of-budget": limit_message}
    return build_response({"error": messages.get(error.reason, error.message)}, error.status)


def _read_key(request: Request) -> str:
    """Return the API key of a request, empty if it has none."""
    return get_header(request, b"authorization", "Bearer") or dict(request.parameters).get("api_key", "")


DIALECT = Dialect(
    "searchapi",
    "SearchApi",
    ("www.searchapi.io", "searchapi.io"),
    (Route(("GET", "POST"), "/api/v1/search", answer_search, True),),
    _read_key,
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/searchapi/api/v1/search` where a client has an address",
    ("langchain-community",),
)
