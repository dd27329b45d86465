"""`duckduckgo_search`, as `ddgs` was called before, and still is by LangChain of older releases."""

import pytest

from tests.clients.conftest import Server

duckduckgo = pytest.importorskip("duckduckgo_search", reason="duckduckgo_search is not installed")


@pytest.fixture
def client(web: Server) -> "duckduckgo.DDGS":
    with pytest.warns(RuntimeWarning, match="renamed"):
        return duckduckgo.DDGS(proxy=web.url, timeout=30)


@pytest.mark.parametrize("backend", ["html", "lite", "bing"])
def test_results(backend: str, client: "duckduckgo.DDGS") -> None:
    results = client.text("town river", backend=backend, max_results=5)
    assert len(results) == 5
    assert all(one["title"] and one["href"].startswith("http") and one["body"] for one in results)


def test_news(client: "duckduckgo.DDGS") -> None:
    results = client.news("town river", max_results=5)
    assert len(results) == 5
    assert all(one["title"] and one["body"] and one["source"] in one["url"] for one in results)
    assert all(one["date"].endswith("T00:00:00+00:00") for one in results)


def test_news_goes_on(client: "duckduckgo.DDGS") -> None:
    results = client.news("town river of the region", max_results=40)
    assert len({one["url"] for one in results}) == len(results) > 30


@pytest.mark.parametrize("kind", ["images", "videos"])
def test_what_a_crawl_of_pages_does_not_know(kind: str, client: "duckduckgo.DDGS") -> None:
    assert getattr(client, kind)("town river", max_results=5) == []


@pytest.mark.parametrize("kind", ["text", "news"])
def test_nothing_found(kind: str, client: "duckduckgo.DDGS") -> None:
    assert getattr(client, kind)("zzyzzyx", max_results=5) == []
