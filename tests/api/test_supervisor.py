"""Workers that hang are replaced, busy ones are left alone: a real supervisor over applications that misbehave."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.api.test_served import PATIENCE, until
from webemu.api.runtime.process_activity import UNKNOWN, read_activity

SPIN_SECONDS = 4
"""Seconds of work that is longer than any limit of the servers below."""
APPLICATION = f"""
import json, os, threading, time

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    if scope["path"] == "/deadlock":  # the event loop waits for ever; other threads go on
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    if scope["path"] == "/spin":
        end = time.process_time() + {SPIN_SECONDS}
        while time.process_time() < end:
            sum(range(30_000_000))  # holds Python's global lock, so that no other thread can answer
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]}})
    await send({{"type": "http.response.body", "body": json.dumps(os.getpid()).encode()}})
"""
SERVER = """
import logging, socket, sys
import uvicorn
from webemu.api.runtime import supervisor

if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    supervisor.STOPPED_SECONDS = supervisor.ASLEEP_SECONDS = 2.0
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config("misbehaving:app", workers=2, lifespan="off", log_config=None)
    config.timeout_worker_healthcheck = 60
    supervisor.Supervisor(config, [listener]).run()
"""


class Workers:
    """A server of two workers, and its log."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self._log = port, log

    def get(self, path: str = "/") -> int:
        """Return the process id of the worker that answers."""
        connection = self.send(path)
        return int(json.loads(connection.getresponse().read()))

    def send(self, path: str) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path)
        return connection

    def read_deaths(self) -> list[tuple[int, str]]:
        """Return process id and end of each worker that died."""
        return [(int(pid), how) for pid, how in re.findall(r"worker (\d+) died: (.*)", self._log.read_text())]


@contextmanager
def supervising(folder: Path) -> Iterator[Workers]:
    (folder / "misbehaving.py").write_text(APPLICATION)
    (folder / "serve.py").write_text(SERVER)
    log = folder / "log"
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parents[2] / 'src'}:{folder}"}
    with log.open("w") as errors:
        command = [sys.executable, str(folder / "serve.py")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
    try:
        assert process.stdout is not None
        yield Workers(int(process.stdout.readline()), log)
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    with supervising(tmp_path) as running:
        yield running


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells what a process does")
class TestHungWorkers:
    @pytest.mark.slow
    def test_one_that_is_busy_lives(self, workers: Workers) -> None:
        pid = workers.get("/spin")
        assert pid in {workers.get() for _ in range(50)}
        assert workers.read_deaths() == []

    def test_one_whose_event_loop_waits_for_ever_is_replaced(self, workers: Workers) -> None:
        with pytest.raises((OSError, http.client.HTTPException)):
            workers.get("/deadlock")
        until(lambda: len(workers.read_deaths()) == 1)
        [(pid, end)] = workers.read_deaths()
        assert end == "killed, since it did nothing and did not answer for 2 s"
        assert pid not in {workers.get() for _ in range(10)}

    def test_one_that_is_stopped_is_replaced_and_others_answer(self, workers: Workers) -> None:
        pid = workers.get()
        os.kill(pid, signal.SIGSTOP)
        assert pid not in {workers.get() for _ in range(10)}
        until(lambda: bool(workers.read_deaths()))
        assert workers.read_deaths() == [(pid, "killed, since it was stopped by a signal (SIGSTOP) for 2 s")]

    def test_one_that_is_stopped_does_not_keep_the_server_from_ending(self, tmp_path: Path) -> None:
        with supervising(tmp_path) as workers:
            pid = workers.get()
            os.kill(pid, signal.SIGSTOP)
        assert workers.read_deaths() == [(pid, "killed, since it was stopped by a signal (SIGSTOP) for 2 s")]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells what a process does")
def test_what_a_process_does_is_told_from_outside() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()\nwhile True: pass"], stdin=subprocess.PIPE, text=True)
    assert process.stdin is not None
    try:
        until(lambda: read_activity(process.pid).states == {"S"})
        before = read_activity(process.pid)
        assert read_activity(process.pid).is_asleep_since(before)
        print(file=process.stdin, flush=True)
        until(lambda: read_activity(process.pid).ticks > before.ticks + 10)
        assert not read_activity(process.pid).is_asleep_since(before)
        process.send_signal(signal.SIGSTOP)
        until(lambda: read_activity(process.pid).is_stopped)
        stopped = read_activity(process.pid)
        time.sleep(0.1)
        assert read_activity(process.pid).is_asleep_since(stopped)
    finally:
        process.kill()
        process.communicate()
    assert read_activity(process.pid) == UNKNOWN
    assert not UNKNOWN.is_asleep_since(UNKNOWN)
