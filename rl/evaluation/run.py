"""Makes the attempts of an evaluation concurrently, and writes each as it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from webemu.agent_client import AsyncClient
from webemu.agent_client.errors import InfrastructureError
from webemu.rl.attempt_row import AttemptRow
from webemu.rl.environment import AsyncEpisode
from webemu.rl.evaluation.folder import AttemptKey, EvaluationFolder
from webemu.rl.evaluation.rows import attempt_row
from webemu.rl.judge import Judge
from webemu.rl.policies import AgentPolicy, Attempt
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import rubric_of
from webemu.rl.state import Limits
from webemu.rl.tasks import Task

MAX_CONSECUTIVE_OUTAGES = 16
"""Consecutive masked attempts after which the run is given up."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of an evaluation."""

    samples: int = 1
    """Attempts at each task."""
    concurrency: int = 16
    """Attempts that run at the same time."""
    seed: int = 0
    """Seed from which each attempt's own is derived."""
    limits: Limits = field(default_factory=Limits)
    """Limits of each episode."""
    session: Mapping[str, object] = field(default_factory=dict)
    """Session policy (docs/sessions.md)."""
    probe: float = 0
    """Share of the passed tasks that are repeated on a web with altered answers."""


def list_attempts(tasks: Sequence[Task], settings: RunSettings) -> list[AttemptKey]:
    """Return the keys of all attempts; those at one task are adjacent, so they send the same queries at about the same
    time.
    """
    return [(task.id, sample) for task in tasks for sample in range(settings.samples)]


async def run_attempts(
    tasks: Sequence[Task],
    policy: AgentPolicy,
    client: AsyncClient,
    folder: EvaluationFolder,
    settings: RunSettings,
    on_attempt: Callable[[AttemptRow], None] = lambda row: None,
    judge: Judge | None = None,
) -> None:
    """Make the attempts that the folder does not have. Without a judge the rubric alone scores them.

    `on_attempt` is called with each new row. Raises EndpointError or InfrastructureError if attempts only meet
    outages, and BadRequest if the session policy is invalid. Rows written until then stay.
    """
    by_id = {task.id: task for task in tasks}
    pending = iter([key for key in list_attempts(tasks, settings) if not folder.is_done(key)])
    consecutive_masks = 0

    async def work() -> None:
        nonlocal consecutive_masks
        for name, sample in pending:
            attempt_row = await run_and_record(by_id[name], sample, policy, client, settings, judge)
            folder.append(attempt_row)
            on_attempt(attempt_row)
            consecutive_masks = consecutive_masks + 1 if attempt_row["mask"] else 0
            if consecutive_masks >= MAX_CONSECUTIVE_OUTAGES:
                raise InfrastructureError(
                    f"{consecutive_masks} attempts in a row were masked, the last by {attempt_row['mask']}",
                    action="repair the outage, then run the same command again: it continues where it stopped",
                )

    try:
        # The workers share one iterator: each takes the next attempt when its last one has ended.
        async with asyncio.TaskGroup() as group:
            for _ in range(settings.concurrency):
                group.create_task(work())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


async def run_and_record(
    task: Task, sample: int, policy: AgentPolicy, client: AsyncClient, settings: RunSettings, judge: Judge | None
) -> AttemptRow:
    """Make one attempt and return its row."""
    start = time.monotonic()
    attempt, record = await run_attempt(task, sample, policy, client, settings)
    counted_record = replace(record, mask=attempt.endpoint_outage or record.mask)
    score = await judge.score(counted_record) if judge else rubric_of(task).score(counted_record)
    return attempt_row(attempt, record, score, sample, time.monotonic() - start)


async def run_attempt(
    task: Task,
    sample: int,
    policy: AgentPolicy,
    client: AsyncClient,
    settings: RunSettings,
    swap: Mapping[str, str] | None = None,
) -> tuple[Attempt, EpisodeRecord]:
    """Make one attempt; return it and its record.

    `swap` replaces words in everything that the web says, for the evidence-swap probe.
    """
    episode = AsyncEpisode(client, settings.limits, settings.session, swap)
    attempt = Attempt(episode, task, attempt_seed(settings.seed, task, sample))
    await attempt.begin()
    if not attempt.done:
        await policy(attempt)
    return attempt, await attempt.record()


def attempt_seed(seed: int, task: Task, sample: int) -> int:
    """Return the seed of one attempt, for its session, its random draws and the model's sampling."""
    # Shifted to 31 bits, so that it fits a signed 32-bit integer.
    return int.from_bytes(blake2b(f"{seed}:{task.id}:{sample}".encode(), digest_size=4).digest()) >> 1
