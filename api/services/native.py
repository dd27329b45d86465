"""The native wire format (docs/api.md): asks parsed into the words of the house, answers rendered into bytes.

Hits carry JSON-escaped texts, so a results page is pasted together and never serialised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import orjson

from webemu.api.http.errors import error_fields
from webemu.api.http.head import reason_phrase
from webemu.api.http.params import Params, read_list, read_object, read_query, required, whole, whole_number
from webemu.api.http.response import BYTES, Answer, Header
from webemu.api.http.text_range import LENGTH, LINES, Window, cut
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import VIEWS, Capture, Match, Page, PageRequest, Payload, Query, Results, View
from webemu.emulator.world import World

SIZE = 10
MAX_SIZE = 100
MAX_QUERIES = 4096
MAX_RESULTS = 102_400
"""Results that one batch may ask for in all."""
MAX_URLS = 256
MAX_LENGTH = 100_000
"""Characters of each page in a batch; a single fetch has no bound."""
MATCHES = 20
MAX_MATCHES = 200

SEARCH = ("q", "page", "size", "as_of", "engine", "explain")
FETCH = ("url", "format", "at", "start", "length", "line", "lines", "follow")
FIND = ("url", "pattern", "at", "limit")
SEARCHES = ("queries", "page", "size", "as_of", "engine", "explain")
FETCHES = ("urls", "format", "length", "at", "follow")


@dataclass(frozen=True, slots=True)
class Visit:
    """A page and the part of it that is wanted."""

    request: PageRequest
    window: Window


@dataclass(frozen=True, slots=True)
class Hunt:
    """A text to be found in a page."""

    request: PageRequest
    pattern: str
    limit: int


def parse_search(query: bytes) -> Query:
    """`GET /v1/search`."""
    return _query(read_query(query, SEARCH))


def parse_fetch(query: bytes) -> Visit:
    """`GET /v1/fetch`."""
    params = read_query(query, FETCH)
    request, window = _request(params), _window(params)
    if request.view == "raw" and any(params.get(name) for name in ("start", "length", "line", "lines")):
        raise BadRequest("format=raw has no window", action="leave out start, length, line and lines")
    return Visit(request, window)


def parse_find(query: bytes) -> Hunt:
    """`GET /v1/find`."""
    params = read_query(query, FIND)
    limit = whole_number(params, "limit", MATCHES, 1, MAX_MATCHES)
    return Hunt(_request(params), required(params, "pattern"), limit)


def parse_searches(body: Mapping[str, Any]) -> list[Query | BadRequest]:
    """`POST /v1/search`: a query, or why it is none, for each asked. Raises BadRequest for the batch as a whole."""
    items = read_list(body, "queries", MAX_QUERIES)
    shared = read_object({name: value for name, value in body.items() if name != "queries"}, SEARCHES[1:])
    _query({**shared, "q": "checked"})
    parsed = [_member(item, "q", SEARCH, shared) for item in items]
    queries = [params if isinstance(params, BadRequest) else _attempt(params) for params in parsed]
    if (wanted := sum(query.size for query in queries if isinstance(query, Query))) > MAX_RESULTS:
        raise BadRequest(f"the batch asks for {wanted:,} results", action=f"ask for at most {MAX_RESULTS:,} at once")
    return queries


def _attempt(params: Params) -> Query | BadRequest:
    try:
        return _query(params)
    except BadRequest as error:
        return error


def parse_fetches(body: Mapping[str, Any]) -> list[Visit | BadRequest]:
    """`POST /v1/fetch`: a visit, or why it is none, for each asked. Raises BadRequest for the batch as a whole."""
    items = read_list(body, "urls", MAX_URLS)
    shared = read_object({name: value for name, value in body.items() if name != "urls"}, FETCHES[1:])
    if shared.get("format") == "raw":
        raise BadRequest("a batch has no format=raw", action="fetch each with GET /v1/fetch?format=raw")
    window = Window(0, whole_number(shared, "length", LENGTH, 1, MAX_LENGTH))
    shared = {name: value for name, value in shared.items() if name != "length"}
    _request({**shared, "url": "checked"})
    return [_visit(_member(item, "url", ("url", "at"), shared), window) for item in items]


def _visit(params: Params | BadRequest, window: Window) -> Visit | BadRequest:
    if isinstance(params, BadRequest):
        return params
    try:
        return Visit(_request(params), window)
    except BadRequest as error:
        return error


def _member(item: Any, name: str, known: Sequence[str], shared: Params) -> Params | BadRequest:
    """One member of a batch, either a bare text or an object, with what the batch says for all."""
    if not isinstance(item, (str, dict)):
        return BadRequest(f"a member of the batch is neither a text nor an object with {name!r}", action="see /docs")
    try:
        if isinstance(item, str):
            return {**shared, name: whole(item)}
        return {**shared, **read_object(item, known)}
    except BadRequest as error:
        return error


def _query(params: Params) -> Query:
    return Query(
        text=_said(params, "q"),
        page=whole_number(params, "page", 1, 1),
        size=whole_number(params, "size", SIZE, 1, MAX_SIZE),
        as_of=_moment(params, "as_of"),
        engine=params.get("engine") or "",
        explain=_switch(params, "explain"),
    )


def _switch(params: Params, name: str) -> bool:
    """JSON's true and 1 are the same, and so in a URL."""
    value = (params.get(name) or "false").lower()
    if value not in ("true", "1", "false", "0"):
        raise BadRequest(f"{name} is neither true nor false", action=f"{name}=true")
    return value in ("true", "1")


def _said(params: Params, name: str) -> str:
    """A parameter that must be there and may be empty: a search for nothing finds nothing."""
    return params[name] if name in params else required(params, name)


