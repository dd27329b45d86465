"""DeepResearchGym's search (`clueweb22.us`): JSON documents in Base64, in the format of ClueWeb22 or FineWeb.

A crawl has no ClueWeb22 ids, language scores or token counts: ids are empty, scores and counts are absent, outlinks
are null.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from hashlib import md5

import orjson

from webemu.api.dialects.dialect import (
    Dialect,
    Route,
    build_response,
    get_flag,
    get_header,
    get_number,
    get_text,
    read_params,
)
from webemu.api.dialects.retrieval import MAX_RESULTS, missing_error, render_error
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.errors import is_server_fault
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError, ServiceRefusal
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

MAX_SHARDS = 4
"""Most shards that a client may ask for. The number has no effect on the results."""
_BAD_KEY = {"detail": "Invalid or missing API Key"}


def answer_clueweb(world: World, request: Request) -> Response:
    """Answer `/search?query=&k=` with documents in ClueWeb22's format."""
    hits = _search_hits(world, request)
    return _build_payload_response(request, [_render_clueweb(world, hit) for hit in hits], hits)


def answer_fineweb(world: World, request: Request) -> Response:
    """Answer `/fineweb/search?query=&k=` with documents in FineWeb's format."""
    archive_names = {archive.path: (archive.name, archive.crawl) for archive in world.archives()}
    hits = _search_hits(world, request)
    return _build_payload_response(request, [_render_fineweb(world, hit, request, archive_names) for hit in hits], hits)


def _search_hits(world: World, request: Request) -> tuple[Hit, ...]:
    """Return the results of the query in the request. Raises BadRequest if it is missing, ServiceRefusal if the shards
    are wrong.
    """
    params = read_params(request)
    if not (query := get_text(params, "query")):
        raise missing_error("query")
    # The bounds are one wider than the limits, so that clamping does not hide a wrong number.
    if not 1 <= get_number(params, "num_of_shards", 1, 0, MAX_SHARDS + 1) <= MAX_SHARDS:
        raise ServiceRefusal(
            f"num_of_shards must be between 1 and {MAX_SHARDS}", reason="bad-num_of_shards", status=400
        )
    return search(
        world, query, SearchParams(count=get_number(params, "k", 10, 0, MAX_RESULTS)), request.session.at_time
    )[0]


def _build_payload_response(request: Request, documents: list[dict[str, object]], hits: tuple[Hit, ...]) -> Response:
    """Return the documents in Base64; scores are called distances, and are null unless asked for."""
    distances = [hit.score for hit in hits] if get_flag(read_params(request), "with_distance") else None
    results = [b64encode(orjson.dumps(document)).decode() for document in documents]
    return build_response({"results": results, "distances": distances, "outlinks": None})


def _render_clueweb(world: World, hit: Hit) -> dict[str, object]:
    """Return one document in ClueWeb22's format; its hash is the MD5 of the URL."""
    url_hash = md5(hit.url.encode(), usedforsecurity=False).hexdigest().upper()
    row = {"URL": hit.url, "url_hash": url_hash, "Language": "", "ClueWeb22-ID": ""}
    return {**row, "Clean-Text": world.text_of(hit)[1]}


def _render_fineweb(
    world: World, hit: Hit, request: Request, archive_names: dict[str, tuple[str, str]]
) -> dict[str, object]:
    """Return one document in FineWeb's format; `archive_names` are archive name and crawl by the archive's path."""
    capture = world.locate(PageRequest(hit.url, "text", request.session.at_time))
    file, crawl = archive_names.get(capture.file, ("", ""))
    date = f"{datetime.fromtimestamp(capture.time, UTC):%Y-%m-%dT%H:%M:%SZ}"
    row = {"text": world.text_of(hit)[1], "id": "", "dump": crawl, "url": hit.url}
    return {**row, "date": date, "file_path": file}


def answer_fetch(world: World, request: Request) -> Response:
    """Answer `/fetch?url=` with the text of a page."""
    if not (url := get_text(read_params(request), "url")):
        raise missing_error("url")
    page = world.fetch(PageRequest(url, "text", request.session.at_time))
    return build_response(page.content.encode(), content_type=b"text/plain; charset=utf-8")


def answer_health(world: World, request: Request) -> Response:
    """Answer `/health`: the server is up."""
    return build_response({"status": "healthy"})


def _render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error: those of the gateway and of this server have one text, a bad request FastAPI's list."""
    if error.reason == "bad-key":
        return build_response(_BAD_KEY, 401)
    if is_server_fault(error) or not isinstance(error, BadRequest):
        return build_response({"detail": error.message}, error.status)
    return render_error(error, request)


def _is_meant_at_root(request: Request) -> bool:
    """True for FineWeb's path, and for paths shared with others if the parameters are in the query string."""
    param_names = {name for name, _ in request.parameters}
    return request.path == "/fineweb/search" or (
        request.path in ("/search", "/fetch") and bool(param_names & {"query", "url"})
    )


DIALECT = Dialect(
    "deepresearchgym",
    "DeepResearchGym",
    ("clueweb22.us",),
    (
        Route(("GET",), "/search", answer_clueweb),
        Route(("GET",), "/fineweb/search", answer_fineweb),
        Route(("GET",), "/fetch", answer_fetch),
        Route(("GET",), "/health", answer_health),
    ),
    lambda request: get_header(request, b"x-api-key"),
    _render_error,
    "by name through the proxy; or its URL: `http://127.0.0.1:8800/deepresearchgym`",
    is_meant_at_root=_is_meant_at_root,
)
