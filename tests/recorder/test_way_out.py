"""Only `webemu record` connects outward for a program, and no served door leads to it."""

import subprocess
import sys
from pathlib import Path

from tests.test_house import HOUSE, ROOMS, imports

CONNECTING = {"httpx", "httpcore", "aiohttp", "requests", "h2", "urllib3"}
"""Libraries that connect outward."""


def modules_of(room: str) -> list[Path]:
    return sorted((HOUSE / room).rglob("*.py"))


def test_nothing_imports_the_recorder() -> None:
    importing = {
        room for room in ROOMS if room != "recorder" for path in modules_of(room) if "webemu.recorder" in imports(path)
    }
    assert importing == set()
    assert any("webemu.api" in imports(path) for path in modules_of("recorder")), "the scan reads nothing"


def test_what_serves_imports_no_library_that_connects() -> None:
    rooms = [room for room in ROOMS if any(CONNECTING & imports(path) for path in modules_of(room))]
    assert sorted(rooms) == ["agent_client", "ingest", "recorder"]
    code = (
        # tldextract imports requests, and is told never to use it (tests/api/test_sealed.py).
        "import sys, webemu.api.app, webemu.api.command, webemu.index.open\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in"
        " {'httpx', 'httpcore', 'aiohttp', 'h2'} or name.startswith('webemu.recorder')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[]\n", done.stderr
