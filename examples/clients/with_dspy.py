# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "mcp==1.30.0",
#   "dspy[mcp]==3.4.1",
#   "tavily-python==0.8.5",
# ]
# ///
"""DSPy: tools of an agent, made of MCP or of any function."""

import asyncio
import os
import sys


def search_mcp(query):
    """Search with Tool.from_mcp_tool of dspy."""
    return asyncio.run(call_tool("search", query=query))


def search_tavily(query):
    """Search with a Tool of dspy around tavily-python."""
    import dspy
    from tavily import TavilyClient

    return dspy.Tool(TavilyClient().search, name="search")(query=query)


async def call_tool(name, **arguments):
    import dspy
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    headers = {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    async with (
        streamablehttp_client(os.environ["WEBEMU_SERVER"] + "/mcp", headers=headers) as (receive, send, _),
        ClientSession(receive, send) as session,
    ):
        await session.initialize()
        tools = {tool.name: dspy.Tool.from_mcp_tool(session, tool) for tool in (await session.list_tools()).tools}
        return await tools[name].acall(**arguments)


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
