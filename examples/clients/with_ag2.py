# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "ag2[ddgs,tavily]==1.2.1",
# ]
# ///
"""AG2: its search tools, called by an agent whose model follows a script."""

import asyncio
import json
import os
import sys


def search_duckduckgo(query):
    """Search with the DuckDuckSearchTool of ag2."""
    from ag2.tools.search.duckduckgo import DuckDuckSearchTool

    return call(DuckDuckSearchTool(max_results=5), query=query)


def search_tavily(query):
    """Search with the TavilySearchTool of ag2."""
    from ag2.tools.search.tavily import TavilySearchTool

    return call(TavilySearchTool(os.environ["TAVILY_API_KEY"], max_results=5), query=query)


def call(tool, **arguments):
    return asyncio.run(play(tool, arguments))


async def play(tool, arguments):
    from ag2 import Agent
    from ag2.events import ToolCallEvent
    from ag2.testing import TestConfig

    turns = [ToolCallEvent(tool.name, arguments=json.dumps(arguments)), "done"]
    reply = await Agent("reader", config=TestConfig(*turns), tools=[tool]).ask("Search.")
    return [event for event in await reply.history.get_events() if type(event).__name__ == "ToolResultEvent"]


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
