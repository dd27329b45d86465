"""A whole evaluation: tasks and an agent go in; a folder with episodes, figures and a report comes out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from webemu.agent_client import AsyncClient
from webemu.rl.attempt_row import AttemptRow
from webemu.rl.evaluation import report
from webemu.rl.evaluation.agents import Agent
from webemu.rl.evaluation.folder import EvaluationFolder
from webemu.rl.evaluation.judging import JudgeFigures, measure_judge
from webemu.rl.evaluation.manifest import build_manifest
from webemu.rl.evaluation.probes import run_probes
from webemu.rl.evaluation.result import EvaluationResult
from webemu.rl.evaluation.rows import outcome_of
from webemu.rl.evaluation.run import RunSettings, list_attempts, run_attempts
from webemu.rl.evaluation.summary import summarize
from webemu.rl.judge import Judge
from webemu.rl.judge.spec import JudgeSpec, open_judge
from webemu.rl.tasks import Task

ANSWER_TIMEOUT_SECONDS = 90
"""Seconds to wait for one response of the web."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Inputs of an evaluation."""

    tasks: Sequence[Task]
    task_selection: Mapping[str, object]
    """Description of the selected tasks, for the manifest."""
    agent: Agent
    """Agent that answers."""
    settings: RunSettings
    out: Path
    """Folder to write to; an interrupted evaluation in it is continued."""
    judge: JudgeSpec | None = None
    """Judge of what the rules leave open."""


async def evaluate(
    evaluation: Evaluation, server: str, on_attempt: Callable[[AttemptRow | None], None]
) -> EvaluationResult:
    """Make all missing attempts and return the result, which is also written to the folder.

    `on_attempt` is called with the row of each new attempt, and with None for each that was there before. Raises
    FolderError, EndpointError, InfrastructureError or BadRequest.
    """
    async with AsyncClient(server, timeout=ANSWER_TIMEOUT_SECONDS) as retrying_client:
        snapshot = (await retrying_client.health()).snapshot
    # Episodes retry by themselves and mask what fails, so their client must not.
    async with (
        evaluation.agent.resources,
        open_judge(evaluation.judge) if evaluation.judge else nullcontext() as judge,
        AsyncClient(server, timeout=ANSWER_TIMEOUT_SECONDS, retries=0) as client,
    ):
        manifest_fields = build_manifest(
            evaluation.task_selection,
            evaluation.agent.manifest_fields,
            snapshot,
            evaluation.settings,
            evaluation.judge.model if evaluation.judge else "",
        )
        with EvaluationFolder(evaluation.out, manifest_fields) as folder:
            for key in list_attempts(evaluation.tasks, evaluation.settings):
                if folder.is_done(key):
                    on_attempt(None)
            run_arguments = (evaluation.tasks, evaluation.agent.policy, client, folder, evaluation.settings)
            await run_attempts(*run_arguments, on_attempt, judge)
            probe_counts = await run_probes(*run_arguments) if evaluation.settings.probe else {}
            figures = await _measure_judge(judge, evaluation, folder) if judge else None
            return write_results(folder, manifest_fields, evaluation, probe_counts, figures)


def write_results(
    folder: EvaluationFolder,
    manifest_fields: Mapping[str, object],
    evaluation: Evaluation,
    probe_counts: Mapping[str, float],
    judge_figures: JudgeFigures | None,
) -> EvaluationResult:
    """Write `summary.json` and `report.html` from the rows in the folder, and return the result."""
    attempt_keys = list_attempts(evaluation.tasks, evaluation.settings)
    summary = summarize([outcome_of(row) for row in folder.read_rows(attempt_keys)], evaluation.settings.seed)
    result = EvaluationResult(manifest_fields, summary, folder.retried_count, probe_counts, judge_figures)
    _write(folder.path / "summary.json", json.dumps(result.to_json(), indent=2, ensure_ascii=False) + "\n")
    _write(folder.path / "report.html", report.render_report(result, folder.read_rows(attempt_keys)))
    return result


async def _measure_judge(judge: Judge, evaluation: Evaluation, folder: EvaluationFolder) -> JudgeFigures:
    rows = folder.read_rows(list_attempts(evaluation.tasks, evaluation.settings))
    return await measure_judge(judge, evaluation.tasks, rows, evaluation.settings.seed)


def _write(path: Path, text: str) -> None:
    """Write a file by renaming a complete one, so that readers never see half of it."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
