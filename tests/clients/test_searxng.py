"""SearXNG as LangChain and others ask an instance: plain HTTP, at the URL that is set."""

import csv
import io

import httpx
import pytest
from lxml import etree

from tests.clients.conftest import Server


@pytest.fixture(params=["/searxng", "/searxng/search", "/search", ""])
def instance(request: pytest.FixtureRequest, server: Server) -> str:
    return server.url + str(request.param)


def test_json(instance: str) -> None:
    parameters = {"q": "town river", "format": "json", "language": "en", "categories": "general", "pageno": 1}
    body = httpx.get(instance, params=parameters, timeout=60).json()
    assert body["query"] == "town river"
    assert len(body["results"]) == 10
    assert all(one["title"] and one["url"] and one["engines"] and one["category"] for one in body["results"])
    assert body == httpx.post(instance, data=parameters, timeout=60).json()


def test_other_formats(instance: str) -> None:
    rows = list(csv.reader(io.StringIO(httpx.get(instance, params={"q": "town", "format": "csv"}, timeout=60).text)))
    feed = etree.fromstring(httpx.get(instance, params={"q": "town", "format": "rss"}, timeout=60).content)
    assert rows[0] == ["title", "url", "content", "host", "engine", "score", "type"]
    assert [row[1] for row in rows[1:]] == feed.xpath("//item/link/text()") != []


def test_nothing_found_and_nothing_asked(instance: str) -> None:
    assert httpx.get(instance, params={"q": "zzyzzyx", "format": "json"}, timeout=60).json()["results"] == []
    answer = httpx.get(instance, params={"q": "", "format": "json"}, timeout=60)
    assert (answer.status_code, answer.json()) == (400, {"error": "No query"})


def test_it_has_no_keys(keyed_server: Server) -> None:
    parameters = {"q": "town river", "format": "json"}
    assert httpx.get(f"{keyed_server.url}/searxng/search", params=parameters, timeout=60).json()["results"]


def test_the_page_and_the_rest(server: Server) -> None:
    with httpx.Client(base_url=f"{server.url}/searxng") as client:
        assert client.get("/search", params={"q": "town river"}).headers["content-type"].startswith("text/html")
        assert client.get("/healthz").text == "OK"
        assert client.get("/config").json()["categories"] == ["general"]
        prefix, titles, *_ = client.get("/autocompleter", params={"q": "tow"}).json()
        assert prefix == "tow"
        assert all("tow" in title.lower() for title in titles)
