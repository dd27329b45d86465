"""Plays attempts, so many at once, and writes each down as it ends."""

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
"""Attempts in a row that may be masked before the run is given up."""


@dataclass(frozen=True, slots=True)
class Setting:
    samples: int = 1
    """Attempts at each task."""
    concurrency: int = 16
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    session: Mapping[str, Any] = field(default_factory=dict)
    """Policy of the sessions (docs/sessions.md)."""
    probe: float = 0
    """Share of the passed tasks that are asked again, of a web that says another answer."""


def keys(tasks: Sequence[Task], setting: Setting) -> list[Key]:
    """Every attempt that is to be made; those at one task stand together, and ask the same at once."""
    return [(task.id, sample) for task in tasks for sample in range(setting.samples)]


async def run(
    tasks: Sequence[Task],
    policy: Policy,
    client: AsyncClient,
    folder: Folder,
    setting: Setting,
    ended: Callable[[Row], None] = lambda told: None,
) -> None:
    """Make the attempts that the folder does not have. Raises EndpointError or InfrastructureError where there are only
    outages, BadRequest on a session policy that is none; what was made until then is kept."""
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
                    action="see to the outage, then give the same command: it goes on where it was",
                )

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(setting.concurrency):
                group.create_task(work())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def play(task: Task, sample: int, policy: Policy, client: AsyncClient, setting: Setting) -> dict[str, Any]:
    """One attempt from its beginning to its line."""
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
    """One attempt, over a web that says other words where they are swapped."""
    episode = AsyncEpisode(client, setting.limits, setting.session, swap)
    attempt = Attempt(episode, task, seed_of(setting.seed, task, sample))
    await attempt.begin()
    if not attempt.done:
        await policy(attempt)
    return attempt, await attempt.record()


def seed_of(seed: int, task: Task, sample: int) -> int:
    """An attempt's own seed: of its session, its draws and the model's sampling."""
    return int.from_bytes(blake2b(f"{seed}:{task.id}:{sample}".encode(), digest_size=4).digest()) >> 1
