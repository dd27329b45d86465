"""SerpAPI (`serpapi.com`): results of engines as JSON, by GET with the key among the parameters.

Answer boxes and knowledge graphs are absent, because a crawl has none. A search without results is status 200 with
`error`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import urlencode

from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.display import display_title, format_breadcrumbs, format_day, split_highlights
from webemu.api.dialects.search import (
    MAX_RELATED,
    NO_ANSWER,
    SearchAnswer,
    SearchParams,
    date_days_ago,
    estimate_total,
    search_corrected,
)
from webemu.api.dialects.tbs import parse_dates
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

NAME, HOSTS = "serpapi", ("serpapi.com",)
"""Prefix and host of the service, which the address of the next page contains."""
NO_RESULTS = "Google hasn't returned any results for this query."
"""Error text of a search without results."""
_QUERY_PARAMS = {"yahoo": "p", "yandex": "text", "naver": "query"}
"""Parameters that hold the query of engines that do not call it `q`."""
_ENGINES = {"google", "google_light", "google_news", "google_scholar", "bing", "duckduckgo", "baidu", *_QUERY_PARAMS}
_KEY_PARAMS = ("api_key", "serp_api_key")
"""Parameters that hold the API key."""
_HIDDEN_PARAMS = {*_KEY_PARAMS, "source", "output", "async", "no_cache"}
"""Parameters that a response does not repeat."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search` and `/search.json`."""
    params = read_params(request)
    engine, query = _read_engine_and_query(params)
    count, start = get_number(params, "num", 10, 1, 100), get_number(params, "start", 0, 0, 1000)
    after, before = parse_dates(world, request, get_text(params, "tbs"))
    result_kind = {"nws": "news", "": "organic"}.get(get_text(params, "tbm"), "none")
    result_kind = "news" if engine == "google_news" else result_kind
    keeps_spelling = get_text(params, "nfpr") == "1"
    is_news = result_kind == "news"
    search_params = SearchParams(start, count, after, before, published=is_news, keeps_spelling=keeps_spelling)
    has_results = result_kind != "none"
    answer = search_corrected(world, query, search_params, request.session.at_time) if has_results else NO_ANSWER
    hits, has_more = answer.hits, answer.has_more
    common_members = {
        "search_metadata": _render_metadata(world, request, query),
        "search_parameters": _render_parameters(params, engine),
    }
    if not hits:
        empty_information = {"query_displayed": query, "organic_results_state": "Fully empty"}
        return build_response({**common_members, "search_information": empty_information, "error": NO_RESULTS})
    render = _render_article if result_kind == "news" else _render_result
    rows = [render(world, hit, start + rank_on_page, query) for rank_on_page, hit in enumerate(hits, 1)]
    payload: dict[str, object] = {
        **common_members,
        "search_information": _render_information(query, answer, search_params),
    }
    related_rows = [
        {"query": related_query, "link": _google_url(related_query)}
        for related_query in _find_related(world, query, hits, result_kind)
    ]
    payload |= {f"{result_kind}_results": rows} | ({"related_searches": related_rows} if related_rows else {})
    return build_response({**payload, **_render_pagination(request, params, search_params, has_more)})


def answer_account(world: World, request: Request) -> Response:
    """Answer `/account` with the state of an account whose searches are not counted."""
    key = _read_key(request)
    plan = {
        "plan_id": "bigdata",
        "plan_name": "Big Data Plan",
        "plan_monthly_price": 275.0,
        "searches_per_month": 30_000,
    }
    remaining_searches = {"plan_searches_left": 30_000, "extra_credits": 0, "total_searches_left": 30_000}
    used_searches = {
        "this_month_usage": 0,
        "this_hour_searches": 0,
        "last_hour_searches": 0,
        "account_rate_limit_per_hour": 6000,
    }
    account_owner = {
        "account_id": sha256(key.encode()).hexdigest()[:24],
        "api_key": key,
        "account_email": "user@example.com",
    }
    return build_response({**account_owner, **plan, **remaining_searches, **used_searches})


def _read_engine_and_query(params: dict[str, object]) -> tuple[str, str]:
    """Return engine and query. Raises BadRequest if one is missing or unsupported."""
    engine = get_text(params, "engine", "google")
    if engine not in _ENGINES:
        raise BadRequest(f"Unsupported `{engine[:100]}` search engine.", reason="bad-engine")
    if get_text(params, "output", "json") != "json":
        raise BadRequest("Unsupported `output` parameter: only `json` is served.", reason="bad-output")
    name = _QUERY_PARAMS.get(engine, "q")
    if not (query := get_text(params, name)).strip():
        raise BadRequest(f"Missing query `{name}` parameter.", reason="missing-query")
    return engine, query


