"""SerpAPI (`serpapi.com`): results of engines as JSON, by GET with the key among the parameters.

Answer boxes and knowledge graphs are absent, because a crawl has none. A search without results is status 200 with
`error`.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from webemu.api.dialects.dialect import Dialect, Route, fields, fingerprint, number, reply, text
from webemu.api.dialects.display import crumbs, day, split, title
from webemu.api.dialects.search import RELATED, Wanted, known, search, since
from webemu.api.dialects.tbs import dates
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

NAME, HOSTS = "serpapi", ("serpapi.com",)
"""Prefix and host of the service, which the address of the next page contains."""
NO_RESULTS = "Google hasn't returned any results for this query."
"""Error text of a search without results."""
_QUERY = {"yahoo": "p", "yandex": "text", "naver": "query"}
"""Parameters that hold the query of engines that do not call it `q`."""
_ENGINES = {"google", "google_light", "google_news", "google_scholar", "bing", "duckduckgo", "baidu", *_QUERY}
_KEYS = ("api_key", "serp_api_key")
"""Parameters that hold the API key."""
_HIDDEN = {*_KEYS, "source", "output", "async", "no_cache"}
"""Parameters that a response does not repeat."""


def results(world: World, request: Request) -> Reply:
    """Answer `/search` and `/search.json`."""
    asked = fields(request)
    engine, query = _asked(asked)
    count, start = number(asked, "num", 10, 1, 100), number(asked, "start", 0, 0, 1000)
    after, before = dates(world, request, text(asked, "tbs"))
    kind = {"nws": "news", "": "organic"}.get(text(asked, "tbm"), "none")
    kind = "news" if engine == "google_news" else kind
    wanted = Wanted(start, count, after, before, published=kind == "news")
    hits, more = search(world, query, wanted, request.session.at) if kind != "none" else ((), False)
    told = {"search_metadata": _metadata(world, request, query), "search_parameters": _parameters(asked, engine)}
    if not hits:
        empty = {"query_displayed": query, "organic_results_state": "Fully empty"}
        return reply({**told, "search_information": empty, "error": NO_RESULTS})
    shape = _news if kind == "news" else _organic
    found = [shape(world, hit, start + place, query) for place, hit in enumerate(hits, 1)]
    answer: dict[str, Any] = {**told, "search_information": _information(query, known(wanted, len(hits), more))}
    others = [{"query": other, "link": _google(other)} for other in _others(world, query, hits, kind)]
    answer |= {f"{kind}_results": found} | ({"related_searches": others} if others else {})
    return reply({**answer, **_pagination(request, asked, wanted, more)})


def account(world: World, request: Request) -> Reply:
    """Answer `/account` with the state of an account whose searches are not counted."""
    key = _key(request)
    plan = {
        "plan_id": "bigdata",
        "plan_name": "Big Data Plan",
        "plan_monthly_price": 275.0,
        "searches_per_month": 30_000,
    }
    left = {"plan_searches_left": 30_000, "extra_credits": 0, "total_searches_left": 30_000}
    used = {
        "this_month_usage": 0,
        "this_hour_searches": 0,
        "last_hour_searches": 0,
        "account_rate_limit_per_hour": 6000,
    }
    named = {"account_id": sha256(key.encode()).hexdigest()[:24], "api_key": key, "account_email": "user@example.com"}
    return reply({**named, **plan, **left, **used})


def _asked(asked: dict[str, Any]) -> tuple[str, str]:
    """Return engine and query. Raises BadRequest if one is missing or unsupported."""
    engine = text(asked, "engine", "google")
    if engine not in _ENGINES:
        raise BadRequest(f"Unsupported `{engine[:100]}` search engine.", reason="bad-engine")
    if text(asked, "output", "json") != "json":
        raise BadRequest("Unsupported `output` parameter: only `json` is served.", reason="bad-output")
    name = _QUERY.get(engine, "q")
    if not (query := text(asked, name)).strip():
        raise BadRequest(f"Missing query `{name}` parameter.", reason="missing-query")
    return engine, query


def _metadata(world: World, request: Request, query: str) -> dict[str, Any]:
    """Return the metadata of a search. Its time is the session's day, so that equal requests get equal bytes."""
    now = f"{since(world, 0, request.session.at)} 00:00:00 UTC"
    told = {"id": fingerprint(request)[:24], "status": "Success", "created_at": now, "processed_at": now}
    return {**told, "google_url": _google(query), "total_time_taken": 0.0}


