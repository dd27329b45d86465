"""BrowseComp-Plus's server for Search-R1: `/retrieve` with one query and one flat list of documents.

A document's id is its URL, by which it can be fetched. Its text is cut to the first 512 tokens, as their searchers do.
"""

from __future__ import annotations

from webemu.api.dialects.dialect import Dialect, Route, build_response, read_params
from webemu.api.dialects.retrieval import render_error, require_text
from webemu.api.dialects.search import SearchParams, search
from webemu.api.http.request import Request
from webemu.api.http.response import Response
from webemu.emulator.types import Hit
from webemu.emulator.world import World

RESULTS = 5
"""Results per query; the client cannot choose."""
MAX_TEXT_CHARS = 2048
"""Characters that stand for 512 tokens."""


def answer_retrieve(world: World, request: Request) -> Response:
    """Answer `/retrieve` with `{"query"}`."""
    query = require_text(read_params(request), "query")
    hits = search(world, query, SearchParams(count=RESULTS), request.session.at_time)[0]
    return build_response({"result": [_render_entry(world, hit) for hit in hits]})


def _render_entry(world: World, hit: Hit) -> dict[str, object]:
    """Return one document, its text cut at a word."""
    title, text = hit.title, world.text_of(hit)[1]
    if len(text) > MAX_TEXT_CHARS:
        text = text[:MAX_TEXT_CHARS].rpartition(" ")[0] or text[:MAX_TEXT_CHARS]
    document = {"title": title, "text": text, "contents": f'"{title}"\n{text}'}
    return {"docid": hit.url, "document": document, "score": hit.score}


DIALECT = Dialect(
    "browsecomp-plus",
    "BrowseComp-Plus",
    (),
    (Route(("POST",), "/retrieve", answer_retrieve, True),),
    None,
    render_error,
    "its client's retriever URL: `http://127.0.0.1:8800/browsecomp-plus/retrieve`",
)
