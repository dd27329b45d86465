"""Ingest by the nodes of a Ray cluster, of which one is killed, ends in the catalog and snapshot of one machine."""

import gzip
import re
import socket
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO

import psutil
import pytest

from tests.crawls import CaptureSpec, html, write
from tests.ray.nodes import Cluster, Node, until
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id
from webemu.index.schema import TABLES
from webemu.ingest.cluster import ingest_job
from webemu.ingest.worker import Job
from webemu.worlds import generate

pytestmark = pytest.mark.ray
PROCESS_SECONDS = 600
"""A command may take so long, since on a busy machine Ray alone needs minutes to start its workers."""


def ingest(web: Path, root: Path, *options: str, err: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "webemu.emulator.cli", "ingest", str(web), "--root", str(root), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True)


def content(folder: Path) -> dict[str, str]:
    """A hash of every table of the catalog, its rows in order."""
    with Catalog(folder, read_only=True) as catalog:
        rows = {name: catalog.db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in TABLES}
    return {name: sha256(repr(table).encode()).hexdigest() for name, table in rows.items()}


def working(node: Node) -> list[psutil.Process]:
    """Return the processes of a node that read a source: each has its own, below that of the task."""
    processes = []
    for process in node.running():
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(process.cmdline()):
                processes.append(process)
    return processes


def test_a_node_lost_in_the_middle_changes_nothing(tmp_path: Path, cluster: Cluster) -> None:
    web, alone, spread = tmp_path / "web", tmp_path / "alone", tmp_path / "spread"
    generate(web, seed=3, pages=1200)
    # One that is read from a copy of its records.
    records = write(
        tmp_path / "few.warc.gz", [CaptureSpec(f"https://a.example/{n}", html(f"No {n}", "A text")) for n in "abc"]
    )
    (web / "whole.warc.gz").write_bytes(gzip.compress(gzip.decompress(records.read_bytes()), mtime=0))
    assert ingest(web, alone, "--workers", "2").wait() == 0
    with cluster.second() as node:
        run = ingest(web, spread, "--ray", cluster.address)
        until(lambda: working(node))
        node.kill()
        out, err = run.communicate(timeout=PROCESS_SECONDS)
    assert run.returncode == 0, out + err
    assert "0 failed" in out
    assert content(spread / "default") == content(alone / "default")
    assert current_id(spread / "default") == current_id(alone / "default") is not None
    copies = [
        {path.name: path.read_bytes() for path in (root / "default" / "warc").iterdir()} for root in (alone, spread)
    ]
    assert copies[0] == copies[1]
    assert len(copies[0]) == 1


def test_a_record_that_kills_its_worker_loses_its_text_alone(tmp_path: Path, cluster: Cluster) -> None:
    page = html("Much", *(f"Paragraph {n} of a page that takes its time" for n in range(2000)))
    records = [CaptureSpec(f"https://a.example/{n}", page) for n in range(300)]
    source, progress = write(tmp_path / "slow.warc.gz", records), tmp_path / "progress"
    with progress.open("w") as err:
        run = ingest(source, tmp_path / "root", "--ray", cluster.address, err=err)
    # Before its first record the worker takes seconds to start, and its death then costs the whole source.
    until(lambda: re.search(r"[1-9]\d* pages", progress.read_text()))
    working(cluster.head)[0].kill()
    out, _ = run.communicate(timeout=PROCESS_SECONDS)
    assert run.returncode == 0, out + progress.read_text()
    assert "captures  300" in out
    assert "pages     299" in out
    assert "1 extractor-crashed" in out


def test_what_a_machine_does_not_see_is_told_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.warc.gz"
    done, sections = ingest_job(Job(1, "nowhere.warc.gz", str(path), None, "", 0), lambda at: None)
    assert str(path) in done.error
    assert socket.gethostname() in done.error
    assert sections == {}


def test_without_a_cluster_it_says_how_to_start_one(tmp_path: Path) -> None:
    source = write(tmp_path / "one.warc.gz", [CaptureSpec("https://a.example/", html("A", "text"))])
    run = ingest(source, tmp_path / "root", "--ray", "127.0.0.1:9")
    out, err = run.communicate(timeout=PROCESS_SECONDS)
    assert run.returncode == 1, out + err
    assert "no Ray cluster answers at 127.0.0.1:9" in err
    assert "ray start --head" in err
