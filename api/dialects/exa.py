"""Exa (`api.exa.ai`): search, contents, findSimilar. `/answer` is refused, because there is no language model here.

A result has its page's text only if the request asks for it, as Exa's own client does by default. Authors are null;
images and summaries are absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from webemu.api.dialects.days import day, fetched, midnight
from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    fields,
    fingerprint,
    flag,
    header,
    members,
    number,
    reply,
    text,
    texts,
)
from webemu.api.dialects.search import Wanted, search, share
from webemu.api.dialects.site import icon, is_within, opened
from webemu.api.dialects.site_crawl import Bounds, Walk, links
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, Refused
from webemu.emulator.types import Hit, Page, PageRequest
from webemu.emulator.world import World

MOST_URLS = 100
"""Most URLs in one request to `/contents`."""
MOST_SUBPAGES = 100
"""Most subpages of one page."""
EXCERPT = 400
"""Characters of a highlight."""
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def find(world: World, request: Request) -> Reply:
    """Answer `/search`."""
    asked = fields(request)
    if not (query := text(asked, "query")).strip():
        raise BadRequest("query is missing", reason="missing-query")
    if flag(asked, "stream"):
        raise BadRequest("Streaming is only supported together with outputSchema", reason="bad-stream")
    hits = _hits(world, request, query, _wanted(asked, number(asked, "numResults", 10, 1, 100)))
    return _answer(request, [_found(world, request, _contents(asked), hit) for hit in hits])


def _hits(world: World, request: Request, query: str, wanted: Wanted) -> Sequence[Hit]:
    """Return the results; within given domains, pages without a word of the query follow those that have one.

    The service ranks by meaning, so that it always finds as many pages of a domain as there are.
    """
    hits = search(world, query, wanted, request.session.at)[0]
    if not wanted.sites or len(hits) == wanted.count:
        return hits
    known = {hit.url for hit in hits}
    others = search(world, "", wanted, request.session.at)[0]
    return [*hits, *(hit for hit in others if hit.url not in known)][: wanted.count]


def similar(world: World, request: Request) -> Reply:
    """Answer `/findSimilar` with the results for the page's title, without the page itself."""
    asked, at = fields(request), request.session.at
    if not (url := text(asked, "url")):
        raise BadRequest("url is missing", reason="missing-url")
    page = world.fetch(PageRequest(url, "text", at))
    count, site = number(asked, "numResults", 10, 1, 100), urls.domain(urls.host(page.capture.url))[0]
    without = (site,) if flag(asked, "excludeSourceDomain") else ()
    # One result more than asked for, since the page itself is usually among them.
    hits = search(world, page.title or page.content[:100], _wanted(asked, count + 1, without), at)[0]
    others = [hit for hit in hits if hit.url not in (url, page.capture.url)]
    return _answer(request, [_found(world, request, _contents(asked), hit) for hit in others[:count]])


def _wanted(asked: Asked, count: int, without: tuple[str, ...] = ()) -> Wanted:
    """Return filters for `count` results; the sites in `excluded_sites` are left out as well."""
    types = ("pdf",) if text(asked, "category") == "pdf" else ()
    return Wanted(
        0,
        count,
        day(asked, "startPublishedDate"),
        day(asked, "endPublishedDate"),
        tuple(texts(asked, "includeDomains")),
        tuple(texts(asked, "excludeDomains")) + without,
        types,
        tuple(texts(asked, "includeText")),
        tuple(texts(asked, "excludeText")),
    )


def _contents(asked: Asked) -> Asked:
    """Return the `contents` object, which says what each result is to contain; empty if there is none."""
    said = asked.get("contents")
    return said if isinstance(said, dict) else {}


def _found(world: World, request: Request, wanted: Asked, hit: Hit) -> Asked:
    """Return one result, with the parts of its page that `options` asks for."""
    one: Asked = {"id": hit.url, "title": hit.title or hit.url, "url": hit.url, "publishedDate": midnight(hit.date)}
    one |= {"author": None, "score": share(hit.score)}
    if wanted.get("highlights"):
        one |= {"highlights": [hit.snippet], "highlightScores": [share(hit.score)]}
    page = opened(world, hit.url, "text", request.session.at) if wanted else None
    return one | (_parts(world, request, wanted, page) if page else {})


def _parts(world: World, request: Request, wanted: Asked, page: Page) -> Asked:
    """Return the parts of a page that `options` asks for: text, links, the site's icon."""
    at, url = request.session.at, page.capture.url
    one: Asked = {"favicon": shown} if (shown := icon(world, url, at)) else {}
    if wanted.get("text"):
        one["text"] = _text(world, page, wanted["text"], at)
    extras = wanted.get("extras")
    if isinstance(extras, dict) and (count := number(extras, "links", 0, 0, 1000)):
        one["extras"] = {"links": links(world, url, at)[:count]}
    return one


def _text(world: World, page: Page, options: Any, at: datetime | None) -> str:
    """Return a page as text or HTML, cut to `maxCharacters`."""
    said = options if isinstance(options, dict) else {}
    marked = opened(world, page.capture.url, "html", at) if flag(said, "includeHtmlTags") else None
    return (marked or page).content[: number(said, "maxCharacters", 10_000_000, 1, 10_000_000)]


