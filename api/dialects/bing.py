"""Bing's Web Search API, version 7 (`api.bing.microsoft.com`): retired, but much code still calls it.

News results are pages that declare a publication date. Image and video results are empty, because a crawl of pages has
none.
"""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import date
from typing import Any
from urllib.parse import urlencode

from webemu.api.dialects.dialect import Dialect, Route, fields, flag, header, number, reply, text, texts
from webemu.api.dialects.display import day, marked, split, title
from webemu.api.dialects.search import RELATED, Wanted, known, search, since
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_DAYS = {"day": 1, "week": 7, "month": 30}
"""Days of the values of `freshness`."""
_ID = "https://api.bing.microsoft.com/api/v7/#WebPages."
_RELATED = "https://api.bing.microsoft.com/api/v7/#RelatedSearches"
_BEGIN, _END = "\ue000", "\ue001"
"""Private-use characters that set off the words of the query in plain text."""


def results(world: World, request: Request) -> Reply:
    """Answer `/v7.0/search`. Without results there is no `webPages` member."""
    asked, query = _query(request)
    wanted = _wanted(world, request, asked)
    filtered = [name.lower() for name in texts(asked, "responseFilter")]
    is_shown = not filtered or "webpages" in filtered
    hits, more = search(world, query, wanted, request.session.at) if is_shown else ((), False)
    answer: dict[str, Any] = {"_type": "SearchResponse", "queryContext": {"originalQuery": query}}
    if not hits:
        return reply({**answer, "rankingResponse": {}})
    found = [_page(hit, place, _text(world, hit, query, asked)) for place, hit in enumerate(hits)]
    order = [
        {"answerType": "WebPages", "resultIndex": place, "value": {"id": one["id"]}} for place, one in enumerate(found)
    ]
    counted = {"totalEstimatedMatches": known(wanted, len(hits), more), "value": found}
    answer["webPages"] = {"webSearchUrl": _address(query), **counted}
    ranking: dict[str, Any] = {"mainline": {"items": order}}
    if (not filtered or "relatedsearches" in filtered) and (others := world.related(query, hits, RELATED)):
        value = [{"text": other, "displayText": other, "webSearchUrl": _address(other)} for other in others]
        answer["relatedSearches"] = {"id": _RELATED, "value": value}
        ranking["sidebar"] = {"items": [{"answerType": "RelatedSearches", "value": {"id": _RELATED}}]}
    return reply({**answer, "rankingResponse": ranking})


def news(world: World, request: Request) -> Reply:
    """Answer `/v7.0/news/search`."""
    asked, query = _query(request)
    wanted = replace(_wanted(world, request, asked), published=True)
    hits, more = search(world, query, wanted, request.session.at)
    found = [_article(hit, _text(world, hit, query, asked)) for hit in hits]
    context = {"originalQuery": query, "adultIntent": False}
    order = [{"name": "Best match", "id": "relevance", "isSelected": True, "url": _api(request, query)}]
    answer = {"_type": "News", "readLink": _api(request, query), "queryContext": context, "sort": order}
    return reply({**answer, "totalEstimatedMatches": known(wanted, len(hits), more), "value": found})


def _article(hit: Hit, told: tuple[str, str]) -> dict[str, Any]:
    """Return one news result; `texts` are its title and description."""
    provider = {"_type": "Organization", "name": urls.domain(urls.host(hit.url))[0]}
    one = {"name": told[0], "url": hit.url, "description": told[1], "provider": [provider]}
    return {**one, "datePublished": f"{hit.date}T00:00:00.0000000Z"}


def pictures(world: World, request: Request) -> Reply:
    """Answer `/v7.0/images/search` and `/v7.0/videos/search`, always without results."""
    query = _query(request)[1]
    kind = "Images" if "/images/" in request.path else "Videos"
    answer = {"_type": kind, "readLink": _api(request, query), "webSearchUrl": _address(query)}
    context = {"originalQuery": query, "alterationDisplayQuery": query, "alterationOverrideQuery": query}
    return reply({**answer, "queryContext": context, "totalEstimatedMatches": 0, "nextOffset": 0, "value": []})


def suggestions(world: World, request: Request) -> Reply:
    """Answer `/v7.0/suggestions` with titles that complete the query.

    Titles have no date, so that a session that sees the web of a past day gets none.
    """
    query = _query(request)[1]
    titles = world.suggest(query, RELATED) if request.session.at is None else []
    found = [{"url": _address(one), "displayText": one, "query": one, "searchKind": "WebSearch"} for one in titles]
    groups = [{"name": "Web", "searchSuggestions": found}]
    return reply({"_type": "Suggestions", "queryContext": {"originalQuery": query}, "suggestionGroups": groups})


def _query(request: Request) -> tuple[dict[str, Any], str]:
    """Return the parameters and the query among them. Raises BadRequest if the query is missing."""
    asked = fields(request)
    if not (query := text(asked, "q")).strip():
        raise BadRequest("Required parameter is missing.", reason="missing-q")
    return asked, query


