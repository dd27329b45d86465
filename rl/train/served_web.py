"""Webs of a training run: given ones, or webs of few words that are generated and ingested next to the run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from webemu.agent_client import Client
from webemu.rl.serving import run_server
from webemu.rl.tasks import Task, load
from webemu.rl.train.recipe import Web


@dataclass(frozen=True, slots=True)
class ServedWeb:
    """Served web with the tasks that can be answered from it."""

    server: str
    snapshot: str
    """Name of the snapshot that is served."""
    tasks: tuple[Task, ...]
    file: Path
    """Task file."""


@contextmanager
def serve_web(
    web: Web, name: str, folder: Path, server: str | None, tasks: Path | None, collection: str | None, workers: int
) -> Iterator[ServedWeb]:
    """Serve the web of a recipe, generated under `folder`; if it has no pages, the given server or collection, with
    the given tasks.

    Raises: ValueError if there is no task file, or generating the web fails.
    """
    root = None
    if web.pages:
        root, collection, tasks = folder, name, folder / name / "tasks.jsonl"
        _build_web(web, name, folder)
    if tasks is None:
        raise ValueError("the recipe generates no web: name a task file with --tasks, and --server or --collection")
    with run_server(server if not web.pages else None, root, collection, workers) as url, Client(url) as client:
        yield ServedWeb(url, client.health().snapshot, load(tasks), tasks)


def _build_web(web: Web, name: str, folder: Path) -> None:
    """Generate and ingest a web, unless that is done already."""
    web_folder = folder / name
    if (web_folder / "ingested").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _run_webemu("generate", str(web_folder), "--toy", "--pages", str(web.pages), "--seed", str(web.seed), "--quiet")
    _run_webemu("ingest", str(web_folder), "--root", str(folder), "--collection", name, "--quiet")
    # The marker is written last: without it an interrupted web is generated again.
    (web_folder / "ingested").touch()


def _run_webemu(*arguments: str) -> None:
    # -P keeps the working directory out of sys.path: a folder `api` there must not shadow our package of that name.
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", *arguments]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        raise ValueError(f"`webemu {arguments[0]}` failed: {process.stderr.strip() or process.stdout.strip()}")
