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
from webemu.rl.evaluation.folder import Folder
from webemu.rl.evaluation.rows import PASS
from webemu.rl.evaluation.run import Setting, attempted
from webemu.rl.policies import Policy
from webemu.rl.probe import Probed, probe, summary
from webemu.rl.record import Record
from webemu.rl.tasks import Task

FIRST = 0
"""Sample that must have passed, and whose seed is used again."""


async def probes(
    tasks: Sequence[Task], policy: Policy, client: AsyncClient, folder: Folder, setting: Setting
) -> dict[str, float | int]:
    """Probe a share of the passed tasks and return the number of each verdict; each result goes to `probes.jsonl`."""
    crowd = asyncio.Semaphore(setting.concurrency)

    async def again(task: Task, swap: Mapping[str, str]) -> Record:
        attempt, record = await attempted(task, FIRST, policy, client, setting, swap)
        return replace(record, mask=record.mask or attempt.outage)

    async def one(task: Task) -> Probed:
        async with crowd:
            return await probe(again, task, tasks, setting.seed)

    found = await asyncio.gather(*(one(task) for task in chosen(tasks, folder, setting)))
    lines = "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in found)
    (folder.path / "probes.jsonl").write_text(lines, encoding="utf-8")
    return summary(found)


def chosen(tasks: Sequence[Task], folder: Folder, setting: Setting) -> list[Task]:
    """Return a seeded sample of the passed tasks, `settings.probe` of them, in the order of the file."""
    rows = folder.rows([(task.id, FIRST) for task in tasks])
    # A masked attempt has no reward.
    passed = {told["task"] for told in rows if told["reward"] is not None and told["reward"] >= PASS}
    drawn = Random(f"{setting.seed}:probe").sample(sorted(passed), ceil(setting.probe * len(passed)))
    return [task for task in tasks if task.id in drawn]