def _render_metadata(world: World, request: Request, query: str) -> dict[str, object]:
    """Return the metadata of a search. Its time is the session's day, so that equal requests get equal bytes."""
    search_time = f"{date_days_ago(world, 0, request.session.at_time)} 00:00:00 UTC"
    payload = {
        "id": request_digest(request)[:24],
        "status": "Success",
        "created_at": search_time,
        "processed_at": search_time,
    }
    return {**payload, "google_url": _google_url(query), "total_time_taken": 0.0}


def _google_url(query: str) -> str:
    """Return the address of Google's result page for a query."""
    return "https://www.google.com/search?" + urlencode({"q": query})


def _find_related(world: World, query: str, hits: Sequence[Hit], kind: str) -> list[str]:
    """Return related queries; only a web search has any."""
    return world.related_queries(query, hits, MAX_RELATED) if kind == "organic" else []


def _render_parameters(params: dict[str, object], engine: str) -> dict[str, object]:
    """Return the parameters of the search as the response repeats them."""
    shown_params: dict[str, object] = {
        "engine": engine,
        "google_domain": "google.com",
        "hl": "en",
        "gl": "us",
        "device": "desktop",
    }
    return shown_params | {name: value for name, value in params.items() if name not in _HIDDEN_PARAMS}


def _render_information(query: str, answer: SearchAnswer, search_params: SearchParams) -> dict[str, object]:
    """Return the description of the results; it names the query that they answer if that is not the one asked."""
    total = estimate_total(search_params, len(answer.hits), answer.has_more)
    payload: dict[str, object] = {"query_displayed": query, "total_results": total, "time_taken_displayed": 0.0}
    if not answer.corrected_text:
        if not answer.unquoted_text:
            return {**payload, "organic_results_state": "Results for exact spelling"}
        payload["organic_results_state"] = "Showing results for query without quotes"
        return {**payload, "showing_results_for": answer.unquoted_text}
    payload["organic_results_state"] = "Some results for exact spelling but showing fixed spelling"
    shown_text = answer.unquoted_text or answer.corrected_text
    return {**payload, "spelling_fix": answer.corrected_text, "showing_results_for": shown_text}


def _render_result(world: World, hit: Hit, position: int, query: str) -> dict[str, object]:
    row = {
        "position": position,
        "title": display_title(hit),
        "link": hit.url,
        "displayed_link": format_breadcrumbs(hit.url),
    }
    highlighted_words = list(
        dict.fromkeys(piece for piece, is_word in split_highlights(world, hit.snippet, query) if is_word)
    )
    snippet_members = {"date": format_day(hit), "snippet": hit.snippet, "snippet_highlighted_words": highlighted_words}
    return {**row, **snippet_members, "source": urls.split_domain(urls.host_of(hit.url))[0]}


def _render_article(world: World, hit: Hit, position: int, query: str) -> dict[str, object]:
    row = {"position": position, "title": display_title(hit), "link": hit.url}
    return {
        **row,
        "source": urls.split_domain(urls.host_of(hit.url))[0],
        "date": format_day(hit),
        "snippet": hit.snippet,
    }


def _render_pagination(
    request: Request, params: dict[str, object], search_params: SearchParams, has_more: bool
) -> dict[str, object]:
    """Return the page's number and the next page's address, without the API key, as the service has it."""
    base_url = request.origin if request.host in HOSTS else f"{request.origin}/{NAME}"
    visible_params = {name: value for name, value in params.items() if name not in {*_KEY_PARAMS, "source", "output"}}
    pagination: dict[str, object] = {"current": search_params.offset // search_params.count + 1}
    if has_more:
        next_query = urlencode({**visible_params, "start": search_params.offset + search_params.count})
        pagination |= {
            "next_link": f"{base_url}/search.json?{next_query}",
            "next": f"{base_url}/search.json?{next_query}",
        }
    return {"serpapi_pagination": pagination}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"error": "..."}`."""
    limit_message = "Your account has run out of searches."
    bad_key = "Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key"
    messages = {"bad-key": bad_key, "rate-limited": limit_message, "out-of-budget": limit_message}
    return build_response({"error": messages.get(error.reason, error.message)}, error.status)


def _read_key(request: Request) -> str:
    """Return the API key of a request, empty if it has none."""
    query_params = dict(request.parameters)
    return next((query_params[name] for name in _KEY_PARAMS if name in query_params), "")


DIALECT = Dialect(
    NAME,
    "SerpAPI",
    HOSTS,
    (
        Route(("GET",), r"/search(\.json)?", answer_search, True),
        Route(("GET",), r"/account(\.json)?", answer_account, True),
    ),
    _read_key,
    render_error,
    '`SerpApiClient.BACKEND = "http://127.0.0.1:8800/serpapi"`, or by name through the proxy',
    ("google-search-results", "smolagents"),
)
