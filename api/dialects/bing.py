"""Bing's Web Search API, version 7 (`api.bing.microsoft.com`): retired, but much code still calls it.

News results are pages that declare a publication date. Image and video results are empty, because a crawl of pages has
none.
"""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import date
from urllib.parse import urlencode

from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
)
from webemu.api.dialects.display import display_title, format_day, highlight_html, split_highlights
from webemu.api.dialects.search import (
    MAX_RELATED,
    NO_ANSWER,
    SearchAnswer,
    SearchParams,
    date_days_ago,
    estimate_total,
    search_corrected,
)
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.spelling import keep_as_typed
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_AGE_DAYS = {"day": 1, "week": 7, "month": 30}
"""Days of the values of `freshness`."""
_PAGE_ID_PREFIX = "https://api.bing.microsoft.com/api/v7/#WebPages."
_RELATED_ID = "https://api.bing.microsoft.com/api/v7/#RelatedSearches"
_HIGHLIGHT_BEGIN, _HIGHLIGHT_END = "\ue000", "\ue001"
"""Private-use characters that set off the words of the query in plain text."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v7.0/search`. Without results there is no `webPages` member."""
    params, query = _read_query(request)
    search_params = _read_search_params(world, request, params)
    answer_types = [name.lower() for name in get_texts(params, "responseFilter")]
    includes_pages = not answer_types or "webpages" in answer_types
    answer = search_corrected(world, query, search_params, request.session.at_time) if includes_pages else NO_ANSWER
    hits, has_more = answer.hits, answer.has_more
    query_context = {"originalQuery": query} | _render_alteration(query, answer)
    payload: dict[str, object] = {"_type": "SearchResponse", "queryContext": query_context}
    if not hits:
        return build_response({**payload, "rankingResponse": {}})
    rows = [_render_page(hit, index, _render_texts(world, hit, query, params)) for index, hit in enumerate(hits)]
    ranked_items = [
        {"answerType": "WebPages", "resultIndex": index, "value": {"id": one["id"]}} for index, one in enumerate(rows)
    ]
    web_pages = {"totalEstimatedMatches": estimate_total(search_params, len(hits), has_more), "value": rows}
    payload["webPages"] = {"webSearchUrl": _search_page_url(query), **web_pages}
    ranking: dict[str, object] = {"mainline": {"items": ranked_items}}
    if (not answer_types or "relatedsearches" in answer_types) and (
        related_queries := world.related_queries(query, hits, MAX_RELATED)
    ):
        related_items = [
            {"text": related_query, "displayText": related_query, "webSearchUrl": _search_page_url(related_query)}
            for related_query in related_queries
        ]
        payload["relatedSearches"] = {"id": _RELATED_ID, "value": related_items}
        ranking["sidebar"] = {"items": [{"answerType": "RelatedSearches", "value": {"id": _RELATED_ID}}]}
    return build_response({**payload, "rankingResponse": ranking})


def answer_news(world: World, request: Request) -> Response:
    """Answer `/v7.0/news/search`."""
    params, query = _read_query(request)
    search_params = replace(_read_search_params(world, request, params), published=True)
    answer = search_corrected(world, query, search_params, request.session.at_time)
    rows = [_render_article(hit, _render_texts(world, hit, query, params)) for hit in answer.hits]
    query_context = {"originalQuery": query, **_render_alteration(query, answer), "adultIntent": False}
    sort_options = [{"name": "Best match", "id": "relevance", "isSelected": True, "url": _api_url(request, query)}]
    payload = {
        "_type": "News",
        "readLink": _api_url(request, query),
        "queryContext": query_context,
        "sort": sort_options,
    }
    return build_response(
        {
            **payload,
            "totalEstimatedMatches": estimate_total(search_params, len(answer.hits), answer.has_more),
            "value": rows,
        }
    )


def _render_alteration(query: str, answer: SearchAnswer) -> dict[str, str]:
    """Return the query as it was corrected, and one that keeps the spelling; empty if nothing was corrected."""
    if not answer.corrected_text:
        return {}
    override = keep_as_typed(query, answer.corrections)
    return {
        "alteredQuery": answer.corrected_text,
        "alterationDisplayQuery": answer.corrected_text,
        "alterationOverrideQuery": override,
    }


def _render_article(hit: Hit, texts: tuple[str, str]) -> dict[str, object]:
    """Return one news result; `texts` are its title and description."""
    provider = {"_type": "Organization", "name": urls.split_domain(urls.host_of(hit.url))[0]}
    row = {"name": texts[0], "url": hit.url, "description": texts[1], "provider": [provider]}
    return {**row, "datePublished": f"{hit.date}T00:00:00.0000000Z"}


def answer_media(world: World, request: Request) -> Response:
    """Answer `/v7.0/images/search` and `/v7.0/videos/search`, always without results."""
    query = _read_query(request)[1]
    kind = "Images" if "/images/" in request.path else "Videos"
    payload = {"_type": kind, "readLink": _api_url(request, query), "webSearchUrl": _search_page_url(query)}
    query_context = {"originalQuery": query, "alterationDisplayQuery": query, "alterationOverrideQuery": query}
    return build_response(
        {**payload, "queryContext": query_context, "totalEstimatedMatches": 0, "nextOffset": 0, "value": []}
    )


