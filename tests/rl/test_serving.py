"""A server of one's own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import httpx

PARENT = """
import sys, time
from pathlib import Path
from rl.serving import serving
with serving(None, Path(sys.argv[1])) as address:
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
