"""ScrapingBee (`app.scrapingbee.com`): pages by URL, and Google's results as JSON.

Pages are as the crawl recorded them: scripts do not run, and options that need a browser have no effect. Rules of
extraction and screenshots are refused.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    read_params,
)
from webemu.api.dialects.display import display_title, format_breadcrumbs, format_day
from webemu.api.dialects.refusals import UNKNOWN_HOST_REASON
from webemu.api.dialects.scraping import Target, fetch_target
from webemu.api.dialects.search import MAX_RELATED, SearchParams, search
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, View
from webemu.emulator.world import World

_REFUSED_OPTIONS = ("extract_rules", "ai_query", "ai_extract_rules", "screenshot", "screenshot_full_page")
"""Options that a recorded page cannot serve."""
_FAILURE = (
    "Error with your request, please try again (you will not be charged for this request)."
    "You should: 1) check that your URL is correctly encoded 2) try with Premium Proxies (premium_proxy=True or see "
    "our documentation: https://www.scrapingbee.com/documentation#premium_proxy) 3) try with Stealth Proxies "
    "(stealth_proxy=True or see our documentation: https://www.scrapingbee.com/documentation#stealth_proxy)"
    "Do not hesitate to check our troubleshooting guide:https://www.scrapingbee.com/help"
)


def answer_page(world: World, request: Request) -> Response:
    """Answer `/api/v1/` with a page. Unless it is passed on, a status other than 2xx and 404 becomes 500."""
    params = read_params(request)
    if not (url := get_text(params, "url").strip()):
        raise _missing("url")
    if refused := next((name for name in _REFUSED_OPTIONS if get_text(params, name) not in ("", "False", "false")), ""):
        raise BadRequest("This option is not available.", reason=f"bad-{refused}")
    target = fetch_target(world, request, url, _read_view(params))
    headers = _render_headers(target, 5 if get_flag(params, "render_js", True) else 1)
    is_passed_on = target.is_reachable and (
        target.status < 300 or target.status == 404 or get_flag(params, "transparent_status_code")
    )
    if not is_passed_on:
        reason = f"Server responded with {target.status}" if target.is_reachable else "Could not resolve host"
        reason_header = (b"X-Webemu-Reason", b"page-refused" if target.is_reachable else UNKNOWN_HOST_REASON.encode())
        return build_response({"error": _FAILURE, "reason": reason, "help": ""}, 500, [*headers, reason_header])
    if get_flag(params, "json_response"):
        return build_response(_wrap(target), target.status, headers)
    return build_response(target.body, target.status, headers, target.content_type.encode("latin-1"))


def _missing(name: str) -> BadRequest:
    return BadRequest("Missing data for required field.", reason=f"bad-{name}")


def _read_view(params: JsonObject) -> View:
    """Return the view of a page that the options ask for."""
    if get_flag(params, "return_page_markdown"):
        return "markdown"
    return "text" if get_flag(params, "return_page_text") else "html"


def _render_headers(target: Target, cost: int) -> Headers:
    return [
        (b"Spb-cost", str(cost).encode()),
        (b"Spb-initial-status-code", str(target.status).encode()),
        (b"Spb-resolved-url", quote(target.url, safe="%/:?#[]@!$&'()*+,;=-._~").encode()),
    ]


def _wrap(target: Target) -> JsonObject:
    """Return a page as JSON, with the lists of what a browser would have seen, all empty."""
    payload: JsonObject = {"headers": {"Content-Type": target.content_type}, "cost": 5}
    payload |= {"initial-status-code": target.status, "resolved-url": target.url}
    payload |= {"type": "html" if "html" in target.content_type else "file"}
    payload |= {"body": target.body.decode("utf-8", "replace"), "cookies": [], "js_scenario_report": {}}
    return payload | {"xhr": [], "iframes": [], "evaluate_results": []}


def answer_google(world: World, request: Request) -> Response:
    """Answer `/api/v1/store/google` and `/api/v1/google`."""
    params = read_params(request)
    if not (query := get_text(params, "search")).strip():
        raise _missing("search")
    kind = get_text(params, "search_type", "classic")
    count, page = get_number(params, "nb_results", 10, 1, 100), get_number(params, "page", 1, 1, 100)
    search_params = SearchParams((page - 1) * count, count, published=kind == "news")
    hits, _ = (
        search(world, query, search_params, request.session.at_time) if kind in ("classic", "news") else ((), False)
    )
    rows = [_render_result(hit, rank) for rank, hit in enumerate(hits, search_params.offset + 1)]
    url = "https://www.google.com/search?" + urlencode({"q": query})
    meta = {"url": url, "number_of_results": None, "location": None, "number_of_organic_results": len(rows)}
    payload: JsonObject = {"meta_data": meta | {"number_of_ads": 0, "number_of_page": page}}
    payload |= {"organic_results": [] if kind == "news" else rows, "local_results": [], "top_ads": [], "bottom_ads": []}
    payload |= {"related_queries": _render_related(world, query, hits), "questions": [], "top_stories": []}
    payload |= {"news_results": rows if kind == "news" else [], "knowledge_graph": {}, "related_searches": []}
    return build_response(payload)


def _render_result(hit: Hit, position: int) -> JsonObject:
    row: JsonObject = {"url": hit.url, "displayed_url": format_breadcrumbs(hit.url), "description": hit.snippet}
    row |= {"position": position, "title": display_title(hit), "domain": urls.host_of(hit.url)}
    return row | {
        "sitelinks": [],
        "rich_snippet": {},
        "date": format_day(hit),
        "date_utc": f"{hit.date}T00:00:00+00:00",
    }


def _render_related(world: World, query: str, hits: tuple[Hit, ...]) -> list[JsonObject]:
    return [
        {"title": entry, "url": "https://www.google.com/search?" + urlencode({"q": entry}), "position": position}
        for position, entry in enumerate(world.related_queries(query, hits, MAX_RELATED), 1)
    ]


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error: `{"message"}`, a list of wrong parameters, or the text of a failed request."""
    if error.reason == "bad-key":
        return build_response({"message": f"Invalid api key: {_read_key(request)[:100]}"}, 401)
    if error.reason in ("rate-limited", "out-of-budget"):
        status = 429 if error.reason == "rate-limited" else 401
        return build_response(
            {"message": "Too many concurrent requests" if status == 429 else "Monthly API calls limit reached"}, status
        )
    if isinstance(error, BadRequest):
        return build_response({"errors": [{error.reason.removeprefix("bad-"): [error.message]}]}, 400)
    if is_server_fault(error):
        return build_response({"error": _FAILURE, "reason": "Internal error", "help": ""}, error.status)
    return build_response({"message": error.message}, error.status)


def _read_key(request: Request) -> str:
    """Return the API key of a request, empty if it has none."""
    return get_header(request, b"authorization", "Bearer") or dict(request.parameters).get("api_key", "")


DIALECT = Dialect(
    "scrapingbee",
    "ScrapingBee",
    ("app.scrapingbee.com",),
    (Route(("GET", "POST"), "/api/v1/?", answer_page), Route(("GET",), "/api/v1/(store/)?google/?", answer_google)),
    _read_key,
    render_error,
    '`ScrapingBeeClient.HTML_API_URL = "http://127.0.0.1:8800/scrapingbee/api/v1/"`, or by name through the proxy',
    ("scrapingbee",),
)
