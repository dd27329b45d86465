"""Tavily (`api.tavily.com`): search, extract, map, crawl, usage.

A language model would write `answer` and follow-up questions, which are null, and would heed `instructions`, which are
ignored. Images are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from webemu.api.archives.filters import pattern
from webemu.api.dialects.days import day, mail_date
from webemu.api.dialects.dialect import Dialect, Route, fields, flag, header, members, number, reply, text, texts, uuid
from webemu.api.dialects.search import AGES, Wanted, search, share, since
from webemu.api.dialects.site import icon, is_within, opened
from webemu.api.dialects.site_crawl import Bounds, Walk
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Capture, Hit, View
from webemu.emulator.world import World

MOST_URLS = 20
"""Most URLs in one request to `/extract`."""
MOST_PAGES = 500
"""Most pages of one crawl."""
_LETTERS = {name[0]: days for name, days in AGES.items() if name != "hour"}
"""Days of the one-letter time spans."""
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def find(world: World, request: Request) -> Reply:
    """Answer `/search`."""
    asked = fields(request)
    if not (query := text(asked, "query")).strip():
        raise BadRequest("Query is missing.", reason="missing-query")
    hits = search(world, query, _wanted(world, request, asked), request.session.at)[0]
    found = [_result(world, request, asked, hit) for hit in hits]
    told: Asked = {"query": query, "follow_up_questions": None, "answer": None, "images": [], "results": found}
    told |= {"auto_parameters": {}} if flag(asked, "auto_parameters") else {}
    return _answer(request, asked, told, 2 if _is_deep(asked) else 1)


def _is_deep(asked: Asked) -> bool:
    """True if results are to have their best passage instead of a snippet."""
    return text(asked, "search_depth") == "advanced"


def _wanted(world: World, request: Request, asked: Asked) -> Wanted:
    """Return filters from the parameters. Domains that are only preferred have no effect."""
    span = text(asked, "time_range")
    age = AGES.get(span) or _LETTERS.get(span) or number(asked, "days", 0, 0, 36_500)
    after = day(asked, "start_date") or (since(world, age, request.session.at) if age else None)
    prefers = text(asked, "include_domains_mode") == "prefer"
    sites = () if prefers else tuple(texts(asked, "include_domains"))
    without = tuple(texts(asked, "exclude_domains"))
    count, is_news = number(asked, "max_results", 5, 0, 20), text(asked, "topic") == "news"
    return Wanted(0, count, after, day(asked, "end_date"), sites, without, published=is_news)


def _result(world: World, request: Request, asked: Asked, hit: Hit) -> Asked:
    content = world.passage(hit) if _is_deep(asked) else hit.snippet
    one: Asked = {"url": hit.url, "title": hit.title or hit.url, "content": content, "score": share(hit.score)}
    view = _raw_view(asked)
    page = opened(world, hit.url, view, request.session.at) if view else None
    one["raw_content"] = page.content if page else None
    if text(asked, "topic") == "news":
        one["published_date"] = mail_date(hit.date)
    return one | _favicon(world, request, asked, hit.url)


def _raw_view(asked: Asked) -> View | None:
    """Return the view of a page that results are to contain, None for none."""
    said = text(asked, "include_raw_content")
    if said == "text":
        return "text"
    return "markdown" if said == "markdown" or flag(asked, "include_raw_content") else None


def _favicon(world: World, request: Request, asked: Asked, url: str) -> Asked:
    """Return the icon's member if it is asked for. The service gives an address even if there is no icon."""
    is_wanted = flag(asked, "include_favicon")
    return {"favicon": icon(world, url, request.session.at) or urls.resolve(url, "/favicon.ico")} if is_wanted else {}


