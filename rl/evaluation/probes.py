"""Evidence-swap probe of an agent: passed tasks are repeated on a web with altered answers (`webemu.rl.probe`).

An agent that reads gives the altered answer; one that recalls gives the original.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import ceil
from random import Random

from webemu.agent_client import AsyncClient
from webemu.rl.evaluation.folder import EvaluationFolder
from webemu.rl.evaluation.rows import PASS_REWARD
from webemu.rl.evaluation.run import RunSettings, run_attempt
from webemu.rl.policies import AgentPolicy
from webemu.rl.probe import ProbeResult, probe, summarize
from webemu.rl.record import EpisodeRecord
from webemu.rl.tasks import Task

FIRST_SAMPLE = 0
"""Sample that must have passed, and whose seed is used again."""


async def run_probes(
    tasks: Sequence[Task], policy: AgentPolicy, client: AsyncClient, folder: EvaluationFolder, settings: RunSettings
) -> dict[str, float | int]:
    """Probe a share of the passed tasks and return the number of each verdict; each result goes to `probes.jsonl`."""
    semaphore = asyncio.Semaphore(settings.concurrency)

    async def play_again(task: Task, swap: Mapping[str, str]) -> EpisodeRecord:
        attempt, record = await run_attempt(task, FIRST_SAMPLE, policy, client, settings, swap)
        return replace(record, mask=record.mask or attempt.endpoint_outage)

    async def probe_task(task: Task) -> ProbeResult:
        async with semaphore:
            return await probe(play_again, task, tasks, settings.seed)

    probe_results = await asyncio.gather(*(probe_task(task) for task in sample_passed_tasks(tasks, folder, settings)))
    lines = "".join(json.dumps(asdict(probe_task), ensure_ascii=False) + "\n" for probe_task in probe_results)
    (folder.path / "probes.jsonl").write_text(lines, encoding="utf-8")
    return summarize(probe_results)


def sample_passed_tasks(tasks: Sequence[Task], folder: EvaluationFolder, settings: RunSettings) -> list[Task]:
    """Return a seeded sample of the passed tasks, `settings.probe` of them, in the order of the file."""
    rows = folder.read_rows([(task.id, FIRST_SAMPLE) for task in tasks])
    # A masked attempt has no reward.
    passed_ids = {
        attempt_row["task"]
        for attempt_row in rows
        if attempt_row["reward"] is not None and attempt_row["reward"] >= PASS_REWARD
    }
    sampled_ids = Random(f"{settings.seed}:probe").sample(sorted(passed_ids), ceil(settings.probe * len(passed_ids)))
    return [task for task in tasks if task.id in sampled_ids]
