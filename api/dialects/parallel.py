"""Parallel (`api.parallel.ai`): search by an objective or by keywords, and extraction of pages, as excerpts.

Several queries are searched one by one, and their results are taken in turn. Excerpts are the best passages of a page.
Tasks and lists that a language model makes are not served.
"""

from __future__ import annotations

from datetime import date
from itertools import chain, zip_longest

from webemu.api.dialects.days import get_day
from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_digest,
    request_uuid,
)
from webemu.api.dialects.metas import read_metas
from webemu.api.dialects.refusals import UNKNOWN_HOST_REASON
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, Page, PageRequest
from webemu.emulator.world import World

MAX_RESULTS, MAX_QUERIES, MAX_URLS = 40, 5, 20
"""Most results of a search, most queries in one, and most pages of an extraction."""
MIN_EXCERPT_CHARS, DEFAULT_EXCERPT_CHARS = 1000, 6000
"""Least and usual length of the excerpts of a page, in characters."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/v1/search` and `/v1beta/search`."""
    params = read_params(request)
    queries = [query for query in get_texts(params, "search_queries") if query.strip()][:MAX_QUERIES]
    queries = queries or [query for query in (get_text(params, "objective"),) if query.strip()]
    if not queries:
        raise BadRequest("search_queries: at least one query or an objective is required", reason="bad-search_queries")
    search_params = _read_search_params(params)
    hit_lists = [search(world, query, search_params, request.session.at_time)[0] for query in queries]
    # Results of several queries are taken in turn, each page once.
    in_turn = chain.from_iterable(zip_longest(*hit_lists))
    hits = list({hit.url: hit for hit in reversed(list(in_turn)) if hit}.values())[::-1][: search_params.count]
    limit = _read_excerpt_limit(params)
    rows = [_render_result(world, hit, limit) for hit in hits]
    return build_response({"search_id": _make_id("search", request), **_render_tail(request, params, "search", rows)})


def _settings(params: JsonObject) -> JsonObject:
    """Return the advanced settings; the older version has them among the parameters themselves."""
    settings = params.get("advanced_settings")
    return settings if isinstance(settings, dict) else params


def _read_search_params(params: JsonObject) -> SearchParams:
    """Return filters from the source policy. A domain may begin with a point, as in `.gov`."""
    settings = _settings(params)
    policy = settings.get("source_policy")
    policy = policy if isinstance(policy, dict) else {}
    sites, excluded_sites = get_texts(policy, "include_domains"), get_texts(policy, "exclude_domains")
    count = get_number(settings, "max_results", 10, 1, MAX_RESULTS)
    return SearchParams(0, count, get_day(policy, "after_date"), None, tuple(sites), tuple(excluded_sites))


def _read_excerpt_limit(params: JsonObject) -> int:
    """Return the greatest length of a page's excerpts, in characters."""
    settings = _settings(params)
    excerpts = settings.get("excerpt_settings", settings.get("excerpts"))
    nested = excerpts if isinstance(excerpts, dict) else settings
    return get_number(nested, "max_chars_per_result", DEFAULT_EXCERPT_CHARS, MIN_EXCERPT_CHARS, 1_000_000)


def _render_result(world: World, hit: Hit, limit: int) -> JsonObject:
    row: JsonObject = {"url": hit.url, "title": hit.title or None, "publish_date": hit.date}
    return row | {"excerpts": [world.passage_of(hit)[:limit]]}


def _make_id(kind: str, request: Request) -> str:
    return f"{kind}_{request_digest(request)[:32]}"


def _render_tail(request: Request, params: JsonObject, kind: str, rows: list[JsonObject]) -> JsonObject:
    """Return the members that searches and extractions have in common."""
    usage = [{"name": f"sku_{kind}", "count": 1}]
    session_id = get_text(params, "session_id") or _make_id("session", request)
    return {"results": rows, "session_id": session_id, "warnings": None, "usage": usage}


def answer_extract(world: World, request: Request) -> Response:
    """Answer `/v1/extract` and `/v1beta/extract`; pages that cannot be read are in `errors`."""
    params = read_params(request)
    page_urls = get_texts(params, "urls")
    if not 1 <= len(page_urls) <= MAX_URLS:
        raise BadRequest(f"urls: between 1 and {MAX_URLS} URLs are required", reason="bad-urls")
    rows = [_extract_page(world, request, params, url) for url in page_urls]
    failures = [row for row in rows if "error_type" in row]
    tail = _render_tail(request, params, "extract_excerpts", [row for row in rows if "error_type" not in row])
    return build_response({"extract_id": _make_id("extract", request), "errors": failures, **tail})


def _extract_page(world: World, request: Request, params: JsonObject, url: str) -> JsonObject:
    """Return one page, or a row with `error_type` if it cannot be read. Raises EmulatorError if this server fails."""
    try:
        page = world.fetch(PageRequest(url, "markdown", request.session.at_time))
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        is_unknown = error.reason == UNKNOWN_HOST_REASON
        failure: JsonObject = {"url": url, "error_type": "fetch_error", "content": None}
        return failure | {"http_status_code": None if is_unknown else error.status}
    row: JsonObject = {"url": url, "title": page.title or None, "publish_date": _read_publish_date(world, page)}
    excerpts = [] if _settings(params).get("excerpts") is False else [page.content[: _read_excerpt_limit(params)]]
    return row | {"excerpts": excerpts, "full_content": _cut_full_content(params, page.content)}


def _read_publish_date(world: World, page: Page) -> str | None:
    """Return the day that a page declares as that of its publication, None if it declares none."""
    metas = dict(read_metas(world.html_of(page.capture) or ""))
    try:
        return date.fromisoformat(metas.get("article:published_time", "")[:10]).isoformat()
    except ValueError:
        return None


def _cut_full_content(params: JsonObject, content: str) -> str | None:
    """Return the page's content as `full_content` asks for it, None if it does not."""
    option = _settings(params).get("full_content")
    if isinstance(option, dict):
        return content[: get_number(option, "max_chars_per_result", len(content), 1, max(len(content), 1))]
    return content if option is True else None


_MESSAGES = {
    "bad-key": "Unauthorized: invalid or missing credentials",
    "rate-limited": "Rate limit exceeded",
    "out-of-budget": "Payment required: insufficient credit in account",
}
"""Message by reason of the error."""


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"type": "error", "error": {"ref_id", "message", "detail"}}`."""
    is_validation = isinstance(error, BadRequest)
    status = 402 if error.reason == "out-of-budget" else 422 if is_validation else error.status
    message = _MESSAGES.get(error.reason) or ("Request validation error" if is_validation else error.message)
    detail = {"errors": [{"msg": error.message}]} if is_validation else None
    return build_response(
        {"type": "error", "error": {"ref_id": request_uuid(request), "message": message, "detail": detail}}, status
    )


DIALECT = Dialect(
    "parallel",
    "Parallel",
    ("api.parallel.ai",),
    (Route(("POST",), "/v1(beta)?/search", answer_search), Route(("POST",), "/v1(beta)?/extract", answer_extract)),
    lambda request: get_header(request, b"x-api-key") or get_header(request, b"authorization", "Bearer"),
    render_error,
    '`Parallel(api_key=key, base_url="http://127.0.0.1:8800/parallel")`, or `PARALLEL_BASE_URL`',
    ("parallel-web",),
)
