"""Brave Search (`api.search.brave.com`): web, news, suggestions. Image and video results are empty.

The parameter `offset` counts pages. Descriptions are HTML with the words of the query in `<strong>`. A parameter out
of bounds is 422, and so is an unknown key.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any
from urllib.parse import unquote

from webemu.api.dialects.dialect import Dialect, Route, fields, flag, header, number, reply, text, texts, uuid
from webemu.api.dialects.display import day, marked, title
from webemu.api.dialects.search import Wanted, search, since
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MOST = {"web": 20, "news": 50, "images": 100, "videos": 50}
"""Most results per page, by kind of search."""
MAX_CHARS, MAX_WORDS, LAST_PAGE = 400, 50, 9
"""Limits of a query, and the highest `offset`."""
LANGUAGE = "en"
"""Language reported for a page of unknown language: clients require one, and the service defaults to English."""
_DAYS = {"pd": 1, "pw": 7, "pm": 31, "py": 365}
"""Days of the values of `freshness`."""
_LIMITS: Headers = [
    (b"X-RateLimit-Limit", b"1, 15000"),
    (b"X-RateLimit-Policy", b"1;w=1, 15000;w=2592000"),
    (b"X-RateLimit-Remaining", b"1, 15000"),
    (b"X-RateLimit-Reset", b"1, 2592000"),
]
"""Rate limit headers of every response. They never change, so that equal requests get equal bytes."""


def results(world: World, request: Request) -> Reply:
    """Answer `/res/v1/web/search` and the same for news, images and videos."""
    asked, kind = fields(request), request.path.split("/")[3]
    query = _query(asked)
    wanted = replace(_wanted(world, request, asked, MOST[kind]), published=kind == "news")
    is_shown = kind == "news" or (kind == "web" and "web" in (texts(asked, "result_filter") or ["web"]))
    hits, more = search(world, query, wanted, request.session.at) if is_shown else ((), False)
    decorated = flag(asked, "text_decorations", True)
    found = [_RESULTS[kind](hit, _described(world, hit, query, decorated)) for hit in hits]
    if kind == "web":
        return reply(_web(asked, query, found, more), headers=_LIMITS)
    said = {"original": query, "spellcheck_off": _spellcheck_off(asked), "show_strict_warning": False}
    return reply({"type": kind, "query": said, "results": found}, headers=_LIMITS)


def suggest(world: World, request: Request) -> Reply:
    """Answer `/res/v1/suggest/search` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    asked = fields(request)
    query, count = _query(asked), _within(asked, "count", 5, 1, 20)
    titles = world.suggest(query, count) if request.session.at is None else []
    answer = {"type": "suggest", "query": {"original": query}, "results": [{"query": title} for title in titles]}
    return reply(answer, headers=_LIMITS)


def spellcheck(world: World, request: Request) -> Reply:
    """Answer `/res/v1/spellcheck/search` with the corrected query, empty if every word is known."""
    query = _query(fields(request))
    corrected = world.correct(query)
    results = [{"query": corrected}] if corrected else []
    return reply({"type": "spellcheck", "query": {"original": query}, "results": results}, headers=_LIMITS)


def _query(asked: dict[str, Any]) -> str:
    """Return the query. Raises BadRequest if it is missing or too long."""
    query = text(asked, "q")
    if not query.strip():
        raise BadRequest("Field required", reason="bad-q")
    if len(query) > MAX_CHARS or len(query.split()) > MAX_WORDS:
        raise BadRequest(f"At most {MAX_CHARS} characters and {MAX_WORDS} words are allowed", reason="bad-q")
    return query


def _wanted(world: World, request: Request, asked: dict[str, Any], most: int) -> Wanted:
    """Return filters and paging from the parameters. Raises BadRequest if one is out of bounds."""
    count = _within(asked, "count", 20, 1, most)
    page = _within(asked, "offset", 0, 0, LAST_PAGE)
    after, before = _freshness(world, request, text(asked, "freshness"))
    return Wanted(page * count, count, after, before)


