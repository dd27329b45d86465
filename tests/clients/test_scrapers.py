"""Scraping services through their clients as published: `scrapingbee`, `oxylabs` and `brightdata-sdk`."""

import asyncio

import pytest

from tests.clients.conftest import LEXICON, Server

MISSING = "https://nowhere.invalid/"


def test_scrapingbee(web: Server) -> None:
    scrapingbee = pytest.importorskip("scrapingbee", reason="scrapingbee is not installed")
    client = scrapingbee.ScrapingBeeClient("any")
    page = client.html_api(LEXICON, params={"render_js": False})
    assert (page.status_code, page.headers["Spb-resolved-url"]) == (200, LEXICON)
    assert "<html" in page.text
    assert client.html_api(MISSING).status_code == 500
    results = client.google_search("town river").json()["organic_results"]
    assert len(results) == 10
    assert all(one["title"] and one["url"] and one["description"] for one in results)


def test_scrapingbee_refuses_a_bad_key(keyed: Server) -> None:
    scrapingbee = pytest.importorskip("scrapingbee", reason="scrapingbee is not installed")
    assert scrapingbee.ScrapingBeeClient("good").google_search("town").status_code == 200
    assert scrapingbee.ScrapingBeeClient("bad").html_api(LEXICON).status_code == 401


def test_oxylabs(web: Server) -> None:
    oxylabs = pytest.importorskip("oxylabs", reason="oxylabs is not installed")
    client = oxylabs.RealtimeClient("user", "any")
    [page] = client.universal.scrape_url(LEXICON).results
    assert page.status_code == 200
    assert "<html" in page.content
    [results] = client.google.scrape_search("town river", parse=True, limit=5).results
    assert len(results.content["results"]["organic"]) == 5
    [html] = client.google.scrape_search("town river").results
    assert "<html" in html.content
    assert client.universal.scrape_url(MISSING).results[0].status_code == 613


def test_oxylabs_refuses_a_bad_password(keyed: Server) -> None:
    oxylabs = pytest.importorskip("oxylabs", reason="oxylabs is not installed")
    assert oxylabs.RealtimeClient("user", "good").universal.scrape_url(LEXICON).results
    assert oxylabs.RealtimeClient("user", "bad").universal.scrape_url(LEXICON).results == []


def test_brightdata(web: Server) -> None:
    brightdata = pytest.importorskip("brightdata", reason="brightdata-sdk is not installed")

    async def ask() -> tuple[object, object, object]:
        async with brightdata.BrightDataClient(token="any-token-of-the-service", ssl_ca_cert=web.ca) as client:
            return (
                await client.scrape_url(LEXICON),
                await client.search.google("town river", num_results=5),
                await client.search.google("zzyzzyx"),
            )

    page, results, nothing = asyncio.run(ask())
    assert page.success
    assert "<html" in page.data
    assert len(results.data) == 5
    assert all(one["title"] and one["url"].startswith("http") for one in results.data)
    assert (nothing.success, nothing.data) == (True, [])
