"""LangChain's wrapper of SearchApi, by name through the proxy."""

import pytest
import requests

from tests.clients.conftest import Server

utilities = pytest.importorskip("langchain_community.utilities.searchapi", reason="langchain-community is missing")


def make_wrapper(key: str = "any") -> "utilities.SearchApiAPIWrapper":
    return utilities.SearchApiAPIWrapper(searchapi_api_key=key)


def test_results(web: Server) -> None:
    answer = make_wrapper().results("town river", num=5)
    assert [one["position"] for one in answer["organic_results"]] == [1, 2, 3, 4, 5]
    assert all(one["title"] and one["link"].startswith("http") and one["snippet"] for one in answer["organic_results"])
    assert make_wrapper().run("town river")


def test_pages(web: Server) -> None:
    pages = [make_wrapper().results("town river", page=page)["organic_results"] for page in (1, 2, 3)]
    links = [one["link"] for page in pages for one in page]
    assert len(set(links)) == len(links) == 30


def test_nothing_found(web: Server) -> None:
    assert make_wrapper().run("zzyzzyx") == "No good search result found"


def test_keys(keyed: Server) -> None:
    assert "organic_results" in make_wrapper("good").results("town river")
    with pytest.raises(requests.HTTPError, match="401"):
        make_wrapper("bad").results("town river")
