# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "crewai-tools==1.15.30",
#   "tavily-python==0.8.5",
#   "exa-py==2.28.0",
#   "linkup-sdk==0.24.0",
#   "firecrawl-py==4.55.0",
# ]
# ///
"""CrewAI: its search and scraping tools."""

import os
import sys


def search_serper(query):
    """Search with the SerperDevTool of crewai-tools."""
    from crewai_tools import SerperDevTool

    return SerperDevTool(n_results=5).run(search_query=query)


def search_tavily(query):
    """Search with the TavilySearchTool of crewai-tools."""
    from crewai_tools import TavilySearchTool

    return TavilySearchTool().run(query=query)


def search_exa(query):
    """Search with the EXASearchTool of crewai-tools."""
    from crewai_tools import EXASearchTool

    return EXASearchTool().run(search_query=query)


def search_brave(query):
    """Search with the BraveSearchTool of crewai-tools."""
    from crewai_tools import BraveSearchTool

    return BraveSearchTool(n_results=5).run(q=query)


def search_linkup(query):
    """Search with the LinkupSearchTool of crewai-tools."""
    from crewai_tools import LinkupSearchTool

    return LinkupSearchTool(api_key=os.environ["LINKUP_API_KEY"]).run(query=query)


def read_scrape_website(url):
    """Read a page with the ScrapeWebsiteTool of crewai-tools, which refuses private addresses."""
    from crewai_tools import ScrapeWebsiteTool

    return ScrapeWebsiteTool(website_url=url).run()


def read_serper(url):
    """Read a page with the SerperScrapeWebsiteTool of crewai-tools."""
    from crewai_tools import SerperScrapeWebsiteTool

    return SerperScrapeWebsiteTool().run(url=url)


def read_jina(url):
    """Read a page with the JinaScrapeWebsiteTool of crewai-tools."""
    from crewai_tools import JinaScrapeWebsiteTool

    return JinaScrapeWebsiteTool(api_key=os.environ["JINA_API_KEY"]).run(website_url=url)


def read_firecrawl(url):
    """Read a page with the FirecrawlScrapeWebsiteTool of crewai-tools."""
    from crewai_tools import FirecrawlScrapeWebsiteTool

    return FirecrawlScrapeWebsiteTool().run(url=url)


def read_tavily(url):
    """Read a page with the TavilyExtractorTool of crewai-tools."""
    from crewai_tools import TavilyExtractorTool

    return TavilyExtractorTool().run(urls=[url])


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
