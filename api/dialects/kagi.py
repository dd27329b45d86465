"""Kagi's Search API (`kagi.com/api/v0`) and its enrichment indexes, which have the same response format."""

from __future__ import annotations

from typing import Any

from webemu.api.dialects.days import midnight
from webemu.api.dialects.dialect import Dialect, Route, fields, fingerprint, header, number, reply, text
from webemu.api.dialects.search import RELATED, Wanted, search
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit
from webemu.emulator.world import World

_CODES = {"bad-key": (2, "Unauthorized"), "out-of-budget": (101, "Insufficient credit")}
"""Kagi's code and message by reason of the error."""


def find(world: World, request: Request) -> Reply:
    """Answer `/api/v0/search`, `/api/v0/enrich/web` and `/api/v0/enrich/news`."""
    asked = fields(request)
    if not (query := text(asked, "q")).strip():
        raise BadRequest("Missing query parameter: q", reason="bad-q")
    wanted = Wanted(count=number(asked, "limit", 10, 1, 100), published=request.path.endswith("/news"))
    hits = search(world, query, wanted, request.session.at)[0]
    found = [_result(hit, place) for place, hit in enumerate(hits, 1)]
    others = world.related(query, hits, RELATED) if request.path.endswith("/search") else []
    return reply({"meta": _meta(request), "data": found + ([{"t": 1, "list": others}] if others else [])})


def _result(hit: Hit, rank: int) -> dict[str, Any]:
    one = {"t": 0, "rank": rank, "url": hit.url, "title": hit.title or hit.url, "snippet": hit.snippet}
    return one | {"published": midnight(hit.date)}


def _meta(request: Request) -> dict[str, Any]:
    return {"id": fingerprint(request)[:32], "node": "webemu", "ms": 0, "api_balance": 0.0}


def refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error as `{"meta", "data": null, "error": [{"code", "msg", "ref"}]}`."""
    code, told = _CODES.get(error.reason, (0 if error.status >= 500 else 1, error.message))
    status = 402 if error.reason == "out-of-budget" else error.status
    return reply({"meta": _meta(request), "data": None, "error": [{"code": code, "msg": told, "ref": None}]}, status)


DIALECT = Dialect(
    "kagi",
    "Kagi",
    ("kagi.com",),
    (Route(("GET",), "/api/v0/(search|enrich/web|enrich/news)", find, True),),
    lambda request: header(request, b"authorization", "Bot"),
    refuse,
    "by name through the proxy; `http://127.0.0.1:8800/kagi/api/v0` where a client has a base URL",
    at_root=lambda request: request.path.startswith("/api/v0/"),
)
