"""BrowseComp-Plus's server for Search-R1: `/retrieve` with one query and one flat list of documents.

A document's id is its URL, by which it can be fetched. Its text is cut to the first 512 tokens, as their searchers do.
"""

from __future__ import annotations

from typing import Any

from webemu.api.dialects.dialect import Dialect, Route, reply
from webemu.api.dialects.retrieval import asked_of, refuse
from webemu.api.dialects.search import Wanted, search
from webemu.api.http.request import Request
from webemu.api.services.origin import Reply
from webemu.emulator.types import Hit
from webemu.emulator.world import World

TOPK = 5
"""Results per query; the client cannot choose."""
SNIPPET = 2048
"""Characters that stand for 512 tokens."""


def retrieve(world: World, request: Request) -> Reply:
    """Answer `/retrieve` with `{"query"}`."""
    query = asked_of(request, "query")["query"]
    hits = search(world, query, Wanted(count=TOPK), request.session.at)[0]
    return reply({"result": [_entry(world, hit) for hit in hits]})


def _entry(world: World, hit: Hit) -> dict[str, Any]:
    """Return one document, its text cut at a word."""
    title, text = hit.title, world.text_of(hit)[1]
    if len(text) > SNIPPET:
        text = text[:SNIPPET].rpartition(" ")[0] or text[:SNIPPET]
    document = {"title": title, "text": text, "contents": f'"{title}"\n{text}'}
    return {"docid": hit.url, "document": document, "score": hit.score}


DIALECT = Dialect(
    "browsecomp-plus",
    "BrowseComp-Plus",
    (),
    (Route(("POST",), "/retrieve", retrieve, True),),
    None,
    refuse,
    "its client's retriever URL: `http://127.0.0.1:8800/browsecomp-plus/retrieve`",
)
