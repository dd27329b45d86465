"""A server whose collections are on a read-only file system; what it writes goes elsewhere."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from webemu.api.proxy.authority import ensure_authority
from webemu.emulator.errors import EmulatorError
from webemu.index.trace_files import read_traces

AS_ROOT, AS_USER = ["unshare", "--mount", "--"], ["unshare", "--user", "--map-root-user", "--mount", "--"]
SEALED = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
VISIT = """
import json, signal, subprocess, sys, urllib.request as web
server = subprocess.Popen([sys.executable, "-m", "webemu.emulator.cli", "serve", "--port", "0"], stdout=subprocess.PIPE)
place = server.stdout.readline().decode().partition("http://")[2].partition(" ")[0]
def ask(path, body=None):
    return json.load(web.urlopen(f"http://{place}{path}", json.dumps(body).encode() if body else None))
try:
    session = ask("/v1/sessions", {"seed": 1})["session"]
    found = ask(f"/s/{session}/v1/search?q=river")["results"]
    print(json.dumps({"found": len(found), "steps": ask(f"/v1/sessions/{session}")["steps"]}))
finally:
    server.terminate()
    server.wait(30)
"""


def sealed(folder: Path, *command: str) -> list[str]:
    """The command, to which the folder is a read-only mount."""
    how = AS_ROOT if os.geteuid() == 0 else AS_USER
    return [*how, "sh", "-c", SEALED, "sh", str(folder), *command]


def possible() -> bool:
    if not shutil.which("unshare"):
        return False
    return subprocess.run(sealed(Path(tempfile.gettempdir()), "true"), capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not possible(), reason="no mounts of its own can be made here")
def test_it_serves_and_writes_down_sessions(tmp_path: Path, grow: Callable[[Path, int, str], str]) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    grow(root / "c", 1, "river port")
    ensure_authority(root)
    before = sorted(root.rglob("*"))
    env = {**os.environ, "WEBEMU_ROOT": str(root), "WEBEMU_COLLECTION": "c", "WEBEMU_STATE": str(state)}
    done = subprocess.run(sealed(root, sys.executable, "-c", VISIT), env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"found": 10, "steps": 1}
    assert sorted(root.rglob("*")) == before
    assert {path.name for path in (state / "c").iterdir()} - {"checks"} == {"sessions", "traces", "views"}
    assert len(read_traces(state / "c" / "traces")[0]) == 1


def test_an_authority_that_cannot_be_made_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmulatorError, match="cannot be created") as raised:
        ensure_authority(tmp_path / "file")
    assert "webemu ca --root" in raised.value.action
