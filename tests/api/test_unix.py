"""`webemu serve --uds`: the whole server as a process, asked over a Unix socket by clients of all kinds."""

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.seeds import every_nth
from webemu.agent_client import Client
from webemu.api.proxy.unix import open_unix_listener
from webemu.emulator.config import Config, load_config
from webemu.emulator.errors import BadRequest

PATIENCE = 30.0


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory, grow: Callable[[Path, int, str], str]) -> Path:
    folder = tmp_path_factory.mktemp("root") / "one"
    grow(folder, 1, "river port")
    return folder


@pytest.fixture
def path() -> Iterator[Path]:
    """Yield a path in a folder with a short name: macOS allows 104 bytes."""
    with tempfile.TemporaryDirectory(prefix="webemu") as folder:
        yield Path(folder) / "a web.sock"


def command(collection: Path, path: Path, *arguments: str) -> list[str]:
    where = ["--root", str(collection.parent), "--collection", collection.name, "--port", "0", "--uds", str(path)]
    return [sys.executable, "-m", "webemu.emulator.cli", "serve", *where, *arguments]


@contextmanager
def serving(collection: Path, path: Path, *arguments: str) -> Iterator[tuple["subprocess.Popen[str]", str, str]]:
    """The process, its address over TCP and the one it tells of its socket."""
    process = subprocess.Popen(command(collection, path, *arguments), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        tcp = "http://" + process.stdout.readline().partition("http://")[2].partition(" ")[0]
        local = "unix://" + process.stdout.readline().partition("unix://")[2].strip()
        yield process, tcp, local
    finally:
        process.terminate()
        process.wait(PATIENCE)


def over(path: Path) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://localhost", timeout=PATIENCE)


@pytest.mark.parametrize("workers", every_nth(["2", "1"], 2))
def test_the_socket_is_this_users_answers_as_the_port_does_and_goes_with_the_server(
    collection: Path, path: Path, workers: str
) -> None:
    with serving(collection, path, "--workers", workers) as (_, tcp, local):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert local == f"unix://{path.parent}/a%20web.sock"
        with Client(tcp) as tcp_client, Client(local) as client, over(path) as plain:
            results = client.search("river port")
            assert results == tcp_client.search("river port")
            assert client.open(results.results[0].url) == tcp_client.open(results.results[0].url)
            assert plain.get("/v1/search?q=river+port").json()["results"][0]["url"] == results.results[0].url
    assert not path.exists()


@pytest.mark.slow
def test_the_commands_ask_over_it(collection: Path, path: Path) -> None:
    def webemu(*words: str, stdin_text: str = "") -> "subprocess.CompletedProcess[str]":
        environment = os.environ | {"WEBEMU_SERVER": local}
        command_line = [sys.executable, "-m", "webemu.emulator.cli", *words]
        return subprocess.run(
            command_line, input=stdin_text, capture_output=True, text=True, env=environment, timeout=PATIENCE
        )

    with serving(collection, path) as (_, _, local):
        url = json.loads(webemu("search", "--json", "river").stdout)["results"][0]["url"]
        assert "river port" in webemu("fetch", url).stdout
        assert webemu("find", url, "river").returncode == 0
        ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        ask |= {"params": {"name": "search", "arguments": {"query": "river"}}}
        assert url in webemu("mcp", stdin_text=json.dumps(ask) + "\n").stdout
        assert "is not the URL of a proxy" in webemu("env").stderr
    completed = webemu("search", "river")
    assert completed.returncode == 1
    assert f"no answer from {local} (ConnectError" in completed.stderr


def test_every_worker_takes_from_the_socket(collection: Path, path: Path) -> None:
    pids: set[int] = set()

    def meet() -> None:
        with over(path) as client, suppress(httpx.TransportError):
            pids.add(client.get("/v1/stats").json()["process"]["pid"])

    with serving(collection, path, "--workers", "2"):
        for _ in range(200):
            threads = [threading.Thread(target=meet) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if len(pids) == 2:
                break
    assert len(pids) == 2


def test_what_a_killed_server_leaves_is_replaced(collection: Path, path: Path) -> None:
    with serving(collection, path) as (process, _, local):
        Client(local).health()
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        assert path.is_socket()
        with serving(collection, path) as (_, _, again), Client(again) as client:
            assert client.health().status == "ok"
    assert not path.exists()


def test_a_live_server_is_left_alone(collection: Path, path: Path) -> None:
    with serving(collection, path) as (_, _, local):
        refused = subprocess.run(command(collection, path), capture_output=True, text=True, timeout=PATIENCE)
        assert refused.returncode == 1
        assert refused.stderr.splitlines() == [
            f"webemu: cannot listen on {path}: another server runs there",
            "  -> stop that one, or choose another path with --uds",
        ]
        with Client(local) as client:
            assert client.health().status == "ok"


@pytest.mark.parametrize("flag", ["terminated", "interrupted"])
def test_requests_on_their_way_are_answered_before_it_ends(collection: Path, path: Path, flag: str) -> None:
    with serving(collection, path) as (process, _, _), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
        body = json.dumps({"queries": [{"q": "river"}]}).encode()
        caller.sendall(b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
        with over(path) as client:  # the server has seen the request before
            client.get("/health")
        process.send_signal(signal.SIGTERM if flag == "terminated" else signal.SIGINT)
        caller.sendall(body)
        assert caller.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
        assert process.wait(PATIENCE) == 0
    assert not path.exists()


def test_the_doors_of_the_web_are_there_too(collection: Path, path: Path) -> None:
    with serving(collection, path), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
        caller.sendall(b"CONNECT none.example:443 HTTP/1.1\r\nHost: none.example:443\r\n\r\n")
        assert b"host-not-captured" in caller.recv(1 << 16)
        with over(path) as client:
            assert client.get("/health").status_code == 200


def test_tls_without_a_name_is_spoken_to(collection: Path, path: Path) -> None:
    """A socket's path is no name for a certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with serving(collection, path), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))
        with context.wrap_socket(caller) as tls:
            tls.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert tls.recv(1 << 16).startswith(b"HTTP/1.1 ")


def test_what_is_no_socket_is_not_replaced(path: Path) -> None:
    path.write_text("a letter")
    with pytest.raises(BadRequest, match="it is not a socket"), open_unix_listener(path):
        pass
    assert path.read_text() == "a letter"


@pytest.mark.parametrize("name", ["none/web.sock", "x" * 120])
def test_paths_that_cannot_be_say_what_to_do(path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match="cannot listen on") as refused, open_unix_listener(path.parent / name):
        pass
    assert "an existing folder" in refused.value.action


def test_the_file_of_a_later_server_is_left(path: Path) -> None:
    with open_unix_listener(path) as first:
        first.close()
        with open_unix_listener(path):
            pass
        assert not path.exists()
        path.touch()
    assert path.exists()


def test_of_many_that_start_at_once_one_listens(path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from webemu.api.proxy.unix import open_unix_listener\n"
        "with open_unix_listener(Path(sys.argv[1])): print('up', flush=True); sys.stdin.read()"
    )
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(4)
    ]  # fmt: skip
    outputs = [process.stdout.readline() for process in processes if process.stdout]
    for process in processes:
        process.communicate()
    assert sorted(outputs) == [b"", b"", b"", b"up\n"]


def test_the_setting() -> None:
    assert Config().socket_path is None
    assert Config(uds="").socket_path is None
    assert load_config({}, {"WEBEMU_UDS": "/run/web.sock", "WEBEMU_CONFIG": os.devnull}).socket_path == Path(
        "/run/web.sock"
    )
