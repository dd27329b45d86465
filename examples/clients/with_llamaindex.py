# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "llama-index-tools-tavily-research==0.6.0",
#   "llama-index-tools-exa==0.6.0",
#   "llama-index-tools-brave-search==0.6.0",
#   "llama-index-tools-google==0.8.0",
#   "llama-index-tools-duckduckgo==0.6.0",
#   "primp==0.9.3",
#   "llama-index-tools-mcp==0.6.0",
#   "llama-index-readers-web==0.7.0",
#   "llama-index-tools-linkup-research==0.6.0",
#   "llama-index-tools-arxiv==0.6.0",
#   "llama-index-tools-bing-search==0.6.0",
#   "trafilatura==2.3.1",
# ]
# ///
"""LlamaIndex: its search tools, page readers and MCP tools."""

import asyncio
import os
import sys


def search_tavily(query):
    """Search with the TavilyToolSpec of llama-index-tools-tavily-research."""
    from llama_index.tools.tavily_research import TavilyToolSpec

    return TavilyToolSpec(api_key=os.environ["TAVILY_API_KEY"]).search(query)


def search_exa(query):
    """Search with the ExaToolSpec of llama-index-tools-exa."""
    from llama_index.tools.exa import ExaToolSpec

    return ExaToolSpec(api_key=os.environ["EXA_API_KEY"]).search(query, num_results=5)


def search_brave(query):
    """Search with the BraveSearchToolSpec of llama-index-tools-brave-search."""
    from llama_index.tools.brave_search import BraveSearchToolSpec

    return BraveSearchToolSpec(api_key=os.environ["BRAVE_API_KEY"]).brave_search(query, num_results=5)


def search_google(query):
    """Search with the GoogleSearchToolSpec of llama-index-tools-google."""
    from llama_index.tools.google import GoogleSearchToolSpec

    return GoogleSearchToolSpec(key=os.environ["GOOGLE_API_KEY"], engine=os.environ["GOOGLE_CSE_ID"]).google_search(
        query
    )


def search_linkup(query):
    """Search with the LinkupToolSpec of llama-index-tools-linkup-research."""
    from llama_index.tools.linkup_research.base import LinkupToolSpec

    tool = LinkupToolSpec(api_key=os.environ["LINKUP_API_KEY"], depth="standard", output_type="searchResults")
    return tool.search(query)


def search_duckduckgo(query):
    """Search with the DuckDuckGoSearchToolSpec of llama-index-tools-duckduckgo."""
    from llama_index.tools.duckduckgo import DuckDuckGoSearchToolSpec

    return DuckDuckGoSearchToolSpec().duckduckgo_full_search(query, max_results=5)


def search_bing_news(query):
    """Search news with the BingSearchToolSpec of llama-index-tools-bing-search."""
    from llama_index.tools.bing_search import BingSearchToolSpec

    return BingSearchToolSpec(api_key=os.environ["BING_SUBSCRIPTION_KEY"]).bing_news_search(query)


def read_simple(url):
    """Read a page with the SimpleWebPageReader of llama-index-readers-web."""
    from llama_index.readers.web import SimpleWebPageReader

    return SimpleWebPageReader(html_to_text=True).load_data([url])


def read_beautiful_soup(url):
    """Read a page with the BeautifulSoupWebReader of llama-index-readers-web."""
    from llama_index.readers.web import BeautifulSoupWebReader

    return BeautifulSoupWebReader().load_data([url])


def read_trafilatura(url):
    """Read a page with the TrafilaturaWebReader of llama-index-readers-web."""
    from llama_index.readers.web import TrafilaturaWebReader

    return TrafilaturaWebReader().load_data([url])


def read_async(url):
    """Read a page with the AsyncWebPageReader of llama-index-readers-web, which is built on aiohttp."""
    from llama_index.readers.web import AsyncWebPageReader

    return AsyncWebPageReader().load_data([url])


def search_mcp(query):
    """Search with the McpToolSpec of llama-index-tools-mcp."""
    return asyncio.run(call_mcp("search", query=query))


async def call_mcp(name, **arguments):
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    headers = {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    tools = await McpToolSpec(
        BasicMCPClient(os.environ["WEBEMU_SERVER"] + "/mcp", headers=headers)
    ).to_tool_list_async()
    return await {tool.metadata.name: tool for tool in tools}[name].acall(**arguments)


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
