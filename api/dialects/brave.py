"""Brave Search (`api.search.brave.com`): web, news, LLM context, suggestions. Image and video results are empty.

The parameter `offset` counts pages. Descriptions are HTML with the words of the query in `<strong>`. A parameter out
of bounds is 422, and so is an unknown key.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from webemu.api.dialects.brave_context import render_context
from webemu.api.dialects.brave_params import get_bounded_number, read_query, read_search_params
from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_flag,
    get_header,
    get_texts,
    read_params,
    request_uuid,
)
from webemu.api.dialects.display import display_title, format_day, highlight_html
from webemu.api.dialects.search import NO_ANSWER, SearchAnswer, search_corrected
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_RESULTS = {"web": 20, "news": 50, "images": 100, "videos": 50}
"""Most results per page, by kind of search."""
DEFAULT_LANGUAGE = "en"
"""Language reported for a page of unknown language: clients require one, and the service defaults to English."""
_RATE_LIMIT_HEADERS: Headers = [
    (b"X-RateLimit-Limit", b"1, 15000"),
    (b"X-RateLimit-Policy", b"1;w=1, 15000;w=2592000"),
    (b"X-RateLimit-Remaining", b"1, 15000"),
    (b"X-RateLimit-Reset", b"1, 2592000"),
]
"""Rate limit headers of every response. They never change, so that equal requests get equal bytes."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/res/v1/web/search` and the same for news, images and videos."""
    params, kind = read_params(request), request.path.split("/")[3]
    query = read_query(params)
    search_params = read_search_params(world, request, params, MAX_RESULTS[kind])
    search_params = replace(search_params, published=kind == "news", keeps_spelling=_is_spellcheck_off(params))
    has_results = kind == "news" or (kind == "web" and "web" in (get_texts(params, "result_filter") or ["web"]))
    answer = search_corrected(world, query, search_params, request.session.at_time) if has_results else NO_ANSWER
    is_decorated = get_flag(params, "text_decorations", True)
    rows = [_RENDERERS[kind](hit, _highlight_snippet(world, hit, query, is_decorated)) for hit in answer.hits]
    if kind == "web":
        return build_response(_render_web_response(params, query, rows, answer), headers=_RATE_LIMIT_HEADERS)
    query_payload = {"original": query, "spellcheck_off": _is_spellcheck_off(params), "show_strict_warning": False}
    query_payload |= {"altered": answer.corrected_text} if answer.corrected_text else {}
    return build_response({"type": kind, "query": query_payload, "results": rows}, headers=_RATE_LIMIT_HEADERS)


def answer_context(world: World, request: Request) -> Response:
    """Answer `/res/v1/llm/context`."""
    return build_response(render_context(world, request), headers=_RATE_LIMIT_HEADERS)


