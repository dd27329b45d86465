# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "pydantic-ai-slim[duckduckgo,tavily,exa,web-fetch,mcp]==2.68.0",
# ]
# ///
"""Pydantic AI: its common tools for search and pages."""

import asyncio
import os
import sys


def search_duckduckgo(query):
    """Search with the duckduckgo_search_tool of pydantic-ai-slim."""
    from pydantic_ai.common_tools.duckduckgo import duckduckgo_search_tool

    return asyncio.run(duckduckgo_search_tool(max_results=5).function(query))


def search_tavily(query):
    """Search with the tavily_search_tool of pydantic-ai-slim."""
    from pydantic_ai.common_tools.tavily import tavily_search_tool

    return asyncio.run(tavily_search_tool(os.environ["TAVILY_API_KEY"]).function(query))


def search_exa(query):
    """Search with the exa_search_tool of pydantic-ai-slim."""
    from pydantic_ai.common_tools.exa import exa_search_tool

    return asyncio.run(exa_search_tool(os.environ["EXA_API_KEY"], num_results=5).function(query))


def read_web_fetch(url):
    """Read a page with the web_fetch_tool of pydantic-ai-slim, which refuses private addresses."""
    from pydantic_ai.common_tools.web_fetch import web_fetch_tool

    return asyncio.run(web_fetch_tool().function(url))


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
