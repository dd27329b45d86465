"""The MCP servers that Tavily and Exa host: `mcp.tavily.com/mcp` and `mcp.exa.ai/mcp`.

Their tools ask the services' own APIs, and render the answers as text for a model, in the forms of tavily-mcp and
exa-mcp-server. Tools that need a language model (`tavily_research`, Exa's agents) are not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import orjson

from webemu.api.dialects import exa, tavily
from webemu.api.dialects.dialect import JSON_TYPE, Dialect, Endpoint, Route, get_header
from webemu.api.http.request import Request
from webemu.api.mcp.endpoint import answer_request
from webemu.api.mcp.session_errors import render_error
from webemu.api.mcp.tools import Arguments, ArgumentSchema, Tool, ToolResult, Toolset
from webemu.emulator.errors import BadRequest
from webemu.emulator.session import Session
from webemu.emulator.world import World

Answer: TypeAlias = Mapping[str, list[dict[str, str]]]
"""Members of a service's answer that are rendered: lists of objects, of whose members only texts are read."""
PREVIEW_CHARACTERS = 200
"""Characters of a crawled page that are shown."""
EXA_CONTEXT_CHARACTERS, EXA_PAGE_CHARACTERS = 10_000, 3_000
"""Characters of all results of a search, and of one page, unless the call asks for other numbers."""


def _ask(endpoint: Endpoint, world: World, session: Session, params: Mapping[str, object]) -> Answer:
    """Return what a service answers to a posted object."""
    request = Request("POST", "https", "", "", "/", "", {b"content-type": JSON_TYPE}, session, orjson.dumps(params))
    answer: Answer = orjson.loads(endpoint(world, request).body)
    return answer


def _run_tavily(
    endpoint: Endpoint, render: Callable[[Answer, str], str], world: World, session: Session, arguments: Arguments
) -> ToolResult:
    """Run a tool of Tavily's, whose arguments are the parameters of one of its addresses."""
    params = {**arguments.texts, **arguments.numbers, **arguments.unchecked_values}
    return ToolResult(render(_ask(endpoint, world, session, params), arguments.texts.get("url", "")))


def _render_results(answer: Answer, url: str) -> str:
    lines = ["Detailed Results:"]
    for row in answer["results"]:
        lines += [f"\nTitle: {row.get('title', '')}", f"URL: {row['url']}"]
        lines += [f"Content: {row['content']}"] if "content" in row else []
        lines += [f"Raw Content: {row['raw_content']}"] if row.get("raw_content") else []
        lines += [f"Favicon: {row['favicon']}"] if row.get("favicon") else []
    failed = [f"\nURL: {row['url']}\nError: {row['error']}" for row in answer.get("failed_results", [])]
    return "\n".join([*lines, *(["\nFailed Results:", *failed] if failed else [])])


def _render_crawl(answer: Answer, url: str) -> str:
    lines = ["Crawl Results:", f"Base URL: {url}", "\nCrawled Pages:"]
    for number, row in enumerate(answer["results"], 1):
        content = row.get("raw_content") or ""
        preview = content[:PREVIEW_CHARACTERS] + ("..." if len(content) > PREVIEW_CHARACTERS else "")
        lines += [f"\n[{number}] URL: {row['url']}", *([f"Content: {preview}"] if preview else [])]
    return "\n".join(lines)


def _render_map(answer: Answer, url: str) -> str:
    pages = [f"\n[{number}] URL: {page}" for number, page in enumerate(answer["results"], 1)]
    return "\n".join(["Site Map Results:", f"Base URL: {url}", "\nMapped Pages:", *pages])


