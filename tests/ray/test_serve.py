"""Copies of a snapshot on two Ray nodes answer as one server does, and go on when one of the nodes is killed."""

import json
import os
import signal
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

from tests.crawls import CaptureSpec, html, write
from tests.index.here import Here
from tests.ray.nodes import Cluster, Node, free_port, until
from webemu.api.runtime.ray_cluster import MAX_PROXY_STARTS, start_proxies
from webemu.api.runtime.ray_partitions import (
    ANSWER_SECONDS,
    HEDGE_SAMPLE,
    NAMESPACE,
    REPLICAS,
    Partitioning,
    actor_name,
)
from webemu.emulator.config import Config
from webemu.emulator.errors import Overloaded
from webemu.emulator.types import Query
from webemu.index.partitions.split import partitioned_world, read_partitions, split_collection
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
    here = partitioned_world(root / "default", partition_set, Here(root / "default", 2))
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


PARTS = ("--parts", "5", "--part-processes", "2", "--workers", "1", "--cache-mb", "0")


@contextmanager
def standing_still(root: Path, cluster: Cluster, process: int, replicas: int = REPLICAS) -> Iterator[None]:
    """Replicas of one process of the partitions stand still, as on a machine that thrashes."""
    ray.init(address=cluster.address, ignore_reinit_error=True, log_to_driver=False)
    config = Config(root=root.resolve())
    names = [actor_name(config, Partitioning(5, 2), process, replica) for replica in range(replicas)]
    pids = ray.get([ray.get_actor(name, NAMESPACE).process_id.remote() for name in names])
    ray.shutdown()  # nodes that a driver is connected to cannot be removed
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_lost_parts_are_named_and_a_part_is_added_under_running_searches(root: Path, cluster: Cluster) -> None:
    split_collection(root / "default", 5, 2)
    with cluster.second(), serving(root, "--ray", cluster.address, *PARTS) as client:
        another_replica_is_asked_when_one_is_late(root, cluster, client)
        are_named_until_they_are_back(root, cluster, client)
        is_added(root, client)


def another_replica_is_asked_when_one_is_late(root: Path, cluster: Cluster, client: httpx.Client) -> None:
    """A replica that stands still costs no search its answer, and no search waits for it to its end."""
    for _ in range(HEDGE_SAMPLE):
        complete = client.get("/v1/search?q=river").raise_for_status()
    assert client.get("/v1/stats").json()["process"]["parts"]["late_after_ms"] < 1000 * ANSWER_SECONDS
    with standing_still(root, cluster, 0, replicas=1):
        answers = [client.get("/v1/search?q=river") for _ in range(6)]
    assert [answer.content for answer in answers] == [complete.content] * 6
    assert max(answer.elapsed.total_seconds() for answer in answers) < ANSWER_SECONDS / 2
    figures = client.get("/v1/stats").json()["process"]["parts"]
    assert figures["hedged"] >= 3
    assert figures["lost"] == 0


def are_named_until_they_are_back(root: Path, cluster: Cluster, client: httpx.Client) -> None:
    """Parts of a process that stands still are named in the answers of searches."""
    complete = client.get("/v1/search?q=river").raise_for_status()
    assert MARK not in complete.headers
    with standing_still(root, cluster, 1):
        thinner = client.get("/v1/search?q=river").raise_for_status()
        assert thinner.headers[MARK] == "1, 3"
        again = client.get("/v1/search?q=river")
        assert again.elapsed.total_seconds() < thinner.elapsed.total_seconds() / 2
        assert client.get("/searxng/search?format=json&q=river").headers[MARK] == "1, 3"
        refused = client.get("/v1/fetch?url=https://unknown.example/")
        assert (refused.status_code, refused.headers["X-Webemu-Failure"]) == (503, "infrastructure")
    until(lambda: MARK not in client.get("/v1/search?q=river").headers)
    assert client.get("/v1/search?q=river").content == complete.content
    assert client.get("/v1/stats").json()["process"]["parts"]["lost"] >= 3


def is_added(root: Path, client: httpx.Client) -> None:
    """A part of what is ingested now is served without a restart, and no search fails meanwhile."""
    before = client.get("/v1/search?q=quagga").raise_for_status().json()
    assert before["results"] == []
    is_over, failures = threading.Event(), []

    def search_on() -> None:
        with httpx.Client(base_url=client.base_url, timeout=30, trust_env=False) as other:
            while not is_over.is_set():
                answer = other.get("/v1/search?q=river")
                if answer.status_code != 200 or MARK in answer.headers:
                    failures.append(answer.text)

    threads = [threading.Thread(target=search_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    page = CaptureSpec("https://added.example/quagga", html("Quagga", "The quagga drank from the river."))
    source = str(write(root / "later.warc.gz", [page]))
    command = [sys.executable, "-m", "webemu.emulator.cli"]
    folder = ("--root", str(root))
    subprocess.run([*command, "ingest", source, "--no-snapshot", "--quiet", *folder], check=True)
    subprocess.run([*command, "snapshots", "split", "5", "--add", *folder], check=True)
    until(lambda: client.get("/v1/search?q=quagga").json()["results"])
    assert client.get("/v1/fetch?url=https://added.example/quagga").json()["title"] == "Quagga"
    is_over.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert client.get("/v1/stats").json()["parts"] == 6
    assert client.get("/health").json()["snapshot"] == read_partitions(root / "default", 5).id
