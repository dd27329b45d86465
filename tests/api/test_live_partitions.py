"""A server of partitions follows them: to those that were added, and away from those that hold what was removed."""

import json
from pathlib import Path

from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, write
from tests.in_process import in_process
from tests.index.here import Here
from tests.ray.nodes import until
from webemu.api.app import create_app
from webemu.api.runtime.live_partitions import LivePartitions
from webemu.emulator.cli import app as command
from webemu.emulator.config import Config
from webemu.index.partitions.split import add_partition, split_collection
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources

PARTS = 3


def ingest(root: Path, name: str, *words: str) -> None:
    pages = [CaptureSpec(f"https://{word}.example/", html(word, f"The {word} lives on the island.")) for word in words]
    run(expand_sources([str(write(root / f"{name}.warc.gz", pages))]).sources, root / "default", 1, quiet=True)


def find(client: TestClient, word: str, session: str = "") -> tuple[int, list[str]]:
    headers = {"X-Webemu-Session": session} if session else {}
    answer = client.get(f"/v1/search?q={word}", headers=headers)
    return answer.status_code, [hit["url"] for hit in answer.json().get("results", ())]


def test_what_is_added_and_removed_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "default"
    with in_process():
        ingest(tmp_path, "first", "numbat", "quoll")
        split_collection(folder, PARTS)
        live = LivePartitions(folder, PARTS, Here(folder, PARTS), dict)
        with TestClient(create_app(Config(root=tmp_path), live_snapshot=live), raise_server_exceptions=False) as client:
            first = client.get("/health").json()["snapshot"]
            session = client.post("/v1/sessions", content=json.dumps({"task": "t"})).json()["session"]
            assert find(client, "numbat", session) == (200, ["https://numbat.example/"])
            ingest(tmp_path, "second", "bilby")
            assert find(client, "bilby") == (200, [])
            add_partition(folder, PARTS)
            until(lambda: find(client, "bilby") == (200, ["https://bilby.example/"]))
            assert client.get("/health").json()["snapshot"] != first
            assert find(client, "bilby", session) == (200, [])  # the session sees what it began with
            removed = CliRunner().invoke(
                command, ["remove", "--host", "numbat.example", "--reason", "a test", "--root", str(tmp_path)]
            )
            assert removed.exit_code == 0, removed.output
            split_collection(folder, PARTS)
            until(lambda: find(client, "numbat") == (200, []))
            assert find(client, "bilby") == (200, ["https://bilby.example/"])
            until(lambda: find(client, "quoll", session)[0] == 503)
