"""The tools of BrowseComp-Plus: `search` returns documents with an excerpt, `get_document` the text of one.

Their server is FastMCP, which puts a value that is no object below `result`. A docid is the page's URL.
"""

from __future__ import annotations

from typing import Any

import orjson

from webemu.api.mcp.research import TEXT, schema
from webemu.api.mcp.tools import Arguments, Said, Tool, Toolset
from webemu.emulator.errors import NotCaptured, NoView
from webemu.emulator.session import Session
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World

RESULTS = 5
"""Results of a search."""


def search(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `search`."""
    hits = world.search(Query(given["query"], 1, RESULTS, session.at)).hits
    return _said([{"docid": hit.url, "score": hit.score, "snippet": hit.snippet} for hit in hits])


def get_document(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `get_document`. As in the original, a document that does not exist is null."""
    try:
        page = world.fetch(PageRequest(given["docid"], "text", at=session.at))
    except (NotCaptured, NoView):
        return _said(None)
    return _said({"docid": given["docid"], "text": page.content})


def _said(value: Any) -> Said:
    """Return a value as FastMCP does: as JSON text, and below `result`."""
    return Said(orjson.dumps(value).decode(), {"result": value})


_FOUND = schema("docid", "snippet", docid=TEXT, score={"type": "number"}, snippet=TEXT)
DOCUMENTS = Toolset(
    "Search the documents, and get those that look useful.",
    (
        Tool(
            "search",
            "Search",
            f"Search the documents. Gives the best {RESULTS} with docid, score and an excerpt.",
            {"query": {"type": "string", "description": "What to search for."}},
            ("query",),
            search,
            schema(result={"type": "array", "items": _FOUND}),
        ),
        Tool(
            "get_document",
            "Get document",
            "Read the full text of a document by its docid.",
            {"docid": {"type": "string", "description": "The docid of a search result."}},
            ("docid",),
            get_document,
            schema(result={"anyOf": [schema(docid=TEXT, text=TEXT), {"type": "null"}]}),
        ),
    ),
)
"""Toolset at `/mcp/documents`."""
