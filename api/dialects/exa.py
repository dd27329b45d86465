"""Exa (`api.exa.ai`): search, contents, findSimilar. `/answer` is refused, because there is no language model here.

A result has its page's text only if the request asks for it, as Exa's own client does by default. Authors are null;
images and summaries are absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from webemu.api.dialects.days import format_capture_time, format_midnight, get_day
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
    request_digest,
)
from webemu.api.dialects.search import SearchParams, normalize_score, search
from webemu.api.dialects.site import find_icon, is_within, open_page
from webemu.api.dialects.site_crawl import CrawlLimits, SiteCrawl, list_links
from webemu.api.dialects.summaries import summarize
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, ServiceRefusal
from webemu.emulator.types import Hit, Page, PageRequest
from webemu.emulator.world import World

MAX_URLS = 100
"""Most URLs in one request to `/contents`."""
MAX_SUBPAGES = 100
"""Most subpages of one page."""
HIGHLIGHT_CHARS = 400
"""Characters of a highlight."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search`."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("query is missing", reason="missing-query")
    if get_flag(params, "stream"):
        raise BadRequest("Streaming is only supported together with outputSchema", reason="bad-stream")
    hits = _search_hits(
        world, request, query, _read_search_params(params, get_number(params, "numResults", 10, 1, 100))
    )
    return _build_payload_response(
        request, [_render_result(world, request, _read_contents_options(params), hit) for hit in hits]
    )


def _search_hits(world: World, request: Request, query: str, search_params: SearchParams) -> Sequence[Hit]:
    """Return the results; within given domains, pages without a word of the query follow those that have one.

    The service ranks by meaning, so that it always finds as many pages of a domain as there are.
    """
    hits = search(world, query, search_params, request.session.at_time)[0]
    if not search_params.sites or len(hits) == search_params.count:
        return hits
    seen_urls = {hit.url for hit in hits}
    site_hits = search(world, "", search_params, request.session.at_time)[0]
    return [*hits, *(hit for hit in site_hits if hit.url not in seen_urls)][: search_params.count]


def answer_find_similar(world: World, request: Request) -> Response:
    """Answer `/findSimilar` with the results for the page's title, without the page itself."""
    params, at_time = read_params(request), request.session.at_time
    if not (url := get_text(params, "url")):
        raise BadRequest("url is missing", reason="missing-url")
    page = world.fetch(PageRequest(url, "text", at_time))
    count, site = get_number(params, "numResults", 10, 1, 100), urls.split_domain(urls.host_of(page.capture.url))[0]
    excluded_sites = (site,) if get_flag(params, "excludeSourceDomain") else ()
    # One result more than asked for, since the page itself is usually among them.
    hits = search(
        world, page.title or page.content[:100], _read_search_params(params, count + 1, excluded_sites), at_time
    )[0]
    other_hits = [hit for hit in hits if hit.url not in (url, page.capture.url)]
    return _build_payload_response(
        request, [_render_result(world, request, _read_contents_options(params), hit) for hit in other_hits[:count]]
    )


def _read_search_params(params: JsonObject, count: int, excluded_sites: tuple[str, ...] = ()) -> SearchParams:
    """Return filters for `count` results; the sites in `excluded_sites` are left out as well."""
    file_types = ("pdf",) if get_text(params, "category") == "pdf" else ()
    return SearchParams(
        0,
        count,
        get_day(params, "startPublishedDate"),
        get_day(params, "endPublishedDate"),
        tuple(get_texts(params, "includeDomains")),
        tuple(get_texts(params, "excludeDomains")) + excluded_sites,
        file_types,
        tuple(get_texts(params, "includeText")),
        tuple(get_texts(params, "excludeText")),
    )


def _read_contents_options(params: JsonObject) -> JsonObject:
    """Return the `contents` object, which says what each result is to contain; empty if there is none."""
    contents_options = params.get("contents")
    return contents_options if isinstance(contents_options, dict) else {}


