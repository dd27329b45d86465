"""Inputs of a run that come from the collection: requests to draw from, and the speed of its engine alone.

Both are computed by separate processes of the `index` package, so that `api` does not import it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webemu.api.bench.sequence import RequestPools
from webemu.emulator.errors import BadRequest, SnapshotError

MAX_ENGINE_QUERIES = 4000
"""Largest number of queries the engine alone is measured with."""
ENGINE_PASSES = 3
"""Passes over the queries when the engine alone is measured."""


@dataclass(frozen=True)
class Workload:
    """Requests that can be drawn from one snapshot, and facts about it."""

    pools: RequestPools
    """Queries and pages to draw from."""
    snapshot: str = ""
    """Name of the snapshot; empty if everything comes from files of the user."""
    document_count: int = 0
    """Number of documents in the snapshot."""
    files: Sequence[str] = field(default_factory=list)
    """Paths of all files that a server of the snapshot may read."""


def draw_workload(folder: Path, queries: int, pages: int, seed: str, from_traces: bool) -> Workload:
    """Draw queries and pages from a snapshot's titles and URLs, or from its traces.

    `queries` and `pages` are the numbers wanted; fewer come back from a small collection. Raises SnapshotError if
    there is no readable snapshot, BadRequest if the traces hold no searches.
    """
    samples = _run_index_module(
        "webemu.index.load_samples", folder, str(queries), str(pages), seed, *(["traces"] if from_traces else [])
    )
    url_words = [(url, word) for url, word in samples["pages"]]
    if from_traces and not samples["queries"]:
        raise BadRequest(f"{folder}/traces holds no searches", action="record sessions first (docs/sessions.md)")
    return Workload(
        RequestPools(samples["queries"], url_words, from_traces),
        samples["snapshot"],
        samples["documents"],
        samples["files"],
    )


def read_lines(path: Path) -> list[str]:
    """Return the non-empty lines of a text file. Raises BadRequest if it cannot be read or has none."""
    try:
        entries = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadRequest(
            f"{path} cannot be read: {error}", action="give a text file with one entry per line"
        ) from error
    if not entries:
        raise BadRequest(f"{path} is empty", action="give a text file with one entry per line")
    return entries


def engine_baseline(folder: Path, snapshot: str, queries: Sequence[str], passes: int = ENGINE_PASSES) -> dict[str, Any]:
    """Return the speed of Tantivy without a server, over the first distinct queries."""
    distinct_queries = list(dict.fromkeys(queries))[:MAX_ENGINE_QUERIES]
    return _run_index_module(
        "webemu.index.bare_engine", folder, snapshot, str(passes), standard_input=json.dumps(distinct_queries)
    )


def _run_index_module(module: str, folder: Path, *arguments: str, standard_input: str = "") -> dict[str, Any]:
    """Run a module of `index` with JSON on its standard output. Raises SnapshotError with its last line if it fails."""
    # -P keeps a folder `index` in the current directory from shadowing the package.
    command = [sys.executable, "-P", "-m", module, str(folder), *arguments]
    completed = subprocess.run(command, input=standard_input, capture_output=True, text=True)
    if completed.returncode:
        error_line = (completed.stderr.strip().splitlines() or ["no error message"])[-1].rpartition("Error: ")[2]
        raise SnapshotError(
            f"{folder} cannot be read: {error_line}", action="check it with `webemu stat` and `webemu snapshots list`"
        )
    report: dict[str, Any] = json.loads(completed.stdout)
    return report