def contents(world: World, request: Request) -> Reply:
    """Answer `/contents`: pages by URL. A page that is not captured is an error in `statuses` only."""
    asked = fields(request)
    wanted = texts(asked, "urls") or texts(asked, "ids")
    if not wanted:
        raise BadRequest("urls is missing", reason="missing-urls")
    if len(wanted) > MOST_URLS:
        raise BadRequest(f"more than {MOST_URLS} urls", reason="too-many-urls")
    pages = {url: opened(world, url, "text", request.session.at) for url in wanted}
    shown = [_page(world, request, asked, url, page) for url, page in pages.items() if page]
    missing = {"tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404}
    good, bad = {"status": "success", "source": "cached"}, {"status": "error", "error": missing}
    return _answer(request, shown, [{"id": url, **(good if page else bad)} for url, page in pages.items()])


def _page(world: World, request: Request, asked: Asked, url: str, page: Page) -> Asked:
    """Return one page of `/contents`; `url` is the URL as the client wrote it."""
    one: Asked = {"id": url, "title": page.title or page.capture.url, "url": page.capture.url, "author": None}
    one |= _parts(world, request, asked, page) | {"crawlDate": fetched(page.capture)}
    if asked.get("highlights"):
        one["highlights"] = _highlights(world, asked["highlights"], page.content)
    if count := number(asked, "subpages", 0, 0, MOST_SUBPAGES):
        one["subpages"] = _subpages(world, request, asked, page, count)
    return one


def _highlights(world: World, options: Any, content: str) -> list[str]:
    """Return the passage where the query's words first occur, or the beginning; empty for a page without text."""
    query = text(options, "query") if isinstance(options, dict) else ""
    places = world.occurrences(content, query) if query else []
    # Begin a little before the first match, so that it has context on both sides.
    start = max(0, places[0][0] - EXCERPT // 4) if places else 0
    return [" ".join(content[start : start + EXCERPT].split())] if content else []


def _subpages(world: World, request: Request, asked: Asked, page: Page, count: int) -> list[Asked]:
    """Return pages of the same site that the page links to."""
    site = urls.host(page.capture.url)
    bounds = Bounds(1, count, count + 1, lambda url: is_within(urls.host(url), site, True))
    found = Walk(world, bounds, request.session.at).run(page.capture.url)[1:]
    plain = {name: value for name, value in asked.items() if name != "subpages"}
    shown = [(capture.url, opened(world, capture.url, "text", request.session.at)) for capture in found]
    return [_page(world, request, plain, url, below) for url, below in shown if below]


def answer(world: World, request: Request) -> Reply:
    """Refuse `/answer`, which a language model would write."""
    raise Refused("This feature is not enabled for your account", reason="no-answers", status=403)


def _answer(request: Request, results: list[Asked], statuses: list[Asked] | None = None) -> Reply:
    """Return a response; only `/contents` has `statuses`, only searches have a search type."""
    told: Asked = {"requestId": fingerprint(request)[:32]}
    if statuses is None:
        told["resolvedSearchType"] = "keyword"
    told["results"] = results
    if statuses is not None:
        told["statuses"] = statuses
    return reply({**told, "searchTime": 0.0, "costDollars": {"total": 0.0}})


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"requestId", "error", "tag"}`."""
    status, tag, told = _said(error)
    return reply({"requestId": fingerprint(request)[:32], "error": told, "tag": tag}, status)


def _said(error: EmulatorError) -> tuple[int, str, str]:
    """Return status, tag and message of an error."""
    limit = "You've exceeded your Exa rate limit of 10 requests per second."
    known = {
        "bad-key": (401, "INVALID_API_KEY", "Invalid API key"),
        "rate-limited": (429, "RATE_LIMIT_EXCEEDED", limit),
        "out-of-budget": (402, "NO_MORE_CREDITS", "You've exceeded your credits limit."),
        "no-answers": (403, "FEATURE_DISABLED", error.message),
        "no-such-route": (404, "NOT_FOUND", error.message),
    }
    if error.reason in known:
        return known[error.reason]
    if isinstance(error, NotCaptured) or error.status == 406:
        return 422, "FETCH_DOCUMENT_ERROR", error.message
    tag = "INVALID_REQUEST_BODY" if isinstance(error, BadRequest) else "INTERNAL_ERROR"
    return error.status, tag, error.message


_SENT = frozenset({"query", "urls", "ids", "url"})
"""Members of which a request to Exa has at least one."""
_PATHS = ("/search", "/contents", "/findSimilar", "/answer")


def _at_root(request: Request) -> bool:
    """True for Exa's paths and header, unless the body has a `q`: Serper, whose header is the same, calls its query
    so.
    """
    if request.method != "POST" or request.path not in _PATHS or b"x-api-key" not in request.headers:
        return False
    named = members(request)
    return bool(named & _SENT) and "q" not in named


DIALECT = Dialect(
    "exa",
    "Exa",
    ("api.exa.ai",),
    (
        Route(("POST",), "/search", find),
        Route(("POST",), "/contents", contents),
        Route(("POST",), "/findSimilar", similar),
        Route(("POST",), "/answer", answer),
    ),
    lambda request: header(request, b"x-api-key") or header(request, b"authorization", "Bearer"),
    refuse,
    '`Exa(key, base_url="http://127.0.0.1:8800/exa")`',
    ("exa-py",),
    _at_root,
)
