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

from pydantic import TypeAdapter

from webemu.api.bench.report import EngineFigures
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


@dataclass(frozen=True, slots=True)
class _IndexSamples:
    """Output of `webemu.index.load_samples`."""

    snapshot: str
    documents: int
    queries: list[str]
    pages: list[tuple[str, str]]
    """URLs, each with a word of the page."""
    files: list[str]


@dataclass(frozen=True, slots=True)
class _EngineSpeed:
    """Output of `webemu.index.bare_engine`."""

    queries: int
    per_core_s: float
    p50_us: float
    p99_us: float
    own_bytes: int


def draw_workload(folder: Path, queries: int, pages: int, seed: str, from_traces: bool) -> Workload:
    """Draw queries and pages from a snapshot's titles and URLs, or from its traces.

    `queries` and `pages` are the numbers wanted; fewer come back from a small collection. Raises SnapshotError if
    there is no readable snapshot, BadRequest if the traces hold no searches.
    """
    output = _run_index_module(
        "webemu.index.load_samples", folder, str(queries), str(pages), seed, *(["traces"] if from_traces else [])
    )
    samples = TypeAdapter(_IndexSamples).validate_json(output)
    if from_traces and not samples.queries:
        raise BadRequest(f"{folder}/traces holds no searches", action="record sessions first (docs/sessions.md)")
    pools = RequestPools(samples.queries, samples.pages, from_traces)
    return Workload(pools, samples.snapshot, samples.documents, samples.files)


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


def engine_baseline(folder: Path, snapshot: str, queries: Sequence[str], passes: int = ENGINE_PASSES) -> EngineFigures:
    """Return the speed of Tantivy without a server, over the first distinct queries."""
    distinct_queries = list(dict.fromkeys(queries))[:MAX_ENGINE_QUERIES]
    output = _run_index_module(
        "webemu.index.bare_engine", folder, snapshot, str(passes), standard_input=json.dumps(distinct_queries)
    )
    speed = TypeAdapter(_EngineSpeed).validate_json(output)
    return {
        "queries": speed.queries,
        "per_core_s": speed.per_core_s,
        "p50_us": speed.p50_us,
        "p99_us": speed.p99_us,
        "own_bytes": speed.own_bytes,
    }


def _run_index_module(module: str, folder: Path, *arguments: str, standard_input: str = "") -> str:
    """Return the standard output of a module of `index`. Raises SnapshotError with its last line if it fails."""
    # -P keeps a folder `index` in the current directory from shadowing the package.
    command = [sys.executable, "-P", "-m", module, str(folder), *arguments]
    completed = subprocess.run(command, input=standard_input, capture_output=True, text=True)
    if completed.returncode:
        error_line = (completed.stderr.strip().splitlines() or ["no error message"])[-1].rpartition("Error: ")[2]
        raise SnapshotError(
            f"{folder} cannot be read: {error_line}", action="check it with `webemu stat` and `webemu snapshots list`"
        )
    return completed.stdout
