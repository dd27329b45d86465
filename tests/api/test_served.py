"""The whole server as a process on a real socket, over snapshots that `index` builds: switching, workers, ending."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

import psutil
import pytest

from tests.seeds import every_nth
from webemu.index.manifest import set_current

Grow = Callable[[Path, int, str], str]
SEARCH = "/v1/search?q=river+port&size=7"
PATIENCE = 30.0
"""Seconds until something that must happen is taken not to."""


@dataclass
class Running:
    """A server process and where it listens."""

    process: "subprocess.Popen[str]"
    port: int
    line: str
    searches: int = 0
    """Searches that were sent."""

    def get(self, path: str, connection: http.client.HTTPConnection | None = None) -> tuple[int, str, bytes]:
        """(status, snapshot, body)."""
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.searches += path == SEARCH
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.headers.get("X-Webemu-Snapshot", ""), response.read()

    def pids(self, count: int) -> dict[int, bytes]:
        """Return the answer of each process to the same search, by process id."""
        answers_by_pid: dict[int, bytes] = {}
        until(lambda: len(answers_by_pid) == count, lambda: self._meet(answers_by_pid))
        return answers_by_pid

    def _meet(self, answers_by_pid: dict[int, bytes]) -> None:
        connections = [http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE) for _ in range(16)]
        for connection in connections:
            connection.connect()
        for connection in connections:
            pid = json.loads(self.get("/v1/stats", connection)[2])["process"]["pid"]
            answers_by_pid[pid] = self.get(SEARCH, connection)[2]
            connection.close()


def until(happened: Callable[[], bool], meanwhile: Callable[[], object] = lambda: time.sleep(0.05)) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        meanwhile()


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "webemu.emulator.cli", "serve", *arguments]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Running]:
    where = ["--root", str(folder.parent), "--collection", folder.name, "--port", "0"]
    process = subprocess.Popen(command(*where, *arguments), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with process.stdout as output:
            line = output.readline()
            port = int(line.partition("http://127.0.0.1:")[2].partition(" ")[0])
            yield Running(process, port, line)
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root") / "one"


@pytest.fixture(scope="module")
def snapshots(collection: Path, grow: Grow) -> tuple[str, str]:
    """Two snapshots of the collection, the second holding more."""
    return grow(collection, 1, "river port"), grow(collection, 2, "river bridge port")


class Load:
    """Threads that search without a pause and keep what they got."""

    def __init__(self, server: Running, threads: int) -> None:
        self.got: list[tuple[int, str, bytes]] = []
        self.failed: list[Exception] = []
        self._stop = threading.Event()
        self._server = server
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=PATIENCE)
        try:
            while not self._stop.is_set():
                self.got.append(self._server.get(SEARCH, connection))
        except (OSError, http.client.HTTPException) as error:
            self.failed.append(error)

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def test_switching_forth_and_back_under_load_drops_nothing(collection: Path, snapshots: tuple[str, str]) -> None:
    first, second = snapshots
    set_current(collection, first)
    with serving(collection, "--cache-mb", "0") as server, Load(server, 4) as load:
        for current in (second, first, second, first):
            set_current(collection, current)
            until(lambda current=current: bool(load.got) and load.got[-1][1] == current)
    assert load.failed == []
    assert {status for status, _, _ in load.got} == {200}
    assert {snapshot for _, snapshot, _ in load.got} == {first, second}
    assert all(json.loads(body)["snapshot"] == snapshot for _, snapshot, body in set(load.got))
    assert len(set(load.got)) == 2, "one snapshot and one request gave different bytes"


@pytest.mark.slow
def test_workers_and_restarts_give_the_same_bytes(collection: Path, snapshots: tuple[str, str]) -> None:
    set_current(collection, snapshots[0])
    with serving(collection, "--workers", "2") as server:
        of_two = server.pids(2)
    with serving(collection) as server:
        of_one = server.pids(1)
    assert len(of_two.keys() | of_one.keys()) == 3
    assert len({*of_two.values(), *of_one.values()}) == 1


def test_workers_are_counted_as_one_and_the_dead_too(collection: Path, snapshots: tuple[str, str]) -> None:
    set_current(collection, snapshots[0])

    def counted(server: Running) -> tuple[float, float]:
        """Searches answered, and workers."""
        lines = server.get("/metrics")[2].decode().splitlines()
        figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        searches = figures.get('webemu_requests_total{place="/v1/search",status="200"}', "0")
        return float(searches), float(figures["webemu_workers"])

    with serving(collection, "--workers", "2") as server:
        pids = server.pids(2)
        for _ in range(20):
            server.get(SEARCH)
        before = server.searches
        until(lambda: all(counted(server) == (before, 2) for _ in range(10)))  # whoever is asked
        os.kill(next(iter(pids)), signal.SIGKILL)
        until(lambda: len(server.pids(2).keys() - pids.keys()) == 1)
        until(lambda: counted(server)[1] == 2)
        assert counted(server)[0] >= before


def test_workers_load_nothing_that_only_building_needs(collection: Path, snapshots: tuple[str, str]) -> None:
    """DuckDB, Arrow and NumPy would take 55 MB of each. Arrow comes when a session writes traces."""

    def list_loaded(pid: int) -> set[str]:
        folders = " ".join(Path(one.path).parent.as_posix() for one in psutil.Process(pid).memory_maps())
        return {name for name in ("duckdb", "numpy", "pyarrow", "tantivy") if f"/{name}" in folders}

    set_current(collection, snapshots[1])
    with serving(collection, "--workers", "2") as server:
        pids = server.pids(2)
        url = json.loads(server.get(SEARCH)[2])["results"][0]["url"]
        for path in (f"/v1/fetch?url={quote(url)}", "/serper/search?q=river", "/dashboard"):
            assert server.get(path)[0] == 200
        assert [list_loaded(pid) for pid in pids] == [{"tantivy"}] * 2
        request = Request(f"http://127.0.0.1:{server.port}/v1/sessions", b"{}", method="POST")
        with urlopen(request, timeout=PATIENCE) as answer:
            session = json.load(answer)["session"]
        assert server.get(f"/s/{session}{SEARCH}")[0] == 200
        until(lambda: any("pyarrow" in list_loaded(pid) for pid in pids))


def test_a_server_without_a_snapshot_waits_for_one(tmp_path: Path, grow: Grow) -> None:
    folder = tmp_path / "later"
    with serving(folder, "--wait") as server:
        status, _, body = server.get("/health")
        assert status == 503
        assert "webemu ingest" in json.loads(body)["error"]["action"]
        assert "no snapshot yet" in server.line
        grow(folder, 1, "river port")
        until(lambda: server.get("/health")[0] == 200)
        assert json.loads(server.get(SEARCH)[2])["results"]


def test_a_snapshot_that_cannot_be_opened_leaves_the_old_one(collection: Path, snapshots: tuple[str, str]) -> None:
    set_current(collection, snapshots[0])
    with serving(collection) as server:
        assert server.get("/health")[0] == 200
        (collection / "CURRENT").write_text("0123456789abcdef\n")
        time.sleep(2.5)
        assert server.get(SEARCH)[:2] == (200, snapshots[0])
        set_current(collection, snapshots[1])
        until(lambda: server.get(SEARCH)[1] == snapshots[1])


@pytest.mark.parametrize("workers", every_nth(["2", "1"], 2))
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_ends_in_peace(
    collection: Path, snapshots: tuple[str, str], number: signal.Signals, workers: str
) -> None:
    with serving(collection, "--workers", workers) as server:
        server.get("/health")
        server.process.send_signal(number)
        assert server.process.wait(PATIENCE) == 0
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=1)


def test_a_request_in_flight_is_answered_before_the_end(collection: Path, snapshots: tuple[str, str]) -> None:
    with serving(collection) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        body = json.dumps({"queries": ["river port"]}).encode()
        connection.putrequest("POST", "/v1/search")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:5])
        server.get("/health")
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        connection.send(body[5:])
        assert connection.getresponse().status == 200
        assert server.process.wait(PATIENCE) == 0


def test_workers_end_with_a_killed_supervisor(collection: Path, snapshots: tuple[str, str]) -> None:
    with serving(collection, "--workers", "2") as server:
        pids = server.pids(2)
        server.process.kill()
        server.process.wait()
        until(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.slow
def test_a_worker_that_was_stopped_for_a_moment_is_not_killed(collection: Path, snapshots: tuple[str, str]) -> None:
    with serving(collection, "--workers", "2") as server:
        pids = server.pids(2)
        stopped = next(iter(pids))
        os.kill(stopped, signal.SIGSTOP)
        time.sleep(3)  # the supervisor looks every half second
        os.kill(stopped, signal.SIGCONT)
        assert server.pids(2).keys() == pids.keys()
        os.kill(stopped, signal.SIGSTOP)
        until(lambda: not alive(stopped))
        assert stopped not in server.pids(2)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_line_tells_how_to_try_it(collection: Path, snapshots: tuple[str, str]) -> None:
    set_current(collection, snapshots[0])
    with serving(collection) as server:
        for phrase in ("one", snapshots[0], f"http://127.0.0.1:{server.port}", "curl"):
            assert phrase in server.line


def test_a_taken_port_is_said_in_two_lines(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = subprocess.run(command("--root", str(tmp_path), "--port", port), capture_output=True, text=True)
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert "--port 0" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_open_address_is_warned_of(tmp_path: Path) -> None:
    arguments = command("--root", str(tmp_path), "--port", "0", "--host", "0.0.0.0", "--open", "--wait")
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    assert "not a loopback address" in process.stderr.readline()
    process.terminate()
    process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_open_address_without_keys_is_refused(tmp_path: Path, host: str) -> None:
    arguments = command("--root", str(tmp_path), "--port", "0", "--host", host, "--wait")
    ended = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 2
    assert "not a loopback address" in ended.stderr
    assert "--open" in ended.stderr


def test_a_collection_that_is_deleted_is_said_and_not_made_again(tmp_path: Path, grow: Grow) -> None:
    folder = tmp_path / "gone"
    grow(folder, 1, "river port")
    with serving(folder) as server:
        assert server.get("/health")[0] == 200
        shutil.rmtree(folder)
        status, _, body = server.get("/health")
        error = json.loads(body)["error"]
        assert (status, error["reason"]) == (503, "snapshot-unavailable")
        assert "gone from the collection 'gone'" in error["message"]
        assert str(tmp_path) not in body.decode()
        assert server.get("/v1/search?q=river")[0] == 200
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        for method, path, session in (
            ("POST", "/v1/sessions", ""),
            ("GET", "/v1/search?q=port", "ws-a"),
            ("GET", "/v1/search?q=port", "wp-e30"),
            ("GET", "/v1/sessions/ws-a", ""),
        ):
            connection.request(method, path, headers={"X-Webemu-Session": session} if session else {})
            answer = connection.getresponse()
            text = answer.read().decode()
            assert (answer.status, answer.headers["X-Webemu-Failure"]) == (503, "infrastructure"), text
            assert str(tmp_path) not in text
        time.sleep(1.5)  # traces are written after a second
        assert not folder.exists()


def refused(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(command("--port", "0", *arguments), capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.slow
def test_a_misspelled_collection_is_told_with_those_that_are_there(
    collection: Path, snapshots: tuple[str, str]
) -> None:
    root, name = collection.parent, collection.name
    code, message = refused("--root", str(root), "--collection", f"{name}x")
    assert code == 2
    assert f"there is no collection '{name}x' in {root}; it has {name}" in message
    assert f"--collection {name}; --wait waits for it" in message
    code, message = refused("--root", str(collection))
    assert (code, f"use --root {root} --collection {name}" in message) == (2, True), message
    code, message = refused("--root", str(root / "nowhere"))
    assert (code, "that folder does not exist" in message) == (2, True), message
    assert not (root / "nowhere").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("damage", ["manifest.json", "pages.lmdb", "text/meta.json", "", "CURRENT"])
def test_a_server_of_an_unreadable_snapshot_says_that_nothing_is_served(
    tmp_path: Path, grow: Grow, damage: str, workers: str
) -> None:
    folder = tmp_path / "mine"
    snapshot = folder / "snapshots" / grow(folder, 1, "river port")
    if damage == "CURRENT":
        (folder / "CURRENT").write_text("0123456789abcdef\n")
    elif damage:
        (snapshot / damage).write_bytes(b"{")
    else:
        shutil.rmtree(snapshot)
    with serving(folder, "--workers", workers) as server:
        assert "nothing is served: " in server.line
        assert "(snapshot" not in server.line
        assert server.get("/health")[0] == 503
        until(lambda: "--collection mine" in json.loads(server.get("/health")[2])["error"]["action"])
