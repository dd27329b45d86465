"""Tests that clients are told at every door while a part of a partitioned index is lost."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.crawls import CaptureSpec, html, write
from tests.in_process import in_process
from tests.index.here import Here
from webemu.agent_client import InfrastructureError
from webemu.agent_client.responses import error_of
from webemu.api.app import create_app
from webemu.emulator.config import Config
from webemu.index.partitions.partition import partition_of
from webemu.index.partitions.split import partitioned_world, read_partitions, split_collection
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources

PARTS = 4
MARK = "x-webemu-missing-parts"
FAILURE = "x-webemu-failure"
NAMES = " ".join(f"harbour{{0}}{letter}" for letter in "abcdefghijklmnop")
PAGES = [
    CaptureSpec(
        f"https://boats.example/{number}",
        html(f"Boat {number}", f"The lighthouse keeper rowed boat {number} to {NAMES.format(number)}."),
    )
    for number in range(24)
]
LOST = partition_of(PAGES[0].url, PARTS)
SEARCHES = (
    "/v1/search?q=lighthouse",
    "/search?q=lighthouse",
    "/searxng/search?format=json&q=lighthouse",
    "/brave/res/v1/web/search?q=lighthouse",
    "/google/customsearch/v1?q=lighthouse&key=k&cx=c",
    "/suggest?q=boat",
)
"""Addresses of searches and completions."""


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("thin")
    with in_process():
        run(expand_sources([str(write(root / "web.warc.gz", PAGES))]).sources, root / "default", 1, quiet=True)
        split_collection(root / "default", PARTS, 1)
    return root / "default"


@pytest.fixture
def here(collection: Path) -> Here:
    return Here(collection, PARTS)


def serve(collection: Path, here: Here, is_strict: bool = False) -> TestClient:
    world = partitioned_world(collection, read_partitions(collection, PARTS), here, is_strict)
    return TestClient(create_app(Config(root=collection.parent), world), raise_server_exceptions=False)


@pytest.fixture
def client(collection: Path, here: Here) -> Iterator[TestClient]:
    with serve(collection, here) as client:
        yield client


@pytest.mark.parametrize("address", SEARCHES)
def test_every_door_names_what_is_missing_while_it_is(address: str, client: TestClient, here: Here) -> None:
    here.lost = {LOST}
    for _ in range(2):  # the second time, no cache may have the thinner answer
        thinner = client.get(address)
        assert (thinner.status_code, thinner.headers[MARK]) == (200, str(LOST))
    here.lost = set()
    complete = client.get(address)
    assert complete.status_code == 200
    assert MARK not in complete.headers
    assert complete.content != thinner.content
    here.lost = {LOST}
    if address == "/v1/search?q=lighthouse":  # what is complete in the cache is answered as before
        again = client.get(address)
        assert again.content == complete.content
        assert MARK not in again.headers


def test_batches_heads_and_sessions_too(client: TestClient, here: Here) -> None:
    session = client.post("/v1/sessions", content=json.dumps({"task": "t"})).json()["session"]
    here.lost = {LOST}
    batch = client.post("/v1/search", content=json.dumps({"queries": ["lighthouse", "boat"]}))
    assert batch.headers[MARK] == str(LOST)
    assert client.head("/v1/search?q=keeper").headers[MARK] == str(LOST)
    for _ in range(2):
        answer = client.get("/v1/search?q=lighthouse", headers={"X-Webemu-Session": session})
        assert answer.headers[MARK] == str(LOST)
    here.lost = set()
    answer = client.get("/v1/search?q=lighthouse", headers={"X-Webemu-Session": session})
    assert MARK not in answer.headers
    assert len(answer.json()["results"]) > 0


def test_tools_over_mcp_too(client: TestClient, here: Here) -> None:
    call = {"name": "search", "arguments": {"query": "lighthouse"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    here.lost = {LOST}
    answer = client.post("/mcp/browse", json=message, headers=headers)
    assert (answer.status_code, answer.headers[MARK]) == (200, str(LOST))
    here.lost = set()
    assert MARK not in client.post("/mcp/browse", json=message, headers=headers).headers


def test_strict_refuses_as_a_failure_of_the_server(collection: Path, here: Here) -> None:
    with serve(collection, here, is_strict=True) as client:
        here.lost = {LOST}
        for address in SEARCHES:
            refused = client.get(address)
            assert (refused.status_code, refused.headers[FAILURE]) == (503, "infrastructure"), address
            assert MARK not in refused.headers
        here.lost = set()
        assert all(client.get(address).status_code == 200 for address in SEARCHES)


def test_pages_of_lost_parts_are_unavailable_and_not_missing(client: TestClient, here: Here) -> None:
    here.lost = {LOST}
    there = next(page.url for page in PAGES if partition_of(page.url, PARTS) != LOST)
    assert client.get("/v1/fetch", params={"url": there}).status_code == 200
    for url in (PAGES[0].url, "https://boats.example/nowhere"):
        refused = client.get("/v1/fetch", params={"url": url})
        assert (refused.status_code, refused.headers[FAILURE]) == (503, "infrastructure")
    here.lost = set()
    assert client.get("/v1/fetch", params={"url": PAGES[0].url}).status_code == 200
    assert client.get("/v1/fetch", params={"url": "https://boats.example/nowhere"}).status_code == 404


def test_a_policy_that_cannot_be_known_holds_no_session(client: TestClient, here: Here) -> None:
    policy = json.dumps({"blocked": {"similar": [PAGES[0].url]}})
    here.lost = {LOST}
    assert client.post("/v1/sessions", content=policy).status_code == 503
    here.lost = set()
    carried = {"X-Webemu-Session": client.post("/v1/sessions", content=policy).json()["session"]}
    results = client.get("/v1/search?q=keeper", headers=carried).json()["results"]
    assert PAGES[0].url not in [hit["url"] for hit in results]


def test_equal_requests_that_wait_for_one_answer_are_all_marked(client: TestClient, here: Here) -> None:
    here.lost = {LOST}
    release, ask_at_once = threading.Event(), here.ask

    def ask_late(*arguments: object) -> object:
        release.wait(5)
        return ask_at_once(*arguments)  # type: ignore[arg-type]

    here.ask = ask_late  # type: ignore[assignment, method-assign]
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.get("/v1/search?q=rowed").headers.get(MARK, "")))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join()
    assert answers == [str(LOST)] * 6


def test_all_lost_is_a_refusal(client: TestClient, here: Here) -> None:
    here.lost = set(range(PARTS))
    refused = client.get("/v1/search?q=lighthouse")
    assert (refused.status_code, refused.headers[FAILURE]) == (503, "infrastructure")


def test_the_client_library_masks_thinner_answers(client: TestClient, here: Here) -> None:
    assert error_of(client.get("/v1/search?q=lighthouse")) is None
    here.lost = {LOST}
    failure = error_of(client.get("/v1/search?q=boats"))
    assert isinstance(failure, InfrastructureError)
    assert failure.can_retry
    assert f"lacks parts {LOST} of" in str(failure)
