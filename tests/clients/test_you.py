"""You.com as its documentation's examples call it, by name through the proxy."""

import httpx

from tests.clients.conftest import LEXICON, Server

SEARCH = "https://ydc-index.io/v1/search"
LOST = "https://en.openlexicon.org/wiki/No_such_page"


def key(value: str = "any") -> dict[str, str]:
    return {"X-API-Key": value}


def test_get_and_post(web: Server) -> None:
    parameters = {"query": "town river", "count": 3}
    got = httpx.get(SEARCH, params=parameters, headers=key(), timeout=60).json()["results"]["web"]
    assert got == httpx.post(SEARCH, json=parameters, headers=key(), timeout=60).json()["results"]["web"]
    assert len(got) == 3
    assert all(one["title"] and one["description"] and one["snippets"] for one in got)


def test_pages_and_their_contents(web: Server) -> None:
    first, second = (
        httpx.get(
            SEARCH, params={"query": "town", "offset": page, "livecrawl": "web"}, headers=key(), timeout=60
        ).json()
        for page in (0, 1)
    )
    urls = [{one["url"] for one in answer["results"]["web"]} for answer in (first, second)]
    assert len(urls[0] | urls[1]) == 20
    assert all("<html" in one["contents"]["html"] for one in first["results"]["web"])


def test_nothing_found(web: Server) -> None:
    assert httpx.get(SEARCH, params={"query": "zzyzzyx"}, headers=key(), timeout=60).json()["results"]["web"] == []


def test_contents(web: Server) -> None:
    parameters = {"urls": [LEXICON, LOST], "formats": ["markdown"]}
    pages = httpx.post("https://ydc-index.io/v1/contents", json=parameters, headers=key(), timeout=60).json()
    assert [one["url"] for one in pages] == [LEXICON]
    assert pages[0]["markdown"]


def test_older_clients(web: Server) -> None:
    hits = httpx.get("https://api.ydc-index.io/search", params={"query": "town"}, headers=key(), timeout=60).json()[
        "hits"
    ]
    assert all(one["snippets"] for one in hits)


def test_errors(keyed: Server) -> None:
    assert httpx.get(SEARCH, params={"query": "town"}, headers=key("good"), timeout=60).status_code == 200
    refused = httpx.get(SEARCH, params={"query": "town"}, headers=key("bad"), timeout=60)
    assert (refused.status_code, refused.json()) == (401, {"detail": "Invalid or expired API key"})
    refused = httpx.get(SEARCH, params={"query": "town"}, timeout=60)
    assert (refused.status_code, refused.json()) == (401, {"detail": "API key is required"})
    assert httpx.get(SEARCH, headers=key("good"), timeout=60).status_code == 422
