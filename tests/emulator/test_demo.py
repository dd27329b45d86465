"""The demo as a process: it runs through, passes failures on, and leaves nothing running however it is stopped."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

MARK = "WEBEMU_DEMO_TEST"
PATIENCE = 240.0
SMALL = ("--pages", "300", "--seed", "3")


@contextmanager
def demo(root: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A demo whose processes can be told from all others by a mark in their environment."""
    environment = {**os.environ, MARK: uuid.uuid4().hex, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "webemu.emulator.cli", "demo", "--root", str(root), *SMALL, *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    )
    try:
        yield process
    finally:
        leftovers = [other for other in psutil.process_iter() if marked(other, environment[MARK])]
        for other in leftovers:
            other.kill()
        process.communicate()
        assert leftovers == []


def marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


def read_until(process: "subprocess.Popen[str]", phrase: str) -> str:
    assert process.stdout is not None
    read = ""
    while phrase not in read:
        line = process.stdout.readline()
        assert line, f"it ended before it said {phrase!r}:\n{read}"
        read += line
    return read


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.mark.slow
def test_it_runs_through_takes_another_port_and_stops(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy_socket:
        port = busy_socket.getsockname()[1]
        with demo(root, "--once", "--port", str(port)) as process:
            output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    commands = [line.split()[2] for line in output.splitlines() if line.startswith("$ webemu ")]
    assert commands == ["generate", "ingest", "serve", "quiz"]
    assert f"--port {port}" not in output
    assert "score:" in output


@pytest.mark.slow
def test_left_up_it_serves_until_ctrl_c_and_keeps_its_world(root: Path) -> None:
    has_web = (root / "demo-300-3-web.done").exists()
    with demo(root, "--port", "0") as process:
        output = read_until(process, "/docs in a browser")
        assert ("$ webemu generate" in output) != has_web
        address = output.partition("up at http://")[2].partition(" ")[0]
        connection = http.client.HTTPConnection(address, timeout=10)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("step", ["generate", "ingest", "serve", "quiz"])
def test_stopped_at_any_step_it_leaves_no_process(
    root: Path, tmp_path: Path, step: str, number: signal.Signals
) -> None:
    where = tmp_path if step == "generate" else root
    with demo(where, "--port", "0") as process:
        read_until(process, f"$ webemu {step}")
        time.sleep(0.3)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number


def test_a_step_that_fails_ends_it_with_its_status(tmp_path: Path) -> None:
    (tmp_path / "demo-300-3-web.done").touch()
    with demo(tmp_path, "--once") as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, output
    assert "$ webemu ingest" in output
    assert "$ webemu serve" not in output
