"""Ingest killed at random moments and started again ends in the same catalog and snapshot as one clean run."""

import os
import random
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id
from webemu.index.schema import TABLES
from webemu.worlds import generate

KILLS = int(os.environ.get("WEBEMU_KILLS", "3"))
"""The number of moments that are tried."""


def ingest(web: Path, root: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        "ingest",
        str(web),
        "--root",
        str(root),
        "--workers",
        "2",
        "-q",
    ]
    marked = {**os.environ, "WEBEMU_KILL_TEST": str(root)}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True, env=marked)


def content(folder: Path) -> dict[str, str]:
    """A hash of every table of the catalog, its rows in order."""
    with Catalog(folder, read_only=True) as catalog:
        rows = {name: catalog.db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in TABLES}
    return {name: sha256(repr(table).encode()).hexdigest() for name, table in rows.items()}


@pytest.mark.slow
def test_a_killed_ingest_continues_to_the_same_end(tmp_path: Path) -> None:
    generate(tmp_path / "web", seed=3, pages=150)
    started = time.monotonic()
    assert ingest(tmp_path / "web", tmp_path / "clean").wait() == 0
    duration = time.monotonic() - started
    clean, snapshot = content(tmp_path / "clean" / "default"), current_id(tmp_path / "clean" / "default")
    rng = random.Random(11)
    killed = 0
    for number in range(4 * KILLS):
        if killed == KILLS:
            break
        root = tmp_path / f"kill-{number}"
        run = ingest(tmp_path / "web", root)
        time.sleep(rng.uniform(0, duration))
        target = os.killpg if rng.random() < 0.5 else os.kill
        if run.poll() is None:
            target(run.pid, signal.SIGKILL)
            killed += 1
        else:  # the machine is quicker than it was
            duration /= 2
        run.wait()
        assert ingest(tmp_path / "web", root).wait() == 0
        assert content(root / "default") == clean, f"kill {number}"
        assert current_id(root / "default") == snapshot
    assert killed == KILLS
    assert not [other for other in psutil.process_iter() if str(tmp_path) in str(environment(other))]


def environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ() if process.status() != psutil.STATUS_ZOMBIE else {}
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return {}
