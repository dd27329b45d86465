"""Perplexity's Search API (`api.perplexity.ai/search`). The service's other endpoints are a language model's.

A result contains as much of its page as the client's token limits allow, since the service cannot open pages.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date

from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    body_fields,
    build_response,
    get_header,
    get_number,
    get_text,
    get_texts,
    read_params,
    request_uuid,
)
from webemu.api.dialects.search import AGE_DAYS, SearchParams, date_days_ago, search
from webemu.api.dialects.site import open_page
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

CHARS_PER_TOKEN = 4
"""Characters that count as a token, as in English text."""
MAX_QUERIES = 5
"""Most queries of one request."""
_DAY = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")


def answer_search(world: World, request: Request) -> Response:
    """Answer `/search`: one query, or several whose results are interleaved."""
    params = read_params(request)
    count, search_params = get_number(params, "max_results", 10, 1, 20), _read_search_params(world, request, params)
    rankings = [search(world, query, search_params, request.session.at_time)[0] for query in _read_queries(params)]
    # The first result of each query, then the second of each; a URL counts where it occurs first.
    interleaved = (ranking[index] for index in range(count) for ranking in rankings if index < len(ranking))
    hits = list({hit.url: hit for hit in reversed(list(interleaved))}.values())[::-1][:count]
    return build_response(
        {"id": request_uuid(request), "results": _render_results(world, request, params, hits), "server_time": None}
    )


def _read_queries(params: JsonObject) -> list[str]:
    """Return the queries. Raises BadRequest if there are none or too many, or one is empty."""
    query_value = params.get("query")
    queries = [query_value] if isinstance(query_value, str) else query_value
    if not isinstance(queries, list) or not all(isinstance(one, str) and one.strip() for one in queries) or not queries:
        raise BadRequest("query: Field required", reason="bad-query")
    if len(queries) > MAX_QUERIES:
        raise BadRequest(f"query: at most {MAX_QUERIES} queries", reason="bad-query")
    return queries


def _read_search_params(world: World, request: Request, params: JsonObject) -> SearchParams:
    """Return filters from the parameters; a domain with `-` before it is excluded."""
    age = AGE_DAYS.get(get_text(params, "search_recency_filter"))
    after = _parse_day(params, "search_after_date_filter") or (
        date_days_ago(world, age, request.session.at_time) if age else None
    )
    domains = get_texts(params, "search_domain_filter")
    sites, excluded_sites = (
        [one for one in domains if not one.startswith("-")],
        [one[1:] for one in domains if one[:1] == "-"],
    )
    count = get_number(params, "max_results", 10, 1, 20)
    return SearchParams(
        0, count, after, _parse_day(params, "search_before_date_filter"), tuple(sites), tuple(excluded_sites)
    )


def _parse_day(params: JsonObject, name: str) -> date | None:
    """Return a parameter in the form MM/DD/YYYY as a date, None if it is missing. Raises BadRequest otherwise."""
    if not (value := get_text(params, name)):
        return None
    if match := _DAY.fullmatch(value):
        with suppress(ValueError):
            return date(int(match[3]), int(match[1]), int(match[2]))
    raise BadRequest(f"{name}: use MM/DD/YYYY", reason=f"bad-{name}")


def _render_results(world: World, request: Request, params: JsonObject, hits: list[Hit]) -> list[JsonObject]:
    """Return the results, each with as much of its page as the remaining tokens allow."""
    remaining_chars = get_number(params, "max_tokens", 10_000, 1, 1_000_000) * CHARS_PER_TOKEN
    page_chars = get_number(params, "max_tokens_per_page", 4096, 1, 1_000_000) * CHARS_PER_TOKEN
    rows: list[JsonObject] = []
    for hit in hits:
        page = open_page(world, hit.url, "text", request.session.at_time)
        page_text = ((page.content if page else "") or hit.snippet)[: min(remaining_chars, page_chars)]
        remaining_chars -= len(page_text)
        row: JsonObject = {"title": hit.title or hit.url, "url": hit.url, "snippet": page_text, "date": hit.date}
        rows.append(row | {"last_updated": None})
    return rows


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"error": {"message", "type", "code"}}`; a bad request is 422."""
    status = 422 if isinstance(error, BadRequest) else error.status
    error_type = _ERROR_TYPES.get(error.reason, "internal_server_error" if status >= 500 else "invalid_request")
    messages = {"bad-key": "Invalid API key provided.", "rate-limited": "Request rate limit exceeded."}
    error_payload = {"message": messages.get(error.reason, error.message), "type": error_type, "code": status}
    return build_response({"error": error_payload}, status)


_ERROR_TYPES = {
    "bad-key": "invalid_api_key",
    "rate-limited": "request_rate_limit_exceeded",
    "out-of-budget": "insufficient_quota",
    "no-such-route": "not_found",
    "method-not-allowed": "method_not_allowed",
}
"""Type by reason of the error."""
_OWN_MEMBERS = frozenset(
    {"max_tokens", "max_tokens_per_page", "search_domain_filter", "search_recency_filter", "search_mode"}
)
"""Members that only Perplexity's requests have."""


def _is_meant_at_root(request: Request) -> bool:
    """True for a search that has a member of Perplexity's own or comes from its client."""
    if request.method != "POST" or request.path != "/search" or not get_header(request, b"authorization", "Bearer"):
        return False
    member_names = body_fields(request)
    return "query" in member_names and (bool(member_names & _OWN_MEMBERS) or b"x-stainless-lang" in request.headers)


DIALECT = Dialect(
    "perplexity",
    "Perplexity Search",
    ("api.perplexity.ai",),
    (Route(("POST",), "/search", answer_search),),
    lambda request: get_header(request, b"authorization", "Bearer"),
    render_error,
    "`PERPLEXITY_BASE_URL=http://127.0.0.1:8800/perplexity`",
    ("perplexityai",),
    _is_meant_at_root,
)
