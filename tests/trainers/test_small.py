"""Gymnasium and SkyRL-gym: the same calls give what the episode gives."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rl.contract import NAMES, SEED, Case, Played, case, expected, line, place, same
from tests.rl.worlds import World
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.state import Limits


def tagged(name: Any, raw_arguments: Any) -> str:
    """A call as a model writes it; JSON text that is none stands as it is."""
    try:
        arguments = json.dumps(json.loads(raw_arguments) if isinstance(raw_arguments, str) else raw_arguments)
    except ValueError:
        arguments = raw_arguments
    return f'I call it.\n<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {arguments}}}\n</tool_call>'


def by_skyrl(url: str, test_case: Case, cut: Any = lambda: None) -> Played:
    skyrl_gym = pytest.importorskip("skyrl_gym")
    from omegaconf import OmegaConf

    from webemu.rl.adapters import skyrl

    skyrl.register()
    where = place(url, test_case)
    limits = {name: getattr(where.limits, name) for name in ("turns", "calls", "retries")}
    row = skyrl.build_rows([test_case.task], SEED)[0]
    config = OmegaConf.create({"server": url, "limits": limits, "policy": where.policy})
    env = skyrl_gym.make(row["env_class"], env_config=config, extras=row)
    texts = [env.init(row["prompt"])[0][-1]["content"]]
    cut()
    for name, arguments in test_case.calls:
        step = env.step(tagged(name, arguments))
        texts += [message["content"] for message in step["observations"]]
    assert step["reward"] == (step["metadata"]["reward"] or 0.0)
    assert env.get_metrics()["masked"] == bool(step["metadata"]["masked"])
    record = env._episode.record()
    env.close()
    return Played(tuple(texts), step["metadata"], record.requests)


@pytest.mark.parametrize("name", NAMES)
def test_skyrl_gives_what_the_episode_gives(world: World, name: str) -> None:
    test_case = case(world, name)
    same(by_skyrl(world.url, test_case), expected(world.url, test_case))


def test_skyrl_says_what_is_masked(world: World) -> None:
    test_case = Case("cut", world.of("founded_by"), (("search", {"query": "town"}),), Limits(retries=0))
    with line(world) as way:
        played = by_skyrl(way.url, test_case, way.cut)
    assert played.earned["reward"] is None
    assert "unreachable" in played.earned["masked"]


@pytest.mark.filterwarnings("ignore:.*spec.*")
def test_gymnasium_checks_the_environment(world: World) -> None:
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    from webemu.rl.adapters.gym import gymnasium_env

    env = gymnasium_env(world.tasks, EnvironmentConfig(world.url))
    check_env(env)
    task = world.of("founded_by")
    text, _ = env.reset(seed=SEED, options={"task": task.id})
    assert text == task.question
    assert env.observation_space.contains(text)
    cited = f"<cite>{task.evidence[0].url}</cite>"
    assert env.step(f"<open>{task.evidence[0].url}</open>")[1:4] == (0.0, False, False)
    assert env.step(f"<answer>{task.answers[0]}{cited}</answer>")[1:4] == (1.0, True, False)
