"""Adapters that need their trainer give the reward and the mask of the episode, as those of tests/rl do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.rl.contract import SEED, place
from tests.rl.transcripts import (
    NAMES,
    Outcome,
    Transcript,
    advantages,
    as_text,
    expected,
    outcome_of,
    staged,
    transcript,
    transcripts,
)
from tests.rl.worlds import World
from webemu.rl.adapters.environment_config import close_clients
from webemu.rl.adapters.masking import neutralize_masked


def limits_of(played: Transcript) -> dict[str, int]:
    return {name: getattr(played.limits, name) for name in ("turns", "calls", "retries")}


def by_skyrl(url: str, played: Transcript, folder: Path) -> Outcome:
    skyrl_gym = pytest.importorskip("skyrl_gym")
    from omegaconf import OmegaConf

    from webemu.rl.adapters import skyrl

    skyrl.register()
    row = skyrl.build_rows([played.task], SEED)[0]
    config = OmegaConf.create({"server": url, "limits": limits_of(played), "judge": played.case().judge})
    env = skyrl_gym.make(row["env_class"], env_config=config, extras=row)
    env.init(row["prompt"])
    rewards, metadata = [0.0], {}
    for name, arguments in played.calls:
        if not metadata:
            step = env.step(as_text(name, arguments))
            metadata = step["metadata"]
            rewards.append(step["reward"])
    assert sum(rewards) == (outcome_of(metadata).reward or 0.0)
    assert env.get_metrics()["masked"] == bool(outcome_of(metadata).masked)
    return outcome_of(metadata)


def by_gymnasium(url: str, played: Transcript, folder: Path) -> Outcome:
    pytest.importorskip("gymnasium")
    from webemu.rl.adapters.gym import gymnasium_env

    env = gymnasium_env([played.task], place(url, played.case()))
    env.reset(seed=SEED, options={"task": played.task.id})
    for name, arguments in played.calls:
        *_, terminated, truncated, info = env.step(as_text(name, arguments))
        if terminated or truncated:
            return outcome_of(info)
    return Outcome(0.0, "")


def by_verl(url: str, played: Transcript, folder: Path) -> Outcome:
    pytest.importorskip("verl")
    from verl.experimental.agent_loop.tool_agent_loop import AgentData
    from verl.experimental.agent_loop.tool_parser import FunctionCall

    from tests.trainers.test_verl import configured, loop_of
    from webemu.rl.adapters import verl

    async def exchange() -> Outcome:
        loop = loop_of(configured(folder, url, played.case()))
        row = verl.build_rows([played.task], SEED)[0]
        data = AgentData(row["prompt"], [], [], None, None, {}, "r1", row["extra_info"]["tools_kwargs"])
        data._active_tools = {name: loop.tools[name] for name in row["extra_info"]["tool_selection"]}
        for name, arguments in played.calls:
            call = FunctionCall(name=name, arguments=json.dumps(arguments))
            await loop._call_tool(call, data.tools_kwargs, data)
        await close_clients()
        score = verl.compute_score("webemu", "", "", {**row["extra_info"], **data.extra_fields})
        outcome = outcome_of(data.extra_fields.get(verl.EXTRA_FIELD, {}))
        assert (score["score"], score["masked"]) == (outcome.reward or 0.0, bool(outcome.masked))
        return outcome

    return asyncio.run(exchange())


def by_openenv(url: str, played: Transcript, folder: Path) -> Outcome:
    pytest.importorskip("openenv")
    from openenv.core.generic_client import GenericEnvClient

    from tests.trainers.test_openenv import serving

    where = place(url, played.case())
    with serving((played.task,), where) as address, GenericEnvClient(base_url=address).sync() as env:
        step = env.reset(seed=SEED, task=played.task.id)
        for name, arguments in played.calls:
            if not step.done:
                step = env.step({"tool": name, "arguments": arguments})
        if not step.done:
            return Outcome(0.0, "")
        metadata = step.metadata or step.observation["metadata"]
        return Outcome(step.reward, metadata["masked"])


def by_tinker(url: str, played: Transcript, folder: Path) -> Outcome:
    pytest.importorskip("tinker_cookbook")
    from tests.train.toy import qwen_words, turn
    from webemu.rl.adapters.endpoint_agent import MaskedEpisodeError
    from webemu.rl.adapters.tinker import Encoding, SearchEnv

    words = qwen_words()
    words.save_pretrained(folder)

    async def exchange() -> Outcome:
        env = SearchEnv(place(url, played.case()), Encoding(str(folder), token_budget=10**6), played.task, SEED)
        try:
            await env.initial_observation()
            for calls in [*([call] for call in played.calls), []]:
                step = await env.step(turn(words, calls, "" if calls else "Well."))
                if step.episode_done:
                    return Outcome(step.reward, "")
        except MaskedEpisodeError as error:
            return Outcome(None, str(error).removeprefix("masked: "))
        finally:
            await close_clients()
        raise AssertionError("a turn without a call ends the episode")

    return asyncio.run(exchange())


ADAPTERS = {"skyrl": by_skyrl, "gymnasium": by_gymnasium, "verl": by_verl, "openenv": by_openenv, "tinker": by_tinker}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_gives_the_reward_and_the_mask_of_the_episode(
    world: World, tmp_path: Path, adapter: str, name: str
) -> None:
    played = transcript(world, name)
    with staged(world, played) as url:
        assert ADAPTERS[adapter](url, played, tmp_path) == expected(url, played)


def play_all(world: World, adapter: str, folder: Path) -> list[Outcome]:
    outcomes = []
    for played in transcripts(world):
        with staged(world, played) as url:
            outcomes.append(ADAPTERS[adapter](url, played, folder))
    return outcomes


@pytest.mark.parametrize("adapter", ["skyrl", "gymnasium"])
def test_no_masked_episode_moves_an_advantage(world: World, tmp_path: Path, adapter: str) -> None:
    outcomes = play_all(world, adapter, tmp_path)
    scores, masked = [one.reward or 0.0 for one in outcomes], [one.masked for one in outcomes]
    levelled = neutralize_masked(scores, masked, ["one group"] * len(outcomes))
    mean = sum(levelled) / len(levelled)
    assert [score - mean for score in levelled] == pytest.approx(advantages(outcomes))


def test_no_masked_row_of_verl_moves_an_advantage(world: World, tmp_path: Path) -> None:
    pytest.importorskip("verl")
    import numpy as np
    import torch
    from verl import DataProto
    from verl.trainer.ppo.ray_trainer import AdvantageEstimator, compute_advantage

    from webemu.rl.adapters import verl

    outcomes = play_all(world, "verl", tmp_path)
    rewards = torch.zeros(len(outcomes), 3)
    rewards[:, 2] = torch.tensor([one.reward or 0.0 for one in outcomes])
    extra = {
        "masked": np.array([float(bool(one.masked)) for one in outcomes], dtype=object),
        "uid": np.array(["one group"] * len(outcomes), dtype=object),
    }
    ones = torch.ones(len(outcomes), 3)
    data = DataProto.from_dict({"token_level_rewards": rewards, "response_mask": ones}, extra)
    verl.neutralize_batch(data)
    done = compute_advantage(data, AdvantageEstimator.GRPO, norm_adv_by_std_in_grpo=False)
    assert done.batch["advantages"][:, 0].tolist() == pytest.approx(advantages(outcomes), abs=1e-6)


def by_verifiers(url: str, group: Sequence[Transcript], folder: Path) -> list[Outcome]:
    """Return the outcomes of transcripts with equal limits, from one run of `vf-eval`."""
    from tests.trainers.test_verifiers import evaluated, told_apart

    cases = told_apart([one.case() for one in group])
    folder.mkdir()
    rows = {row["traces"][0]["task"]["data"]["id"]: row["traces"][0] for row in evaluated(folder, url, cases)}
    return [_verifiers_outcome(rows[one.task.id]) for one in cases]


def _verifiers_outcome(trace: dict[str, Any]) -> Outcome:
    """Return the outcome of a trace: a masked episode is an error of the rollout and has no reward."""
    earned = trace["info"].get("webemu", {})
    if not trace["errors"]:
        return Outcome(trace["rewards"]["reward"]["score"], earned["masked"])
    assert trace["rewards"].get("reward") is None
    assert "masked: " in json.dumps(trace["errors"])
    return Outcome(None, earned["masked"])


@pytest.mark.parametrize(
    "kind",
    [
        "",
        "GET search",
        "turns",
        "judge none",
        *(
            pytest.param(kind, marks=pytest.mark.slow)  # each starts the command, which takes it twelve seconds
            for kind in ("POST sessions", "GET fetch", "GET sessions", "calls", "judge yes", "judge no")
        ),
    ],
)
def test_verifiers_gives_the_reward_and_the_mask_of_the_episode(world: World, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("verifiers")
    group = [one for one in transcripts(world) if kind_of(one) == kind]
    with staged(world, group[0]) as url:
        outcomes = by_verifiers(url, group, tmp_path / "run")
        assert outcomes == [expected(url, one) for one in group]


def kind_of(played: Transcript) -> str:
    """Return what the transcripts of one run have in common: the outage, a limit, or a judge."""
    default = type(played.limits)(retries=0)
    limit = next((name for name in ("turns", "calls") if getattr(played.limits, name) != getattr(default, name)), "")
    return f"judge {played.verdict}" if played.verdict else played.outage or limit
