"""`google-search-results`, by name through the proxy and by its own setting."""

import pytest

from tests.clients.conftest import Server

serpapi = pytest.importorskip("serpapi", reason="google-search-results is not installed")


def make_search(**parameters: object) -> "serpapi.GoogleSearch":
    return serpapi.GoogleSearch({"q": "town river", "api_key": "any", **parameters})


def test_results(web: Server) -> None:
    answer = make_search(num=5).get_dict()
    assert answer["search_metadata"]["status"] == "Success"
    assert [one["position"] for one in answer["organic_results"]] == [1, 2, 3, 4, 5]
    assert all(one["title"] and one["link"].startswith("http") and one["snippet"] for one in answer["organic_results"])


def test_by_its_own_setting(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serpapi.SerpApiClient, "BACKEND", f"{server.url}/serpapi")
    answer = make_search().get_dict()
    assert len(answer["organic_results"]) == 10
    assert answer["serpapi_pagination"]["next"].startswith(f"{server.url}/serpapi/search.json?")


def test_pages(web: Server) -> None:
    pages = list(make_search().pagination(0, 30, 10))
    links = [one["link"] for page in pages for one in page["organic_results"]]
    assert len(pages) == 3
    assert len(links) == len(set(links)) == 30


def test_nothing_found(web: Server) -> None:
    answer = make_search(q="zzyzzyx").get_dict()
    assert answer["error"] == "Google hasn't returned any results for this query."
    assert "organic_results" not in answer


def test_no_query(web: Server) -> None:
    assert make_search(q="").get_dict() == {"error": "Missing query `q` parameter."}


def test_keys(keyed: Server) -> None:
    assert "organic_results" in make_search(api_key="good").get_dict()
    assert make_search(api_key="bad").get_dict()["error"].startswith("Invalid API key.")
