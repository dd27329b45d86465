"""The tools of BrowseComp-Plus: `run_search` returns documents with an excerpt, `run_get_document` the text of one.

Their server is FastMCP, which puts a value that is no object below `result`. A docid is the page's URL.
"""

from __future__ import annotations

import orjson

from webemu.api.mcp.research import TEXT_SCHEMA, object_schema
from webemu.api.mcp.tools import Arguments, Tool, ToolResult, Toolset
from webemu.emulator.errors import NotCaptured, ViewUnavailable
from webemu.emulator.session import Session
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World

RESULTS = 5
"""Results of a search."""


def run_search(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `run_search`."""
    hits = world.search(Query(arguments.texts["query"], 1, RESULTS, session.at_time)).hits
    return _build_result([{"docid": hit.url, "score": hit.score, "snippet": hit.snippet} for hit in hits])


def run_get_document(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `run_get_document`. As in the original, a document that does not exist is null."""
    try:
        page = world.fetch(PageRequest(arguments.texts["docid"], "text", at_time=session.at_time))
    except (NotCaptured, ViewUnavailable):
        return _build_result(None)
    return _build_result({"docid": arguments.texts["docid"], "text": page.content})


def _build_result(value: object) -> ToolResult:
    """Return a value as FastMCP does: as JSON text, and below `result`."""
    return ToolResult(orjson.dumps(value).decode(), {"result": value})


_HIT_SCHEMA = object_schema("docid", "snippet", docid=TEXT_SCHEMA, score={"type": "number"}, snippet=TEXT_SCHEMA)
DOCUMENTS = Toolset(
    "Search the documents, and get those that look useful.",
    (
        Tool(
            "search",
            "Search",
            f"Search the documents. Gives the best {RESULTS} with docid, score and an excerpt.",
            {"query": {"type": "string", "description": "What to search for."}},
            ("query",),
            run_search,
            object_schema(result={"type": "array", "items": _HIT_SCHEMA}),
        ),
        Tool(
            "get_document",
            "Get document",
            "Read the full text of a document by its docid.",
            {"docid": {"type": "string", "description": "The docid of a search result."}},
            ("docid",),
            run_get_document,
            object_schema(result={"anyOf": [object_schema(docid=TEXT_SCHEMA, text=TEXT_SCHEMA), {"type": "null"}]}),
        ),
    ),
)
"""Toolset at `/mcp/documents`."""
