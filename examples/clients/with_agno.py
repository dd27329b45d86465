# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "agno==3.0.5",
#   "ddgs==9.16.1",
#   "exa-py==2.1.1",
#   "tavily-python==0.8.5",
#   "trafilatura==2.3.1",
#   "newspaper4k[all]==0.9.6",
#   "linkup-sdk==0.24.0",
#   "perplexityai==0.46.1",
#   "parallel-web==1.3.7",
#   "valyu==2.9.4",
#   "brave-search==0.1.8",
#   "google-search-results==2.4.2",
#   "beautifulsoup4==4.15.0",
# ]
# ///
"""Agno: its toolkits for search and pages."""

import os
import sys


def search_tavily(query):
    """Search with the TavilyTools of agno."""
    from agno.tools.tavily import TavilyTools

    return TavilyTools().web_search_using_tavily(query)


def search_exa(query):
    """Search with the ExaTools of agno."""
    from agno.tools.exa import ExaTools

    return ExaTools().search_exa(query)


def search_serper(query):
    """Search with the SerperTools of agno."""
    from agno.tools.serper import SerperTools

    return SerperTools().search_web(query)


def search_searxng(query):
    """Search with the Searxng toolkit of agno, whose host is the server's `/searxng`."""
    from agno.tools.searxng import Searxng

    return Searxng(host=os.environ["SEARX_URL"]).search_web(query)


def search_linkup(query):
    """Search with the LinkupTools of agno."""
    from agno.tools.linkup import LinkupTools

    return LinkupTools().web_search_with_linkup(query)


def search_perplexity(query):
    """Search with the PerplexitySearch toolkit of agno."""
    from agno.tools.perplexity import PerplexitySearch

    return PerplexitySearch().search(query)


def search_you(query):
    """Search with the YouTools of agno."""
    from agno.tools.youcom import YouTools

    return YouTools().you_search(query)


def read_website(url):
    """Read a page with the WebsiteTools of agno."""
    from agno.tools.website import WebsiteTools

    return WebsiteTools().read_url(url)


def read_trafilatura(url):
    """Read a page with the TrafilaturaTools of agno."""
    from agno.tools.trafilatura import TrafilaturaTools

    return TrafilaturaTools().extract_text(url)


def read_newspaper(url):
    """Read a page with the Newspaper4kTools of agno."""
    from agno.tools.newspaper4k import Newspaper4kTools

    return Newspaper4kTools().read_article(url)


def read_jina(url):
    """Read a page with the JinaReaderTools of agno."""
    from agno.tools.jina import JinaReaderTools

    return JinaReaderTools().read_url(url)


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
