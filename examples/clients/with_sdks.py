# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "brave-search-python-client==0.4.27",
#   "ddgs==9.16.1",
#   "exa-py==2.28.0",
#   "firecrawl-py==4.55.0",
#   "google-api-python-client==2.202.0",
#   "kagiapi==0.2.1",
#   "linkup-sdk==0.24.0",
#   "parallel-web==1.3.7",
#   "perplexityai==0.46.1",
#   "psutil==7.2.2",
#   "pysocks==1.7.1",
#   "serpapi==1.2.0",
#   "tavily-python==0.8.5",
#   "valyu==2.13.1",
#   "youdotcom==3.6.0",
#   "zai-sdk==0.2.3",
# ]
# ///
"""Python packages of services: each is used as its README says."""

import asyncio
import os
import sys


def search_tavily(query):
    """Search with tavily-python."""
    from tavily import TavilyClient

    return TavilyClient().search(query)


def read_tavily(url):
    """Read a page with tavily-python."""
    from tavily import TavilyClient

    return TavilyClient().extract(url)


def search_exa(query):
    """Search with exa-py."""
    from exa_py import Exa

    return Exa().search_and_contents(query, text=True)


def read_exa(url):
    """Read a page with exa-py."""
    from exa_py import Exa

    return Exa().get_contents([url], text=True)


def search_firecrawl(query):
    """Search with firecrawl-py."""
    from firecrawl import Firecrawl

    return Firecrawl().search(query)


def read_firecrawl(url):
    """Read a page with firecrawl-py."""
    from firecrawl import Firecrawl

    return Firecrawl().scrape(url, formats=["markdown"])


def read_firecrawl_batch(url):
    """Read a list of pages with firecrawl-py."""
    from firecrawl import Firecrawl

    return Firecrawl().batch_scrape([url], formats=["markdown"], poll_interval=1)


def search_linkup(query):
    """Search with linkup-sdk."""
    from linkup import LinkupClient

    return LinkupClient().search(query=query, depth="standard", output_type="searchResults")


def search_perplexity(query):
    """Search with perplexityai."""
    from perplexity import Perplexity

    return Perplexity().search.create(query=query, max_results=5)


def search_serpapi(query, page=1):
    """Search with serpapi."""
    import serpapi

    client = serpapi.Client(api_key=os.environ["SERPAPI_API_KEY"])
    return client.search(engine="google", q=query, start=10 * (int(page) - 1))


def search_google(query, page=1):
    """Search with google-api-python-client."""
    from googleapiclient.discovery import build

    service = build("customsearch", "v1", developerKey=os.environ["GOOGLE_API_KEY"])
    start = 10 * (int(page) - 1) + 1
    return service.cse().list(q=query, cx=os.environ["GOOGLE_CSE_ID"], start=start).execute()


def search_ddgs(query, page=1):
    """Search with ddgs."""
    from ddgs import DDGS

    return DDGS().text(query, backend="duckduckgo", page=int(page))


def search_brave(query, page=1):
    """Search with brave-search-python-client."""
    from brave_search_python_client import BraveSearch, WebSearchRequest

    search = BraveSearch(api_key=os.environ["BRAVE_API_KEY"])
    return asyncio.run(search.web(WebSearchRequest(q=query, count=10, offset=int(page) - 1)))


def search_kagi(query):
    """Search with kagiapi."""
    from kagiapi import KagiClient

    return KagiClient().search(query, limit=5)


def search_kagi_fastgpt(query):
    """Ask FastGPT with kagiapi."""
    from kagiapi import KagiClient

    return KagiClient().fastgpt(query)


def read_kagi_summarizer(url):
    """Read a page's summary with kagiapi."""
    from kagiapi import KagiClient

    return KagiClient().summarize(url=url)


def search_you(query):
    """Search with youdotcom."""
    from youdotcom import You

    return You(api_key_auth=os.environ["YDC_API_KEY"]).search.unified(query=query)


def search_parallel(query):
    """Search with parallel-web."""
    from parallel import Parallel

    return Parallel().search(objective=query, search_queries=[query])


def search_valyu(query):
    """Search with valyu."""
    from valyu import Valyu

    return Valyu().search(query, search_type="web")


def search_zhipu(query):
    """Search with zai-sdk."""
    from zai import ZhipuAiClient

    return ZhipuAiClient().web_search.web_search(search_engine="search_std", search_query=query)


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
