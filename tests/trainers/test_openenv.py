"""OpenEnv's own server and client over a real socket: the same calls give what the episode gives."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("openenv")

import uvicorn
from openenv.core.generic_client import GenericEnvClient

from tests.rl.contract import NAMES, SEED, Case, Played, case, expected, line, place, same
from tests.rl.worlds import World
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.adapters.openenv import build_app
from webemu.rl.state import Limits
from webemu.rl.tasks import Task


@contextmanager
def serving(tasks: tuple[Task, ...], where: EnvironmentConfig) -> Iterator[str]:
    config = uvicorn.Config(build_app(tasks, where), "127.0.0.1", 0, log_level="warning")
    server, sock = uvicorn.Server(config), config.bind_socket()
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def by_openenv(url: str, test_case: Case, cut: Any = lambda: None) -> Played:
    with serving((test_case.task,), place(url, test_case)) as address, GenericEnvClient(base_url=address).sync() as env:
        step = env.reset(seed=SEED, task=test_case.task.id)
        texts = [step.observation["text"]]
        cut()
        for name, arguments in test_case.calls:
            step = env.step({"tool": name, "arguments": arguments})
            texts.append(step.observation["text"])
        assert step.done
        assert env.state()["step_count"] == len(test_case.calls)
        return Played(tuple(texts), {"reward": step.reward} | (step.metadata or step.observation["metadata"]))


@pytest.mark.parametrize("name", NAMES)
def test_openenv_gives_what_the_episode_gives(world: World, name: str) -> None:
    test_case = case(world, name)
    same(by_openenv(world.url, test_case), expected(world.url, test_case))


def test_an_outage_masks(world: World) -> None:
    test_case = Case("cut", world.of("founded_by"), (("search", {"query": "town"}),), Limits(retries=0))
    with line(world) as way:
        played = by_openenv(way.url, test_case, way.cut)
    assert played.earned["reward"] is None
    assert "unreachable" in played.earned["masked"]


def test_sessions_go_on_at_once(world: World) -> None:
    with serving(world.tasks, EnvironmentConfig(world.url)) as address, ThreadPoolExecutor(16) as threads:

        def play_session(number: int) -> Any:
            task = world.tasks[number % len(world.tasks)]
            with GenericEnvClient(base_url=address).sync() as env:
                text = env.reset(seed=number, task=task.id).observation["text"]
                env.step({"tool": "open", "arguments": {"link": task.evidence[-1].url}})
                end = {"answer": task.answers[0], "citations": [task.evidence[-1].url]}
                return text == task.question, env.step({"tool": "finish", "arguments": end}).reward

        assert {*threads.map(play_session, range(48))} == {(True, 1.0)}
