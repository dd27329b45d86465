"""Webs of a training run: given ones, or webs that are generated and ingested next to the run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from webemu.agent_client import Client
from webemu.rl.serving import run_server
from webemu.rl.tasks import Task, load
from webemu.rl.train.recipe import Recipe, Stage, Web
from webemu.rl.train.run_folder import RunError


@dataclass(frozen=True, slots=True)
class ServedWeb:
    """Served web with the tasks that can be answered from it."""

    server: str
    snapshot: str
    """Name of the snapshot that is served."""
    tasks: tuple[Task, ...]
    file: Path
    """Task file."""


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Options of a run that replace the webs of its recipe."""

    server: str | None = None
    """Address of a running server of the training web."""
    collection: str | None = None
    """Collection of the server to start if `server` is None."""
    tasks: Path | None = None
    """Task file of the training web."""
    held_out: Path | None = None
    """Task file that is asked after each stage; None for the tasks of `tasks` whose split is not `train`."""
    workers: int = 1
    """Workers of a server that is started."""
    after: Path | None = None
    """Folder of an earlier run of the same recipe and seed, whose webs and finished first SFT stages are copied."""


@dataclass(frozen=True, slots=True)
class Webs:
    """Webs of a run."""

    training: ServedWeb
    """Web to learn on."""
    held_out: ServedWeb
    """Web with the held-out tasks; possibly the same one with other tasks."""


@contextmanager
def serve_webs(recipe: Recipe, inputs: RunInputs, folder: Path) -> Iterator[Webs]:
    """Serve the webs of a recipe, generated under `folder`, or those that `inputs` name.

    Raises: RunError if one task file has to serve both and has no training tasks or no held-out tasks, and whatever
    `serve_web` raises.
    """
    with (
        serve_web(recipe.web, "train", folder, inputs.server, inputs.tasks, inputs.collection, inputs.workers) as web,
        serve_web(
            recipe.held_out,
            "held-out",
            folder,
            inputs.server,
            inputs.held_out or inputs.tasks,
            inputs.collection,
            inputs.workers,
        ) as held_out_web,
    ):
        yield split_web(web) if held_out_web.file == web.file else Webs(web, held_out_web)


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


def split_web(web: ServedWeb) -> Webs:
    """Return the web with its training tasks, and the same web with its held-out tasks, by the splits of the task
    file.

    Raises: RunError if either has no tasks.
    """
    training_tasks = tuple(task for task in web.tasks if task.split == "train")
    held_out_tasks = tuple(task for task in web.tasks if task.split not in ("", "train"))
    if not training_tasks or not held_out_tasks:
        raise RunError(
            f"{web.file} has no training tasks or no held-out tasks: name others with --held-out, or split it"
            f" (docs/tasks.md)"
        )
    return Webs(replace(web, tasks=training_tasks), replace(web, tasks=held_out_tasks))


def tasks_of_stage(web: ServedWeb, stage: Stage) -> list[Task]:
    """Return the tasks of a stage. Raises: RunError if there are none."""
    tasks = [task for task in web.tasks if not stage.recipes or task.recipe in stage.recipes]
    if not tasks:
        raise RunError(f"stage {stage.name!r}: the task file has no task of the recipes {', '.join(stage.recipes)}")
    return tasks


def _build_web(web: Web, name: str, folder: Path) -> None:
    """Generate and ingest a web, and make its tasks, unless that is done already."""
    web_folder = folder / name
    if (web_folder / "ingested").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    size = ("--pages", str(web.pages), "--seed", str(web.seed), "--quiet")
    _run_webemu("generate", str(web_folder), *size, *(["--toy"] if web.kind == "toy" else []))
    _run_webemu("ingest", str(web_folder), "--root", str(folder), "--collection", name, "--quiet")
    if web.tasks:
        files = ("--graph", str(web_folder / "graph.jsonl"), "--out", str(web_folder / "tasks.jsonl"))
        source = ("--recipes", "world", "--root", str(folder), "--collection", name, "--count", str(web.tasks))
        _run_webemu("tasks", "build", *source, *files, "--seed", str(web.seed), "--quiet")
    # The marker is written last: without it an interrupted web is generated again.
    (web_folder / "ingested").touch()


def _run_webemu(*arguments: str) -> None:
    # -P keeps the working directory out of sys.path: a folder `api` there must not shadow our package of that name.
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", *arguments]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        raise ValueError(f"`webemu {arguments[0]}` failed: {process.stderr.strip() or process.stdout.strip()}")
