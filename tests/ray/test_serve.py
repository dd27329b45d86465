"""Copies of a snapshot on two Ray nodes answer as one server does, and go on when one of the nodes is killed."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import httpx
import pytest

from tests.index.here import Here
from tests.ray.nodes import Cluster, Node, free_port, until
from webemu.api.runtime.ray_cluster import MAX_PROXY_STARTS, start_proxies
from webemu.emulator.config import Config
from webemu.emulator.errors import Overloaded
from webemu.emulator.types import Query
from webemu.index.partitions.split import partitioned_world, split_collection
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources
from webemu.worlds import generate

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.ray

MARK = "X-Webemu-Missing-Parts"
TWO = ("--workers", "2")
QUERIES = ("river", "mayor of the town", "novel prize 2019", "site:en.openlexicon.org history", '"was founded"', "zzz")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copies")
    generate(root / "web", seed=3, pages=400)
    run(expand_sources([str(root / "web")]).sources, root / "default", 2, quiet=True)
    return root


@contextmanager
def serving(root: Path, *options: str) -> Iterator[httpx.Client]:
    """A server in a process of its own, and a client of it."""
    port = free_port()
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--port", str(port), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert "webemu:" in process.stdout.readline(), "the server's error is in the captured stderr"
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, trust_env=False) as client:
            until(lambda: is_up(client))
            yield client
    finally:
        process.terminate()
        process.wait(timeout=60)


def is_up(client: httpx.Client) -> bool:
    """Return True if the server answers; a proxy that is late is killed with the connections that it has."""
    with suppress(httpx.TransportError):
        return client.get("/health").status_code == 200
    return False


def copies(client: httpx.Client) -> set[int]:
    """The processes that answer; a connection leads to one of them, and later ones may lead to others."""
    answers = [client.get("/v1/stats", headers={"Connection": "close"}) for _ in range(10)]
    return {answer.json()["process"]["pid"] for answer in answers}


def are_on_both(client: httpx.Client, node: Node) -> bool:
    """Return True if the second node has a copy, and the first one too."""
    second = {process.pid for process in node.running()}
    with suppress(httpx.TransportError):
        first_copies = copies(client)
        return bool(first_copies & second and first_copies - second)
    return False


def asks(client: httpx.Client) -> list[str]:
    """Addresses of the API and of a service, of pages that the searches find."""
    paths = [f"/v1/search?q={query}" for query in QUERIES]
    urls = [hit["url"] for path in paths for hit in client.get(path).json()["results"][:4]]
    return paths + [f"/v1/fetch?url={url}" for url in urls] + [f"/searxng/search?format=json&q={q}" for q in QUERIES]


class Crowd:
    """Eight clients that ask the same things again and again, each beginning elsewhere."""

    def __init__(self, base: httpx.URL, expected: dict[str, bytes]) -> None:
        self._base = base
        self._expected = expected
        self._lost = threading.Event()
        self._end = threading.Event()
        self.good = [0, 0]
        """Answers before and after a node was lost."""
        self.wrong: list[str] = []

    def lose(self, node: Node) -> None:
        """Ask until a node can be killed, kill it, and ask on."""
        with ThreadPoolExecutor(8) as threads:
            asking = [threads.submit(self._ask, number) for number in range(8)]
            try:
                until(lambda: self.good[0] > 200)
                node.kill()
                self._lost.set()
                until(lambda: self.good[1] > 200)
            finally:
                self._end.set()
            for future in asking:
                future.result()

    def _ask(self, first: int) -> None:
        paths = [*self._expected][first:] + [*self._expected][:first]
        with httpx.Client(base_url=self._base, timeout=20, trust_env=False) as client:
            while not self._end.is_set():
                for path in paths:
                    is_lost = self._lost.is_set()
                    with suppress(httpx.HTTPError):
                        answer = client.get(path)
                        is_whole = MARK not in answer.headers
                        self.good[is_lost] += answer.status_code == 200 and is_whole
                        if answer.status_code < 500 and is_whole and answer.content != self._expected[path]:
                            self.wrong.append(f"{path}: {answer.status_code} {answer.text[:200]}")


def test_copies_answer_as_one_server_while_a_node_is_killed(root: Path, cluster: Cluster) -> None:
    with serving(root) as alone:
        expected = {path: alone.get(path).raise_for_status().content for path in asks(alone)}
    with cluster.second() as node, serving(root, "--ray", cluster.address, *TWO) as client:
        until(lambda: are_on_both(client, node))
        is_one_session(client)
        crowd = Crowd(client.base_url, expected)
        crowd.lose(node)
    assert crowd.wrong == []
    assert min(crowd.good) > 200


@pytest.mark.parametrize("killed", [1, MAX_PROXY_STARTS])
def test_a_proxy_that_a_busy_machine_starts_late_is_replaced(killed: int) -> None:
    """Stands in for `ray.serve`: whether the real one kills the proxy that it waits for is a matter of milliseconds."""
    starts: list[object] = []

    def start(http_options: object) -> None:
        starts.append(http_options)
        if len(starts) <= killed:
            raise ray.exceptions.ActorDiedError()

    with pytest.raises(Overloaded, match="proxies") if killed == MAX_PROXY_STARTS else nullcontext():
        start_proxies(cast(ModuleType, SimpleNamespace(start=start)), Config(Path()), ray)
    assert len(starts) == min(killed + 1, MAX_PROXY_STARTS)


def is_one_session(client: httpx.Client) -> None:
    """A session is the same on all copies: its budget ends after so many searches, whoever answers them."""
    policy = {"task": "t", "budget": {"searches": 12}}
    session = client.post("/v1/sessions", content=json.dumps(policy)).json()["session"]
    carried = {"X-Webemu-Session": session, "Connection": "close"}
    statuses = [client.get(f"/v1/search?q=river+{n}", headers=carried).status_code for n in range(16)]
    assert statuses == [200] * 12 + [429] * 4
    assert json.dumps(client.get(f"/v1/sessions/{session}").json()).count('"attempt"') == 16


def test_parts_answer_alike_while_a_node_is_killed(root: Path, cluster: Cluster) -> None:
    partition_set = split_collection(root / "default", 2, 2)
    here = partitioned_world("default", partition_set, Here(root / "default", 2))
    with (
        cluster.second() as node,
        serving(root, "--ray", cluster.address, "--parts", "2", *TWO, "--cache-mb", "0") as client,
    ):
        expected = {path: client.get(path).raise_for_status().content for path in asks(client)}
        urls = [hit["url"] for hit in client.get("/v1/search?q=river").json()["results"]]
        assert urls == [hit.url for hit in here.search(Query("river")).hits]
        assert client.get("/health").json()["snapshot"] == partition_set.id
        crowd = Crowd(client.base_url, expected)
        crowd.lose(node)
    assert crowd.wrong == []
    assert min(crowd.good) > 200
