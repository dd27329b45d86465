"""What the collection gives for a run, through processes of `index`: what to ask, and how fast its engine is alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webemu.api.bench.sequence import Pools
from webemu.emulator.errors import BadRequest, SnapshotError

ENGINE_QUERIES = 4000
"""That the engine alone is measured with, at most."""
PASSES = 3


@dataclass(frozen=True)
class Asked:
    """Of one snapshot."""

    pools: Pools
    snapshot: str = ""
    documents: int = 0
    files: Sequence[str] = field(default_factory=list)
    """All that serving it may read."""


def asked(folder: Path, queries: int, pages: int, seed: str, traces: bool) -> Asked:
    """Spans of titles and URLs, or what the traces say. Raises SnapshotError where there is no snapshot."""
    told = _run("webemu.index.load_samples", folder, str(queries), str(pages), seed, *(["traces"] if traces else []))
    found = [(url, word) for url, word in told["pages"]]
    if traces and not told["queries"]:
        raise BadRequest(
            f"{folder}/traces tells of no searches", action="they are written of sessions: docs/sessions.md"
        )
    return Asked(Pools(told["queries"], found, traces), told["snapshot"], told["documents"], told["files"])


def read_lines(path: Path) -> list[str]:
    """The lines of a file that say something. Raises BadRequest."""
    try:
        found = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadRequest(f"{path}: {error}", action="give a text file with one on each line") from error
    if not found:
        raise BadRequest(f"{path} is empty", action="give a text file with one on each line")
    return found


def engine_alone(folder: Path, snapshot: str, queries: Sequence[str], passes: int = PASSES) -> dict[str, Any]:
    """Figures of `webemu.index.bare_engine` over the first of the queries."""
    some = list(dict.fromkeys(queries))[:ENGINE_QUERIES]
    return _run("webemu.index.bare_engine", folder, snapshot, str(passes), given=json.dumps(some))


def _run(module: str, folder: Path, *arguments: str, given: str = "") -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", module, str(folder), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1].rpartition("Error: ")[2]
        raise SnapshotError(f"{folder} cannot be read: {last}", action="webemu stat; webemu snapshots list")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