def _request(params: Params) -> PageRequest:
    view = _view(params.get("format") or "text")
    follow = whole_number(params, "follow", int(view != "raw"), 0, 1)
    return PageRequest(required(params, "url"), view, _moment(params, "at"), bool(follow))


def _view(name: str) -> View:
    for view in VIEWS:
        if view == name:
            return view
    raise BadRequest(f"no such format: {name[:40]!r}", action=f"one of {', '.join(VIEWS)}")


def _window(params: Params) -> Window:
    lines = bool(params.get("line") or params.get("lines"))
    if lines and (params.get("start") or params.get("length")):
        raise BadRequest("a window is by characters or by lines", action="give start and length, or line and lines")
    if lines:
        return Window(whole_number(params, "line", 0, 0), whole_number(params, "lines", LINES, 0), by_lines=True)
    return Window(whole_number(params, "start", 0, 0), whole_number(params, "length", LENGTH, 0))


def _moment(params: Params, name: str) -> datetime | None:
    text = params.get(name)
    return parse_time(text) if text else None


_HIT = b'{"rank":%d,"url":"%b","title":"%b","snippet":"%b","date":"%b","score":%.4f}'
_RESULTS = b'{"query":%b,"page":%d,"size":%d,"as_of":%b,"snapshot":"%b","results":[%b],"more":%b}'


def render_results(results: Results, others: Sequence[Sequence[str]]) -> bytes:
    """One page of results, and for each what was left out for it."""
    query = results.query
    first = (query.page - 1) * query.size + 1
    hits = [
        _HIT % (rank, hit.url_json, hit.title_json, hit.snippet_json, hit.date.encode(), hit.score)
        for rank, hit in enumerate(results.hits, first)
    ]
    if results.explained:
        hits = [_with(hit, b"explain", orjson.dumps(told)) for hit, told in zip(hits, results.explained, strict=True)]
    if any(others):
        pairs = zip(hits, others, strict=True)
        hits = [_with(hit, b"others", orjson.dumps(urls)) if urls else hit for hit, urls in pairs]
    as_of = b"null" if query.as_of is None else b'"%b"' % _rfc3339(query.as_of).encode()
    more = b"true" if results.more else b"false"
    text = orjson.dumps(query.text)
    return _RESULTS % (text, query.page, query.size, as_of, results.snapshot.encode(), b",".join(hits), more)


def _with(hit: bytes, name: bytes, value: bytes) -> bytes:
    return b'%b,"%b":%b}' % (hit[:-1], name, value)


def search(world: World, query: Query) -> bytes:
    """What a search answers."""
    results = world.search(query)
    return render_results(results, world.others(results))


def render_page(page: Page, window: Window) -> bytes:
    """The part of a page that the window shows."""
    part = cut(page.content, window)
    return orjson.dumps(
        {
            "url": page.request.url,
            "final_url": page.capture.url,
            "redirects": page.redirects,
            "status": page.capture.status,
            "fetched": _fetched(page.capture),
            "mime": page.capture.mime,
            "truncated": page.capture.truncated,
            "title": page.title,
            "format": page.request.view,
            "start": part.start,
            "length": len(part.text),
            "total": part.total,
            "line": part.line,
            "next": part.next,
            "next_line": part.next_line,
            "content": part.text,
            "snapshot": page.snapshot,
        }
    )


def render_matches(hunt: Hunt, page: Page, total: int, matches: Sequence[Match]) -> bytes:
    """Where a text was found."""
    return orjson.dumps(
        {
            "url": page.request.url,
            "final_url": page.capture.url,
            "pattern": hunt.pattern,
            "total": total,
            "matches": [{"start": match.start, "line": match.line, "text": match.text} for match in matches],
            "snapshot": page.snapshot,
        }
    )


def render_error(error: EmulatorError) -> bytes:
    """One member of a batch that has no answer."""
    return orjson.dumps({"error": error_fields(error)})


def render_batch(answers: Sequence[bytes], snapshot: str) -> bytes:
    """The answers of a batch, in the order asked."""
    return b'{"snapshot":"%b","answers":[%b]}' % (snapshot.encode(), b",".join(answers))


def render_payload(capture: Capture, payload: Payload, snapshot: str) -> Answer:
    """A recorded answer, byte for byte, what was recorded about it in headers."""
    reason = reason_phrase(payload.reason or _phrase(payload.status))
    headers: list[Header] = [
        (b"x-webemu-status", (b"%d %b" % (payload.status, reason)).strip()),
        (b"x-webemu-url", quote(capture.url, safe="!#$%&'()*+,/:;=?@[]~").encode()),
        (b"x-webemu-fetched", _fetched(capture).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    if payload.encoding:
        headers.append((b"x-webemu-content-encoding", payload.encoding.encode()))
    headers += [(b"x-archive-orig-" + _header_name(name), _header_value(value)) for name, value in payload.headers]
    return Answer(payload.body, snapshot, kind=BYTES, headers=tuple(headers))


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""


_NOT_TOKEN = re.compile(rb"[^!#$%&'*+.^_`|~0-9A-Za-z-]")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def _header_name(name: bytes) -> bytes:
    """Lower case, and what HTTP forbids in a name made `_`: crawls hold headers that no server may send."""
    return _NOT_TOKEN.sub(b"_", name.lower())


def _header_value(value: bytes) -> bytes:
    return _CONTROL.sub(b" ", value).strip()


_EPOCH = datetime(1970, 1, 1)


def _fetched(capture: Capture) -> str:
    return (_EPOCH + timedelta(seconds=capture.time)).isoformat() + "Z"


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
