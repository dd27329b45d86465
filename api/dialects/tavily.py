"""Tavily (`api.tavily.com`): search, extract, map, crawl, usage.

A language model would write `answer` and follow-up questions, which are null, and would heed `instructions`, which are
ignored. Images are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from webemu.api.archives.filters import compile_pattern
from webemu.api.dialects.days import format_mail_date, get_day
from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    body_fields,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_uuid,
)
from webemu.api.dialects.search import AGE_DAYS, SearchParams, date_days_ago, normalize_score, search
from webemu.api.dialects.site import find_icon, is_within, open_page
from webemu.api.dialects.site_crawl import CrawlLimits, SiteCrawl
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Capture, Hit, View
from webemu.emulator.world import World

MAX_URLS = 20
"""Most URLs in one request to `/extract`."""
MAX_PAGES = 500
"""Most pages of one crawl."""
_LETTER_DAYS = {name[0]: days for name, days in AGE_DAYS.items() if name != "hour"}
"""Days of the one-letter time spans."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search`."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("Query is missing.", reason="missing-query")
    hits = search(world, query, _read_search_params(world, request, params), request.session.at_time)[0]
    rows = [_render_result(world, request, params, hit) for hit in hits]
    payload: JsonObject = {"query": query, "follow_up_questions": None, "answer": None, "images": [], "results": rows}
    payload |= {"auto_parameters": {}} if get_flag(params, "auto_parameters") else {}
    return _build_payload_response(request, params, payload, 2 if _is_advanced(params) else 1)


def _is_advanced(params: JsonObject) -> bool:
    """True if results are to have their best passage instead of a snippet."""
    return get_text(params, "search_depth") == "advanced"


def _read_search_params(world: World, request: Request, params: JsonObject) -> SearchParams:
    """Return filters from the parameters. Domains that are only preferred have no effect."""
    time_range = get_text(params, "time_range")
    age = AGE_DAYS.get(time_range) or _LETTER_DAYS.get(time_range) or get_number(params, "days", 0, 0, 36_500)
    after = get_day(params, "start_date") or (date_days_ago(world, age, request.session.at_time) if age else None)
    prefers_sites = get_text(params, "include_domains_mode") == "prefer"
    sites = () if prefers_sites else tuple(get_texts(params, "include_domains"))
    excluded_sites = tuple(get_texts(params, "exclude_domains"))
    count, is_news = get_number(params, "max_results", 5, 0, 20), get_text(params, "topic") == "news"
    return SearchParams(0, count, after, get_day(params, "end_date"), sites, excluded_sites, published=is_news)


def _render_result(world: World, request: Request, params: JsonObject, hit: Hit) -> JsonObject:
    content = world.passage_of(hit) if _is_advanced(params) else hit.snippet
    row: JsonObject = {
        "url": hit.url,
        "title": hit.title or hit.url,
        "content": content,
        "score": normalize_score(hit.score),
    }
    view = _read_raw_view(params)
    page = open_page(world, hit.url, view, request.session.at_time) if view else None
    row["raw_content"] = page.content if page else None
    if get_text(params, "topic") == "news":
        row["published_date"] = format_mail_date(hit.date)
    return row | _render_favicon(world, request, params, hit.url)


def _read_raw_view(params: JsonObject) -> View | None:
    """Return the view of a page that results are to contain, None for none."""
    raw_content = get_text(params, "include_raw_content")
    if raw_content == "text":
        return "text"
    return "markdown" if raw_content == "markdown" or get_flag(params, "include_raw_content") else None


def _render_favicon(world: World, request: Request, params: JsonObject, url: str) -> JsonObject:
    """Return the icon's member if it is asked for. The service gives an address even if there is no icon."""
    is_wanted = get_flag(params, "include_favicon")
    return (
        {"favicon": find_icon(world, url, request.session.at_time) or urls.resolve(url, "/favicon.ico")}
        if is_wanted
        else {}
    )


