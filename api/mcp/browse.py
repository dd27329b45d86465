"""The tools `run_search`, `open` and `run_find`, with pages of results, formats, and ranges of characters or lines.

Their texts are those of `webemu.agent_client.tools`, so that an agent reads the same whichever way it calls them.
"""

from __future__ import annotations

from webemu.api.http.text_range import DEFAULT_LINES, TextRange
from webemu.api.mcp.texts import format_matches, format_page, format_results
from webemu.api.mcp.tools import Arguments, ArgumentSchema, Tool, ToolResult, Toolset
from webemu.emulator.session import Session
from webemu.emulator.types import PageRequest, Query, View
from webemu.emulator.world import World

DEFAULT_RESULTS, MAX_RESULTS = 10, 50
MAX_CHARS = 10_000
"""Characters of a page in one result: about 2,500 tokens."""
MAX_MATCHES = 20
"""Most matches in one result of `run_find`."""
_VIEWS: dict[str, View] = {"text": "text", "markdown": "markdown", "links": "links"}


def run_search(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `run_search`: one page of results."""
    page_number, size = arguments.numbers.get("page", 1), arguments.numbers.get("size", DEFAULT_RESULTS)
    query = Query(arguments.texts["query"], page_number, size, session.at_time, snippet="long")
    return ToolResult(format_results(world.search(query)))


def run_open(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `open`: a part of a page."""
    view = _VIEWS[arguments.texts.get("format", "text")]
    page = world.fetch(PageRequest(arguments.texts["url"], view, at_time=session.at_time))
    return ToolResult(format_page(page, _read_range(arguments)))


def _read_range(arguments: Arguments) -> TextRange:
    """Return the range of the page that is asked for, by lines if `line` or `lines` is given."""
    numbers = arguments.numbers
    if "line" in numbers or "lines" in numbers:
        return TextRange(numbers.get("line", 0), numbers.get("lines", DEFAULT_LINES), by_lines=True)
    return TextRange(numbers.get("start", 0), MAX_CHARS)


def run_find(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run the tool `run_find`: places where a text occurs in a page."""
    pattern = arguments.texts["pattern"]
    page, total, matches = world.find(
        PageRequest(arguments.texts["url"], "text", at_time=session.at_time), pattern, MAX_MATCHES
    )
    return ToolResult(format_matches(page, pattern, total, matches))


def _integer_schema(description: str, minimum: int = 0, maximum: int = 10**9) -> ArgumentSchema:
    """Return the JSON Schema of a whole number."""
    return {"type": "integer", "description": description, "minimum": minimum, "maximum": maximum}


_URL_SCHEMA: ArgumentSchema = {"type": "string", "description": "Address of the page."}
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
                "page": _integer_schema("Page of results, from 1.", 1, 1000),
                "size": _integer_schema(f"Results per page; {DEFAULT_RESULTS} if not given.", 1, MAX_RESULTS),
            },
            ("query",),
            run_search,
        ),
        Tool(
            "open",
            "Open",
            f"Open a web page and read it, {MAX_CHARS:,} characters at a time, or by lines.",
            {
                "url": _URL_SCHEMA,
                "format": {
                    "type": "string",
                    "enum": tuple(_VIEWS),
                    "description": "`text`, `markdown`, or `links`: text with its links numbered and their addresses.",
                },
                "start": _integer_schema("Character to begin at, from 0."),
                "line": _integer_schema("Line to begin at, from 0; instead of start."),
                "lines": _integer_schema(f"How many lines; {DEFAULT_LINES} if not given.", 1, 2000),
            },
            ("url",),
            run_open,
        ),
        Tool(
            "find",
            "Find",
            "Find a text inside a web page, upper and lower case alike. Says where to open the page.",
            {"url": _URL_SCHEMA, "pattern": {"type": "string", "description": "The text to find."}},
            ("url", "pattern"),
            run_find,
        ),
    ),
)
"""Toolset at `/mcp/browse`."""
