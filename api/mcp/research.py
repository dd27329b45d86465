"""The tools `search` and `fetch` as hosts of deep research want them: one text with a JSON object each.

This is OpenAI's contract for connectors: results with `id`, `title`, `url`; a document with `id`, `title`, `text`,
`url`, `metadata`. An id is the page's URL.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from webemu.api.mcp.tools import Arguments, Said, Tool, Toolset
from webemu.emulator.session import Session
from webemu.emulator.types import Hit, PageRequest, Query
from webemu.emulator.world import World

RESULTS = 10
"""Results of a search."""


def search(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `search`."""
    results = world.search(Query(given["query"], 1, RESULTS, session.at))
    return said({"results": [_result(hit) for hit in results.hits]})


def _result(hit: Hit) -> dict[str, str]:
    return {"id": hit.url, "title": hit.title or hit.url, "text": hit.snippet, "url": hit.url}


def fetch(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `fetch`: the whole text of a page."""
    page = world.fetch(PageRequest(given["id"], "text", at=session.at))
    seen = datetime.fromtimestamp(page.capture.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"fetched": seen, "status": str(page.capture.status), "mime": page.capture.mime}
    url = page.capture.url
    found = {"id": given["id"], "title": page.title or url, "text": page.content, "url": url, "metadata": metadata}
    return said(found)


def said(value: dict[str, Any]) -> Said:
    """Return an object as a tool's result: as JSON text and as structured content."""
    return Said(orjson.dumps(value).decode(), value)


def schema(*required: str, **properties: object) -> dict[str, Any]:
    """Return the JSON Schema of an object; all properties are required unless some are named."""
    return {"type": "object", "properties": properties, "required": required or tuple(properties)}


TEXT = {"type": "string"}
"""JSON Schema of a text."""
RESULT = schema(id=TEXT, title=TEXT, text=TEXT, url=TEXT)
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
            search,
            schema(results={"type": "array", "items": RESULT}),
        ),
        Tool(
            "fetch",
            "Fetch",
            "Read the whole text of a page found by search.",
            {"id": {"type": "string", "description": "The id of a search result, or the address of any page."}},
            ("id",),
            fetch,
            schema(id=TEXT, title=TEXT, text=TEXT, url=TEXT, metadata={"type": ["object", "null"]}),
        ),
    ),
)
"""Toolset at `/mcp`."""
