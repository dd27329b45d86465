"""verl's own tool loop calls the tools of an episode, and its reward manager's call gives the episode's reward."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verl")

from omegaconf import OmegaConf
from verl.experimental.agent_loop.tool_agent_loop import AgentData, ToolAgentLoop
from verl.experimental.agent_loop.tool_parser import FunctionCall
from verl.tools.tool_registry import load_all_tools

from tests.rl.contract import NAMES, SEED, Case, Played, case, expected, line, place, same
from tests.rl.worlds import World
from webemu.rl.adapters import verl
from webemu.rl.adapters.environment_config import close_clients
from webemu.rl.arguments import TOOLS
from webemu.rl.state import Limits

FUNCTIONS = Path(verl.__file__).with_name("verl_functions.py")


def loop_of(tools: list[Any], max_length: int = 20_000) -> ToolAgentLoop:
    """verl's loop with its tools, without the model and the tokenizer, which its calls of tools do not need."""
    loop = ToolAgentLoop.__new__(ToolAgentLoop)
    loop.tools = {tool.name: tool for tool in tools}
    loop.max_tool_response_length, loop.tool_response_truncate_side = max_length, "middle"
    return loop


def configured(folder: Path, url: str, test_case: Case) -> list[Any]:
    """The tools of a YAML file, as verl loads them."""
    where = place(url, test_case)
    limits = {name: getattr(where.limits, name) for name in ("turns", "calls", "retries")}
    config = {"type": "native", "server": url, "limits": limits, "policy": where.policy, "judge": dict(test_case.judge)}
    named = [tool["function"]["name"] for tool in TOOLS]
    tool_configs = [
        {"class_name": "webemu.rl.adapters.verl.EpisodeTool", "config": config | {"tool": name}} for name in named
    ]
    OmegaConf.save({"tools": tool_configs}, folder / "tools.yaml")
    return load_all_tools(str(folder / "tools.yaml"), None)


def by_verl(folder: Path, url: str, test_case: Case, cut: Any = lambda: None) -> Played:
    return asyncio.run(_by_verl(configured(folder, url, test_case), test_case, cut))


async def _by_verl(tools: list[Any], test_case: Case, cut: Any) -> Played:
    loop, row = loop_of(tools), verl.build_rows([test_case.task], SEED)[0]
    data = AgentData(row["prompt"], [], [], None, None, {}, "r1", row["extra_info"]["tools_kwargs"])
    selected = {name: loop.tools[name] for name in row["extra_info"]["tool_selection"]}
    data._active_tools = selected
    observations = [row["prompt"][-1]["content"]]
    for number, (name, arguments) in enumerate(test_case.calls):
        call = FunctionCall(name=name, arguments=json.dumps(arguments))
        observations.append((await loop._call_tool(call, data.tools_kwargs, data))[0].text)
        if number == 0:
            cut()
    requests = (await verl._TRAJECTORIES[data]._episode.record()).requests
    await close_clients()
    assert not [tool._create_kwargs for tool in tools if tool._create_kwargs]
    score = verl.compute_score("webemu", "", test_case.task.answers[0], {**row["extra_info"], **data.extra_fields})
    earned = json.loads(json.dumps(data.extra_fields["webemu"]))
    assert score["score"] == (earned["reward"] or 0.0)
    assert (score["masked"], score["ended"]) == (bool(earned["masked"]), 1.0)
    assert {name: score[name] for name in earned["terms"]} == {k: v or 0.0 for k, v in earned["terms"].items()}
    return Played(tuple(observations), earned, requests)


@pytest.mark.parametrize("name", NAMES)
def test_verl_gives_what_the_episode_gives(world: World, tmp_path: Path, name: str) -> None:
    test_case = case(world, name)
    if not test_case.names_only_tools:
        pytest.skip("verl itself answers unknown tools and arguments that are no object")
    same(by_verl(tmp_path, world.url, test_case), expected(world.url, test_case))


def test_an_outage_scores_nothing_and_says_so(world: World, tmp_path: Path) -> None:
    search = ("search", {"query": "town"})
    test_case = Case("cut", world.of("founded_by"), (search, search), Limits(retries=0))
    with line(world) as way:
        played = by_verl(tmp_path, way.url, test_case, way.cut)
    assert played.earned["reward"] is None
    assert "unreachable" in played.earned["masked"]


def test_every_row_has_the_same_keys(world: World) -> None:
    short = verl.compute_score("webemu", "", "", {"webemu": expected(world.url, case(world, "good")).earned})
    long = verl.compute_score("webemu", "", "", {"webemu": expected(world.url, case(world, "report")).earned})
    assert list(short) == list(long) == list(verl.compute_score("webemu", "", "", {}))
    assert verl.compute_score("webemu", "", "", {})["ended"] == 0.0