def answer_suggestions(world: World, request: Request) -> Response:
    """Answer `/v7.0/suggestions` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    query = _read_query(request)[1]
    titles = world.suggest(query, MAX_RELATED) if request.session.at_time is None else []
    completions = [
        {"url": _search_page_url(one), "displayText": one, "query": one, "searchKind": "WebSearch"} for one in titles
    ]
    groups = [{"name": "Web", "searchSuggestions": completions}]
    return build_response(
        {"_type": "Suggestions", "queryContext": {"originalQuery": query}, "suggestionGroups": groups}
    )


def _read_query(request: Request) -> tuple[dict[str, object], str]:
    """Return the parameters and the query among them. Raises BadRequest if the query is missing."""
    params = read_params(request)
    if not (query := get_text(params, "q")).strip():
        raise BadRequest("Required parameter is missing.", reason="missing-q")
    return params, query


def _api_url(request: Request, query: str) -> str:
    """Return the address of this request at Microsoft, with only the query as its parameter."""
    return f"https://api.bing.microsoft.com/api/v7{request.path.partition('/v7.0')[2]}?" + urlencode({"q": query})


def _search_page_url(query: str) -> str:
    """Return the address of Bing's result page for a query."""
    return "https://www.bing.com/search?" + urlencode({"q": query})


def _read_search_params(world: World, request: Request, params: dict[str, object]) -> SearchParams:
    """Return filters and paging from the parameters."""
    count, offset = get_number(params, "count", 10, 1, 50), get_number(params, "offset", 0, 0, 1000)
    return SearchParams(offset, count, *_read_dates(world, request, get_text(params, "freshness")))


def _read_dates(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age, one day, or two days with `..` between them.

    Raises: BadRequest if it is none of these.
    """
    if not freshness:
        return None, None
    if days := _AGE_DAYS.get(freshness.lower()):
        return date_days_ago(world, days, request.session.at_time), None
    first, _, last = freshness.partition("..")
    try:
        return date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        raise BadRequest("Parameter has invalid value.", reason="bad-freshness") from None


def _render_texts(world: World, hit: Hit, query: str, params: dict[str, object]) -> tuple[str, str]:
    """Return title and snippet, as plain text or HTML, with the words of the query set off or not."""
    is_html, is_decorated = get_text(params, "textFormat").lower() == "html", get_flag(params, "textDecorations")
    texts = (display_title(hit), hit.snippet)
    if is_html:
        title_text, snippet_text = (
            highlight_html(world, part, query) if is_decorated else html.escape(part) for part in texts
        )
    elif is_decorated:
        title_text, snippet_text = (_mark_highlights(split_highlights(world, part, query)) for part in texts)
    else:
        title_text, snippet_text = texts
    return title_text, snippet_text


def _mark_highlights(pieces: list[tuple[str, bool]]) -> str:
    """Join pieces, with the words of the query between private-use characters."""
    return "".join(f"{_HIGHLIGHT_BEGIN}{piece}{_HIGHLIGHT_END}" if is_word else piece for piece, is_word in pieces)


def _render_page(hit: Hit, index: int, texts: tuple[str, str]) -> dict[str, object]:
    """Return one web result; `texts` are its title and snippet."""
    row: dict[str, object] = {"id": f"{_PAGE_ID_PREFIX}{index}", "name": texts[0], "url": hit.url}
    row |= {
        "datePublished": f"{hit.date}T00:00:00.0000000",
        "datePublishedDisplayText": format_day(hit),
        "isFamilyFriendly": True,
    }
    return {**row, "displayUrl": hit.url, "snippet": texts[1], "isNavigational": False}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error.

    Errors of the gateway before the service are `{"error": ...}`; those of the service itself are `{"_type":
    "ErrorResponse", "errors": [...]}`.
    """
    if error.reason in _GATEWAY_ERRORS:
        status, message = _GATEWAY_ERRORS[error.reason]
        retry_headers = [(b"Retry-After", b"1")] if status == 429 else []
        return build_response({"error": {"code": str(status), "message": message}}, status, retry_headers)
    if isinstance(error, BadRequest):
        is_missing = error.reason.startswith("missing-")
        codes = {"code": "InvalidRequest", "subCode": "ParameterMissing" if is_missing else "ParameterInvalidValue"}
        parameter_error = {"message": error.message, "parameter": error.reason.partition("-")[2]}
        return build_response({"_type": "ErrorResponse", "errors": [{**codes, **parameter_error}]}, 400)
    if error.status >= 500:
        server_error = {"code": "ServerError", "subCode": "UnexpectedError", "message": error.message}
        return build_response({"_type": "ErrorResponse", "errors": [server_error]}, error.status)
    return build_response({"error": {"code": str(error.status), "message": error.message}}, error.status)


_GATEWAY_ERRORS = {
    "bad-key": (
        401,
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an"
        " active subscription and use a correct regional API endpoint for your resource.",
    ),
    "rate-limited": (429, "Rate limit is exceeded. Try again in 1 seconds."),
    "out-of-budget": (403, "Out of call volume quota. Quota will be replenished in 30 days."),
}
"""Status and message of the gateway's errors, by reason."""

DIALECT = Dialect(
    "bing",
    "Bing Web Search v7",
    ("api.bing.microsoft.com", "api.cognitive.microsoft.com"),
    (
        Route(("GET",), r"(/bing)?/v7\.0/search", answer_search, True),
        Route(("GET",), r"(/bing)?/v7\.0/news/search", answer_news, True),
        Route(("GET",), r"(/bing)?/v7\.0/(images|videos)/search", answer_media, True),
        Route(("GET",), r"(/bing)?/v7\.0/suggestions", answer_suggestions),
    ),
    lambda request: get_header(request, b"ocp-apim-subscription-key"),
    render_error,
    "by name through the proxy; an endpoint `http://127.0.0.1:8800/bing/v7.0/search` where a client has one",
)
