"""Measure what an adapter adds to a call of the episode, in µs: `python -m tests.trainers.overhead SERVER TASKS`.

The call is `find` in an open page, which asks nothing of the server. Adapters whose trainers are missing are left out.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from webemu.rl.adapters import gym, trl
from webemu.rl.adapters.environment_config import EnvironmentConfig, close_clients, pack_task
from webemu.rl.adapters.http import build_app
from webemu.rl.state import Limits
from webemu.rl.tasks import Task, load

CALLS = 2000
FIND = {"pattern": "the"}
LIMITS = {"turns": 10**9}


def median(call: Callable[[], object]) -> float:
    return statistics.median(_timed(call) for _ in range(CALLS)) * 1e6


async def amedian(call: Callable[[], Awaitable[object]]) -> float:
    took = []
    for _ in range(CALLS):
        start = time.perf_counter()
        await call()
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1e6


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measured(server: str, task: Task) -> dict[str, float]:
    place = EnvironmentConfig(server, Limits(**LIMITS))
    page, timings = {"link": task.evidence[0].url}, {}
    episode = place.new_episode()
    episode.reset(task)
    episode.call("open", page)
    timings["episode"] = median(lambda: episode.call("find", FIND))
    seat = trl.SearchEnv(place)
    seat.reset(task=pack_task(task))
    seat.open(**page)
    timings["trl"] = median(lambda: seat.find(**FIND))
    env = gym.SearchEnv([task], place)
    env.reset(options={"task": task.id})
    env.step({"tool": "open", "arguments": page})
    timings["gym"] = median(lambda: env.step({"tool": "find", "arguments": FIND}))
    with suppress(ImportError):
        timings["skyrl"] = _skyrl(server, task, page)
    timings |= asyncio.run(_awaited(place, task, page))
    with suppress(ImportError):
        timings["openenv, socket"] = _openenv(place, task, page)
    return timings


def _skyrl(server: str, task: Task, page: dict[str, str]) -> float:
    from webemu.rl.adapters.skyrl import SearchTextEnv

    def tagged(name: str, arguments: dict[str, str]) -> str:
        return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"

    env = SearchTextEnv({"server": server, "limits": LIMITS}, {"task": pack_task(task)})
    env.init([])
    env.step(tagged("open", page))
    return median(lambda: env.step(tagged("find", FIND)))


async def _awaited(place: EnvironmentConfig, task: Task, page: dict[str, str]) -> dict[str, float]:
    timings, episode = {}, place.new_async_episode()
    await episode.reset(task)
    await episode.call("open", page)
    timings["async episode"] = await amedian(lambda: episode.call("find", FIND))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(build_app([task], place)), base_url="http://x"
    ) as client:
        name = (await client.post("/reset", json={"task_id": task.id})).json()["episode"]
        await client.post("/step", json={"episode": name, "tool": "open", "arguments": page})
        step = json.dumps({"episode": name, "tool": "find", "arguments": FIND})
        timings["http, in process"] = await amedian(lambda: client.post("/step", content=step))
    with suppress(ImportError):
        timings["verl"] = await _verl(place, task, page)
    await close_clients()
    return timings


async def _verl(place: EnvironmentConfig, task: Task, page: dict[str, str]) -> float:
    from verl.experimental.agent_loop.tool_agent_loop import AgentData

    from webemu.rl.adapters.verl import EpisodeTool

    tools_by_name = {
        name: EpisodeTool({"tool": name, "server": place.server, "limits": LIMITS}, None) for name in ("open", "find")
    }
    data = AgentData([], [], [], None, None, {}, "r", {})

    async def call(name: str, arguments: dict[str, str]) -> Any:
        instance, _ = await tools_by_name[name].create(create_kwargs={"task": pack_task(task)})
        await tools_by_name[name].execute(instance, arguments, agent_data=data)
        await tools_by_name[name].release(instance)

    await call("open", page)
    return await amedian(lambda: call("find", FIND))


def _openenv(place: EnvironmentConfig, task: Task, page: dict[str, str]) -> float:
    from openenv.core.generic_client import GenericEnvClient

    from tests.trainers.test_openenv import serving

    with serving((task,), place) as address, GenericEnvClient(base_url=address).sync() as env:
        env.reset(task=task.id)
        env.step({"tool": "open", "arguments": page})
        return median(lambda: env.step({"tool": "find", "arguments": FIND}))


if __name__ == "__main__":
    for adapter, micros in measured(sys.argv[1], load(Path(sys.argv[2]))[0]).items():
        print(f"{adapter:<18}{micros:>8.0f}")