def _api(request: Request, query: str) -> str:
    """Return the address of this request at Microsoft, with only the query as its parameter."""
    return f"https://api.bing.microsoft.com/api/v7{request.path.partition('/v7.0')[2]}?" + urlencode({"q": query})


def _address(query: str) -> str:
    """Return the address of Bing's result page for a query."""
    return "https://www.bing.com/search?" + urlencode({"q": query})


def _wanted(world: World, request: Request, asked: dict[str, Any]) -> Wanted:
    """Return filters and paging from the parameters."""
    count, offset = number(asked, "count", 10, 1, 50), number(asked, "offset", 0, 0, 1000)
    return Wanted(offset, count, *_freshness(world, request, text(asked, "freshness")))


def _freshness(world: World, request: Request, freshness: str) -> tuple[date | None, date | None]:
    """Return the first and last day of `freshness`: an age, one day, or two days with `..` between them.

    Raises: BadRequest if it is none of these.
    """
    if not freshness:
        return None, None
    if days := _DAYS.get(freshness.lower()):
        return since(world, days, request.session.at), None
    first, _, last = freshness.partition("..")
    try:
        return date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        raise BadRequest("Parameter has invalid value.", reason="bad-freshness") from None


def _text(world: World, hit: Hit, query: str, asked: dict[str, Any]) -> tuple[str, str]:
    """Return title and snippet, as plain text or HTML, with the words of the query set off or not."""
    is_html, decorated = text(asked, "textFormat").lower() == "html", flag(asked, "textDecorations")
    told = (title(hit), hit.snippet)
    if is_html:
        first, second = (marked(world, one, query) if decorated else html.escape(one) for one in told)
    elif decorated:
        first, second = (_set_off(split(world, one, query)) for one in told)
    else:
        first, second = told
    return first, second


def _set_off(pieces: list[tuple[str, bool]]) -> str:
    """Join pieces, with the words of the query between private-use characters."""
    return "".join(f"{_BEGIN}{piece}{_END}" if is_word else piece for piece, is_word in pieces)


def _page(hit: Hit, place: int, told: tuple[str, str]) -> dict[str, Any]:
    """Return one web result; `texts` are its title and snippet."""
    one: dict[str, Any] = {"id": f"{_ID}{place}", "name": told[0], "url": hit.url}
    one |= {
        "datePublished": f"{hit.date}T00:00:00.0000000",
        "datePublishedDisplayText": day(hit),
        "isFamilyFriendly": True,
    }
    return {**one, "displayUrl": hit.url, "snippet": told[1], "isNavigational": False}


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error.

    Errors of the gateway before the service are `{"error": ...}`; those of the service itself are `{"_type":
    "ErrorResponse", "errors": [...]}`.
    """
    if error.reason in _GATE:
        status, told = _GATE[error.reason]
        waiting = [(b"Retry-After", b"1")] if status == 429 else []
        return reply({"error": {"code": str(status), "message": told}}, status, waiting)
    if isinstance(error, BadRequest):
        is_missing = error.reason.startswith("missing-")
        one = {"code": "InvalidRequest", "subCode": "ParameterMissing" if is_missing else "ParameterInvalidValue"}
        named = {"message": error.message, "parameter": error.reason.partition("-")[2]}
        return reply({"_type": "ErrorResponse", "errors": [{**one, **named}]}, 400)
    if error.status >= 500:
        unexpected = {"code": "ServerError", "subCode": "UnexpectedError", "message": error.message}
        return reply({"_type": "ErrorResponse", "errors": [unexpected]}, error.status)
    return reply({"error": {"code": str(error.status), "message": error.message}}, error.status)


_GATE = {
    "bad-key": (
        401,
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an"
        " active subscription and use a correct regional API endpoint for your resource.",
    ),
    "rate-limited": (429, "Rate limit is exceeded. Try again in 1 seconds."),
    "out-of-budget": (403, "Out of call volume quota. Quota will be replenished in 30 days."),
}
"""Status and message of the gateway's errors, by reason."""

DIALECT = Dialect(
    "bing",
    "Bing Web Search v7",
    ("api.bing.microsoft.com", "api.cognitive.microsoft.com"),
    (
        Route(("GET",), r"(/bing)?/v7\.0/search", results, True),
        Route(("GET",), r"(/bing)?/v7\.0/news/search", news, True),
        Route(("GET",), r"(/bing)?/v7\.0/(images|videos)/search", pictures, True),
        Route(("GET",), r"(/bing)?/v7\.0/suggestions", suggestions),
    ),
    lambda request: header(request, b"ocp-apim-subscription-key"),
    refuse,
    "by name through the proxy; an endpoint `http://127.0.0.1:8800/bing/v7.0/search` where a client has one",
)
