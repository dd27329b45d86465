# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "beautifulsoup4==4.15.0",
#   "ddgs==9.16.1",
#   "firecrawl-py==4.55.0",
#   "google-search-results==2.4.2",
#   "langchain-community==0.4.2",
#   "langchain-exa==1.1.0",
#   "langchain-google-community==5.1.1",
#   "langchain-linkup==0.3.0",
#   "langchain-mcp-adapters==0.3.2",
#   "langchain-parallel==0.5.0",
#   "langchain-perplexity==1.4.2",
#   "langchain-tavily==0.2.18",
#   "mcp==1.30.0",
#   "pysocks==1.7.1",
# ]
# ///
"""LangChain: its search tools, page loaders and MCP tools."""

import asyncio
import os
import sys


def search_tavily(query):
    """Search with the TavilySearch tool of langchain-tavily."""
    from langchain_tavily import TavilySearch

    return TavilySearch(max_results=5).invoke({"query": query})


def read_tavily(url):
    """Read a page with the TavilyExtract tool of langchain-tavily."""
    from langchain_tavily import TavilyExtract

    return TavilyExtract().invoke({"urls": [url]})


def search_exa(query):
    """Search with the ExaSearchResults tool of langchain-exa."""
    from langchain_exa import ExaSearchResults

    return ExaSearchResults().invoke({"query": query, "num_results": 5})


def search_linkup(query):
    """Search with the LinkupSearchRetriever of langchain-linkup."""
    from langchain_linkup import LinkupSearchRetriever

    return LinkupSearchRetriever(depth="standard").invoke(query)


def search_perplexity(query):
    """Search with the PerplexitySearchResults tool of langchain-perplexity."""
    from langchain_perplexity import PerplexitySearchResults

    return PerplexitySearchResults(max_results=5).invoke({"query": query})


def search_parallel(query):
    """Search with the ParallelWebSearchTool of langchain-parallel."""
    from langchain_parallel import ParallelWebSearchTool

    return ParallelWebSearchTool().invoke({"objective": query, "search_queries": [query], "max_results": 5})


def search_google(query, page=1):
    """Search with the GoogleSearchAPIWrapper of langchain-google-community."""
    from langchain_google_community import GoogleSearchAPIWrapper

    return GoogleSearchAPIWrapper(k=5).results(query, 5, {"start": 5 * (int(page) - 1) + 1})


def search_serper(query, page=1):
    """Search with the GoogleSerperAPIWrapper of langchain-community."""
    from langchain_community.utilities import GoogleSerperAPIWrapper

    return GoogleSerperAPIWrapper().results(query, page=int(page))


def search_serpapi(query):
    """Search with the SerpAPIWrapper of langchain-community."""
    from langchain_community.utilities import SerpAPIWrapper

    return SerpAPIWrapper().results(query)


def search_searchapi(query, page=1):
    """Search with the SearchApiAPIWrapper of langchain-community."""
    from langchain_community.utilities import SearchApiAPIWrapper

    return SearchApiAPIWrapper().results(query, page=int(page))


def search_searxng(query, page=1):
    """Search with the SearxSearchWrapper of langchain-community, whose SEARX_HOST is the server's `/searxng`."""
    from langchain_community.utilities import SearxSearchWrapper

    return SearxSearchWrapper().results(query, num_results=10, pageno=int(page))


def search_brave(query, page=1):
    """Search with the BraveSearchWrapper of langchain-community."""
    from langchain_community.utilities import BraveSearchWrapper

    wrapper = BraveSearchWrapper(
        api_key=os.environ["BRAVE_API_KEY"], search_kwargs={"count": 5, "offset": int(page) - 1}
    )
    return wrapper.run(query)


def search_bing(query, page=1):
    """Search with the BingSearchAPIWrapper of langchain-community."""
    from langchain_community.utilities import BingSearchAPIWrapper

    address = "https://api.bing.microsoft.com/v7.0/search"
    wrapper = BingSearchAPIWrapper(bing_search_url=address, search_kwargs={"offset": 5 * (int(page) - 1)})
    return wrapper.results(query, 5)


def search_duckduckgo(query):
    """Search with the DuckDuckGoSearchResults tool of langchain-community."""
    from langchain_community.tools import DuckDuckGoSearchResults

    return DuckDuckGoSearchResults(max_results=10, num_results=10).invoke(query)


def search_jina(query):
    """Search with the JinaSearch tool of langchain-community."""
    from langchain_community.tools import JinaSearch

    return JinaSearch().invoke(query)


def read_web_base(url):
    """Read a page with the WebBaseLoader of langchain-community."""
    from langchain_community.document_loaders import WebBaseLoader

    return WebBaseLoader(url).load()


def read_async_html(url):
    """Read a page with the AsyncHtmlLoader of langchain-community, which is built on aiohttp."""
    from langchain_community.document_loaders import AsyncHtmlLoader

    return AsyncHtmlLoader([url]).load()


def read_firecrawl(url):
    """Read a page with the FireCrawlLoader of langchain-community."""
    from langchain_community.document_loaders.firecrawl import FireCrawlLoader

    return FireCrawlLoader(url=url, mode="scrape").load()


def search_mcp(query):
    """Search with the MCP tools of langchain-mcp-adapters."""
    return asyncio.run(call_mcp("search", {"query": query}))


def read_mcp(url):
    """Read a page with the MCP tools of langchain-mcp-adapters."""
    return asyncio.run(call_mcp("fetch", {"id": url}))


async def call_mcp(name, arguments):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    address = os.environ["WEBEMU_SERVER"] + "/mcp"
    headers = {"Authorization": "Bearer " + os.environ["MCP_API_KEY"]}
    client = MultiServerMCPClient({"web": {"transport": "streamable_http", "url": address, "headers": headers}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    return await tools[name].ainvoke(arguments)


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
