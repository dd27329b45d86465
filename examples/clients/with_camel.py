# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "mcp==1.30.0",
#   "camel-ai==0.2.90",
#   "ddgs==9.16.1",
#   "tavily-python==0.8.5",
#   "exa-py==1.16.2",
#   "linkup-sdk==0.24.0",
#   "google-search-results==2.4.2",
# ]
# ///
"""CAMEL: the engines of its search toolkit."""

import sys


def search_serper(query):
    """Search with search_serper of camel-ai."""
    return toolkit().search_serper(query, page=1)  # the default is the tenth page


def search_tavily(query):
    """Search with search_tavily of camel-ai."""
    return toolkit().search_tavily(query)


def search_exa(query):
    """Search with search_exa of camel-ai."""
    return toolkit().search_exa(query)


def search_duckduckgo(query):
    """Search with search_duckduckgo of camel-ai."""
    return toolkit().search_duckduckgo(query)


def search_brave(query):
    """Search with search_brave of camel-ai."""
    return toolkit().search_brave(query)


def search_google(query):
    """Search with search_google of camel-ai, which also fetches each result's page."""
    return toolkit().search_google(query)


def search_bocha(query):
    """Search with search_bocha of camel-ai."""
    return toolkit().search_bocha(query)


def search_serpapi(query):
    """Search with search_serpapi of camel-ai."""
    return toolkit().search_serpapi(query)


def toolkit():
    from camel.toolkits import SearchToolkit

    return SearchToolkit()


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