def test_parallel_calls_of_a_turn_share_the_episode(world: World, tmp_path: Path) -> None:
    test_case = case(world, "good")

    async def played() -> float:
        loop, row = loop_of(configured(tmp_path, world.url, test_case)), verl.build_rows([test_case.task], SEED)[0]
        data = AgentData(row["prompt"], [], [], None, None, {}, "r1", row["extra_info"]["tools_kwargs"])
        calls = [FunctionCall(name="search", arguments=json.dumps({"query": query})) for query in ("town", "river")]
        await asyncio.gather(*(loop._call_tool(call, data.tools_kwargs, data) for call in calls))
        record = await verl._TRAJECTORIES[data]._episode.record()
        await close_clients()
        return len(record.requests)

    assert asyncio.run(played()) == 2


def test_verls_own_default_cuts_observations(world: World, tmp_path: Path) -> None:
    test_case = case(world, "good")

    async def length() -> int:
        loop, row = loop_of(configured(tmp_path, world.url, test_case), 256), verl.build_rows([test_case.task], SEED)[0]
        data = AgentData(row["prompt"], [], [], None, None, {}, "r1", row["extra_info"]["tools_kwargs"])
        call = FunctionCall(name="search", arguments=json.dumps(test_case.calls[0][1]))
        text = (await loop._call_tool(call, data.tools_kwargs, data))[0].text
        await close_clients()
        return len(text)

    assert asyncio.run(length()) < 300


def test_stateless_functions(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "WEBEMU_SERVER", world.url)
    tools = load_all_tools(None, str(FUNCTIONS))
    task = world.of("founded_by")

    async def collect_replies() -> list[str]:
        loop, data = loop_of(tools), AgentData([], [], [], None, None, {}, "r1", {})
        calls = (("search", {"query": task.question}), ("open", {"url": task.evidence[0].url}), ("search", {}))
        calls_by_name = [FunctionCall(name=name, arguments=json.dumps(arguments)) for name, arguments in calls]
        return [(await loop._call_tool(call, {}, data))[0].text for call in calls_by_name]

    results, page, misuse = asyncio.run(collect_replies())
    assert task.evidence[0].url in results
    assert task.answers[0] in page
    assert "needs query" in misuse
    import importlib

    functions = importlib.import_module("_verl_function_tools_" + str(FUNCTIONS).replace("/", "_").replace(".", "_"))
    extra = verl.build_rows([task])[0]["extra_info"]
    marks = {f"<answer>{task.answers[0]}</answer>": 1.0, f"<answer>{task.answers[0]} or Bob</answer>": 0.0, "": 0.0}
    for text, mark in marks.items():
        assert functions.compute_score("webemu", text, "", extra)["score"] == mark


def test_rows_travel_through_parquet(world: World, tmp_path: Path) -> None:
    """The rows come back as verl's own data set reads them: rows with and without a user stand in one file."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from verl.utils.dataset.rl_dataset import RLHFDataset

    expected_rows = verl.build_rows([case(world, "good").task, case(world, "asks").task], SEED)
    Dataset.from_list(expected_rows).to_parquet(str(tmp_path / "rows.parquet"))
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))
    read = RLHFDataset(
        str(tmp_path / "rows.parquet"), words, OmegaConf.create({"filter_overlong_prompts": False, "cache_dir": "."})
    )
    for row, expected_row in zip((read[0], read[1]), expected_rows, strict=True):
        assert row["raw_prompt"] == expected_row["prompt"]
        assert row["extra_info"]["tool_selection"] == expected_row["extra_info"]["tool_selection"]
        for name, kwargs in expected_row["extra_info"]["tools_kwargs"].items():
            assert row["tools_kwargs"][name] == kwargs


def test_a_masked_row_has_no_advantage() -> None:
    import numpy as np
    import torch
    from verl import DataProto
    from verl.trainer.ppo.ray_trainer import AdvantageEstimator, compute_advantage

    rewards = torch.zeros(4, 3)
    rewards[:, 2] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    extra = {"masked": np.array([0.0, 0.0, 1.0, 0.0], dtype=object), "uid": np.array(["a"] * 4, dtype=object)}
    data = DataProto.from_dict({"token_level_rewards": rewards, "response_mask": torch.ones(4, 3)}, extra)
    verl.neutralize_batch(data)
    done = compute_advantage(data, AdvantageEstimator.GRPO, norm_adv_by_std_in_grpo=False)
    assert done.batch["advantages"][:, 0].tolist() == pytest.approx([2 / 3, -1 / 3, 0.0, -1 / 3])
