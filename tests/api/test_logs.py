"""The log of a server: all events as JSON, and as text those that a person should look at."""

import errno
import http.client
import json
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.api.conftest import Ask, SmallWorld, asking
from webemu.api.app import create_app
from webemu.api.runtime.live_snapshot import to_client_error
from webemu.emulator.config import Config
from webemu.emulator.logs import MAX_LINES_PER_SECOND, JsonFormatter, TextFormatter
from webemu.emulator.trace import Trace
from webemu.index.descriptors import choose_advice
from webemu.index.manifest import set_current
from webemu.index.open import open_world
from webemu.index.trace_files import read_traces
from webemu.index.traces import TraceWriter

Grow = Callable[[Path, int, str], str]
PATIENCE = 20.0


def read_events(caplog: pytest.LogCaptureFixture, *names: str) -> list[dict[str, Any]]:
    """Return the events as a program reads them: the lines of the JSON log, parsed."""
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    return [line for line in lines if line["event"] in names]


class Logged:
    """A server process whose log is a file."""

    def __init__(self, folder: Path, log: Path, *arguments: str) -> None:
        self._log = log
        where = ["--root", str(folder.parent), "--collection", folder.name, "--port", "0", "--log-format", "json"]
        with log.open("w") as stderr:
            command = [sys.executable, "-m", "webemu.emulator.cli", "serve", *where, *arguments]
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)

    def lines(self, *names: str) -> list[dict[str, Any]]:
        complete_lines = self._log.read_text().rpartition("\n")[0]
        lines = [json.loads(line) for line in complete_lines.splitlines()]
        return [line for line in lines if line["event"] in names] if names else lines

    def wait_for(self, name: str, number: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + PATIENCE
        while len(events := self.lines(name)) < number:
            assert time.monotonic() < deadline, f"{name} never happened"
            assert self.process.poll() is None
            time.sleep(0.05)
        return events


@pytest.mark.slow
def test_the_life_of_a_server_is_told_line_by_line(tmp_path: Path, grow: Grow) -> None:
    folder = tmp_path / "root" / "c"
    first, second = grow(folder, 1, "river port"), grow(folder, 2, "river bridge")
    set_current(folder, first)
    server = Logged(folder, tmp_path / "log", "--workers", "2")
    try:
        victim = server.wait_for("worker_started", 2)[0]["pid"]
        os.kill(victim, signal.SIGSTOP)
        time.sleep(1)  # it is being asked whether it lives
        os.kill(victim, signal.SIGKILL)
        server.wait_for("worker_started", 3)
        set_current(folder, second)
        server.wait_for("snapshot_switched", 5)
    finally:
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
    (started,) = server.lines("server_started")
    assert (started["pid"], started["collection"], started["workers"]) == (server.process.pid, "c", 2)
    (died,), (replaced,) = server.lines("worker_died"), server.lines("worker_replaced")
    assert (died["worker"], died["how"], died["level"]) == (victim, "SIGKILL", "warning")
    assert replaced["by"] in {line["pid"] for line in server.lines("worker_started")} - {victim}
    opened = server.lines("snapshot_opened")
    assert {line["snapshot"] for line in opened} == {first, second}
    assert all(line["seconds"] >= 0 for line in opened)
    switches = [(line["before"], line["snapshot"]) for line in server.lines("snapshot_switched")]
    assert sorted(switches, key=str) == sorted([(None, first)] * 3 + [(first, second)] * 2, key=str)
    assert len(server.lines("worker_stopped")) == 2
    order = [line["event"] for line in server.lines("draining", "drained")]
    assert order == ["draining", "drained"]


def test_the_only_worker_tells_how_it_drains(tmp_path: Path, grow: Grow) -> None:
    folder = tmp_path / "root" / "c"
    grow(folder, 1, "river port")
    server = Logged(folder, tmp_path / "log")
    server.wait_for("worker_started", 1)
    server.process.terminate()
    assert server.process.wait(PATIENCE) == 0
    events = [line["event"] for line in server.lines()]
    assert events[0] == "server_started"
    assert events[-3:] == ["draining", "worker_stopped", "drained"]
    assert server.lines("draining")[0]["in_flight"] == 0


def test_a_unix_socket_is_told_by_its_path(tmp_path: Path, grow: Grow) -> None:
    folder, path = tmp_path / "root" / "c", tmp_path / "web.sock"
    grow(folder, 1, "river port")
    server = Logged(folder, tmp_path / "log", "--uds", str(path))
    try:
        (started,) = server.wait_for("server_started", 1)
        assert started["listening"][1:] == [str(path)]
        assert started["listening"][0].startswith("127.0.0.1:")
        assert f", {path}" in started["message"]
    finally:
        server.process.terminate()
        server.process.wait(PATIENCE)


def test_connections_that_use_up_descriptors_leave_some_for_requests(tmp_path: Path, grow: Grow) -> None:
    folder = tmp_path / "root" / "c"
    grow(folder, 1, "river port")
    server = Logged(folder, tmp_path / "log")
    try:
        (started,) = server.wait_for("worker_started", 1)
        port = int(server.lines("server_started")[0]["listening"][0].rpartition(":")[2])
        first = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        first.request("GET", "/health")  # once it is answered, no connection is accepted by the limit of before
        assert first.getresponse().read()
        limit = psutil.Process(started["pid"]).num_fds() + 40
        resource.prlimit(started["pid"], resource.RLIMIT_NOFILE, (limit, limit))
        with ExitStack() as stack:
            for _ in range(60):
                stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            (event,) = server.wait_for("accept_failed", 1)
            assert psutil.Process(started["pid"]).num_fds() < limit - 10
            for path in ("/metrics", "/v1/search?q=port", "/s/wp-e30/v1/search?q=river", "/v1/stats"):
                first.request("GET", path)
                answer = first.getresponse()
                assert (answer.status, bool(answer.read())) == (200, True), path
        assert event["limit"] == limit
        assert "ulimit -n" in event["message"]
        later = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        later.request("GET", "/health")
        assert later.getresponse().status == 200
        assert server.lines("snapshot_unavailable", "defect", "request_failed") == []
        assert len(server.lines("accept_failed")) == 1
    finally:
        server.process.terminate()
        server.process.wait(PATIENCE)


def test_a_snapshot_is_not_blamed_for_missing_descriptors(tmp_path: Path) -> None:
    cause = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    error = to_client_error(tmp_path, cause)
    assert "descriptors are in use" in error.message
    assert error.action == "raise ulimit -n"
    assert "ulimit -n" in choose_advice(cause, "restore it")
    assert choose_advice(OSError(errno.ENOENT, os.strerror(errno.ENOENT)), "restore it") == "restore it"


def test_a_defect_is_told_with_the_number_that_the_asker_has(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    answer = ask("GET", "/v1/search?q=defect")
    assert answer.status_code == 500
    (defect,) = read_events(caplog, "defect")
    (failed,) = read_events(caplog, "request_failed")
    assert defect["request"] == failed["request"]
    assert failed["request"] in answer.json()["error"]["message"]
    assert "ZeroDivisionError" in defect["exception"]
    assert (failed["route"], failed["method"], failed["status"]) == ("/v1/search", "GET", 500)
    assert failed["ms"] > 0
    assert "defect" not in failed["path"], "what stands in the query may be a key"


def test_a_service_that_fails_is_named(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    ask("POST", "/serper/search", json={"q": "defect"})
    (failed,) = read_events(caplog, "request_failed")
    assert (failed["route"], failed["status"]) == ("serper", 500)
    assert failed["request"] == read_events(caplog, "defect")[0]["request"]


def test_what_goes_well_is_not_told_nor_what_the_web_says(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "webemu")
    assert ask("GET", "/v1/search?q=a").status_code == 200
    assert ask("GET", "/v1/fetch?url=https://a.example/gone").status_code == 404
    assert ask("GET", "/v1/fetch?url=https://a.example/bomb").status_code == 502, "what the crawl holds"
    assert ask("GET", "/nowhere").status_code == 404
    assert read_events(caplog, "request_failed", "request_slow", "defect") == []


def test_a_page_whose_bytes_are_gone_is_our_failure(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    ask("GET", "/v1/fetch?url=https://a.example/lost&format=raw")
    (failed,) = read_events(caplog, "request_failed")
    assert (failed["status"], failed["route"], failed["level"]) == (502, "/v1/fetch", "warning")
    assert "request" not in failed


def test_many_failures_are_few_lines(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20 * MAX_LINES_PER_SECOND):
        ask("GET", "/v1/fetch?url=https://a.example/lost&format=raw")
    lines = read_events(caplog, "request_failed")
    event_count = len(lines) + sum(line.get("left_out", 0) for line in lines)
    assert MAX_LINES_PER_SECOND <= len(lines) < 20 * MAX_LINES_PER_SECOND
    assert event_count <= 20 * MAX_LINES_PER_SECOND


def test_slow_requests_are_told(small: SmallWorld, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask = asking(create_app(Config(root=tmp_path, slow_ms=1), world=small))
    assert ask("POST", "/v1/search", json={"queries": [f"word {n}" for n in range(1024)]}).status_code == 200
    (slow,) = read_events(caplog, "request_slow")
    assert (slow["route"], slow["method"], slow["status"]) == ("/v1/search", "POST", 200)
    assert slow["ms"] >= 1


def test_weather_is_neither_slow_nor_a_failure(tmp_path: Path, grow: Grow, caplog: pytest.LogCaptureFixture) -> None:
    grow(tmp_path / "c", 1, "river port")
    config = Config(root=tmp_path, collection="c", slow_ms=1000)
    ask = asking(create_app(config, world=open_world(config.collection_folder)))
    weather = {"latency": {"kind": "constant", "ms": 1200}, "errors": 1.0}
    session = ask("POST", "/v1/sessions", json={"seed": 1, "weather": weather}).json()["session"]
    answer = ask("GET", "/v1/search?q=river", headers={"X-Webemu-Session": session})
    assert answer.status_code >= 500
    assert answer.headers["x-webemu-weather"]
    assert read_events(caplog, "request_slow", "request_failed") == []


def test_nothing_is_slow_where_that_is_wanted(
    small: SmallWorld, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ask = asking(create_app(Config(root=tmp_path, slow_ms=0), world=small))
    ask("POST", "/v1/search", json={"queries": [f"word {n}" for n in range(1024)]})
    assert read_events(caplog, "request_slow") == []


def test_a_hostile_path_stays_on_its_line(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    ask("GET", "/s/x%0a2026-01-01T00:00:00.000Z%20ERROR%201%20forged%1b[2J/v1/search?q=defect")
    records = [record for record in caplog.records if record.name.startswith("webemu")]
    assert read_events(caplog, "request_failed")
    assert all(len(JsonFormatter().format(record).splitlines()) == 1 for record in records)
    for record in records:
        first, *traceback = TextFormatter().format(record).split("\n")
        assert first.isprintable()
        assert all(line.startswith("    ") for line in traceback)


def test_traces_that_are_lost_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row = Trace("s", "", "", 1, "webemu", "search", "q", "", "", 1, (), 0, 0, 200, 1.0, 9, "", False)
    writer = TraceWriter(tmp_path / "traces", max_waiting=2)
    writer.put((row,))
    writer.put((row, row, row))
    writer.close()
    (lost,) = read_events(caplog, "traces_lost")
    assert (lost["rows"], lost["level"]) == (3, "warning")
    assert read_traces(tmp_path / "traces")[1] == 3
