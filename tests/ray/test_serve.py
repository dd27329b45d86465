"""Copies of a snapshot on two Ray nodes answer as one server does, and go on when one of the nodes is killed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ingest.run import run
from ingest.sources import expand
from ingest.synth import generate
from tests.ray.nodes import Cluster, free_port, until

pytestmark = pytest.mark.ray

QUERIES = ("river", "mayor of the town", "novel prize 2019", "site:en.openlexicon.org history", '"was founded"', "zzz")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copies")
    generate(root / "web", seed=3, pages=600)
    run(expand([str(root / "web")]).sources, root / "default", 2, quiet=True)
    return root


@contextmanager
def serving(root: Path, *options: str) -> Iterator[httpx.Client]:
    """A server in a process of its own, and a client of it."""
    port = free_port()
    command = [sys.executable, "-m", "emulator.cli", "serve", "--root", str(root), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert "webemu:" in process.stdout.readline()
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
            until(lambda: client.get("/health").status_code == 200)
            yield client
    finally:
        process.terminate()
        process.wait(timeout=60)


def copies(client: httpx.Client) -> int:
    """How many copies answer; a connection leads to one of them, and later ones may lead to others."""
    answers = [client.get("/v1/stats", headers={"Connection": "close"}) for _ in range(10)]
    return len({answer.json()["process"]["pid"] for answer in answers})


def asks(client: httpx.Client) -> list[str]:
    """Addresses of the API and of a service, of pages that the searches find."""
    found = [f"/v1/search?q={query}" for query in QUERIES]
    urls = [hit["url"] for path in found for hit in client.get(path).json()["results"][:4]]
    return found + [f"/v1/fetch?url={url}" for url in urls] + [f"/searxng/search?format=json&q={q}" for q in QUERIES]


def test_copies_answer_as_one_server_while_a_node_is_killed(root: Path, cluster: Cluster) -> None:
    with serving(root) as alone:
        expected = {path: (alone.get(path).status_code, alone.get(path).content) for path in asks(alone)}
    assert {status for status, _ in expected.values()} == {200}
    good = [0, 0]
    """Right answers before and after the node was lost."""
    wrong: list[str] = []
    lost = threading.Event()
    end = threading.Event()

    def ask(base: httpx.URL, first: int) -> None:
        paths = [*expected][first:] + [*expected][:first]
        with httpx.Client(base_url=base, timeout=10, trust_env=False) as client:
            while not end.is_set():
                for path in paths:
                    is_lost = lost.is_set()
                    try:
                        answer = client.get(path)
                    except httpx.HTTPError:
                        continue
                    if answer.status_code == 200:
                        good[is_lost] += 1
                    if answer.status_code < 500 and (answer.status_code, answer.content) != expected[path]:
                        wrong.append(path)

    with cluster.second() as node, serving(root, "--ray", cluster.address, "--workers", "2") as client:
        until(lambda: copies(client) == 2)
        with ThreadPoolExecutor(8) as threads:
            for number in range(8):
                threads.submit(ask, client.base_url, number)
            until(lambda: good[0] > 200)
            node.kill()
            lost.set()
            time.sleep(1)
            until(lambda: good[1] > 200)
            end.set()
    assert wrong == []
    assert min(good) > 200


def test_a_session_is_one_over_all_copies(root: Path, cluster: Cluster) -> None:
    with cluster.second(), serving(root, "--ray", cluster.address, "--workers", "2") as client:
        until(lambda: copies(client) == 2)
        policy = {"task": "t", "budget": {"searches": 12}}
        session = client.post("/v1/sessions", content=json.dumps(policy)).json()["session"]
        carried = {"X-Webemu-Session": session, "Connection": "close"}
        statuses = [client.get(f"/v1/search?q=river+{n}", headers=carried).status_code for n in range(16)]
        ledger = client.get(f"/v1/sessions/{session}").json()
    assert statuses == [200] * 12 + [429] * 4
    assert json.dumps(ledger).count('"attempt"') == 16