def _render_result(world: World, request: Request, options: JsonObject, hit: Hit) -> JsonObject:
    """Return one result, with the parts of its page that `options` asks for."""
    row: JsonObject = {
        "id": hit.url,
        "title": hit.title or hit.url,
        "url": hit.url,
        "publishedDate": format_midnight(hit.date),
    }
    row |= {"author": None, "score": normalize_score(hit.score)}
    if options.get("highlights"):
        row |= {"highlights": [hit.snippet], "highlightScores": [normalize_score(hit.score)]}
    page = open_page(world, hit.url, "text", request.session.at_time) if options else None
    return row | (_render_page_parts(world, request, options, page) if page else {})


def _render_page_parts(world: World, request: Request, options: JsonObject, page: Page) -> JsonObject:
    """Return the parts of a page that `options` asks for: text, links, the site's icon."""
    at_time, url = request.session.at_time, page.capture.url
    row: JsonObject = {"favicon": icon_url} if (icon_url := find_icon(world, url, at_time)) else {}
    if options.get("text"):
        row["text"] = _render_text(world, page, options["text"], at_time)
    if summary_options := options.get("summary"):
        summary_query = get_text(summary_options, "query") if isinstance(summary_options, dict) else ""
        row["summary"] = summarize(world, page.content, summary_query)
    extras = options.get("extras")
    if isinstance(extras, dict) and (count := get_number(extras, "links", 0, 0, 1000)):
        row["extras"] = {"links": list_links(world, url, at_time)[:count]}
    return row


def _render_text(world: World, page: Page, options: object, at_time: datetime | None) -> str:
    """Return a page as text or HTML, cut to `maxCharacters`."""
    text_options = options if isinstance(options, dict) else {}
    html_page = (
        open_page(world, page.capture.url, "html", at_time) if get_flag(text_options, "includeHtmlTags") else None
    )
    return (html_page or page).content[: get_number(text_options, "maxCharacters", 10_000_000, 1, 10_000_000)]


def answer_contents(world: World, request: Request) -> Response:
    """Answer `/contents`: pages by URL. A page that is not captured is an error in `statuses` only."""
    params = read_params(request)
    requested_urls = get_texts(params, "urls") or get_texts(params, "ids")
    if not requested_urls:
        raise BadRequest("urls is missing", reason="missing-urls")
    if len(requested_urls) > MAX_URLS:
        raise BadRequest(f"more than {MAX_URLS} urls", reason="too-many-urls")
    pages = {url: open_page(world, url, "text", request.session.at_time) for url in requested_urls}
    rows = [_render_page(world, request, params, url, page) for url, page in pages.items() if page]
    not_found = {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404}
    success, failure = {"status": "success", "source": "cached"}, {"status": "error", "error": not_found}
    return _build_payload_response(
        request, rows, [{"id": url, **(success if page else failure)} for url, page in pages.items()]
    )


def _render_page(world: World, request: Request, params: JsonObject, url: str, page: Page) -> JsonObject:
    """Return one page of `/contents`; `url` is the URL as the client wrote it."""
    row: JsonObject = {"id": url, "title": page.title or page.capture.url, "url": page.capture.url, "author": None}
    row |= _render_page_parts(world, request, params, page) | {"crawlDate": format_capture_time(page.capture)}
    if params.get("highlights"):
        row["highlights"] = _render_highlights(world, params["highlights"], page.content)
    if count := get_number(params, "subpages", 0, 0, MAX_SUBPAGES):
        row["subpages"] = _list_subpages(world, request, params, page, count)
    return row


