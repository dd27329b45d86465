"""Makes the attempts of an evaluation concurrently, and writes each as it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import InfrastructureError
from webemu.rl.environment import AsyncEpisode
from webemu.rl.evaluation.folder import Folder, Key
from webemu.rl.evaluation.rows import Row, row
from webemu.rl.policies import Attempt, Policy
from webemu.rl.record import Record
from webemu.rl.state import Limits
from webemu.rl.tasks import Task

OUTAGES = 16
"""Consecutive masked attempts after which the run is given up."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of an evaluation."""

    samples: int = 1
    """Attempts at each task."""
    concurrency: int = 16
    """Attempts that run at the same time."""
    seed: int = 0
    """Seed from which each attempt's own is derived."""
    limits: Limits = field(default_factory=Limits)
    """Limits of each episode."""
    session: Mapping[str, Any] = field(default_factory=dict)
    """Session policy (docs/sessions.md)."""
    probe: float = 0
    """Share of the passed tasks that are repeated on a web with altered answers."""


def keys(tasks: Sequence[Task], setting: Setting) -> list[Key]:
    """Return the keys of all attempts; those at one task are adjacent, so they send the same queries at about the same
    time.
    """
    return [(task.id, sample) for task in tasks for sample in range(setting.samples)]


async def run(
    tasks: Sequence[Task],
    policy: Policy,
    client: AsyncClient,
    folder: Folder,
    setting: Setting,
    ended: Callable[[Row], None] = lambda told: None,
) -> None:
    """Make the attempts that the folder does not have.

    `on_attempt` is called with each new row. Raises EndpointError or InfrastructureError if attempts only meet
    outages, and BadRequest if the session policy is invalid. Rows written until then stay.
    """
    by_id = {task.id: task for task in tasks}
    waiting = iter([key for key in keys(tasks, setting) if not folder.is_done(key)])
    streak = 0

    async def work() -> None:
        nonlocal streak
        for name, sample in waiting:
            told = await play(by_id[name], sample, policy, client, setting)
            folder.append(told)
            ended(told)
            streak = streak + 1 if told["mask"] else 0
            if streak >= OUTAGES:
                raise InfrastructureError(
                    f"{streak} attempts in a row were masked, the last by {told['mask']}",
                    action="repair the outage, then run the same command again: it continues where it stopped",
                )

    try:
        # The workers share one iterator: each takes the next attempt when its last one has ended.
        async with asyncio.TaskGroup() as group:
            for _ in range(setting.concurrency):
                group.create_task(work())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def play(task: Task, sample: int, policy: Policy, client: AsyncClient, setting: Setting) -> dict[str, Any]:
    """Make one attempt and return its row."""
    start = time.monotonic()
    attempt, record = await attempted(task, sample, policy, client, setting)
    return row(attempt, record, sample, time.monotonic() - start)


async def attempted(
    task: Task,
    sample: int,
    policy: Policy,
    client: AsyncClient,
    setting: Setting,
    swap: Mapping[str, str] | None = None,
) -> tuple[Attempt, Record]:
    """Make one attempt; return it and its record.

    `swap` replaces words in everything that the web says, for the evidence-swap probe.
    """
    episode = AsyncEpisode(client, setting.limits, setting.session, swap)
    attempt = Attempt(episode, task, seed_of(setting.seed, task, sample))
    await attempt.begin()
    if not attempt.done:
        await policy(attempt)
    return attempt, await attempt.record()


def seed_of(seed: int, task: Task, sample: int) -> int:
    """Return the seed of one attempt, for its session, its random draws and the model's sampling."""
    # Shifted to 31 bits, so that it fits a signed 32-bit integer.
    return int.from_bytes(blake2b(f"{seed}:{task.id}:{sample}".encode(), digest_size=4).digest()) >> 1
