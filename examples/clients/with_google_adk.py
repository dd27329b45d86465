# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "google-adk==2.13.0",
#   "mcp==1.30.0",
#   "beautifulsoup4==4.15.0",
#   "lxml==6.1.3",
# ]
# ///
"""Google ADK: its page tool and the server's MCP tools."""

import asyncio
import os
import sys


def read_web_page(url):
    """Read a page with load_web_page of google-adk, which refuses private addresses."""
    from google.adk.tools.load_web_page import load_web_page

    return load_web_page(url)


def search_mcp(query):
    """Search with the McpToolset of google-adk."""
    return asyncio.run(call_tool("search", {"query": query}))


async def call_tool(name, arguments):
    from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams

    headers = {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    server = StreamableHTTPConnectionParams(url=os.environ["WEBEMU_SERVER"] + "/mcp", headers=headers)
    toolset = McpToolset(connection_params=server, tool_filter=[name])
    (tool,) = await toolset.get_tools()
    try:
        return await tool.run_async(args=arguments, tool_context=None)
    finally:
        await toolset.close()


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