def answer_extract(world: World, request: Request) -> Response:
    """Answer `/extract`: pages by URL; those that the crawl cannot show are in `failed_results`."""
    params = read_params(request)
    rows = [_extract_page(world, request, params, url) for url in _read_urls(params)]
    failed = [one for one in rows if "error" in one]
    payload: JsonObject = {"results": [one for one in rows if "error" not in one], "failed_results": failed}
    # One credit per five pages that were extracted, rounded up.
    return _build_payload_response(request, params, payload, -(-(len(rows) - len(failed)) // 5))


def _read_urls(params: JsonObject) -> list[str]:
    """Return the URLs to extract. Raises BadRequest if there are none or too many."""
    urls_value = params.get("urls")
    requested_urls = [urls_value] if isinstance(urls_value, str) else get_texts(params, "urls")
    if not any(requested_urls):
        raise BadRequest("No URLs provided.", reason="missing-urls")
    if len(requested_urls) > MAX_URLS:
        raise BadRequest(f"Max {MAX_URLS} URLs are allowed.", reason="too-many-urls")
    return requested_urls


def _extract_page(world: World, request: Request, params: JsonObject, url: str) -> JsonObject:
    """Return one page of `/extract`, or a row with `error` if the crawl cannot show it."""
    page = open_page(world, url, _read_view(params), request.session.at_time)
    if page is None:
        return {"url": url, "error": "Failed to fetch url"}
    row = {"url": url, "title": page.title, "raw_content": page.content, "images": []}
    return row | _render_favicon(world, request, params, page.capture.url)


def _read_view(params: JsonObject) -> View:
    return "text" if get_text(params, "format") == "text" else "markdown"


def answer_map(world: World, request: Request) -> Response:
    """Answer `/map` with the URLs of a crawl."""
    params = read_params(request)
    start, captures = _run_crawl(world, request, params)
    return _build_payload_response(
        request, params, {"base_url": start, "results": [page.url for page in captures]}, -(-len(captures) // 10)
    )


def answer_crawl(world: World, request: Request) -> Response:
    """Answer `/crawl` with the pages of a crawl."""
    params = read_params(request)
    start, captures = _run_crawl(world, request, params)
    rows = list(_render_pages(world, request, params, captures))
    return _build_payload_response(request, params, {"base_url": start, "results": rows}, -(-len(rows) // 5))


def _render_pages(world: World, request: Request, params: JsonObject, captures: list[Capture]) -> Iterator[JsonObject]:
    """Yield the pages of captures, leaving out those that the crawl cannot show."""
    for capture in captures:
        if page := open_page(world, capture.url, _read_view(params), request.session.at_time):
            row: JsonObject = {"url": capture.url, "raw_content": page.content}
            row |= {"images": []} if get_flag(params, "include_images") else {}
            yield row | _render_favicon(world, request, params, capture.url)


def _run_crawl(world: World, request: Request, params: JsonObject) -> tuple[str, list[Capture]]:
    """Return the start of a crawl and its captures. Raises BadRequest if a parameter is wrong."""
    if not (start := get_text(params, "url").strip()):
        raise BadRequest("URL is missing.", reason="missing-url")
    depth, breadth = get_number(params, "max_depth", 1, 1, 5), get_number(params, "max_breadth", 20, 1, MAX_PAGES)
    site = urls.host_of(urls.parse_user_url(start))
    limits = CrawlLimits(
        depth,
        breadth,
        get_number(params, "limit", 50, 1, MAX_PAGES),
        _build_url_test(params, site),
        lambda url: is_within(urls.host_of(url), site, True),
    )
    return start, SiteCrawl(world, limits, request.session.at_time).crawl(start)


def _build_url_test(params: JsonObject, site: str) -> Callable[[str], bool]:
    """Return the test for URLs of a crawl, by Tavily's rules: patterns for paths and hosts, and whether to leave the
    site.
    """
    tests = {name: _compile_patterns(params, name) for name in ("select_paths", "exclude_paths")}
    tests |= {name: _compile_patterns(params, name) for name in ("select_domains", "exclude_domains")}
    allows_external = get_flag(params, "allow_external", True)

    def belongs(url: str) -> bool:
        host, path = urls.host_of(url), urls.split_url(url).path
        if not allows_external and not is_within(host, site, True):
            return False
        if any(test(path) for test in tests["exclude_paths"]) or any(test(host) for test in tests["exclude_domains"]):
            return False
        selections = ((tests["select_paths"], path), (tests["select_domains"], host))
        return all(not patterns or any(test(subject) for test in patterns) for patterns, subject in selections)

    return belongs


def _compile_patterns(params: JsonObject, name: str) -> list[Callable[[str], bool]]:
    """Return a test per pattern in the parameter; a pattern may match anywhere."""
    return [compile_pattern(f"(?s:.*)(?:{one})", full_match=False) for one in get_texts(params, name)]


def answer_usage(world: World, request: Request) -> Response:
    """Answer `/usage`: nothing is counted and nothing is limited."""
    kinds = {f"{kind}_usage": 0 for kind in ("search", "extract", "crawl", "map", "research")}
    account = {"current_plan": "Researcher", "plan_usage": 0, "plan_limit": None, "paygo_usage": 0, "paygo_limit": None}
    return build_response({"key": {"usage": 0, "limit": None, **kinds}, "account": {**account, **kinds}})


def _build_payload_response(request: Request, params: JsonObject, payload: JsonObject, credits: int) -> Response:
    """Return a response with the members that all endpoints share."""
    common_members: JsonObject = {"response_time": 0.0}
    common_members |= {"usage": {"credits": credits}} if get_flag(params, "include_usage") else {}
    return build_response({**payload, **common_members, "request_id": request_uuid(request)})


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"detail": {"error": "..."}}`; an exhausted plan is 432."""
    messages = {
        "bad-key": "Unauthorized: missing or invalid API key.",
        "rate-limited": "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
        "out-of-budget": "This request exceeds your plan's set usage limit. Please upgrade your plan.",
    }
    status = 432 if error.reason == "out-of-budget" else error.status
    retry_headers: Headers = [(b"Retry-After", b"1")] if error.reason == "rate-limited" else []
    return build_response({"detail": {"error": messages.get(error.reason, error.message)}}, status, retry_headers)


def _read_key(request: Request) -> str:
    """Return the API key of a request, from the header or from older clients' body; empty if it has none."""
    return get_header(request, b"authorization", "Bearer") or get_text(read_params(request), "api_key")


_REQUIRED_MEMBERS = frozenset({"query", "urls", "url"})
"""Members of which a request to Tavily has at least one."""


def _is_meant_at_root(request: Request) -> bool:
    """True for Tavily's paths with its key, in the header or the body, or its client's header."""
    has_key = get_header(request, b"authorization", "Bearer") or b"x-tavily-access-mode" in request.headers
    if request.method == "GET":
        return request.path == "/usage" and bool(has_key)
    if request.method != "POST" or request.path not in ("/search", "/extract", "/map", "/crawl"):
        return False
    member_names = body_fields(request)
    return bool(member_names & _REQUIRED_MEMBERS) and (bool(has_key) or "api_key" in member_names)


DIALECT = Dialect(
    "tavily",
    "Tavily",
    ("api.tavily.com",),
    (
        Route(("POST",), "/search", answer_search),
        Route(("POST",), "/extract", answer_extract),
        Route(("POST",), "/map", answer_map),
        Route(("POST",), "/crawl", answer_crawl),
        Route(("GET",), "/usage", answer_usage),
    ),
    _read_key,
    render_error,
    '`TavilyClient(key, api_base_url="http://127.0.0.1:8800/tavily")`',
    ("tavily-python",),
    _is_meant_at_root,
)
