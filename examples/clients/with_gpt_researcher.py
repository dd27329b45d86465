# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "gpt-researcher==0.15.1",
#   "ddgs==9.16.1",
#   "tavily-python==0.8.5",
#   "exa-py==1.16.2",
#   "arxiv==4.0.2",
#   "pymupdf==2.0",
#   "biopython==1.88",
#   "xmltodict==1.0.4",
# ]
# ///
"""GPT Researcher: its retrievers, and the scrapers that read what they find."""

import sys


def search_tavily(query):
    """Search with the TavilySearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import TavilySearch

    return TavilySearch(query).search()


def search_serper(query):
    """Search with the SerperSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import SerperSearch

    return SerperSearch(query).search()


def search_serpapi(query):
    """Search with the SerpApiSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import SerpApiSearch

    return SerpApiSearch(query).search()


def search_searchapi(query):
    """Search with the SearchApiSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import SearchApiSearch

    return SearchApiSearch(query).search()


def search_searx(query):
    """Search with the SearxSearch retriever of gpt-researcher, whose SEARX_URL is the server's `/searxng`."""
    from gpt_researcher.retrievers import SearxSearch

    return SearxSearch(query).search()


def search_bing(query):
    """Search with the BingSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import BingSearch

    return BingSearch(query).search()


def search_google(query):
    """Search with the GoogleSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import GoogleSearch

    return GoogleSearch(query).search()


def search_exa(query):
    """Search with the ExaSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import ExaSearch

    return ExaSearch(query).search()


def search_bocha(query):
    """Search with the BoChaSearch retriever of gpt-researcher."""
    from gpt_researcher.retrievers import BoChaSearch

    return BoChaSearch(query).search()


def search_duckduckgo(query):
    """Search with the Duckduckgo retriever of gpt-researcher."""
    from gpt_researcher.retrievers import Duckduckgo

    return Duckduckgo(query).search()


def read_beautiful_soup(url):
    """Read a page with the BeautifulSoupScraper of gpt-researcher."""
    import requests
    from gpt_researcher.scraper import BeautifulSoupScraper

    return BeautifulSoupScraper(url, requests.Session()).scrape()


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
