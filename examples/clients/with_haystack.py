# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "haystack-ai==3.4.1",
#   "serperdev-haystack==2.0.0",
#   "searchapi-haystack==2.0.0",
#   "tavily-haystack==2.0.0",
#   "duckduckgo-api-haystack==0.1.15",
#   "firecrawl-haystack==2.0.0",
#   "brave-haystack==1.0.0",
#   "linkup-haystack==2.0.0",
#   "exa-haystack==1.1.0",
#   "trafilatura==2.3.1",
# ]
# ///
"""Haystack: its components for search and for fetching pages."""

import sys


def search_serper(query):
    """Search with the SerperDevWebSearch of serperdev-haystack."""
    from haystack_integrations.components.websearch.serperdev import SerperDevWebSearch

    return SerperDevWebSearch(top_k=5).run(query=query)


def search_searchapi(query):
    """Search with the SearchApiWebSearch of searchapi-haystack."""
    from haystack_integrations.components.websearch.searchapi import SearchApiWebSearch

    return SearchApiWebSearch(top_k=5).run(query=query)


def search_tavily(query):
    """Search with the TavilyWebSearch of tavily-haystack."""
    from haystack_integrations.components.websearch.tavily import TavilyWebSearch

    return TavilyWebSearch(top_k=5).run(query=query)


def search_exa(query):
    """Search with the ExaWebSearch of exa-haystack."""
    from haystack_integrations.components.websearch.exa import ExaWebSearch

    return ExaWebSearch(num_results=5).run(query=query)


def search_brave(query):
    """Search with the BraveWebSearch of brave-haystack."""
    from haystack_integrations.components.websearch.brave import BraveWebSearch

    return BraveWebSearch(top_k=5).run(query=query)


def search_linkup(query):
    """Search with the LinkupWebSearch of linkup-haystack."""
    from haystack_integrations.components.websearch.linkup import LinkupWebSearch

    return LinkupWebSearch(top_k=5).run(query=query)


def search_firecrawl(query):
    """Search with the FirecrawlWebSearch of firecrawl-haystack."""
    from haystack_integrations.components.websearch.firecrawl import FirecrawlWebSearch

    return FirecrawlWebSearch(top_k=5).run(query=query)


def search_duckduckgo(query):
    """Search with the DuckduckgoApiWebSearch of duckduckgo-api-haystack."""
    from duckduckgo_api_haystack import DuckduckgoApiWebSearch

    return DuckduckgoApiWebSearch(top_k=5).run(query=query)


def read_link_content(url):
    """Read a page with the LinkContentFetcher and the HTMLToDocument of haystack-ai."""
    from haystack.components.converters import HTMLToDocument
    from haystack.components.fetchers import LinkContentFetcher

    streams = LinkContentFetcher(retry_attempts=0).run(urls=[url])["streams"]
    return [document.content for document in HTMLToDocument().run(sources=streams)["documents"]]


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
