"""Serper as agents ask it: `http.client` by TLS under its name, `requests` by GET and by POST without a body."""

import http.client
import json
import socket
import ssl
from typing import Any

import pytest

from tests.clients.conftest import Server

requests = pytest.importorskip("requests", reason="requests is not installed")
HOST = "google.serper.dev"
URL = f"https://{HOST}"


class Led(http.client.HTTPSConnection):
    """A connection whose name leads to the server, as DNS or a hosts file would have it."""

    def __init__(self, server: Server) -> None:
        super().__init__(HOST, context=ssl.create_default_context(cafile=server.ca))
        self._server = server

    def connect(self) -> None:
        plain = socket.create_connection(("127.0.0.1", self._server.port), timeout=30)
        self.sock = self._context.wrap_socket(plain, server_hostname=HOST)


def post_query(server: Server, body: object, key: str = "any", path: str = "/search") -> tuple[int, Any]:
    connection = Led(server)
    headers = {"X-API-KEY": key, "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_http_client(server: Server) -> None:
    status, body = post_query(server, {"q": "town river", "num": 5})
    assert status == 200
    assert [one["position"] for one in body["organic"]] == [1, 2, 3, 4, 5]
    assert all(one["title"] and one["link"] and one["snippet"] for one in body["organic"])


def test_several_at_once(server: Server) -> None:
    status, bodies = post_query(server, [{"q": "town"}, {"q": "zzyzzyx"}])
    assert (status, len(bodies)) == (200, 2)
    assert bodies[0]["organic"]
    assert bodies[1]["organic"] == []


def test_keys(keyed_server: Server) -> None:
    assert post_query(keyed_server, {"q": "town"}, "good")[0] == 200
    assert post_query(keyed_server, {"q": "town"}, "bad") == (403, {"message": "Unauthorized.", "statusCode": 403})


def test_get_as_smolagents_does(web: Server) -> None:
    answer = requests.get(f"{URL}/search", params={"q": "town river", "api_key": "any"})
    assert answer.status_code == 200
    assert answer.json()["organic"]


def test_post_without_a_body_as_langchain_does(web: Server) -> None:
    headers = {"X-API-KEY": "any", "Content-Type": "application/json"}
    answer = requests.post(f"{URL}/news", headers=headers, params={"q": "town river", "gl": "us", "num": 3})
    answer.raise_for_status()
    assert len(answer.json()["news"]) == 3


def test_a_page_scraped(web: Server) -> None:
    link = requests.get(f"{URL}/search", params={"q": "town river", "api_key": "any"}).json()["organic"][0]["link"]
    page = requests.post("https://scrape.serper.dev", json={"url": link, "includeMarkdown": True}).json()
    assert page["text"]
    assert page["markdown"]
    missing = requests.post("https://scrape.serper.dev", json={"url": "https://nowhere.example/"})
    assert missing.status_code == missing.json()["statusCode"] == 404
