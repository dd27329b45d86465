"""Copies of the server behind the balancer of `deploy/`: the real HAProxy, with the very file, over real processes."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.agent_client import Client
from webemu.api.proxy.authority import CERTIFICATE_FILE, ensure_authority

FILE = Path(__file__).parents[2] / "deploy" / "haproxy.cfg"
NAMES = ("WEBEMU_COPY_1", "WEBEMU_COPY_2", "WEBEMU_COPY_3")
PATIENCE = 120.0
SEARCH = "/v1/search?q=river"
PAGE = "https://a.example/0"
READS = (SEARCH, f"/v1/fetch?url={PAGE}", f"/v1/find?url={PAGE}&pattern=river", "/v1/search?page=none")
ODD = (("X-Odd-CASE", "1"), ("x-odd-case", "2"), ("ETag", '"a"'))

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("haproxy"), reason="no haproxy here")]


@dataclass
class Place:
    """A place to send requests to: a copy or the balancer."""

    process: "subprocess.Popen[str]"
    port: int

    def ask(
        self, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """(status, headers without the time of the answer, names in lower case, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, sent, headers or {})
        answer = connection.getresponse()
        headers_list = [(name.lower(), value) for name, value in answer.getheaders() if name.lower() != "date"]
        payload = answer.read()
        connection.close()
        return answer.status, headers_list, payload

    def send(self, sent: bytes, tls: ssl.SSLContext | None = None) -> bytes:
        """Every byte that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as plain, ExitStack() as stack:
            spoken = stack.enter_context(tls.wrap_socket(plain, server_hostname="a.example")) if tls else plain
            spoken.sendall(sent)
            return b"".join(iter(lambda: spoken.recv(65536), b""))


@contextmanager
def copy(root: Path, collection: str, state: Path) -> Iterator[Place]:
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--wait", "--root", str(root)]
    command += ["--collection", collection]
    env = {**os.environ, "WEBEMU_STATE": str(state)}
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        yield Place(process, port)
    finally:
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def balancer(copies: Sequence[Place]) -> Iterator[Place]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    places = [f"127.0.0.1:{one.port}" for one in copies]
    env = {**os.environ, "WEBEMU_BIND": f"127.0.0.1:{port}", **dict(zip(NAMES, places, strict=True))}
    checked = subprocess.run(["haproxy", "-c", "-f", str(FILE)], env=env, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(["haproxy", "-db", "-f", str(FILE)], env=env, stderr=subprocess.DEVNULL, text=True)
    try:
        place = Place(process, port)
        until(lambda: accepts(port))
        yield place
    finally:
        process.kill()
        process.wait(PATIENCE)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    pages = [
        CaptureSpec(
            f"https://a.example/{number}", html(f"Port {number}", f"The river port number {number}."), headers=ODD
        )
        for number in range(30)
    ]
    ingest(root / "c", write(root / "a.warc.gz", pages))
    ensure_authority(root)
    return root


@contextmanager
def three(root: Path, state: Path) -> Iterator[list[Place]]:
    """Copies with one ledger."""
    with ExitStack() as stack:
        places = [stack.enter_context(copy(root, "c", state)) for _ in NAMES]
        for place in places:
            until(lambda place=place: place.ask("/health")[0] == 200)
        yield places


@pytest.fixture(scope="module")
def copies(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Place]]:
    with three(root, tmp_path_factory.mktemp("state")) as places:
        yield places


@pytest.fixture(scope="module")
def door(copies: list[Place]) -> Iterator[Place]:
    with balancer(copies) as place:
        pids = {one.process.pid for one in copies}
        met: set[int] = set()
        until(lambda: meet(place, met) == pids)
        yield place


def meet(place: Place, met: set[int]) -> set[int]:
    met.add(json.loads(place.ask("/v1/stats")[2])["process"]["pid"])
    return met


def test_answers_are_those_of_any_copy(copies: list[Place], door: Place) -> None:
    for path in READS:
        assert len({str(place.ask(path)) for place in (*copies, door, door, door)}) == 1, path
    batch = {"queries": ["river", "port"] * 50}
    assert len({str(place.ask("/v1/search", batch)) for place in (*copies, door)}) == 1


def test_a_connection_is_kept_and_its_requests_are_spread(copies: list[Place], door: Place) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=PATIENCE)
    connection.connect()
    first_socket, pids = connection.sock, set()
    for _ in range(30):
        connection.request("GET", "/v1/stats")
        pids.add(json.loads(connection.getresponse().read())["process"]["pid"])
        assert connection.sock is first_socket
    connection.close()
    assert pids == {one.process.pid for one in copies}


def test_the_client_of_the_house_searches_and_opens(copies: list[Place], door: Place) -> None:
    with Client(f"http://127.0.0.1:{door.port}") as web, Client(f"http://127.0.0.1:{copies[0].port}") as direct:
        for hit in direct.search("river", size=5).results:
            assert web.open(hit.url) == direct.open(hit.url)
        assert web.search("river", size=5) == direct.search("river", size=5)


def test_proxy_requests_tunnels_and_tls_pass_byte_for_byte(root: Path, copies: list[Place], door: Place) -> None:
    request_end = b" HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n"
    trusting = ssl.create_default_context(cafile=str(root / "ca" / CERTIFICATE_FILE))
    for sent, tls in [
        (b"GET http://a.example/0" + request_end, None),
        (b"OPTIONS http://a.example/0" + request_end, None),
        (b"CONNECT a.example:80 HTTP/1.1\r\n\r\nGET /0" + request_end, None),
        (b"GET /0" + request_end, trusting),
    ]:
        answers = {place.send(sent, tls) for place in (*copies, door)}
        assert len(answers) == 1, sent
        (answer,) = answers
        assert b"The river port number 0." in answer or sent.startswith(b"OPTIONS")
        assert b"X-Odd-CASE: 1\r\nx-odd-case: 2\r\n" in answer or sent.startswith(b"OPTIONS")


def test_the_web_by_name_keeps_all_but_the_spelling_of_header_names(copies: list[Place], door: Place) -> None:
    by_name = {"Host": "a.example"}
    assert str(door.ask("/0", headers=by_name)) == str(copies[0].ask("/0", headers=by_name))
    assert ("x-odd-case", "2") in door.ask("/0", headers=by_name)[1]


def test_copies_that_end_are_not_noticed(root: Path, tmp_path: Path) -> None:
    """One killed, another drained, while requests go on: reads, alone and in batches."""
    batch = {"queries": ["river", "port"]}
    got: list[str] = []
    failed: list[Exception] = []
    stop = threading.Event()
    with three(root, tmp_path / "state") as copies, balancer(copies) as door:
        expected = {str(door.ask(SEARCH)), str(door.ask("/v1/search", batch))}

        def search() -> None:
            try:
                while not stop.is_set():
                    got.extend((str(door.ask(SEARCH)), str(door.ask("/v1/search", batch))))
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=search) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in (signal.SIGKILL, signal.SIGTERM):
            before = len(got)
            until(lambda before=before: len(got) > before + 100 or bool(failed))
            copies.pop().process.send_signal(number)
        before = len(got)
        until(lambda: len(got) > before + 300 or bool(failed))
        stop.set()
        for thread in threads:
            thread.join()
    assert failed == []
    assert set(got) == expected


def test_a_copy_that_is_not_ready_is_not_noticed(root: Path, copies: list[Place], tmp_path: Path) -> None:
    with copy(root, "empty", tmp_path / "state") as unready:
        assert unready.ask(SEARCH)[0] == 503
        with balancer([*copies[:2], unready]) as door:  # who is looked at last, and asked before
            for path in (SEARCH, "/v1/search?q=news-river"):  # which bears no key, though its words look like one
                expected = str(copies[0].ask(path))
                assert {str(door.ask(path)) for _ in range(50)} == {expected}


def test_each_request_of_a_session_is_asked_once_and_its_weather_arrives(door: Place) -> None:
    session = json.loads(door.ask("/v1/sessions", {"seed": 1, "weather": {"errors": 1.0}})[2])["session"]
    user = b64encode(f"{session}:x".encode()).decode()
    carried: list[tuple[str, dict[str, str]]] = [
        (SEARCH, {"X-Webemu-Session": session}),
        (SEARCH, {"Authorization": f"Bearer {session}"}),
        (f"/s/{session}{SEARCH}", {}),
        (f"/serpapi/search.json?q=river&api_key={session}", {}),
        ("/0", {"Host": "a.example", "Proxy-Authorization": f"Basic {user}"}),
    ]
    for path, headers in carried * 4:
        status, reply_headers, _ = door.ask(path, headers=headers)
        assert status >= 500, path
        assert "x-webemu-weather" in dict(reply_headers), path
        assert "x-webemu-failure" not in dict(reply_headers)
    assert json.loads(door.ask(f"/v1/sessions/{session}")[2])["steps"] == 4 * len(carried)


@pytest.mark.parametrize("weather", [{"resets": 1.0}, {"timeouts": 1.0, "hold_ms": 50}, {"truncated": 1.0}], ids=str)
def test_weather_that_ends_connections_is_no_failure_of_ours(door: Place, weather: dict[str, float]) -> None:
    session = json.loads(door.ask("/v1/sessions", {"seed": 1, "weather": weather})[2])["session"]
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        door.ask(SEARCH, headers={"X-Webemu-Session": session})
    report = json.loads(door.ask(f"/v1/sessions/{session}")[2])
    assert (report["steps"], sum(report["faults"].values()), report["failures"]) == (1, 1, 0)


def test_copies_share_a_budget(door: Place) -> None:
    session = json.loads(door.ask("/v1/sessions", {"seed": 1, "budget": {"searches": 7}})[2])["session"]
    replies = [door.ask(f"/v1/search?q=river+{number}", headers={"X-Webemu-Session": session}) for number in range(12)]
    assert [status for status, _, _ in replies] == [200] * 7 + [429] * 5


def test_without_copies_the_failure_is_marked_as_the_servers_own(root: Path, tmp_path: Path) -> None:
    with three(root, tmp_path / "state") as copies, balancer(copies) as door:
        for place in copies:
            place.process.kill()
            place.process.wait()
        until(lambda: door.ask(SEARCH)[0] == 503)
        _, reply_headers, body = door.ask(SEARCH)
    assert {"x-webemu-failure": "infrastructure", "retry-after": "1"}.items() <= dict(reply_headers).items()
    assert json.loads(body)["error"]["message"] == "no copy answers"
    assert json.loads(body)["error"].keys() == {"status", "reason", "message", "action"}
