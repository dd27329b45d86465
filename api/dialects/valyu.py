"""Valyu (`api.valyu.ai`): search and contents of web pages.

Proprietary datasets are not in a crawl, so a search of them finds nothing. Answers and research of a language model
are not served.
"""

from __future__ import annotations

from webemu.api.dialects.days import get_day
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
    request_uuid,
)
from webemu.api.dialects.display import display_title
from webemu.api.dialects.search import SearchParams, normalize_score, search
from webemu.api.dialects.site import open_page
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MAX_RESULTS, MAX_URLS = 100, 50
"""Most results of a search, and most pages of one request for contents."""
LENGTHS = {"short": 25_000, "medium": 50_000, "large": 100_000, "max": 10_000_000}
"""Characters of content by the name of a length."""
_SEARCH_PRICE, _CONTENT_PRICE = 0.0015, 0.001
"""Dollars per result."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v1/search` and `/v1/deepsearch`, its older name."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("Query is required", reason="bad-query")
    search_params = _read_search_params(params)
    hits = () if search_params is None else search(world, query, search_params, request.session.at_time)[0]
    rows = [_render_result(world, params, hit) for hit in hits]
    payload: JsonObject = {"success": True, "error": "", "tx_id": f"tx_{request_uuid(request)}", "query": query}
    payload |= {"results": rows, "results_by_source": {"web": len(rows), "proprietary": 0}}
    payload["total_deduction_dollars"] = round(len(rows) * _SEARCH_PRICE, 6)
    return build_response(payload | {"total_characters": sum(len(str(row["content"])) for row in rows)})


def _read_search_params(params: JsonObject) -> SearchParams | None:
    """Return filters from the parameters; None if only datasets are to be searched."""
    sources = get_texts(params, "included_sources")
    sites = tuple(site for source in sources if (site := _site_of(source)))
    if get_text(params, "search_type") == "proprietary" or (sources and not sites):
        return None
    excluded_sites = tuple(site for source in get_texts(params, "excluded_sources") if (site := _site_of(source)))
    count, is_news = (
        get_number(params, "max_num_results", 10, 1, MAX_RESULTS),
        get_text(params, "search_type") == "news",
    )
    days = get_day(params, "start_date"), get_day(params, "end_date")
    return SearchParams(0, count, *days, sites, excluded_sites, published=is_news)


def _site_of(source: str) -> str:
    """Return the host of a source, which is a domain or a URL; empty for a dataset such as `valyu/valyu-arxiv`."""
    host = source.partition("://")[2] or source
    name = host.partition("/")[0]
    return name if "." in name else ""


def _read_length(params: JsonObject, default: str) -> int:
    """Return the greatest length of a page's content, in characters, which the parameter names or gives."""
    name = params.get("response_length") or default
    if isinstance(name, str) and name in LENGTHS:
        return LENGTHS[name]
    return get_number(params, "response_length", LENGTHS[default], 1, LENGTHS["max"])


def _render_result(world: World, params: JsonObject, hit: Hit) -> JsonObject:
    is_brief = get_flag(params, "url_only") or get_flag(params, "fast_mode")
    content = hit.snippet if is_brief else world.text_of(hit)[1][: _read_length(params, "short")]
    row: JsonObject = {"id": hit.url, "title": display_title(hit), "url": hit.url, "content": content}
    row |= {"description": hit.snippet, "source": "web", "source_type": "website", "data_type": "unstructured"}
    row |= {"price": _SEARCH_PRICE, "length": len(content), "image_url": {}}
    return row | {"relevance_score": normalize_score(hit.score), "publication_date": hit.date}


def answer_contents(world: World, request: Request) -> Response:
    """Answer `/v1/contents`; pages that cannot be read have the status `failed`."""
    params = read_params(request)
    page_urls = get_texts(params, "urls")
    if not 1 <= len(page_urls) <= MAX_URLS:
        raise BadRequest(f"urls must contain between 1 and {MAX_URLS} URLs", reason="bad-urls")
    rows = [_render_content(world, request, params, url) for url in page_urls]
    failures = sum(row["status"] == "failed" for row in rows)
    payload: JsonObject = {"success": failures < len(rows), "error": None, "tx_id": f"tx_{request_uuid(request)}"}
    payload |= {"urls_requested": len(rows), "urls_processed": len(rows) - failures, "urls_failed": failures}
    payload |= {"results": rows, "total_cost_dollars": round((len(rows) - failures) * _CONTENT_PRICE, 6)}
    return build_response(payload | {"total_characters": sum(int(str(row.get("length", 0))) for row in rows)})


def _render_content(world: World, request: Request, params: JsonObject, url: str) -> JsonObject:
    page = open_page(world, url, "markdown", request.session.at_time)
    if page is None:
        return {"url": url, "status": "failed", "error": "Failed to extract content from URL"}
    content = page.content[: _read_length(params, "short")]
    row: JsonObject = {"url": url, "status": "success", "title": page.title or urls.host_of(url), "content": content}
    row |= {"length": len(content), "source": "web", "source_type": "website", "data_type": "unstructured"}
    return row | {"price": _CONTENT_PRICE, "image_url": {}}


_MESSAGES = {"bad-key": "Invalid API key", "out-of-budget": "Insufficient credits"}
"""Message by reason of the error."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"success": false, "error"}`; too many requests have a shape of their own."""
    if error.reason == "rate-limited":
        message = "Rate limit reached. Retry after 1 seconds."
        return build_response({"error": "rate_limited", "message": message, "retry_after": 1}, 429)
    status = 402 if error.reason == "out-of-budget" else error.status
    message = _MESSAGES.get(error.reason) or error.message
    return build_response({"success": False, "error": message, "tx_id": f"tx_{request_uuid(request)}"}, status)


DIALECT = Dialect(
    "valyu",
    "Valyu",
    ("api.valyu.ai", "api.valyu.network"),
    (Route(("POST",), "/v1/(deep)?search", answer_search), Route(("POST",), "/v1/contents", answer_contents)),
    lambda request: get_header(request, b"x-api-key"),
    render_error,
    '`Valyu(key, base_url="http://127.0.0.1:8800/valyu/v1")`',
    ("valyu",),
)
