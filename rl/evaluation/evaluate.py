"""A whole evaluation: tasks and an agent go in; a folder with episodes, figures and a report comes out."""

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
"""Seconds to wait for one response of the web."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Inputs of an evaluation."""

    tasks: Sequence[Task]
    chosen: Mapping[str, Any]
    """Description of the selected tasks, for the manifest."""
    who: Who
    """Agent that answers."""
    setting: Setting
    out: Path
    """Folder to write to; an interrupted evaluation in it is continued."""


async def evaluate(asked: Evaluation, server: str, ended: Callable[[Row | None], None]) -> dict[str, Any]:
    """Make all missing attempts and return the figures, which are also written to the folder.

    `on_attempt` is called with the row of each new attempt, and with None for each that was there before. Raises
    FolderError, EndpointError, InfrastructureError or BadRequest.
    """
    async with AsyncClient(server, timeout=TIMEOUT) as patient:
        snapshot = (await patient.health()).snapshot
    # Episodes retry by themselves and mask what fails, so their client must not.
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
    """Write `summary.json` and `report.html` from the rows in the folder, and return the figures."""
    made = keys(asked.tasks, asked.setting)
    figures = summary([outcome(row) for row in folder.rows(made)], asked.setting.seed)
    counted = {"manifest": dict(told), **figures, "made again": folder.retried, "probe": dict(probed)}
    _write(folder.path / "summary.json", json.dumps(counted, indent=2, ensure_ascii=False) + "\n")
    _write(folder.path / "report.html", report.page(counted, folder.rows(made)))
    return counted


def _write(path: Path, text: str) -> None:
    """Write a file by renaming a complete one, so that readers never see half of it."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
