"""`tavily-python`: what it returns and what it raises."""

import asyncio

import pytest

from tests.clients.conftest import LEXICON, Server

tavily = pytest.importorskip("tavily", reason="tavily-python is not installed")

LOST = "https://en.openlexicon.org/wiki/No_such_page"


@pytest.fixture
def client(server: Server) -> "tavily.TavilyClient":
    return tavily.TavilyClient("any", api_base_url=f"{server.url}/tavily")


def test_search(client: "tavily.TavilyClient") -> None:
    response = client.search("town river", max_results=7, include_raw_content=True)
    assert len(response["results"]) == 7
    assert all(one["title"] and one["content"] and one["raw_content"] for one in response["results"])
    scores = [one["score"] for one in response["results"]]
    assert all(0 < score < 1 for score in scores)
    assert client.search("town river", max_results=7, include_raw_content=True) == response


def test_search_inside_and_outside_of_a_domain(client: "tavily.TavilyClient") -> None:
    inside = client.search("town", include_domains=["openlexicon.org"])["results"]
    outside = client.search("town", exclude_domains=["openlexicon.org"])["results"]
    assert inside
    assert outside
    assert all("openlexicon.org" in one["url"] for one in inside)
    assert not any("openlexicon.org" in one["url"] for one in outside)


def test_dates(client: "tavily.TavilyClient") -> None:
    everything = client.search("town", max_results=20)["results"]
    late = client.search("town", start_date="2024-06-01", max_results=20, topic="news")["results"]
    assert {one["url"] for one in late} != {one["url"] for one in everything}
    assert client.search("town", start_date="2099-01-01")["results"] == []


def test_nothing_found(client: "tavily.TavilyClient") -> None:
    assert client.search("zzyzzyx")["results"] == []


def test_extract(client: "tavily.TavilyClient") -> None:
    response = client.extract([LEXICON, LOST])
    assert [one["url"] for one in response["results"]] == [LEXICON]
    assert len(response["results"][0]["raw_content"]) > 100
    assert [one["url"] for one in response["failed_results"]] == [LOST]


def test_map_and_crawl(client: "tavily.TavilyClient") -> None:
    mapped = client.map(LEXICON, max_depth=2, max_breadth=5, limit=12, allow_external=False)["results"]
    assert mapped[0] == LEXICON
    assert len(mapped) == len(set(mapped)) == 12
    assert all("openlexicon.org" in url for url in mapped)
    crawled = client.crawl(LEXICON, max_breadth=3, limit=3)["results"]
    assert len(crawled) == 3
    assert all(one["raw_content"] for one in crawled)
    assert client.crawl("https://nowhere.example/")["results"] == []


def test_without_a_key(server: Server) -> None:
    """Its keyless mode."""
    assert tavily.TavilyClient(api_base_url=f"{server.url}/tavily").search("town")["results"]


def test_async(server: Server) -> None:
    async def count_results() -> int:
        client = tavily.AsyncTavilyClient("any", api_base_url=f"{server.url}/tavily")
        return len((await client.search("town"))["results"])

    assert asyncio.run(count_results()) == 5


def test_base_url_without_the_prefix(server: Server) -> None:
    client = tavily.TavilyClient("any", api_base_url=server.url)
    assert client.search("town")["results"]
    assert client.extract(LEXICON)["results"]


def test_through_the_proxy(web: Server) -> None:
    assert tavily.TavilyClient("any").search("town")["results"]


def test_errors(client: "tavily.TavilyClient", keyed_server: Server) -> None:
    with pytest.raises(tavily.BadRequestError, match="Query is missing"):
        client.search("")
    with pytest.raises(tavily.InvalidAPIKeyError, match="missing or invalid API key"):
        tavily.TavilyClient("bad", api_base_url=f"{keyed_server.url}/tavily").search("town")
    assert tavily.TavilyClient("good", api_base_url=f"{keyed_server.url}/tavily").search("town")["results"]
