"""A whole evaluation: tasks and who answers them in, a folder with episodes, figures and a report out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webemu.agent_client import AsyncClient
from webemu.rl.evaluation import report
from webemu.rl.evaluation.agents import Who
from webemu.rl.evaluation.folder import Folder
from webemu.rl.evaluation.manifest import manifest
from webemu.rl.evaluation.probes import probes
from webemu.rl.evaluation.rows import Row, outcome
from webemu.rl.evaluation.run import Setting, keys, run
from webemu.rl.evaluation.summary import summary
from webemu.rl.tasks import Task

TIMEOUT = 90
"""Seconds that the web has for one answer."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    tasks: Sequence[Task]
    chosen: Mapping[str, Any]
    """Which tasks these are, for the manifest."""
    who: Who
    setting: Setting
    out: Path


async def evaluate(asked: Evaluation, server: str, ended: Callable[[Row | None], None]) -> dict[str, Any]:
    """Make all attempts that are missing; the figures. `ended` is told of each attempt, and of those that were there
    with None. Raises FolderError, EndpointError, InfrastructureError, BadRequest."""
    async with AsyncClient(server, timeout=TIMEOUT) as patient:
        snapshot = (await patient.health()).snapshot
    async with asked.who.held, AsyncClient(server, timeout=TIMEOUT, retries=0) as client:
        told = manifest(asked.chosen, asked.who.told, snapshot, asked.setting)
        with Folder(asked.out, told) as folder:
            for key in keys(asked.tasks, asked.setting):
                if folder.is_done(key):
                    ended(None)
            given = (asked.tasks, asked.who.policy, client, folder, asked.setting)
            await run(*given, ended)
            return finish(folder, told, asked, await probes(*given) if asked.setting.probe else {})


def finish(folder: Folder, told: Mapping[str, Any], asked: Evaluation, probed: Mapping[str, Any]) -> dict[str, Any]:
    """Write `summary.json` and `report.html` of what the folder holds; the figures."""
    made = keys(asked.tasks, asked.setting)
    figures = summary([outcome(row) for row in folder.rows(made)], asked.setting.seed)
    counted = {"manifest": dict(told), **figures, "made again": folder.retried, "probe": dict(probed)}
    _write(folder.path / "summary.json", json.dumps(counted, indent=2, ensure_ascii=False) + "\n")
    _write(folder.path / "report.html", report.page(counted, folder.rows(made)))
    return counted


def _write(path: Path, text: str) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
