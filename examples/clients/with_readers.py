# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "aiohttp==3.14.5",
#   "cloudscraper==1.2.71",
#   "crawl4ai==0.9.5",
#   "curl_cffi==0.17.0",
#   "goose3==3.1.22",
#   "html2text==2025.4.15",
#   "httpx==0.28.1",
#   "lxml_html_clean==0.4.6",
#   "markitdown==0.1.9",
#   "newspaper4k==0.9.6",
#   "requests==2.34.2",
#   "scrapy==2.19.0",
#   "trafilatura==2.3.1",
#   "urllib3==2.8.0",
# ]
# ///
"""Page readers: libraries that fetch pages and extract their text."""

import asyncio
import sys


def read_requests(url):
    """Read a page with requests."""
    import requests

    response = requests.get(url, timeout=20)
    return f"{response.status_code}\n{response.text}"


def read_httpx(url):
    """Read a page with httpx."""
    import httpx

    response = httpx.get(url, follow_redirects=True)
    return f"{response.status_code}\n{response.text}"


def read_aiohttp(url):
    """Read a page with aiohttp."""
    import aiohttp

    async def fetch():
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return f"{response.status}\n{await response.text()}"

    return asyncio.run(fetch())


def read_urllib3(url):
    """Read a page with urllib3."""
    import urllib3

    response = urllib3.request("GET", url, retries=False)
    return f"{response.status}\n{response.data.decode()}"


def read_curl_cffi(url):
    """Read a page with curl_cffi as Chrome."""
    import curl_cffi

    response = curl_cffi.get(url, impersonate="chrome")
    return f"{response.status_code}\n{response.text}"


def read_cloudscraper(url):
    """Read a page with cloudscraper."""
    import cloudscraper

    response = cloudscraper.create_scraper().get(url)
    return f"{response.status_code}\n{response.text}"


def read_trafilatura(url):
    """Read a page with trafilatura, which refuses private addresses."""
    import trafilatura

    return trafilatura.extract(trafilatura.fetch_url(url))


def read_newspaper(url):
    """Read a page with newspaper4k."""
    import newspaper

    return newspaper.article(url).html


def read_goose(url):
    """Read a page with goose3."""
    from goose3 import Goose

    return Goose().extract(url=url).raw_html


def read_markitdown(url):
    """Read a page with markitdown."""
    from markitdown import MarkItDown

    return MarkItDown().convert(url).text_content


def read_crawl4ai(url):
    """Read a page with the HTTP strategy of crawl4ai."""
    from crawl4ai import AsyncWebCrawler
    from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy

    async def crawl():
        async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy(), verbose=False) as crawler:
            result = await crawler.arun(url)
            return f"{result.status_code} {result.error_message or ''}\n{result.markdown}"

    return asyncio.run(crawl())


def read_scrapy(url):
    """Read a page with a spider of scrapy."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    pages = []

    class Spider(scrapy.Spider):
        name = "reader"
        start_urls = (url,)
        handle_httpstatus_list = (404,)

        def parse(self, response):
            pages.append(f"{response.status}\n{response.text}")

    process = CrawlerProcess({"LOG_ENABLED": False})
    process.crawl(Spider)
    process.start()
    return "\n".join(pages) or "no page"


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(getattr(sys.modules[__name__], function)(*arguments))