def _render_highlights(world: World, options: object, content: str) -> list[str]:
    """Return the passage where the query's words first occur, or the beginning; empty for a page without text."""
    query = get_text(options, "query") if isinstance(options, dict) else ""
    offsets = world.occurrences(content, query) if query else []
    # Begin a little before the first match, so that it has context on both sides.
    start = max(0, offsets[0][0] - HIGHLIGHT_CHARS // 4) if offsets else 0
    return [" ".join(content[start : start + HIGHLIGHT_CHARS].split())] if content else []


def _list_subpages(world: World, request: Request, params: JsonObject, page: Page, count: int) -> list[JsonObject]:
    """Return pages of the same site that the page links to."""
    site = urls.host_of(page.capture.url)
    limits = CrawlLimits(1, count, count + 1, lambda url: is_within(urls.host_of(url), site, True))
    captures = SiteCrawl(world, limits, request.session.at_time).crawl(page.capture.url)[1:]
    page_params = {name: value for name, value in params.items() if name != "subpages"}
    subpages = [(capture.url, open_page(world, capture.url, "text", request.session.at_time)) for capture in captures]
    return [_render_page(world, request, page_params, url, subpage) for url, subpage in subpages if subpage]


def answer_answer(world: World, request: Request) -> Response:
    """Refuse `/answer`, which a language model would write."""
    raise ServiceRefusal("This feature is not enabled for your account", reason="no-answers", status=403)


def _build_payload_response(
    request: Request, results: list[JsonObject], statuses: list[JsonObject] | None = None
) -> Response:
    """Return a response; only `/contents` has `statuses`, only searches have a search type."""
    payload: JsonObject = {"requestId": request_digest(request)[:32]}
    if statuses is None:
        payload["resolvedSearchType"] = "keyword"
    payload["results"] = results
    if statuses is not None:
        payload["statuses"] = statuses
    return build_response({**payload, "searchTime": 0.0, "costDollars": {"total": 0.0}})


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"requestId", "error", "tag"}`."""
    status, tag, message = _classify_error(error)
    return build_response({"requestId": request_digest(request)[:32], "error": message, "tag": tag}, status)


def _classify_error(error: EmulatorError) -> tuple[int, str, str]:
    """Return status, tag and message of an error."""
    rate_limit_message = "You've exceeded your Exa rate limit of 10 requests per second."
    by_reason = {
        "bad-key": (401, "INVALID_API_KEY", "Invalid API key"),
        "rate-limited": (429, "RATE_LIMIT_EXCEEDED", rate_limit_message),
        "out-of-budget": (402, "NO_MORE_CREDITS", "You've exceeded your credits limit."),
        "no-answers": (403, "FEATURE_DISABLED", error.message),
        "no-such-route": (404, "NOT_FOUND", error.message),
    }
    if error.reason in by_reason:
        return by_reason[error.reason]
    if isinstance(error, NotCaptured) or error.status == 406:
        return 422, "FETCH_DOCUMENT_ERROR", error.message
    tag = "INVALID_REQUEST_BODY" if isinstance(error, BadRequest) else "INTERNAL_ERROR"
    return error.status, tag, error.message


_REQUIRED_MEMBERS = frozenset({"query", "urls", "ids", "url"})
"""Members of which a request to Exa has at least one."""
_PATHS = ("/search", "/contents", "/findSimilar", "/answer")


def _is_meant_at_root(request: Request) -> bool:
    """True for Exa's paths and header, unless the body has a `q`: Serper, whose header is the same, calls its query
    so.
    """
    if request.method != "POST" or request.path not in _PATHS or b"x-api-key" not in request.headers:
        return False
    member_names = body_fields(request)
    return bool(member_names & _REQUIRED_MEMBERS) and "q" not in member_names


DIALECT = Dialect(
    "exa",
    "Exa",
    ("api.exa.ai",),
    (
        Route(("POST",), "/search", answer_search),
        Route(("POST",), "/contents", answer_contents),
        Route(("POST",), "/findSimilar", answer_find_similar),
        Route(("POST",), "/answer", answer_answer),
    ),
    lambda request: get_header(request, b"x-api-key") or get_header(request, b"authorization", "Bearer"),
    render_error,
    '`Exa(key, base_url="http://127.0.0.1:8800/exa")`',
    ("exa-py",),
    _is_meant_at_root,
)
