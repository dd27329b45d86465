"""DeepResearchGym's search (`clueweb22.us`): JSON documents in Base64, in the format of ClueWeb22 or FineWeb.

A crawl has no ClueWeb22 ids, language scores or token counts: ids are empty, scores and counts are absent, outlinks
are null.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from hashlib import md5
from typing import Any

import orjson

from webemu.api.dialects.dialect import Dialect, Route, fields, flag, header, number, reply, text
from webemu.api.dialects.retrieval import MOST, missing, refuse
from webemu.api.dialects.search import Wanted, search
from webemu.api.http.errors import is_ours
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.errors import BadRequest, EmulatorError, Refused
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

MOST_SHARDS = 4
"""Most shards that a client may ask for. The number has no effect on the results."""
_BAD_KEY = {"detail": "Invalid or missing API Key"}


def clueweb(world: World, request: Request) -> Reply:
    """Answer `/search?query=&k=` with documents in ClueWeb22's format."""
    hits = _hits(world, request)
    return _answer(request, [_of_clueweb(world, hit) for hit in hits], hits)


def fineweb(world: World, request: Request) -> Reply:
    """Answer `/fineweb/search?query=&k=` with documents in FineWeb's format."""
    names = {archive.path: (archive.name, archive.crawl) for archive in world.archives()}
    hits = _hits(world, request)
    return _answer(request, [_of_fineweb(world, hit, request, names) for hit in hits], hits)


def _hits(world: World, request: Request) -> tuple[Hit, ...]:
    """Return the results of the query in the request. Raises BadRequest if it is missing, ServiceRefusal if the shards
    are wrong.
    """
    asked = fields(request)
    if not (query := text(asked, "query")):
        raise missing("query")
    # The bounds are one wider than the limits, so that clamping does not hide a wrong number.
    if not 1 <= number(asked, "num_of_shards", 1, 0, MOST_SHARDS + 1) <= MOST_SHARDS:
        raise Refused(f"num_of_shards must be between 1 and {MOST_SHARDS}", reason="bad-num_of_shards", status=400)
    return search(world, query, Wanted(count=number(asked, "k", 10, 0, MOST)), request.session.at)[0]


def _answer(request: Request, documents: list[dict[str, Any]], hits: tuple[Hit, ...]) -> Reply:
    """Return the documents in Base64; scores are called distances, and are null unless asked for."""
    distances = [hit.score for hit in hits] if flag(fields(request), "with_distance") else None
    results = [b64encode(orjson.dumps(document)).decode() for document in documents]
    return reply({"results": results, "distances": distances, "outlinks": None})


def _of_clueweb(world: World, hit: Hit) -> dict[str, Any]:
    """Return one document in ClueWeb22's format; its hash is the MD5 of the URL."""
    named = md5(hit.url.encode(), usedforsecurity=False).hexdigest().upper()
    told = {"URL": hit.url, "url_hash": named, "Language": "", "ClueWeb22-ID": ""}
    return {**told, "Clean-Text": world.text_of(hit)[1]}


def _of_fineweb(world: World, hit: Hit, request: Request, names: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Return one document in FineWeb's format; `archive_names` are archive name and crawl by the archive's path."""
    capture = world.locate(PageRequest(hit.url, "text", request.session.at))
    file, crawl = names.get(capture.file, ("", ""))
    date = f"{datetime.fromtimestamp(capture.time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    told = {"text": world.text_of(hit)[1], "id": "", "dump": crawl, "url": hit.url}
    return {**told, "date": date, "file_path": file}


def fetch(world: World, request: Request) -> Reply:
    """Answer `/fetch?url=` with the text of a page."""
    if not (url := text(fields(request), "url")):
        raise missing("url")
    page = world.fetch(PageRequest(url, "text", request.session.at))
    return reply(page.content.encode(), kind=b"text/plain; charset=utf-8")


def health(world: World, request: Request) -> Reply:
    """Answer `/health`: the server is up."""
    return reply({"status": "healthy"})


def _refuse(error: EmulatorError, request: Request) -> Reply:
    """Render an error: those of the gateway and of this server have one text, a bad request FastAPI's list."""
    if error.reason == "bad-key":
        return reply(_BAD_KEY, 401)
    if is_ours(error) or not isinstance(error, BadRequest):
        return reply({"detail": error.message}, error.status)
    return refuse(error, request)


def _is_meant(request: Request) -> bool:
    """True for FineWeb's path, and for paths shared with others if the parameters are in the query string."""
    asked = {name for name, _ in request.parameters}
    return request.path == "/fineweb/search" or (
        request.path in ("/search", "/fetch") and bool(asked & {"query", "url"})
    )


DIALECT = Dialect(
    "deepresearchgym",
    "DeepResearchGym",
    ("clueweb22.us",),
    (
        Route(("GET",), "/search", clueweb),
        Route(("GET",), "/fineweb/search", fineweb),
        Route(("GET",), "/fetch", fetch),
        Route(("GET",), "/health", health),
    ),
    lambda request: header(request, b"x-api-key"),
    _refuse,
    "by name through the proxy; or its URL: `http://127.0.0.1:8800/deepresearchgym`",
    at_root=_is_meant,
)
