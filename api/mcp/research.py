"""The tools `run_search` and `run_fetch` as hosts of deep research want them: one text with a JSON object each.

This is OpenAI's contract for connectors: results with `id`, `title`, `url`; a document with `id`, `title`, `text`,
`url`, `metadata`. An id is the page's URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from webemu.api.mcp.tools import Arguments, Tool, ToolResult, Toolset
from webemu.emulator.session import Session
from webemu.emulator.types import Hit, PageRequest, Query
from webemu.emulator.world import World

RESULTS = 10
"""Results of a search."""


def run_search(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `run_search`."""
    results = world.search(Query(arguments.texts["query"], 1, RESULTS, session.at_time))
    return json_result({"results": [_render_result(hit) for hit in results.hits]})


def _render_result(hit: Hit) -> dict[str, str]:
    return {"id": hit.url, "title": hit.title or hit.url, "text": hit.snippet, "url": hit.url}


def run_fetch(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `run_fetch`: the whole text of a page."""
    page = world.fetch(PageRequest(arguments.texts["id"], "text", at_time=session.at_time))
    capture_time = datetime.fromtimestamp(page.capture.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"fetched": capture_time, "status": str(page.capture.status), "mime": page.capture.mime}
    url = page.capture.url
    document = {
        "id": arguments.texts["id"],
        "title": page.title or url,
        "text": page.content,
        "url": url,
        "metadata": metadata,
    }
    return json_result(document)


def json_result(value: Mapping[str, object]) -> ToolResult:
    """Return an object as a tool's result: as JSON text and as structured content."""
    return ToolResult(orjson.dumps(value).decode(), value)


def object_schema(*required: str, **properties: object) -> dict[str, object]:
    """Return the JSON Schema of an object; all properties are required unless some are named."""
    return {"type": "object", "properties": properties, "required": required or tuple(properties)}


TEXT_SCHEMA = {"type": "string"}
"""JSON Schema of a text."""
RESULT_SCHEMA = object_schema(id=TEXT_SCHEMA, title=TEXT_SCHEMA, text=TEXT_SCHEMA, url=TEXT_SCHEMA)
"""JSON Schema of a search result."""
RESEARCH = Toolset(
    "Search the web, then fetch the pages that look useful by their id, and cite them by their url.",
    (
        Tool(
            "search",
            "Search",
            "Search the web. Gives the ten best pages with id, title, url and an excerpt.",
            {"query": {"type": "string", "description": 'Words; also "exact phrase", -word, site:example.org.'}},
            ("query",),
            run_search,
            object_schema(results={"type": "array", "items": RESULT_SCHEMA}),
        ),
        Tool(
            "fetch",
            "Fetch",
            "Read the whole text of a page found by search.",
            {"id": {"type": "string", "description": "The id of a search result, or the address of any page."}},
            ("id",),
            run_fetch,
            object_schema(
                id=TEXT_SCHEMA,
                title=TEXT_SCHEMA,
                text=TEXT_SCHEMA,
                url=TEXT_SCHEMA,
                metadata={"type": ["object", "null"]},
            ),
        ),
    ),
)
"""Toolset at `/mcp`."""
