# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "smolagents==1.26.0",
#   "ddgs==9.16.1",
#   "markdownify==1.2.3",
#   "google-search-results==2.4.2",
#   "requests==2.34.2",
# ]
# ///
"""smolagents: the search tools and the page reader that it brings."""

import sys


def search_duckduckgo(query):
    """Search with the DuckDuckGoSearchTool of smolagents."""
    from smolagents import DuckDuckGoSearchTool

    return DuckDuckGoSearchTool()(query)


def search_serper(query):
    """Search with the GoogleSearchTool of smolagents over Serper."""
    from smolagents import GoogleSearchTool

    return GoogleSearchTool(provider="serper")(query)


def search_serpapi(query):
    """Search with the GoogleSearchTool of smolagents over SerpAPI."""
    from smolagents import GoogleSearchTool

    return GoogleSearchTool(provider="serpapi")(query)


def search_web(query):
    """Search with the WebSearchTool of smolagents, which reads DuckDuckGo's page."""
    from smolagents import WebSearchTool

    return WebSearchTool()(query)


def search_bing(query):
    """Search with the WebSearchTool of smolagents, which reads Bing's RSS."""
    from smolagents import WebSearchTool

    return WebSearchTool(engine="bing")(query)


def search_brave(query):
    """Search with the ApiWebSearchTool of smolagents, which asks Brave."""
    from smolagents import ApiWebSearchTool

    return ApiWebSearchTool()(query)


def read_visit(url):
    """Read a page with the VisitWebpageTool of smolagents."""
    from smolagents import VisitWebpageTool

    return VisitWebpageTool()(url)


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
