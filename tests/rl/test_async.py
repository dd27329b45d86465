"""The episode of an event loop: the same as that of threads, and many at once."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.rl.worlds import World, serving
from webemu.agent_client import AsyncClient
from webemu.rl.environment import AsyncEpisode, Episode
from webemu.rl.record import EpisodeRecord
from webemu.rl.rewards import SHORT
from webemu.rl.state import Limits, Observation
from webemu.rl.tasks import Task

POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"weather": {"errors": 0.5}},
    {"weather": {"rate_limits": 0.5}},
    {"budget": {"fetches": 1}},
)


def calls(task: Task) -> list[tuple[str, Any]]:
    """Good ones and bad ones."""
    url = task.evidence[-1].url
    return [
        ("find", {"pattern": "x"}), ("search", {"query": task.question}), ("search", '{"query": ["no"]}'),
        ("open", {"link": "r1"}), ("open", {"link": url}), ("browse", {}), ("open", {"link": "https://no.example/"}),
        ("find", {"pattern": task.answers[0]}), ("finish", {"answer": task.answers[0], "citations": [url]}),
        ("search", {"query": "after the end"}),
    ]  # fmt: skip


def in_thread(episode: Episode, task: Task, seed: int) -> tuple[list[Observation], EpisodeRecord]:
    observations = [episode.reset(task, seed), *(episode.call(*one) for one in calls(task))]
    return observations, episode.record()


async def in_loop(episode: AsyncEpisode, task: Task, seed: int) -> tuple[list[Observation], EpisodeRecord]:
    observations = [await episode.reset(task, seed)]
    for call in calls(task):
        observations.append(await episode.call(*call))
    return observations, await episode.record()


def test_threads_and_loops_play_the_same(world: World) -> None:
    async def both() -> list[Any]:
        async with AsyncClient(world.url, retries=0) as client:
            return [await in_loop(AsyncEpisode(client, Limits(), policy), world.of("mayor"), 5) for policy in POLICIES]

    with world.client() as client:
        expected = [in_thread(Episode(client, Limits(), policy), world.of("mayor"), 5) for policy in POLICIES]
    for (observations, record), (as_before, recorded) in zip(asyncio.run(both()), expected, strict=True):
        assert observations == as_before
        assert record == recorded
    assert len({repr(one) for one in expected}) == len(POLICIES)


def test_many_at_once(world: World) -> None:
    async def all_of_them() -> list[tuple[list[Observation], EpisodeRecord]]:
        async with AsyncClient(world.url, retries=0) as client:
            tasks = [world.tasks[number % 40] for number in range(200)]
            return await asyncio.gather(
                *(in_loop(AsyncEpisode(client), task, number) for number, task in enumerate(tasks))
            )

    played = asyncio.run(all_of_them())
    assert {record.end for _, record in played} == {"finished"}
    assert [record.task for _, record in played] == [world.tasks[number % 40] for number in range(200)]
    assert min(SHORT.score(record).reward or 0 for _, record in played) > 0.4


def test_an_outage_masks(root: Any) -> None:
    async def cut_off() -> AsyncEpisode:
        with serving(root) as (url, process):
            async with AsyncClient(url, retries=0, timeout=5) as client:
                episode = AsyncEpisode(client, Limits(retries=0))
                await episode.reset(Task("a", "q", ("b",)))
                process.kill()
                process.wait()
                await episode.call("search", {"query": "town"})
                return episode

    episode = asyncio.run(cut_off())
    assert episode.masked
    assert episode.done
    assert episode.mask_reason
