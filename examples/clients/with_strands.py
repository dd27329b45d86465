# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "mcp==1.30.0",
#   "strands-agents==1.62.0",
#   "strands-agents-tools==0.8.10",
#   "readabilipy==0.3.0",
# ]
# ///
"""Strands Agents: its community tools and the server's MCP tools."""

import asyncio
import os
import sys


def search_tavily(query):
    """Search with tavily_search of strands-agents-tools."""
    from strands_tools.tavily import tavily_search

    return asyncio.run(tavily_search(query=query))


def search_exa(query):
    """Search with exa_search of strands-agents-tools."""
    from strands_tools.exa import exa_search

    return asyncio.run(exa_search(query=query))


def read_http_request(url):
    """Read a page with http_request of strands-agents-tools."""
    from strands_tools.http_request import http_request

    use = {"toolUseId": "1", "input": {"method": "GET", "url": url, "convert_to_markdown": True}}
    return http_request(use)


def search_mcp(query):
    """Search with the MCPClient of strands-agents."""
    from mcp.client.streamable_http import streamablehttp_client
    from strands.tools.mcp import MCPClient

    headers = {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    with MCPClient(lambda: streamablehttp_client(os.environ["WEBEMU_SERVER"] + "/mcp", headers=headers)) as client:
        return client.call_tool_sync("1", "search", {"query": query})


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