def _google(query: str) -> str:
    """Return the address of Google's result page for a query."""
    return "https://www.google.com/search?" + urlencode({"q": query})


def _others(world: World, query: str, hits: Sequence[Hit], kind: str) -> list[str]:
    """Return related queries; only a web search has any."""
    return world.related(query, hits, RELATED) if kind == "organic" else []


def _parameters(asked: dict[str, Any], engine: str) -> dict[str, Any]:
    """Return the parameters of the search as the response repeats them."""
    said = {"engine": engine, "google_domain": "google.com", "hl": "en", "gl": "us", "device": "desktop"}
    return said | {name: value for name, value in asked.items() if name not in _HIDDEN}


def _information(query: str, total: int) -> dict[str, Any]:
    told = {"query_displayed": query, "total_results": total, "time_taken_displayed": 0.0}
    return {**told, "organic_results_state": "Results for exact spelling"}


def _organic(world: World, hit: Hit, position: int, query: str) -> dict[str, Any]:
    one = {"position": position, "title": title(hit), "link": hit.url, "displayed_link": crumbs(hit.url)}
    words = list(dict.fromkeys(piece for piece, is_word in split(world, hit.snippet, query) if is_word))
    shown = {"date": day(hit), "snippet": hit.snippet, "snippet_highlighted_words": words}
    return {**one, **shown, "source": urls.domain(urls.host(hit.url))[0]}


def _news(world: World, hit: Hit, position: int, query: str) -> dict[str, Any]:
    one = {"position": position, "title": title(hit), "link": hit.url}
    return {**one, "source": urls.domain(urls.host(hit.url))[0], "date": day(hit), "snippet": hit.snippet}


def _pagination(request: Request, asked: dict[str, Any], wanted: Wanted, more: bool) -> dict[str, Any]:
    """Return the page's number and the next page's address, without the API key, as the service has it."""
    base = request.origin if request.host in HOSTS else f"{request.origin}/{NAME}"
    kept = {name: value for name, value in asked.items() if name not in {*_KEYS, "source", "output"}}
    told: dict[str, Any] = {"current": wanted.offset // wanted.count + 1}
    if more:
        onward = urlencode({**kept, "start": wanted.offset + wanted.count})
        told |= {"next_link": f"{base}/search.json?{onward}", "next": f"{base}/search.json?{onward}"}
    return {"serpapi_pagination": told}


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"error": "..."}`."""
    limit = "Your account has run out of searches."
    bad_key = "Invalid API key. Your API key should be here: https://serpapi.com/manage-api-key"
    told = {"bad-key": bad_key, "rate-limited": limit, "out-of-budget": limit}
    return reply({"error": told.get(error.reason, error.message)}, error.status)


def _key(request: Request) -> str:
    """Return the API key of a request, empty if it has none."""
    asked = dict(request.parameters)
    return next((asked[name] for name in _KEYS if name in asked), "")


DIALECT = Dialect(
    NAME,
    "SerpAPI",
    HOSTS,
    (Route(("GET",), r"/search(\.json)?", results, True), Route(("GET",), r"/account(\.json)?", account, True)),
    _key,
    refuse,
    '`SerpApiClient.BACKEND = "http://127.0.0.1:8800/serpapi"`, or by name through the proxy',
    ("google-search-results", "smolagents"),
)
