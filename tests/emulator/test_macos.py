"""Ingest, serving and `doctor` on a simulated macOS (`macos/sitecustomize.py`): every process lacks what Linux alone
has. Nothing of it was run on a real one.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.index.open import open_world

SIMULATION = Path(__file__).parent / "macos"
URL = "https://harbour.example/"
PATIENCE = 120


def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a Mac: its Python, and no program of Linux such as `unshare`."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    return {**os.environ, "PYTHONPATH": str(SIMULATION), "PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}


def webemu(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env=environment(tmp_path), cwd=tmp_path
    )


@pytest.fixture(scope="module")
def tmp_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_root = tmp_path_factory.mktemp("macos")
    write(tmp_root / "a.warc.gz", [CaptureSpec(URL, html("Harbour", "An old harbour with a lighthouse."))])
    write(tmp_root / "b.warc.gz", [CaptureSpec(URL + "ships", html("Ships", "Ships of the harbour."))])
    done = webemu(tmp_root, "ingest", "a.warc.gz", "--root", "root", "--collection", "c")
    assert done.returncode == 0, done.stderr
    return tmp_root


@contextmanager
def serving(tmp_root: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", "root", "--collection", "c"]
    settings = {"WEBEMU_UDS": str(tmp_root / "s"), "WEBEMU_PORT": "0", "WEBEMU_STATE": str(tmp_root / "state")}
    process = subprocess.Popen(
        [*command, "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=(tmp_root / "log").open("w"),
        text=True,
        cwd=tmp_root,
        env=environment(tmp_root) | settings,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait(PATIENCE)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so; on a busy machine the second worker comes late, and so does a new snapshot."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_the_simulation_lacks_what_macos_lacks(tmp_path: Path) -> None:
    code = (
        "import os, select, sys\n"
        "assert sys.platform == 'darwin' and not hasattr(os, 'sched_getaffinity') and not hasattr(select, 'epoll')\n"
        "assert not os.path.exists('/proc/self/stat')\n"
        "try: open('/proc/self/stat')\nexcept FileNotFoundError: print('none')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(tmp_path))
    assert done.stdout == "none\n", done.stderr


def test_ingest_gives_the_snapshot_of_linux(tmp_root: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "c", tmp_root / "a.warc.gz")
    snapshots = [open_world(folder).snapshot for folder in (tmp_path / "c", tmp_root / "root" / "c")]
    assert snapshots[0] == snapshots[1]


@pytest.mark.slow
def test_two_workers_answer_through_every_door_and_take_a_new_dump(tmp_root: Path) -> None:
    with serving(tmp_root) as (address, process):
        client = httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False)
        answer = client.get("/v1/search", params={"q": "lighthouse"})
        assert [one["url"] for one in answer.json()["results"]] == [URL]
        proxied = httpx.Client(proxy=address, timeout=PATIENCE, trust_env=False)
        assert "lighthouse" in proxied.get(URL.replace("https:", "http:")).text
        local = httpx.Client(transport=httpx.HTTPTransport(uds=str(tmp_root / "s")), timeout=PATIENCE)
        assert local.get("http://localhost/v1/fetch", params={"url": URL}).status_code == 200
        headers = {"X-Webemu-Session": client.post("/v1/sessions", json={"seed": 1}).json()["session"]}
        assert client.get("/v1/fetch", params={"url": URL}, headers=headers).status_code == 200
        wait_until(lambda: client.get("/dashboard/figures").json()["workers"] == 2)
        assert client.get("/dashboard/figures").json()["resident_bytes"] > 0
        assert webemu(tmp_root, "ingest", "b.warc.gz", "--root", "root", "--collection", "c").returncode == 0
        wait_until(lambda: client.get("/v1/fetch", params={"url": URL + "ships"}).status_code == 200)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) != 0
    assert "Traceback" not in (tmp_root / "log").read_text()


def test_doctor_and_run_say_what_is_missing(tmp_root: Path) -> None:
    doctor = webemu(tmp_root, "doctor", "--root", "root")
    assert "note  system         Darwin: everything but `webemu run`" in doctor.stdout
    refused = webemu(tmp_root, "run", "--root", "root", "--collection", "c", "--", "true")
    assert refused.returncode == 2
    assert "there is no `unshare` here (Linux only, package util-linux)" in refused.stderr
    assert "Traceback" not in refused.stderr
