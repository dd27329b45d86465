"""The tools `search`, `open` and `find`, with pages of results, formats, and ranges of characters or lines.

Their texts are those of `webemu.agent_client.tools`, so that an agent reads the same whichever way it calls them.
"""

from __future__ import annotations

from typing import Any

from webemu.api.http.text_range import LINES, Window
from webemu.api.mcp.texts import matches_text, page_text, results_text
from webemu.api.mcp.tools import Arguments, Said, Tool, Toolset
from webemu.emulator.session import Session
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World

RESULTS, MOST_RESULTS = 10, 50
WINDOW = 10_000
"""Characters of a page in one result: about 2,500 tokens."""
MATCHES = 20
"""Most matches in one result of `find`."""
_FORMATS = ("text", "markdown", "links")


def search(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `search`: one page of results."""
    query = Query(given["query"], given.get("page", 1), given.get("size", RESULTS), session.at)
    return Said(results_text(world.search(query)))


def open_page(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `open`: a part of a page."""
    page = world.fetch(PageRequest(given["url"], given.get("format", "text"), at=session.at))
    return Said(page_text(page, _window(given)))


def _window(given: Arguments) -> Window:
    """Return the range of the page that is asked for, by lines if `line` or `lines` is given."""
    if "line" in given or "lines" in given:
        return Window(given.get("line", 0), given.get("lines", LINES), by_lines=True)
    return Window(given.get("start", 0), WINDOW)


def find(world: World, session: Session, given: Arguments) -> Said:
    """Run the tool `find`: places where a text occurs in a page."""
    pattern = given["pattern"]
    page, total, matches = world.find(PageRequest(given["url"], "text", at=session.at), pattern, MATCHES)
    return Said(matches_text(page, pattern, total, matches))


def _integer(description: str, minimum: int = 0, maximum: int = 10**9) -> dict[str, Any]:
    """Return the JSON Schema of a whole number."""
    return {"type": "integer", "description": description, "minimum": minimum, "maximum": maximum}


_URL = {"type": "string", "description": "Address of the page."}
BROWSE = Toolset(
    "Search the web, open the pages that look useful, and find words inside long ones.",
    (
        Tool(
            "search",
            "Search",
            "Search the web. Gives results with title, address, date and an excerpt.",
            {
                "query": {
                    "type": "string",
                    "description": 'Words; also "exact phrase", -word, site:example.org, before:2024-01-31.',
                },
                "page": _integer("Page of results, from 1.", 1, 1000),
                "size": _integer(f"Results per page; {RESULTS} if not given.", 1, MOST_RESULTS),
            },
            ("query",),
            search,
        ),
        Tool(
            "open",
            "Open",
            f"Open a web page and read it, {WINDOW:,} characters at a time, or by lines.",
            {
                "url": _URL,
                "format": {
                    "type": "string",
                    "enum": _FORMATS,
                    "description": "`text`, `markdown`, or `links`: text with its links numbered and their addresses.",
                },
                "start": _integer("Character to begin at, from 0."),
                "line": _integer("Line to begin at, from 0; instead of start."),
                "lines": _integer(f"How many lines; {LINES} if not given.", 1, 2000),
            },
            ("url",),
            open_page,
        ),
        Tool(
            "find",
            "Find",
            "Find a text inside a web page, upper and lower case alike. Says where to open the page.",
            {"url": _URL, "pattern": {"type": "string", "description": "The text to find."}},
            ("url", "pattern"),
            find,
        ),
    ),
)
"""Toolset at `/mcp/browse`."""
