"""Batches that workers share: the same answers, whoever found them."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from webemu.api.runtime.batch_sharing import CHUNK_SIZE, WorkerPeers
from webemu.emulator.errors import SnapshotError
from webemu.emulator.types import Query
from webemu.emulator.world import MIN_SHARED_QUERIES, World
from webemu.index.open import open_world

Grow = Callable[[Path, int, str], str]
WORDS = ["lighthouse", "harbour", "pier", "number", "page", "tells"]
QUERIES = [
    Query(f"{WORDS[n % 6]} {n % 40} {WORDS[n % 5]} {n}", 1, 3) for n in range(MIN_SHARED_QUERIES + 3 * CHUNK_SIZE + 7)
]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, grow: Grow) -> Path:
    folder = tmp_path_factory.mktemp("siblings") / "default"
    grow(folder, 1, "lighthouse harbour pier")
    return folder


@pytest.fixture(scope="module")
def web(collection: Path) -> World:
    return open_world(collection)


def helping(folder: Path, name: str, world: World, snapshots: list[str]) -> WorkerPeers:
    def world_of(snapshot: str) -> World:
        snapshots.append(snapshot)
        return world

    peers = WorkerPeers(folder, name, world_of)
    peers.open()
    return peers


def test_others_help_and_nothing_changes(tmp_path: Path, web: World) -> None:
    snapshots: list[str] = []
    helpers = [helping(tmp_path, name, web, snapshots) for name in ("a", "b")]
    me = WorkerPeers(tmp_path, "me", lambda _: web)
    assert me.run_batch(web, QUERIES) == [web.search_passages(query) for query in QUERIES]
    assert snapshots
    assert set(snapshots) == {web.snapshot}
    for helper in helpers:
        helper.close()


def test_who_does_not_answer_is_done_without(tmp_path: Path, web: World) -> None:
    def lost(snapshot: str) -> World:
        raise SnapshotError(f"{snapshot} is gone")

    broken = WorkerPeers(tmp_path, "broken", lost)
    broken.open()
    (tmp_path / "dead.sock").touch()
    assert WorkerPeers(tmp_path, "me", lambda _: web).run_batch(web, QUERIES) == [
        web.search_passages(one) for one in QUERIES
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["broken.sock"]
    broken.close()


def retrieve(url: str, count: int) -> Any:
    body = json.dumps({"queries": [query.text for query in QUERIES[:count]], "topk": 3, "return_scores": True}).encode()
    request = urllib.request.Request(f"{url}/retrieve", body, {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)["result"]


@pytest.mark.slow
def test_workers_of_a_server_share_a_batch(collection: Path) -> None:
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(collection.parent), "--port", "0"]
    with subprocess.Popen([*command, "--workers", "3"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert match is not None
        try:
            single_answers = retrieve(match[0], len(QUERIES))
            assert single_answers[: MIN_SHARED_QUERIES - 1] == retrieve(match[0], MIN_SHARED_QUERIES - 1)
            assert [len(one) for one in single_answers] == [3] * len(QUERIES)
        finally:
            os.kill(process.pid, signal.SIGTERM)
