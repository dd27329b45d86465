"""`brave-search-python-client`, which reads answers with strict models."""

import asyncio

import pytest

from tests.clients.conftest import Server

brave = pytest.importorskip("brave_search_python_client", reason="brave-search-python-client is not installed")


def web_search(query: str, key: str = "any", **parameters: object) -> "brave.WebSearchApiResponse":
    request = brave.WebSearchRequest(q=query, **parameters)
    return asyncio.run(brave.BraveSearch(api_key=key).web(request))


def test_results(web: Server) -> None:
    response = web_search("town river", count=5)
    assert response.query.original == "town river"
    assert response.query.more_results_available
    assert len(response.web.results) == 5
    assert all(one.title and one.url.startswith("http") and one.page_age for one in response.web.results)
    assert {one.language for one in response.web.results} == {"en"}
    assert any("<strong>" in one.description for one in response.web.results)


def test_pages(web: Server) -> None:
    first, second = (web_search("town river", count=20, offset=page) for page in (0, 1))
    assert not {one.url for one in first.web.results} & {one.url for one in second.web.results}


def test_news(web: Server) -> None:
    request = brave.NewsSearchRequest(q="town river", count=3)
    response = asyncio.run(brave.BraveSearch(api_key="any").news(request))
    assert [one.type for one in response.results] == ["news_result"] * 3
    assert all(one.page_age and one.page_age < "2024-10" for one in response.results)


def test_nothing_found(web: Server) -> None:
    response = web_search("zzyzzyx")
    assert response.web is None
    assert not response.query.more_results_available


def test_pictures_are_none(web: Server) -> None:
    request = brave.ImagesSearchRequest(q="town river")
    assert asyncio.run(brave.BraveSearch(api_key="any").images(request)).results == []


def test_keys(keyed: Server) -> None:
    assert web_search("town", "good").web.results
    with pytest.raises(brave.BraveSearchAPIError, match="422"):
        web_search("town", "bad")


def test_by_its_own_setting(server: Server) -> None:
    client = brave.BraveSearch(api_key="any")
    client._base_url = f"{server.url}/brave/res/v1/"
    assert asyncio.run(client.web(brave.WebSearchRequest(q="town"))).web.results
