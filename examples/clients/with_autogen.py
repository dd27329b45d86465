# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "autogen-ext[mcp]==0.7.5",
#   "autogen-agentchat==0.7.5",
#   "mcp==1.30.0",
# ]
# ///
"""AutoGen: the server's MCP tools in its workbench."""

import asyncio
import os
import sys


def search_mcp(query):
    """Search with the McpWorkbench of autogen-ext."""
    return asyncio.run(call_tool("search", {"query": query}))


def read_mcp(url):
    """Read a page with the McpWorkbench of autogen-ext."""
    return asyncio.run(call_tool("fetch", {"id": url}))


async def call_tool(name, arguments):
    from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams

    headers = {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    server = StreamableHttpServerParams(url=os.environ["WEBEMU_SERVER"] + "/mcp", headers=headers)
    async with McpWorkbench(server) as workbench:
        return (await workbench.call_tool(name, arguments)).to_text()


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