def _run_exa_search(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run `web_search_exa`: the texts of the best pages, together no longer than asked for."""
    size = arguments.numbers.get("contextMaxCharacters", EXA_CONTEXT_CHARACTERS)
    params = {
        "query": arguments.texts["query"],
        "numResults": arguments.numbers.get("numResults", 8),
        "contents": {"text": {"maxCharacters": size}},
    }
    rows = _ask(exa.answer_search, world, session, params)["results"]
    if not rows:
        return ToolResult("No search results found. Please try a different query.")
    share = max(1, size // len(rows))
    return ToolResult("\n\n".join(_render_exa_result(row, share) for row in rows))


def _render_exa_result(row: Mapping[str, str], size: int) -> str:
    date = [f"Published Date: {row['publishedDate']}"] if row.get("publishedDate") else []
    return "\n".join([f"Title: {row['title']}", *date, f"URL: {row['url']}", f"Text: {row.get('text', '')[:size]}"])


def _run_exa_fetch(world: World, session: Session, arguments: Arguments) -> ToolResult:
    """Run `web_fetch_exa`: pages by URL. Raises BadRequest if none of them can be shown."""
    size = arguments.numbers.get("maxCharacters", EXA_PAGE_CHARACTERS)
    params = {"urls": arguments.unchecked_values["urls"], "text": {"maxCharacters": size}}
    answer = _ask(exa.answer_contents, world, session, params)
    failed = [row["id"] for row in answer["statuses"] if row["status"] == "error"]
    if not answer["results"]:
        raise BadRequest("Error fetching URL(s): " + "; ".join(f"{url}: CRAWL_NOT_FOUND" for url in failed))
    pages = [f"# {row['title']}\nURL: {row['url']}\n\n{row.get('text', '')}" for row in answer["results"]]
    return ToolResult("\n\n".join([*pages, *(f"Error fetching {url}: CRAWL_NOT_FOUND" for url in failed)]))


def _text(description: str) -> ArgumentSchema:
    return {"type": "string", "description": description}


def _number(description: str, minimum: int, maximum: int) -> ArgumentSchema:
    return {"type": "integer", "description": description, "minimum": minimum, "maximum": maximum}


def _texts(description: str) -> ArgumentSchema:
    return {"type": "array", "description": description, "items": {"type": "string"}}


def _flag(description: str) -> ArgumentSchema:
    return {"type": "boolean", "description": description}


_URLS = _texts("URLs of the pages.")
_CRAWL_PROPERTIES = {
    "url": _text("The root URL to begin with."),
    "max_depth": _number("Links between the root and a page at most.", 1, 5),
    "max_breadth": _number("Links to follow on each page.", 1, 500),
    "limit": _number("Pages in all.", 1, 500),
    "instructions": _text("What to look for."),
    "select_paths": _texts("Regular expressions of paths."),
    "select_domains": _texts("Regular expressions of domains."),
    "allow_external": _flag("Whether links to other sites are followed."),
}
_TAVILY = Toolset(
    "Search the web, extract pages, crawl and map sites.",
    (
        Tool(
            "tavily_search",
            "Search",
            "Search the web for current information on any topic. Returns snippets and source URLs.",
            {
                "query": _text("Search query."),
                "max_results": _number("The number of results.", 1, 20),
                "search_depth": _text("basic, advanced, fast or ultra-fast."),
                "topic": _text("general, news or finance."),
                "time_range": _text("day, week, month or year."),
                "start_date": _text("First day, YYYY-MM-DD."),
                "end_date": _text("Last day, YYYY-MM-DD."),
                "include_domains": _texts("Domains to search."),
                "exclude_domains": _texts("Domains to leave out."),
                "include_raw_content": _flag("Whether each result has the page's content."),
                "include_favicon": _flag("Whether each result has its site's icon."),
            },
            ("query",),
            partial(_run_tavily, tavily.answer_search, _render_results),
        ),
        Tool(
            "tavily_extract",
            "Extract",
            "Extract the content of pages by URL, as markdown or text.",
            {"urls": _URLS, "format": _text("markdown or text."), "include_favicon": _flag("Whether to add icons.")},
            ("urls",),
            partial(_run_tavily, tavily.answer_extract, _render_results),
        ),
        Tool(
            "tavily_crawl",
            "Crawl",
            "Crawl a site from a URL on and extract its pages.",
            {**_CRAWL_PROPERTIES, "format": _text("markdown or text.")},
            ("url",),
            partial(_run_tavily, tavily.answer_crawl, _render_crawl),
        ),
        Tool(
            "tavily_map",
            "Map",
            "Map the structure of a site: its URLs from a root on.",
            _CRAWL_PROPERTIES,
            ("url",),
            partial(_run_tavily, tavily.answer_map, _render_map),
        ),
    ),
)
_EXA = Toolset(
    "Search the web with web_search_exa, then read pages with web_fetch_exa.",
    (
        Tool(
            "web_search_exa",
            "Web search",
            "Search the web for any topic and get clean, ready-to-use content of the best pages.",
            {
                "query": _text("The query."),
                "numResults": _number("Number of results.", 1, 100),
                "contextMaxCharacters": _number("Characters of all results together.", 1, 100_000),
            },
            ("query",),
            _run_exa_search,
        ),
        Tool(
            "web_fetch_exa",
            "Web fetch",
            "Read the full content of pages by URL.",
            {"urls": _URLS, "maxCharacters": _number("Characters of each page.", 1, 1_000_000)},
            ("urls",),
            _run_exa_fetch,
        ),
    ),
)


def _build_dialect(name: str, service: str, host: str, toolset: Toolset, key_parameter: str) -> Dialect:
    def read_key(request: Request) -> str:
        by_header = get_header(request, b"authorization", "Bearer") or get_header(request, b"x-api-key")
        return dict(request.parameters).get(key_parameter) or by_header

    return Dialect(
        name,
        service,
        (host,),
        (Route(("GET", "POST", "DELETE", "OPTIONS"), "/mcp/?", partial(answer_request, toolset)),),
        read_key,
        partial(render_error, names_reason=False),
        f"by name through the proxy; `http://127.0.0.1:8800/{name}/mcp` where a client has an address",
        ("openai-agents",),
    )


TAVILY = _build_dialect("mcp-tavily", "Tavily MCP", "mcp.tavily.com", _TAVILY, "tavilyApiKey")
"""Tavily's MCP server."""
EXA = _build_dialect("mcp-exa", "Exa MCP", "mcp.exa.ai", _EXA, "exaApiKey")
"""Exa's MCP server."""
