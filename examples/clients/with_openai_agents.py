# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "openai-agents==0.24.0",
# ]
# ///
"""OpenAI Agents SDK: the server's MCP tools."""

import asyncio
import os
import sys


def search_mcp(query):
    """Search with the MCPServerStreamableHttp of openai-agents."""
    return asyncio.run(call_tool("search", {"query": query}))


def read_mcp(url):
    """Read a page with the MCPServerStreamableHttp of openai-agents."""
    return asyncio.run(call_tool("fetch", {"id": url}))


def search_tavily_mcp(query):
    """Search with Tavily's hosted MCP server and the MCPServerStreamableHttp of openai-agents."""
    address = "https://mcp.tavily.com/mcp/?tavilyApiKey=" + os.environ["TAVILY_API_KEY"]
    return asyncio.run(call_tool("tavily_search", {"query": query}, address))


def search_exa_mcp(query):
    """Search with Exa's hosted MCP server and the MCPServerStreamableHttp of openai-agents."""
    address = "https://mcp.exa.ai/mcp?exaApiKey=" + os.environ["EXA_API_KEY"]
    return asyncio.run(call_tool("web_search_exa", {"query": query}, address))


def read_exa_mcp(url):
    """Read a page with Exa's hosted MCP server and the MCPServerStreamableHttp of openai-agents."""
    address = "https://mcp.exa.ai/mcp?exaApiKey=" + os.environ["EXA_API_KEY"]
    return asyncio.run(call_tool("web_fetch_exa", {"urls": [url]}, address))


async def call_tool(name, arguments, address=None):
    from agents.mcp import MCPServerStreamableHttp

    headers = {} if address else {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    address = address or os.environ["WEBEMU_SERVER"] + "/mcp"
    async with MCPServerStreamableHttp(params={"url": address, "headers": headers}) as server:
        return (await server.call_tool(name, arguments)).content


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
