"""The webs of a run: those that are given, or webs of few words that are generated and ingested beside the run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from webemu.agent_client import Client
from webemu.rl.serving import serving
from webemu.rl.tasks import Task, load
from webemu.rl.train.recipe import Web


@dataclass(frozen=True, slots=True)
class Place:
    """A web that is served, and the tasks that it answers."""

    server: str
    snapshot: str
    tasks: tuple[Task, ...]
    file: Path


@contextmanager
def place(
    web: Web, name: str, folder: Path, server: str | None, tasks: Path | None, collection: str | None, workers: int
) -> Iterator[Place]:
    """The web of a recipe under `folder`, or the given server or collection with the given tasks."""
    root = None
    if web.pages:
        root, collection, tasks = folder, name, folder / name / "tasks.jsonl"
        _make(web, name, folder)
    if tasks is None:
        raise ValueError("the recipe makes no web: name a task file with --tasks, and --server or --collection")
    with serving(server if not web.pages else None, root, collection, workers) as url, Client(url) as client:
        yield Place(url, client.health().snapshot, load(tasks), tasks)


def _make(web: Web, name: str, folder: Path) -> None:
    """Generated and ingested, unless it is there already."""
    made = folder / name
    if (made / "ingested").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _webemu("generate", str(made), "--toy", "--pages", str(web.pages), "--seed", str(web.seed), "--quiet")
    _webemu("ingest", str(made), "--root", str(folder), "--collection", name, "--quiet")
    (made / "ingested").touch()


def _webemu(*arguments: str) -> None:
    # -P: the rooms have plain names, and a folder `api` where the user stands must not be taken for ours.
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"`webemu {arguments[0]}` failed: {done.stderr.strip() or done.stdout.strip()}")
