"""Kagi as its documentation's examples call it, by name through the proxy."""

import httpx

from tests.clients.conftest import Server

SEARCH = "https://kagi.com/api/v0/search"


def found(query: str, token: str = "any") -> httpx.Response:
    return httpx.get(SEARCH, params={"q": query, "limit": 4}, headers={"Authorization": f"Bot {token}"})


def test_results(web: Server) -> None:
    *results, related = found("town river").json()["data"]
    assert [one["rank"] for one in results] == [1, 2, 3, 4]
    assert all(one["t"] == 0 and one["title"] and one["snippet"] and one["published"] for one in results)
    assert related["t"] == 1
    assert all(isinstance(one, str) for one in related["list"])
    assert found("town river").content == found("town river").content


def test_nothing_found(web: Server) -> None:
    assert found("zzyzzyx").json()["data"] == []


def test_errors(keyed: Server) -> None:
    assert found("town", "good").status_code == 200
    refused = found("town", "bad")
    assert (refused.status_code, refused.json()["error"]) == (401, [{"code": 2, "msg": "Unauthorized", "ref": None}])
    assert found("", "good").json()["error"][0]["code"] == 1
