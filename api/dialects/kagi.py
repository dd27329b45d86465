"""Kagi's APIs (`kagi.com/api/v0`): search, the enrichment indexes in the same format, FastGPT and the summarizer.

FastGPT's output and summaries would be written by a language model. Here they are sentences of the pages, the former
with the number of the reference that each is from.
"""

from __future__ import annotations

from webemu.api.dialects.days import format_midnight
from webemu.api.dialects.dialect import (
    Dialect,
    JsonObject,
    Route,
    build_response,
    get_header,
    get_number,
    get_text,
    read_params,
    request_digest,
)
from webemu.api.dialects.search import MAX_RELATED, SearchParams, search
from webemu.api.dialects.summaries import summarize
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.errors import BadRequest, EmulatorError
from webemu.emulator.types import Hit, PageRequest
from webemu.emulator.world import World

FASTGPT_REFERENCES = 5
"""References of an answer of FastGPT."""
FASTGPT_CHARACTERS = 200
"""Characters of each reference in the answer."""
_ERROR_CODES = {"bad-key": (2, "Unauthorized"), "out-of-budget": (101, "Insufficient credit")}
"""Kagi's code and message by reason of the error."""


def answer_search(world: World, request: Request) -> Response:
    """Answer `/api/v0/search`, `/api/v0/enrich/web` and `/api/v0/enrich/news`."""
    params = read_params(request)
    if not (query := get_text(params, "q")).strip():
        raise BadRequest("Missing query parameter: q", reason="bad-q")
    search_params = SearchParams(
        count=get_number(params, "limit", 10, 1, 100), published=request.path.endswith("/news")
    )
    hits = search(world, query, search_params, request.session.at_time)[0]
    rows = [_render_result(hit, rank) for rank, hit in enumerate(hits, 1)]
    related_queries = world.related_queries(query, hits, MAX_RELATED) if request.path.endswith("/search") else []
    return build_response(
        {"meta": _render_meta(request), "data": rows + ([{"t": 1, "list": related_queries}] if related_queries else [])}
    )


def answer_fastgpt(world: World, request: Request) -> Response:
    """Answer `/api/v0/fastgpt`: what the best pages say, and the references."""
    params = read_params(request)
    if not (query := get_text(params, "query")).strip():
        raise BadRequest("Missing query parameter: query", reason="bad-query")
    hits = search(world, query, SearchParams(count=FASTGPT_REFERENCES), request.session.at_time)[0]
    references = [{"title": hit.title or hit.url, "snippet": hit.snippet, "url": hit.url} for hit in hits]
    sentences = (summarize(world, hit.snippet, query, FASTGPT_CHARACTERS) for hit in hits)
    output = " ".join(f"{sentence} [{rank}]" for rank, sentence in enumerate(sentences, 1) if sentence)
    return _build_output_response(request, output, {"references": references})


def answer_summarize(world: World, request: Request) -> Response:
    """Answer `/api/v0/summarize`: the first sentences of a page or of the text that was sent."""
    params = read_params(request)
    text, url = get_text(params, "text"), get_text(params, "url")
    if bool(text.strip()) == bool(url.strip()):
        raise BadRequest("Exactly one of the parameters url and text is required", reason="bad-url")
    content = text or world.fetch(PageRequest(url, "text", request.session.at_time)).content
    return _build_output_response(request, summarize(world, content), {})


def _build_output_response(request: Request, output: str, extra_members: JsonObject) -> Response:
    """Return a response with a text; its tokens are its words."""
    data = {"output": output, "tokens": len(output.split()), **extra_members}
    return build_response({"meta": _render_meta(request), "data": data})


def _render_result(hit: Hit, rank: int) -> dict[str, object]:
    row = {"t": 0, "rank": rank, "url": hit.url, "title": hit.title or hit.url, "snippet": hit.snippet}
    return row | {"published": format_midnight(hit.date)}


def _render_meta(request: Request) -> dict[str, object]:
    return {"id": request_digest(request)[:32], "node": "us-east", "ms": 0, "api_balance": 0.0}


def render_error(error: EmulatorError, request: Request) -> Response:
    """Render an error as `{"meta", "data": null, "error": [{"code", "msg", "ref"}]}`."""
    code, message = _ERROR_CODES.get(error.reason, (0 if error.status >= 500 else 1, error.message))
    status = 402 if error.reason == "out-of-budget" else error.status
    return build_response(
        {"meta": _render_meta(request), "data": None, "error": [{"code": code, "msg": message, "ref": None}]}, status
    )


DIALECT = Dialect(
    "kagi",
    "Kagi",
    ("kagi.com",),
    (
        Route(("GET",), "/api/v0/(search|enrich/web|enrich/news)", answer_search, True),
        Route(("GET", "POST"), "/api/v0/fastgpt", answer_fastgpt, True),
        Route(("GET", "POST"), "/api/v0/summarize", answer_summarize),
    ),
    lambda request: get_header(request, b"authorization", "Bot"),
    render_error,
    "by name through the proxy; `http://127.0.0.1:8800/kagi/api/v0` where a client has a base URL",
    is_meant_at_root=lambda request: request.path.startswith("/api/v0/"),
)
