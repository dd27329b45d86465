"""AReaL's workflow runs the agent as it runs any: with its row, the address of its proxy and the key of a session."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("areal")

from areal.experimental.openai.proxy.workflow import OpenAIProxyWorkflow

from tests.rl.contract import SEED
from tests.rl.test_same_outcome import scripted_model
from tests.rl.transcripts import staged, transcript
from tests.rl.worlds import World
from webemu.rl.adapters.endpoint_agent import MaskedEpisodeError, WebAgent, build_rows
from webemu.rl.adapters.environment_config import close_clients


def reward_of(url: str, world: World, name: str) -> float:
    played = transcript(world, name)
    with scripted_model(played) as model:
        workflow = OpenAIProxyWorkflow("inline", WebAgent(server=url, limits={"retries": 0}), model.url)

        async def run() -> float:
            row = build_rows([played.task], SEED)[0]
            reward: float = await workflow._run_agent("key of the session", row)
            await close_clients()
            return reward

        return asyncio.run(run())


@pytest.mark.parametrize(("name", "reward"), [("right", 1.0), ("wrong", 0.0), ("never opened", 0.0)])
def test_areals_workflow_runs_the_agent(world: World, name: str, reward: float) -> None:
    earned = reward_of(world.url, world, name)
    assert isinstance(earned, float), "AReaL takes no other type"
    assert earned == reward


def test_a_masked_episode_is_an_error_by_which_areal_rejects_the_trajectory(world: World) -> None:
    with staged(world, transcript(world, "outage in open")) as url, pytest.raises(MaskedEpisodeError):
        reward_of(url, world, "right")
