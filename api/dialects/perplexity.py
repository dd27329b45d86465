"""Perplexity's Search API (`api.perplexity.ai/search`). The service's other endpoints are a language model's.

A result contains as much of its page as the client's token limits allow, since the service cannot open pages.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from webemu.api.dialects.dialect import Dialect, Route, fields, header, members, number, reply, text, texts, uuid
from webemu.api.dialects.search import AGES, Wanted, search, since
from webemu.api.dialects.site import opened
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

PER_TOKEN = 4
"""Characters that count as a token, as in English text."""
MOST_QUERIES = 5
"""Most queries of one request."""
_DAY = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
Asked = dict[str, Any]
"""A JSON object: parameters of a request, or a part of a response."""


def find(world: World, request: Request) -> Reply:
    """Answer `/search`: one query, or several whose results are interleaved."""
    asked = fields(request)
    count, wanted = number(asked, "max_results", 10, 1, 20), _wanted(world, request, asked)
    rankings = [search(world, query, wanted, request.session.at)[0] for query in _queries(asked)]
    # The first result of each query, then the second of each; a URL counts where it occurs first.
    turns = (ranking[place] for place in range(count) for ranking in rankings if place < len(ranking))
    hits = list({hit.url: hit for hit in reversed(list(turns))}.values())[::-1][:count]
    return reply({"id": uuid(request), "results": _results(world, request, asked, hits), "server_time": None})


def _queries(asked: Asked) -> list[str]:
    """Return the queries. Raises BadRequest if there are none or too many, or one is empty."""
    said = asked.get("query")
    queries = [said] if isinstance(said, str) else said
    if not isinstance(queries, list) or not all(isinstance(one, str) and one.strip() for one in queries) or not queries:
        raise BadRequest("query: Field required", reason="bad-query")
    if len(queries) > MOST_QUERIES:
        raise BadRequest(f"query: at most {MOST_QUERIES} queries", reason="bad-query")
    return queries


def _wanted(world: World, request: Request, asked: Asked) -> Wanted:
    """Return filters from the parameters; a domain with `-` before it is excluded."""
    age = AGES.get(text(asked, "search_recency_filter"))
    after = _day(asked, "search_after_date_filter") or (since(world, age, request.session.at) if age else None)
    named = texts(asked, "search_domain_filter")
    sites, without = [one for one in named if not one.startswith("-")], [one[1:] for one in named if one[:1] == "-"]
    count = number(asked, "max_results", 10, 1, 20)
    return Wanted(0, count, after, _day(asked, "search_before_date_filter"), tuple(sites), tuple(without))


def _day(asked: Asked, name: str) -> date | None:
    """Return a parameter in the form MM/DD/YYYY as a date, None if it is missing. Raises BadRequest otherwise."""
    if not (value := text(asked, name)):
        return None
    try:
        month, day, year = map(int, _DAY.fullmatch(value).groups())  # type: ignore[union-attr]
        return date(year, month, day)
    except (AttributeError, ValueError):  # AttributeError: the pattern does not match
        raise BadRequest(f"{name}: use MM/DD/YYYY", reason=f"bad-{name}") from None


def _results(world: World, request: Request, asked: Asked, hits: list[Hit]) -> list[Asked]:
    """Return the results, each with as much of its page as the remaining tokens allow."""
    left = number(asked, "max_tokens", 10_000, 1, 1_000_000) * PER_TOKEN
    each = number(asked, "max_tokens_per_page", 4096, 1, 1_000_000) * PER_TOKEN
    found = []
    for hit in hits:
        page = opened(world, hit.url, "text", request.session.at)
        shown = ((page.content if page else "") or hit.snippet)[: min(left, each)]
        left -= len(shown)
        one = {"title": hit.title or hit.url, "url": hit.url, "snippet": shown, "date": hit.date}
        found.append(one | {"last_updated": None})
    return found


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"error": {"message", "type", "code"}}`; a bad request is 422."""
    status = 422 if isinstance(error, BadRequest) else error.status
    kind = _TYPES.get(error.reason, "internal_server_error" if status >= 500 else "invalid_request")
    told = {"bad-key": "Invalid API key provided.", "rate-limited": "Request rate limit exceeded."}
    error_told = {"message": told.get(error.reason, error.message), "type": kind, "code": status}
    return reply({"error": error_told}, status)


_TYPES = {
    "bad-key": "invalid_api_key",
    "rate-limited": "request_rate_limit_exceeded",
    "out-of-budget": "insufficient_quota",
    "no-such-route": "not_found",
    "method-not-allowed": "method_not_allowed",
}
"""Type by reason of the error."""
_OWN = frozenset({"max_tokens", "max_tokens_per_page", "search_domain_filter", "search_recency_filter", "search_mode"})
"""Members that only Perplexity's requests have."""


def _at_root(request: Request) -> bool:
    """True for a search that has a member of Perplexity's own or comes from its client."""
    if request.method != "POST" or request.path != "/search" or not header(request, b"authorization", "Bearer"):
        return False
    named = members(request)
    return "query" in named and (bool(named & _OWN) or b"x-stainless-lang" in request.headers)


DIALECT = Dialect(
    "perplexity",
    "Perplexity Search",
    ("api.perplexity.ai",),
    (Route(("POST",), "/search", find),),
    lambda request: header(request, b"authorization", "Bearer"),
    refuse,
    "`PERPLEXITY_BASE_URL=http://127.0.0.1:8800/perplexity`",
    ("perplexityai",),
    _at_root,
)
