"""The native wire format (docs/api.md): parse requests into typed values, render results into bytes.

Pure functions. Search hits carry texts that are escaped for JSON already, so a page of results is pasted together
instead of serialised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from urllib.parse import quote

import orjson

from webemu.api.http.errors import error_to_dict
from webemu.api.http.head import clean_reason_phrase
from webemu.api.http.params import Params, read_integer, read_list, read_object, read_query, reject_surrogates, require
from webemu.api.http.response import OCTET_STREAM, ApiResponse, Header
from webemu.api.http.text_range import DEFAULT_LENGTH, DEFAULT_LINES, TextRange, slice_text
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.snippet_style import SNIPPET_STYLES, SnippetStyle, find_snippet_style
from webemu.emulator.types import VIEWS, Capture, Match, Page, PageRequest, Payload, Query, Results, View
from webemu.emulator.world import World

DEFAULT_SIZE = 10
"""Results per page unless the request says otherwise."""
MAX_SIZE = 100
"""Most results per page."""
MAX_QUERIES = 1024
"""Most queries in one batch."""
FREE_RESULTS = 10
"""Results of each query in a batch that do not count against `MAX_FURTHER_RESULTS`."""
MAX_FURTHER_RESULTS = 12_800
"""Most further results that one batch may ask to be ranked in all: about a second of one core. Long queries count for
each `WORDS_PER_SHARE` words.
"""
WORDS_PER_SHARE = 16
MAX_URLS = 256
"""Most URLs in one batch."""
MAX_BATCH_LENGTH = 100_000
"""Most characters of each page in a batch; a single fetch is not limited."""
DEFAULT_MATCHES = 20
"""Matches that `/v1/find` shows unless the request says otherwise."""
MAX_MATCHES = 200
"""Most matches that `/v1/find` shows."""

DEFAULT_SNIPPET: SnippetStyle = "long"
"""Style of snippets unless the request or its session's policy names one."""
SEARCH_PARAMS = ("q", "page", "size", "as_of", "engine", "explain", "strict", "snippet")
FETCH_PARAMS = ("url", "format", "at", "start", "length", "line", "lines", "follow")
FLAG_PARAMS = ("explain", "strict")
"""Search parameters that are true or false."""
FIND_PARAMS = ("url", "pattern", "at", "limit")
SEARCH_BATCH_PARAMS = ("queries", "page", "size", "as_of", "engine", "explain", "strict", "snippet")
FETCH_BATCH_PARAMS = ("urls", "format", "length", "at", "follow")


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A parsed fetch request: a page, and the part of it to return."""

    request: PageRequest
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class FindRequest:
    """A parsed find request: a page, and the text to find in it."""

    request: PageRequest
    pattern: str
    limit: int


def parse_search(query: bytes) -> Query:
    """Parse the query string of `GET /v1/search`. Raises BadRequest.

    parse_search(b"q=river+port&size=5").size   # 5
    """
    return _build_query(read_query(query, SEARCH_PARAMS))


def parse_fetch(query: bytes) -> FetchRequest:
    """Parse the query string of `GET /v1/fetch`. Raises BadRequest, also for format=raw together with a part of the
    page.
    """
    params = read_query(query, FETCH_PARAMS)
    request, text_range = _build_page_request(params), _read_text_range(params)
    if request.view == "raw" and any(params.get(name) for name in ("start", "length", "line", "lines")):
        raise BadRequest("format=raw returns the whole body", action="leave out start, length, line and lines")
    return FetchRequest(request, text_range)


def parse_find(query: bytes) -> FindRequest:
    """Parse the query string of `GET /v1/find`. Raises BadRequest."""
    params = read_query(query, FIND_PARAMS)
    limit = read_integer(params, "limit", DEFAULT_MATCHES, 1, MAX_MATCHES)
    return FindRequest(_build_page_request(params), require(params, "pattern"), limit)


def parse_search_batch(body: Mapping[str, object]) -> list[Query | BadRequest]:
    """Parse the body of `POST /v1/search`: for each member a query, or the error of that member alone.

    Raises:
        BadRequest: the batch as a whole is malformed, or asks for too many queries or results.
    """
    items = read_list(body, "queries", MAX_QUERIES)
    shared = read_object(
        {name: value for name, value in body.items() if name != "queries"}, SEARCH_BATCH_PARAMS[1:], FLAG_PARAMS
    )
    _build_query({**shared, "q": "checked"})  # an error in a shared parameter is that of the batch, not of each member
    parsed = [_member_params(item, "q", SEARCH_PARAMS, shared) for item in items]
    queries = [params if isinstance(params, BadRequest) else _try_build_query(params) for params in parsed]
    check_further_results(sum(map(_count_further_results, queries)))
    return queries


def _count_further_results(query: Query | BadRequest) -> int:
    """Return the number of results beyond the first ten that must be ranked for a query, as many times as its length
    costs.
    """
    if isinstance(query, BadRequest):
        return 0
    return max(0, query.depth * (1 + len(query.text.split()) // WORDS_PER_SHARE) - FREE_RESULTS)


def check_further_results(count: int) -> None:
    """Raise BadRequest if a batch asks for more than `MAX_FURTHER_RESULTS`."""
    if count > MAX_FURTHER_RESULTS:
        raise BadRequest(
            f"the batch asks for {count:,} results beyond the first {FREE_RESULTS} of each query: size times page, and "
            f"again for every {WORDS_PER_SHARE} words",
            action=f"ask for at most {MAX_FURTHER_RESULTS:,} in all",
        )


def _try_build_query(params: Params) -> Query | BadRequest:
    """Return the query of a batch member, or its error as a value."""
    try:
        return _build_query(params)
    except BadRequest as error:
        return error


def parse_fetch_batch(body: Mapping[str, object]) -> list[FetchRequest | BadRequest]:
    """Parse the body of `POST /v1/fetch`: for each member a fetch request, or the error of that member alone.

    Raises:
        BadRequest: the batch as a whole is malformed, or asks for too many pages.
    """
    items = read_list(body, "urls", MAX_URLS)
    shared = read_object(
        {name: value for name, value in body.items() if name != "urls"}, FETCH_BATCH_PARAMS[1:], FLAG_PARAMS
    )
    if shared.get("format") == "raw":
        raise BadRequest("a batch cannot have format=raw", action="fetch each URL with GET /v1/fetch?format=raw")
    text_range = TextRange(0, read_integer(shared, "length", DEFAULT_LENGTH, 1, MAX_BATCH_LENGTH))
    shared = {name: value for name, value in shared.items() if name != "length"}
    _build_page_request({**shared, "url": "checked"})  # an error in a shared parameter is that of the batch
    return [_try_build_fetch(_member_params(item, "url", ("url", "at"), shared), text_range) for item in items]


def _try_build_fetch(params: Params | BadRequest, text_range: TextRange) -> FetchRequest | BadRequest:
    """Return the fetch request of a batch member, or its error as a value."""
    if isinstance(params, BadRequest):
        return params
    try:
        return FetchRequest(_build_page_request(params), text_range)
    except BadRequest as error:
        return error


def _member_params(item: object, name: str, allowed: Sequence[str], shared: Params) -> Params | BadRequest:
    """Return the parameters of a batch member, a bare text or an object, completed by those of the whole batch."""
    if not isinstance(item, (str, dict)):
        return BadRequest(f"a member of the batch is neither a text nor an object with {name!r}", action="see /docs")
    try:
        if isinstance(item, str):
            return {**shared, name: reject_surrogates(item)}
        return {**shared, **read_object(item, allowed, FLAG_PARAMS)}
    except BadRequest as error:
        return error


def _build_query(params: Params) -> Query:
    return Query(
        text=_require_present(params, "q"),
        page=read_integer(params, "page", 1, 1),
        size=read_integer(params, "size", DEFAULT_SIZE, 1, MAX_SIZE),
        as_of=_read_time(params, "as_of"),
        engine=params.get("engine") or "",
        explain=_read_flag(params, "explain"),
        is_strict=_read_flag(params, "strict"),
        snippet=_read_snippet_style(params.get("snippet") or DEFAULT_SNIPPET),
    )


def _read_snippet_style(name: str) -> SnippetStyle:
    """Return the style of snippets with this name. Raises BadRequest if there is none."""
    if (style := find_snippet_style(name)) is None:
        raise BadRequest(f"no such snippet style: {name[:40]!r}", action=f"use one of: {', '.join(SNIPPET_STYLES)}")
    return style


def _read_flag(params: Params, name: str) -> bool:
    """Return a boolean parameter, by default False: true or 1, false or 0."""
    value = (params.get(name) or "false").lower()
    if value not in ("true", "1", "false", "0"):
        raise BadRequest(f"{name} must be true or false, got {value[:40]!r}", action=f"send {name}=true")
    return value in ("true", "1")


def _require_present(params: Params, name: str) -> str:
    """Return a parameter that must be present but may be empty: an empty query is valid and finds nothing."""
    return params[name] if name in params else require(params, name)


def _build_page_request(params: Params) -> PageRequest:
    view = _read_view(params.get("format") or "text")
    follow = read_integer(params, "follow", int(view != "raw"), 0, 1)
    return PageRequest(require(params, "url"), view, _read_time(params, "at"), bool(follow))


def _read_view(name: str) -> View:
    """Return the view with this name. Raises BadRequest if there is none."""
    for view in VIEWS:
        if view == name:
            return view
    raise BadRequest(f"no such format: {name[:40]!r}", action=f"use one of: {', '.join(VIEWS)}")


def _read_text_range(params: Params) -> TextRange:
    """Return the part of the page to show. Raises BadRequest if it is given both by characters and by lines."""
    lines = bool(params.get("line") or params.get("lines"))
    if lines and (params.get("start") or params.get("length")):
        raise BadRequest("characters and lines cannot be combined", action="give start and length, or line and lines")
    if lines:
        return TextRange(
            read_integer(params, "line", 0, 0), read_integer(params, "lines", DEFAULT_LINES, 0), by_lines=True
        )
    return TextRange(read_integer(params, "start", 0, 0), read_integer(params, "length", DEFAULT_LENGTH, 0))


def _read_time(params: Params, name: str) -> datetime | None:
    """Return a parameter as a time; None if it is absent or empty."""
    text = params.get(name)
    return parse_time(text) if text else None


_HIT_TEMPLATE = b'{"rank":%d,"url":"%b","title":"%b","snippet":"%b","date":"%b","score":%.4f}'
_RESULTS_TEMPLATE = b'{"query":%b,"page":%d,"size":%d,"as_of":%b,"snapshot":"%b","results":[%b],"more":%b}'


def render_results(results: Results, duplicates: Sequence[Sequence[str]]) -> bytes:
    """Return a page of results as JSON. `duplicates` holds, for each hit, the URLs of its omitted duplicates."""
    query = results.query
    first = (query.page - 1) * query.size + 1
    hits = [
        _HIT_TEMPLATE % (rank, hit.url_json, hit.title_json, hit.snippet_json, hit.date.encode(), hit.score)
        for rank, hit in enumerate(results.hits, first)
    ]
    if results.explanations:
        hits = [
            _add_member(hit, b"explain", orjson.dumps(factors))
            for hit, factors in zip(hits, results.explanations, strict=True)
        ]
    if any(duplicates):
        pairs = zip(hits, duplicates, strict=True)
        hits = [_add_member(hit, b"others", orjson.dumps(urls)) if urls else hit for hit, urls in pairs]
    as_of = b"null" if query.as_of is None else b'"%b"' % _format_rfc3339(query.as_of).encode()
    more = b"true" if results.more else b"false"
    text = orjson.dumps(query.text)
    snapshot = results.snapshot.encode()
    body = _RESULTS_TEMPLATE % (text, query.page, query.size, as_of, snapshot, b",".join(hits), more)
    if results.relaxed:
        body = _add_member(body, b"relaxed", orjson.dumps(results.relaxed))
    if results.corrections:
        body = _add_member(body, b"corrected", orjson.dumps(dict(results.corrections)))
    return body


def _add_member(json_object: bytes, name: bytes, value: bytes) -> bytes:
    """Return a JSON object with one more member at its end."""
    return b'%b,"%b":%b}' % (json_object[:-1], name, value)  # without its closing brace


def search(world: World, query: Query) -> bytes:
    """Run a query in a world and return its page of results as JSON."""
    results = world.search(query)
    return render_results(results, world.duplicate_urls(results))


def render_page(page: Page, text_range: TextRange) -> bytes:
    """Return the part of a page that the window selects, as JSON with its position in the whole."""
    text_slice = slice_text(page.content, text_range)
    return orjson.dumps(
        {
            "url": page.request.url,
            "final_url": page.capture.url,
            "redirects": page.redirects,
            "status": page.capture.status,
            "fetched": _format_fetch_time(page.capture),
            "mime": page.capture.mime,
            "truncated": page.capture.truncated,
            "title": page.title,
            "format": page.request.view,
            "start": text_slice.start,
            "length": len(text_slice.text),
            "total": text_slice.total,
            "line": text_slice.line,
            "next": text_slice.next,
            "next_line": text_slice.next_line,
            "content": text_slice.text,
            "snapshot": page.snapshot,
        }
    )


def render_matches(find_request: FindRequest, page: Page, total: int, matches: Sequence[Match]) -> bytes:
    """Return the places where a text was found, as JSON. `total` counts all of them, shown or not."""
    return orjson.dumps(
        {
            "url": page.request.url,
            "final_url": page.capture.url,
            "pattern": find_request.pattern,
            "total": total,
            "matches": [{"start": match.start, "line": match.line, "text": match.text} for match in matches],
            "snapshot": page.snapshot,
        }
    )


def render_error(error: EmulatorError) -> bytes:
    """Return the JSON of a batch member that failed."""
    return orjson.dumps({"error": error_to_dict(error)})


def render_batch(answers: Sequence[bytes], snapshot: str) -> bytes:
    """Return the JSON of a batch; `answers` are the rendered members in the order of the request."""
    return b'{"snapshot":"%b","answers":[%b]}' % (snapshot.encode(), b",".join(answers))


def render_payload(capture: Capture, payload: Payload, snapshot: str) -> ApiResponse:
    """Return a recorded body byte for byte; its recorded status, URL, time and headers become response headers."""
    reason = clean_reason_phrase(payload.reason or _standard_phrase(payload.status))
    headers: list[Header] = [
        (b"x-webemu-status", (b"%d %b" % (payload.status, reason)).strip()),
        (b"x-webemu-url", quote(capture.url, safe="!#$%&'()*+,/:;=?@[]~").encode()),
        (b"x-webemu-fetched", _format_fetch_time(capture).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    if payload.encoding:
        headers.append((b"x-webemu-content-encoding", payload.encoding.encode()))
    headers += [
        (b"x-archive-orig-" + _clean_header_name(name), _clean_header_value(value)) for name, value in payload.headers
    ]
    return ApiResponse(payload.body, snapshot, content_type=OCTET_STREAM, headers=tuple(headers))


def _standard_phrase(status: int) -> str:
    """Return the standard reason phrase of a status; empty for an unknown one."""
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""


_NOT_TOKEN = re.compile(rb"[^!#$%&'*+.^_`|~0-9A-Za-z-]")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def _clean_header_name(name: bytes) -> bytes:
    """Return a recorded header name in lower case, with `_` for characters that HTTP forbids in a name."""
    return _NOT_TOKEN.sub(b"_", name.lower())


def _clean_header_value(value: bytes) -> bytes:
    """Return a recorded header value without control characters."""
    return _CONTROL.sub(b" ", value).strip()


_EPOCH = datetime(1970, 1, 1)


def _format_fetch_time(capture: Capture) -> str:
    """Return the time of a capture in RFC 3339, UTC."""
    return (_EPOCH + timedelta(seconds=capture.time)).isoformat() + "Z"


def _format_rfc3339(moment: datetime) -> str:
    """Return a time in RFC 3339, UTC, to the second."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