def _within(asked: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    """Return a parameter as a number. Raises BadRequest if it is out of bounds, where other services clamp."""
    value = number(asked, name, default, -1, 1000)  # wider than any limit, so that clamping hides nothing
    if not least <= value <= most:
        raise BadRequest(f"Input should be from {least} to {most}", reason=f"bad-{name}")
    return value


def _freshness(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age such as `pw`, or two days with `to` between them.

    Raises: BadRequest if it is neither.
    """
    if not freshness:
        return None, None
    if freshness in _DAYS:
        return since(world, _DAYS[freshness], request.session.at), None
    try:
        first, last = (date.fromisoformat(end) for end in freshness.split("to"))
    except ValueError:
        raise BadRequest("Input should be pd, pw, pm, py or a span of dates", reason="bad-freshness") from None
    return first, last


def _spellcheck_off(asked: dict[str, Any]) -> bool:
    return not flag(asked, "spellcheck", True)


def _web(asked: dict[str, Any], query: str, found: list[dict[str, Any]], more: bool) -> dict[str, Any]:
    """Return the response to a web search; without results there is no `web` member."""
    no = dict.fromkeys(("show_strict_warning", "is_navigational", "is_news_breaking"), False)
    said = {"original": query, **no, "spellcheck_off": _spellcheck_off(asked), "country": "us"}
    said |= {"bad_results": False, "should_fallback": False, "postal_code": "", "city": "", "header_country": ""}
    said |= {"more_results_available": more, "state": ""}
    order = [{"type": "web", "index": place, "all": False} for place in range(len(found))]
    answer = {"type": "search", "query": said, "mixed": {"type": "mixed", "main": order, "top": [], "side": []}}
    web = {"type": "search", "family_friendly": True, "results": found}
    return answer | ({"web": web} if found else {})


def _described(world: World, hit: Hit, query: str, decorated: bool) -> str:
    """Return the snippet as HTML, the words of the query in `<strong>` if asked for."""
    return marked(world, hit.snippet, query, *(("<strong>", "</strong>") if decorated else ("", "")))


def _web_result(hit: Hit, described: str) -> dict[str, Any]:
    address = _meta_url(hit.url)
    profile = {"name": address["netloc"], "url": hit.url, "long_name": address["hostname"], "img": address["favicon"]}
    return {
        "title": title(hit),
        "url": hit.url,
        "is_source_local": False,
        "is_source_both": False,
        "description": described,
        "page_age": f"{hit.date}T00:00:00",
        "profile": profile,
        "language": hit.language or LANGUAGE,
        "family_friendly": True,
        "type": "search_result",
        "subtype": "generic",
        "is_live": False,
        "meta_url": address,
        "age": day(hit, "%B"),
    }


def _news_result(hit: Hit, described: str) -> dict[str, Any]:
    one = {"type": "news_result", "title": title(hit), "url": hit.url, "description": described}
    return {**one, "age": day(hit, "%B"), "page_age": f"{hit.date}T00:00:00", "meta_url": _meta_url(hit.url)}


_RESULTS = {"web": _web_result, "news": _news_result}


def _meta_url(url: str) -> dict[str, str]:
    """Return the parts of a URL. The icon is the site's `/favicon.ico`, since clients require a URL there."""
    parts = urls.split(url)
    host = parts.hostname or ""
    shown = "  ".join(f"› {unquote(part)}" for part in parts.path.split("/") if part)
    told = {"scheme": parts.scheme, "netloc": host.removeprefix("www."), "hostname": host}
    return {**told, "favicon": f"{parts.scheme}://{parts.netloc}/favicon.ico", "path": shown}


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"type": "ErrorResponse", "error": ...}`."""
    status, code, detail, meta = _refused(error)
    named = {"id": uuid(request), "status": status, "detail": detail, "meta": meta, "code": code}
    at = request.session.at
    time = int(at.timestamp()) if at else 0
    return reply({"type": "ErrorResponse", "error": named, "time": time}, status, _LIMITS)


def _refused(error: EmulatorError) -> tuple[int, str, str, dict[str, Any]]:
    """Return status, code, detail and metadata of an error."""
    if error.reason == "bad-key":
        told = "The provided subscription token is invalid."
        return 422, "SUBSCRIPTION_TOKEN_INVALID", told, {"component": "authentication"}
    if error.reason in ("rate-limited", "out-of-budget"):
        meta = {"plan": "Free", "rate_limit": 1, "rate_current": 1, "quota_limit": 15000, "quota_current": 0}
        told = "Request rate limit exceeded for plan"
        return 429, "RATE_LIMITED", told, {**meta, "component": "rate_limiter"}
    if isinstance(error, BadRequest):
        one = {"type": "value_error", "loc": ["query", error.reason.removeprefix("bad-")], "msg": error.message}
        return 422, "VALIDATION", "Unable to validate request parameter(s)", {"errors": [one]}
    code = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}.get(error.status, "INTERNAL")
    return error.status, code, error.message, {}


DIALECT = Dialect(
    "brave",
    "Brave Search",
    ("api.search.brave.com",),
    (
        Route(("GET",), "/res/v1/(web|news|images|videos)/search", results, True),
        Route(("GET",), "/res/v1/suggest/search", suggest),
        Route(("GET",), "/res/v1/spellcheck/search", spellcheck),
    ),
    lambda request: header(request, b"x-subscription-token"),
    refuse,
    "by name through the proxy; a base URL `http://127.0.0.1:8800/brave/res/v1/` where a client has one",
    ("brave-search", "brave-search-python-client"),
)
