"""`google-api-python-client`, whose discovery document is its own, over httplib2."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.conftest import Server

discovery = pytest.importorskip("googleapiclient.discovery", reason="google-api-python-client is not installed")
errors = pytest.importorskip("googleapiclient.errors", reason="google-api-python-client is not installed")


def engine(key: str = "any", endpoint: str = "") -> Any:
    options = {"api_endpoint": endpoint} if endpoint else {}
    return discovery.build("customsearch", "v1", developerKey=key, client_options=options).cse()


def pages(service: Any, query: str) -> Iterator[dict[str, Any]]:
    start: int | None = 1
    while start:
        response = service.list(q=query, cx="any", start=start).execute()
        yield response
        start = next((page["startIndex"] for page in response["queries"].get("nextPage", ())), None)


def test_results_by_its_own_setting(server: Server) -> None:
    response = engine(endpoint=f"{server.url}/google/").list(q="town river", cx="any", num=5).execute()
    assert len(response["items"]) == response["queries"]["request"][0]["count"] == 5
    assert all(one["title"] and one["link"].startswith("http") and one["displayLink"] for one in response["items"])


def test_pages_to_the_last(server: Server) -> None:
    result_pages = list(pages(engine(endpoint=f"{server.url}/google/"), "town"))
    links = [one["link"] for page in result_pages for one in page["items"]]
    assert 1 < len(result_pages) <= 10
    assert len(links) == len(set(links))


BY_NAME = (
    "from googleapiclient.discovery import build\n"
    "found = build('customsearch', 'v1', developerKey='any').cse().list(q='town river', cx='any').execute()\n"
    "print(len(found['items']))"
)


def test_by_name(server: Server) -> None:
    """The client runs in a process of its own: httplib2 reads which authorities it trusts when it is loaded."""
    pytest.importorskip("socks", reason="PySocks, which httplib2 needs for proxies, is not installed")
    environment = {**os.environ, **server.environment()}
    done = subprocess.run([sys.executable, "-c", BY_NAME], capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("10\n", "")


def test_nothing_found(server: Server) -> None:
    response = engine(endpoint=f"{server.url}/google/").list(q="zzyzzyx", cx="any").execute()
    assert "items" not in response
    assert response["searchInformation"]["totalResults"] == "0"


def test_what_is_too_deep(server: Server) -> None:
    with pytest.raises(errors.HttpError, match="invalid argument") as raised:
        engine(endpoint=f"{server.url}/google/").list(q="town", cx="any", start=200).execute()
    assert raised.value.status_code == 400


def test_keys(keyed_server: Server) -> None:
    endpoint = f"{keyed_server.url}/google/"
    assert engine("good", endpoint).list(q="town", cx="any").execute()["items"]
    with pytest.raises(errors.HttpError, match="API key not valid"):
        engine("bad", endpoint).list(q="town", cx="any").execute()
