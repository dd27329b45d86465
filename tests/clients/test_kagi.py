"""Kagi as its documentation's examples call it, by name through the proxy."""

import httpx

from tests.clients.conftest import Server

SEARCH = "https://kagi.com/api/v0/search"


def search_kagi(query: str, token: str = "any") -> httpx.Response:
    return httpx.get(SEARCH, params={"q": query, "limit": 4}, headers={"Authorization": f"Bot {token}"}, timeout=60)


def test_results(web: Server) -> None:
    *results, related = search_kagi("town river").json()["data"]
    assert [one["rank"] for one in results] == [1, 2, 3, 4]
    assert all(one["t"] == 0 and one["title"] and one["snippet"] and one["published"] for one in results)
    assert related["t"] == 1
    assert all(isinstance(one, str) for one in related["list"])
    assert search_kagi("town river").content == search_kagi("town river").content


def test_nothing_found(web: Server) -> None:
    assert search_kagi("zzyzzyx").json()["data"] == []


def test_errors(keyed: Server) -> None:
    assert search_kagi("town", "good").status_code == 200
    refused = search_kagi("town", "bad")
    assert (refused.status_code, refused.json()["error"]) == (401, [{"code": 2, "msg": "Unauthorized", "ref": None}])
    assert search_kagi("", "good").json()["error"][0]["code"] == 1