def extract(world: World, request: Request) -> Reply:
    """Answer `/extract`: pages by URL; those that the crawl cannot show are in `failed_results`."""
    asked = fields(request)
    found = [_extracted(world, request, asked, url) for url in _urls(asked)]
    failed = [one for one in found if "error" in one]
    told: Asked = {"results": [one for one in found if "error" not in one], "failed_results": failed}
    # One credit per five pages that were extracted, rounded up.
    return _answer(request, asked, told, -(-(len(found) - len(failed)) // 5))


def _urls(asked: Asked) -> list[str]:
    """Return the URLs to extract. Raises BadRequest if there are none or too many."""
    said = asked.get("urls")
    wanted = [said] if isinstance(said, str) else texts(asked, "urls")
    if not any(wanted):
        raise BadRequest("No URLs provided.", reason="missing-urls")
    if len(wanted) > MOST_URLS:
        raise BadRequest(f"Max {MOST_URLS} URLs are allowed.", reason="too-many-urls")
    return wanted


def _extracted(world: World, request: Request, asked: Asked, url: str) -> Asked:
    """Return one page of `/extract`, or a row with `error` if the crawl cannot show it."""
    page = opened(world, url, _view(asked), request.session.at)
    if page is None:
        return {"url": url, "error": "Failed to fetch url"}
    one = {"url": url, "title": page.title, "raw_content": page.content, "images": []}
    return one | _favicon(world, request, asked, page.capture.url)


def _view(asked: Asked) -> View:
    return "text" if text(asked, "format") == "text" else "markdown"


def chart(world: World, request: Request) -> Reply:
    """Answer `/map` with the URLs of a crawl."""
    asked = fields(request)
    start, found = _walked(world, request, asked)
    return _answer(request, asked, {"base_url": start, "results": [page.url for page in found]}, -(-len(found) // 10))


def crawl(world: World, request: Request) -> Reply:
    """Answer `/crawl` with the pages of a crawl."""
    asked = fields(request)
    start, found = _walked(world, request, asked)
    shown = list(_shown(world, request, asked, found))
    return _answer(request, asked, {"base_url": start, "results": shown}, -(-len(shown) // 5))


def _shown(world: World, request: Request, asked: Asked, found: list[Capture]) -> Iterator[Asked]:
    """Yield the pages of captures, leaving out those that the crawl cannot show."""
    for capture in found:
        if page := opened(world, capture.url, _view(asked), request.session.at):
            one: Asked = {"url": capture.url, "raw_content": page.content}
            one |= {"images": []} if flag(asked, "include_images") else {}
            yield one | _favicon(world, request, asked, capture.url)


def _walked(world: World, request: Request, asked: Asked) -> tuple[str, list[Capture]]:
    """Return the start of a crawl and its captures. Raises BadRequest if a parameter is wrong."""
    if not (start := text(asked, "url").strip()):
        raise BadRequest("URL is missing.", reason="missing-url")
    depth, breadth = number(asked, "max_depth", 1, 1, 5), number(asked, "max_breadth", 20, 1, MOST_PAGES)
    site = urls.host(urls.guess(start))
    bounds = Bounds(
        depth,
        breadth,
        number(asked, "limit", 50, 1, MOST_PAGES),
        _belongs(asked, site),
        lambda url: is_within(urls.host(url), site, True),
    )
    return start, Walk(world, bounds, request.session.at).run(start)


def _belongs(asked: Asked, site: str) -> Callable[[str], bool]:
    """Return the test for URLs of a crawl, by Tavily's rules: patterns for paths and hosts, and whether to leave the
    site.
    """
    tests = {name: _patterns(asked, name) for name in ("select_paths", "exclude_paths")}
    tests |= {name: _patterns(asked, name) for name in ("select_domains", "exclude_domains")}
    is_wide = flag(asked, "allow_external", True)

    def belongs(url: str) -> bool:
        host, path = urls.host(url), urls.split(url).path
        if not is_wide and not is_within(host, site, True):
            return False
        if any(test(path) for test in tests["exclude_paths"]) or any(test(host) for test in tests["exclude_domains"]):
            return False
        selects = ((tests["select_paths"], path), (tests["select_domains"], host))
        return all(not wanted or any(test(value) for test in wanted) for wanted, value in selects)

    return belongs


def _patterns(asked: Asked, name: str) -> list[Callable[[str], bool]]:
    """Return a test per pattern in the parameter; a pattern may match anywhere."""
    return [pattern(f"(?s:.*)(?:{one})", whole=False) for one in texts(asked, name)]


def usage(world: World, request: Request) -> Reply:
    """Answer `/usage`: nothing is counted and nothing is limited."""
    kinds = {f"{kind}_usage": 0 for kind in ("search", "extract", "crawl", "map", "research")}
    account = {"current_plan": "webemu", "plan_usage": 0, "plan_limit": None, "paygo_usage": 0, "paygo_limit": None}
    return reply({"key": {"usage": 0, "limit": None, **kinds}, "account": {**account, **kinds}})


def _answer(request: Request, asked: Asked, told: Asked, credits: int) -> Reply:
    """Return a response with the members that all endpoints share."""
    end: Asked = {"response_time": 0.0}
    end |= {"usage": {"credits": credits}} if flag(asked, "include_usage") else {}
    return reply({**told, **end, "request_id": uuid(request)})


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"detail": {"error": "..."}}`; an exhausted plan is 432."""
    told = {
        "bad-key": "Unauthorized: missing or invalid API key.",
        "rate-limited": "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
        "out-of-budget": "This request exceeds your plan's set usage limit. Please upgrade your plan.",
    }
    status = 432 if error.reason == "out-of-budget" else error.status
    wait: Headers = [(b"Retry-After", b"1")] if error.reason == "rate-limited" else []
    return reply({"detail": {"error": told.get(error.reason, error.message)}}, status, wait)


def _key(request: Request) -> str:
    """Return the API key of a request, from the header or from older clients' body; empty if it has none."""
    return header(request, b"authorization", "Bearer") or text(fields(request), "api_key")


_SENT = frozenset({"query", "urls", "url"})
"""Members of which a request to Tavily has at least one."""


def _at_root(request: Request) -> bool:
    """True for Tavily's paths with its key, in the header or the body, or its client's header."""
    has_key = header(request, b"authorization", "Bearer") or b"x-tavily-access-mode" in request.headers
    if request.method == "GET":
        return request.path == "/usage" and bool(has_key)
    if request.method != "POST" or request.path not in ("/search", "/extract", "/map", "/crawl"):
        return False
    named = members(request)
    return bool(named & _SENT) and (bool(has_key) or "api_key" in named)


DIALECT = Dialect(
    "tavily",
    "Tavily",
    ("api.tavily.com",),
    (
        Route(("POST",), "/search", find),
        Route(("POST",), "/extract", extract),
        Route(("POST",), "/map", chart),
        Route(("POST",), "/crawl", crawl),
        Route(("GET",), "/usage", usage),
    ),
    _key,
    refuse,
    '`TavilyClient(key, api_base_url="http://127.0.0.1:8800/tavily")`',
    ("tavily-python",),
    _at_root,
)
