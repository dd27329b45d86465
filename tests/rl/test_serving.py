"""A server of one's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from webemu.agent_client import Client
from webemu.agent_client.errors import InfrastructureError
from webemu.rl.serving import run_server

PARENT = """
import sys, time
from pathlib import Path
from webemu.rl.serving import run_server
with run_server(None, Path(sys.argv[1])) as address:
    print(address, flush=True)
    time.sleep(600)
"""


def is_up(address: str) -> bool:
    try:
        return httpx.get(f"{address}/health", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def test_it_ends_with_who_started_it_however_that_ended(root: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(root)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    address = parent.stdout.readline().strip()
    assert is_up(address)
    parent.kill()
    parent.wait()
    until = time.monotonic() + 60
    while is_up(address) and time.monotonic() < until:
        time.sleep(0.2)
    assert not is_up(address)


def test_it_is_ready_when_it_is_given(root: Path) -> None:
    with run_server(None, root) as address, Client(address, retries=0) as client:
        assert client.health().status == "ok"


def test_one_that_serves_nothing_is_an_error_at_once(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "default", tmp_path / "default")
    (tmp_path / "default" / "CURRENT").write_text("0123456789abcdef")
    start = time.monotonic()
    with pytest.raises(InfrastructureError, match="nothing is served"), run_server(None, tmp_path):
        pass
    assert time.monotonic() - start < 30


def test_one_of_a_collection_that_is_missing_is_an_error(root: Path) -> None:
    with pytest.raises(InfrastructureError, match="exit status 2"), run_server(None, root, "mien"):
        pass
