"""Servers of a small generated web on real sockets, for clients as their makers publish them.

Each test file skips if its client is not installed; `make test-clients` installs those of `requirements.txt`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx
import pytest

PAGES, SEED = 400, 3
LEXICON = "https://en.openlexicon.org/wiki/Main_Page"
"""A page that every generated web has."""


def webemu(*arguments: str) -> str:
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    root: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def ca(self) -> str:
        """File of the certificate authority that its TLS is of."""
        return self.environment()["SSL_CERT_FILE"]

    def environment(self) -> dict[str, str]:
        """Return the variables that put a program onto its web: proxy and certificate authority."""
        return _environment(self.url, self.root)


@cache
def _environment(url: str, root: Path) -> dict[str, str]:
    exports = webemu("env", "--root", str(root), "--server", url)
    lines = re.findall(r"^export (\w+)=(.*)$", exports, re.MULTILINE)
    return {name: "".join(shlex.split(value)) for name, value in lines}


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root whose default collection is a generated web."""
    root = tmp_path_factory.mktemp("clients")
    webemu("generate", str(root / "web"), "--pages", str(PAGES), "--seed", str(SEED), "-q")
    webemu("ingest", str(root / "web"), "--root", str(root), "-q")
    return root


@contextmanager
def serving(root: Path, keys: str = "any") -> Iterator[Server]:
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--port", "0"]
    environment = {**os.environ, "WEBEMU_API_KEYS": keys}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert match is not None
        with httpx.Client(trust_env=False) as client:
            assert client.get(f"{match[0]}/health", timeout=30).status_code == 200
        yield Server(match[0], root)
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def server(collection: Path) -> Iterator[Server]:
    """A server that takes any key."""
    with serving(collection) as running:
        yield running


@pytest.fixture(scope="session")
def keyed_server(collection: Path) -> Iterator[Server]:
    """A server that takes the key `good` alone."""
    with serving(collection, "good") as running:
        yield running


@pytest.fixture
def web(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The same server, this process being on its web."""
    return _entered(server, monkeypatch)


@pytest.fixture
def keyed(keyed_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server with a key, this process being on its web."""
    return _entered(keyed_server, monkeypatch)


def _entered(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    # urllib keeps the proxies of its first request for all later ones.
    monkeypatch.setattr("urllib.request._opener", None)
    return server
