"""Jina's search (`s.jina.ai`): results with their pages as markdown, or without (`X-Respond-With: no-content`)."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import orjson

from webemu.api.dialects.dialect import Dialect, Route, fields, header, number, reply, text, texts
from webemu.api.dialects.display import day, title
from webemu.api.dialects.jina import INDEX, TEXT, accepted, enveloped, refuse, source_of, wishes
from webemu.api.dialects.jina_page import Wishes, page
from webemu.api.dialects.search import Wanted, search
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator.errors import EmulatorError, NoView
from webemu.emulator.types import Hit
from webemu.emulator.world import World

MOST = 20
"""Most results of one request."""
_OPERATORS = ("ext", "filetype", "intitle")
"""Parameters that become operators of the query."""
_BARE = 10_000
"""Tokens that a response without content counts as."""
UNDATED = "1970-01-01"
"""Date of pages from a text dump without dates; it is not shown."""


def find(world: World, request: Request) -> Reply:
    """Answer a search; the query is the path, or `q` in the query string or the body."""
    asked = fields(request)
    query = text(asked, "q") or ("" if request.path == "/search" else unquote(request.path[1:]))
    if not query.strip():
        return reply(INDEX, kind=TEXT)
    query = " ".join([query, *(f"{name}:{value}" for name in _OPERATORS for value in texts(asked, name))])
    count = number(asked, "num", number(asked, "count", 10, 0, MOST), 0, MOST)
    offset = (number(asked, "page", 1, 1, 100) - 1) * count
    sites = (*texts(asked, "site"), *filter(None, header(request, b"x-site").split(", ")))
    hits = () if text(asked, "type") == "images" else _hits(world, request, query, Wanted(offset, count, sites=sites))
    if not hits:
        raise NoView(f"No search results available for query {query}")
    wanted = wishes(request, asked)
    return _told(request, [_entry(world, request, hit, wanted) for hit in hits], wanted.format == "no-content")


def _hits(world: World, request: Request, query: str, wanted: Wanted) -> tuple[Hit, ...]:
    return search(world, query, wanted, request.session.at)[0]


def _entry(world: World, request: Request, hit: Hit, wanted: Wishes) -> dict[str, Any]:
    """Return one result, with its page unless `no-content` is asked for or the crawl cannot show it."""
    dated = {} if hit.date == UNDATED else {"date": day(hit)}
    found = {"title": title(hit), "url": hit.url, "description": hit.snippet, **dated, "content": ""}
    if wanted.format == "no-content":
        return found
    try:
        read = page(world, source_of(world, request, hit.url), wanted)
    except EmulatorError as error:
        if is_ours(error):
            raise
        return {**found, "usage": {"tokens": 0}}
    kept = {name: read[name] for name in ("content", "html", "text", "images", "links", "usage") if name in read}
    return found | kept


def _told(request: Request, found: list[dict[str, Any]], is_bare: bool) -> Reply:
    """Return the results as a response in the form that the client accepts."""
    used = _BARE if is_bare else sum(one["usage"]["tokens"] for one in found)
    counted: Headers = [(b"X-Usage-Tokens", str(used).encode())]
    match accepted(request):
        case "stream":
            return reply(b"event: data\ndata: " + orjson.dumps(found) + b"\n\n", kind=b"text/event-stream")
        case "json":
            return reply(enveloped(found, used), headers=counted)
        case _:
            lines = "\n\n".join(_said(place, one) for place, one in enumerate(found, 1)).rstrip() + "\n"
            return reply(lines.encode(), headers=counted, kind=TEXT)


def _said(place: int, one: dict[str, Any]) -> str:
    """Return one result as text."""
    named = (("Title", "title"), ("URL Source", "url"), ("Description", "description"), ("Date", "date"))
    lines = [f"[{place}] {name}: {one[key]}" for name, key in named if key in one]
    content = one.get("content") or one.get("text") or one.get("html") or ""
    return "\n".join(lines) + (f"\n\n{content}" if content else "") + "\n"


DIALECT = Dialect(
    "jina-search",
    "Jina Search",
    ("s.jina.ai",),
    (Route(("GET", "POST"), "(?s:/.*)", find),),
    lambda request: header(request, b"authorization", "Bearer"),
    refuse,
    "by name through the proxy; `http://127.0.0.1:8800/jina-search/` for `https://s.jina.ai/`",
)
