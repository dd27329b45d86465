"""Brave Search (`api.search.brave.com`): web, news, suggestions. Image and video results are empty.

The parameter `offset` counts pages. Descriptions are HTML with the words of the query in `<strong>`. A parameter out
of bounds is 422, and so is an unknown key.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from urllib.parse import unquote

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
    request_uuid,
)
from webemu.api.dialects.display import display_title, format_day, highlight_html
from webemu.api.dialects.search import SearchParams, date_days_ago, search
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_RESULTS = {"web": 20, "news": 50, "images": 100, "videos": 50}
"""Most results per page, by kind of search."""
MAX_CHARS, MAX_WORDS, LAST_PAGE = 400, 50, 9
"""Limits of a query, and the highest `offset`."""
DEFAULT_LANGUAGE = "en"
"""Language reported for a page of unknown language: clients require one, and the service defaults to English."""
_AGE_DAYS = {"pd": 1, "pw": 7, "pm": 31, "py": 365}
"""Days of the values of `freshness`."""
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
    query = _read_query(params)
    search_params = replace(_read_search_params(world, request, params, MAX_RESULTS[kind]), published=kind == "news")
    has_results = kind == "news" or (kind == "web" and "web" in (get_texts(params, "result_filter") or ["web"]))
    hits, has_more = search(world, query, search_params, request.session.at_time) if has_results else ((), False)
    is_decorated = get_flag(params, "text_decorations", True)
    rows = [_RENDERERS[kind](hit, _highlight_snippet(world, hit, query, is_decorated)) for hit in hits]
    if kind == "web":
        return build_response(_render_web_response(params, query, rows, has_more), headers=_RATE_LIMIT_HEADERS)
    query_payload = {"original": query, "spellcheck_off": _is_spellcheck_off(params), "show_strict_warning": False}
    return build_response({"type": kind, "query": query_payload, "results": rows}, headers=_RATE_LIMIT_HEADERS)


def answer_suggest(world: World, request: Request) -> Response:
    """Answer `/res/v1/suggest/search` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    params = read_params(request)
    query, count = _read_query(params), _get_bounded_number(params, "count", 5, 1, 20)
    titles = world.suggest(query, count) if request.session.at_time is None else []
    payload = {"type": "suggest", "query": {"original": query}, "results": [{"query": title} for title in titles]}
    return build_response(payload, headers=_RATE_LIMIT_HEADERS)


def answer_spellcheck(world: World, request: Request) -> Response:
    """Answer `/res/v1/spellcheck/search` with the corrected query, empty if every word is known."""
    query = _read_query(read_params(request))
    corrected = world.correct(query)
    results = [{"query": corrected}] if corrected else []
    return build_response(
        {"type": "spellcheck", "query": {"original": query}, "results": results}, headers=_RATE_LIMIT_HEADERS
    )


def _read_query(params: dict[str, object]) -> str:
    """Return the query. Raises BadRequest if it is missing or too long."""
    query = get_text(params, "q")
    if not query.strip():
        raise BadRequest("Field required", reason="bad-q")
    if len(query) > MAX_CHARS or len(query.split()) > MAX_WORDS:
        raise BadRequest(f"At most {MAX_CHARS} characters and {MAX_WORDS} words are allowed", reason="bad-q")
    return query


def _read_search_params(world: World, request: Request, params: dict[str, object], max_count: int) -> SearchParams:
    """Return filters and paging from the parameters. Raises BadRequest if one is out of bounds."""
    count = _get_bounded_number(params, "count", 20, 1, max_count)
    page = _get_bounded_number(params, "offset", 0, 0, LAST_PAGE)
    after, before = _read_dates(world, request, get_text(params, "freshness"))
    return SearchParams(page * count, count, after, before)


def _get_bounded_number(params: dict[str, object], name: str, default: int, minimum: int, maximum: int) -> int:
    """Return a parameter as a number. Raises BadRequest if it is out of bounds, where other services clamp."""
    bounded = get_number(params, name, default, -1, 1000)  # wider than any limit, so that clamping hides nothing
    if not minimum <= bounded <= maximum:
        raise BadRequest(f"Input should be from {minimum} to {maximum}", reason=f"bad-{name}")
    return bounded


def _read_dates(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age such as `pw`, or two days with `to` between them.

    Raises: BadRequest if it is neither.
    """
    if not freshness:
        return None, None
    if freshness in _AGE_DAYS:
        return date_days_ago(world, _AGE_DAYS[freshness], request.session.at_time), None
    try:
        first, last = (date.fromisoformat(end) for end in freshness.split("to"))
    except ValueError:
        raise BadRequest("Input should be pd, pw, pm, py or a span of dates", reason="bad-freshness") from None
    return first, last


def _is_spellcheck_off(params: dict[str, object]) -> bool:
    return not get_flag(params, "spellcheck", True)


def _render_web_response(
    params: dict[str, object], query: str, rows: list[dict[str, object]], has_more: bool
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
    query_payload |= {"more_results_available": has_more, "state": ""}
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
        Route(("GET",), "/res/v1/suggest/search", answer_suggest),
        Route(("GET",), "/res/v1/spellcheck/search", answer_spellcheck),
    ),
    lambda request: get_header(request, b"x-subscription-token"),
    render_error,
    "by name through the proxy; a base URL `http://127.0.0.1:8800/brave/res/v1/` where a client has one",
    ("brave-search", "brave-search-python-client"),
)