def answer_suggest(world: World, request: Request) -> Response:
    """Answer `/res/v1/suggest/search` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    params = read_params(request)
    query, count = read_query(params), get_bounded_number(params, "count", 5, 1, 20)
    titles = world.suggest(query, count) if request.session.at_time is None else []
    payload = {"type": "suggest", "query": {"original": query}, "results": [{"query": title} for title in titles]}
    return build_response(payload, headers=_RATE_LIMIT_HEADERS)


def answer_spellcheck(world: World, request: Request) -> Response:
    """Answer `/res/v1/spellcheck/search` with the corrected query, empty if every word is known."""
    query = read_query(read_params(request))
    corrected = world.correct(query)
    results = [{"query": corrected}] if corrected else []
    return build_response(
        {"type": "spellcheck", "query": {"original": query}, "results": results}, headers=_RATE_LIMIT_HEADERS
    )


def _is_spellcheck_off(params: dict[str, object]) -> bool:
    return not get_flag(params, "spellcheck", True)


def _render_web_response(
    params: dict[str, object], query: str, rows: list[dict[str, object]], answer: SearchAnswer
) -> dict[str, object]:
    """Return the response to a web search; without results there is no `web` member."""
    no_flags = dict.fromkeys(("show_strict_warning", "is_navigational", "is_news_breaking"), False)
    query_payload = {"original": query, **no_flags, "spellcheck_off": _is_spellcheck_off(params), "country": "us"}
    query_payload |= {
        "bad_results": False,
        "should_fallback": False,
        "postal_code": "",
        "city": "",
        "header_country": "",
    }
    query_payload |= {"more_results_available": answer.has_more, "state": ""}
    query_payload |= {"altered": answer.corrected_text} if answer.corrected_text else {}
    ranked_items = [{"type": "web", "index": index, "all": False} for index in range(len(rows))]
    payload: dict[str, object] = {
        "type": "search",
        "query": query_payload,
        "mixed": {"type": "mixed", "main": ranked_items, "top": [], "side": []},
    }
    web_payload = {"type": "search", "family_friendly": True, "results": rows}
    return payload | ({"web": web_payload} if rows else {})


def _highlight_snippet(world: World, hit: Hit, query: str, is_decorated: bool) -> str:
    """Return the snippet as HTML, the words of the query in `<strong>` if asked for."""
    return highlight_html(world, hit.snippet, query, *(("<strong>", "</strong>") if is_decorated else ("", "")))


def _render_result(hit: Hit, description: str) -> dict[str, object]:
    url_parts = _render_url_parts(hit.url)
    profile = {
        "name": url_parts["netloc"],
        "url": hit.url,
        "long_name": url_parts["hostname"],
        "img": url_parts["favicon"],
    }
    return {
        "title": display_title(hit),
        "url": hit.url,
        "is_source_local": False,
        "is_source_both": False,
        "description": description,
        "page_age": f"{hit.date}T00:00:00",
        "profile": profile,
        "language": hit.language or DEFAULT_LANGUAGE,
        "family_friendly": True,
        "type": "search_result",
        "subtype": "generic",
        "is_live": False,
        "meta_url": url_parts,
        "age": format_day(hit, "%B"),
    }


def _render_article(hit: Hit, description: str) -> dict[str, object]:
    row = {"type": "news_result", "title": display_title(hit), "url": hit.url, "description": description}
    return {
        **row,
        "age": format_day(hit, "%B"),
        "page_age": f"{hit.date}T00:00:00",
        "meta_url": _render_url_parts(hit.url),
    }


_RENDERERS = {"web": _render_result, "news": _render_article}


def _render_url_parts(url: str) -> dict[str, str]:
    """Return the parts of a URL. The icon is the site's `/favicon.ico`, since clients require a URL there."""
    parts = urls.split_url(url)
    host = parts.hostname or ""
    display_path = "  ".join(f"› {unquote(part)}" for part in parts.path.split("/") if part)
    url_payload = {"scheme": parts.scheme, "netloc": host.removeprefix("www."), "hostname": host}
    return {**url_payload, "favicon": f"{parts.scheme}://{parts.netloc}/favicon.ico", "path": display_path}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"type": "ErrorResponse", "error": ...}`."""
    status, code, detail, meta = _classify_error(error)
    error_payload = {"id": request_uuid(request), "status": status, "detail": detail, "meta": meta, "code": code}
    at_time = request.session.at_time
    unix_time = int(at_time.timestamp()) if at_time else 0
    return build_response(
        {"type": "ErrorResponse", "error": error_payload, "time": unix_time}, status, _RATE_LIMIT_HEADERS
    )


def _classify_error(error: EmulatorError) -> tuple[int, str, str, dict[str, object]]:
    """Return status, code, detail and metadata of an error."""
    if error.reason == "bad-key":
        message = "The provided subscription token is invalid."
        return 422, "SUBSCRIPTION_TOKEN_INVALID", message, {"component": "authentication"}
    if error.reason in ("rate-limited", "out-of-budget"):
        meta = {"plan": "Free", "rate_limit": 1, "rate_current": 1, "quota_limit": 15000, "quota_current": 0}
        message = "Request rate limit exceeded for plan"
        return 429, "RATE_LIMITED", message, {**meta, "component": "rate_limiter"}
    if isinstance(error, BadRequest):
        validation_error = {
            "type": "value_error",
            "loc": ["query", error.reason.removeprefix("bad-")],
            "msg": error.message,
        }
        return 422, "VALIDATION", "Unable to validate request parameter(s)", {"errors": [validation_error]}
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status, "INTERNAL")
    return error.status, code, error.message, {}


DIALECT = Dialect(
    "brave",
    "Brave Search",
    ("api.search.brave.com",),
    (
        Route(("GET",), "/res/v1/(web|news|images|videos)/search", answer_search, True),
        Route(("GET", "POST"), "/res/v1/llm/context", answer_context),
        Route(("GET",), "/res/v1/suggest/search", answer_suggest),
        Route(("GET",), "/res/v1/spellcheck/search", answer_spellcheck),
    ),
    lambda request: get_header(request, b"x-subscription-token"),
    render_error,
    "by name through the proxy; a base URL `http://127.0.0.1:8800/brave/res/v1/` where a client has one",
    ("brave-search", "brave-search-python-client"),
)
