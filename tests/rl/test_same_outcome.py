"""All adapters give one reward and one mask for one transcript. Those that need their trainer: tests/trainers."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import httpx
import pytest

from tests.rl.contract import SEED, place
from tests.rl.openai_server import OpenAIServer, ScriptedMessage, openai_server
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
from webemu.agent_client import AsyncClient
from webemu.rl.adapters import endpoint_agent, gym, trl
from webemu.rl.adapters.endpoint_agent import MaskedEpisodeError, WebAgent
from webemu.rl.adapters.environment_config import close_clients
from webemu.rl.adapters.http import build_app
from webemu.rl.adapters.masking import neutralize_masked
from webemu.rl.attempt_row import AttemptRow
from webemu.rl.evaluation.run import RunSettings, run_attempts
from webemu.rl.judge.judge import NO_VERDICT
from webemu.rl.judge.spec import open_judge
from webemu.rl.policies import Attempt
from webemu.rl.tasks import Task
from webemu.rl.tool_schema import ToolSchema
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.messages import Message
from webemu.rl.train.rollout import Ids, play


def by_trl(url: str, played: Transcript) -> Outcome:
    row = trl.build_rows([played.task], SEED)[0]
    env = trl.environment_factories(place(url, played.case()))[row.pop("environment")]()
    env.reset(**row)
    for name, arguments in played.calls:
        getattr(env, name)(**arguments)
    (reward,) = trl.reward([env])
    logged: dict[str, list[Any]] = {}
    trl.reward([env], None, logged.__setitem__)
    return Outcome(reward, logged["masked"][0])


def by_gym(url: str, played: Transcript) -> Outcome:
    return _by_gym(url, played, [{"tool": name, "arguments": arguments} for name, arguments in played.calls])


def by_gym_text(url: str, played: Transcript) -> Outcome:
    return _by_gym(url, played, [as_text(name, arguments) for name, arguments in played.calls])


def _by_gym(url: str, played: Transcript, actions: Sequence[str | Mapping[str, object]]) -> Outcome:
    env = gym.SearchEnv([played.task], place(url, played.case()))
    env.reset(seed=SEED, options={"task": played.task.id})
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            assert (info["reward"] or 0.0) == reward, "a number where the trainer needs one"
            assert truncated == (bool(info["masked"]) or info["end"] != "finished")
            return outcome_of(info)
    return Outcome(0.0, "")


def by_http(url: str, played: Transcript) -> Outcome:
    async def exchange() -> Outcome:
        transport = httpx.ASGITransport(build_app([played.task], place(url, played.case())))
        async with httpx.AsyncClient(transport=transport, base_url="http://episodes") as client:
            answer = (await client.post("/reset", json={"task_id": played.task.id, "seed": SEED})).json()
            episode = answer["episode"]
            for name, arguments in played.calls:
                if not answer["done"]:
                    step = {"episode": episode, "tool": name, "arguments": arguments}
                    answer = (await client.post("/step", json=step)).json()
            await close_clients()
            return outcome_of(answer)

    return asyncio.run(exchange())


def scripted_model(played: Transcript) -> AbstractContextManager[OpenAIServer]:
    """Return a server whose model makes the calls of a transcript, one each turn, and then only talks."""

    def script(body: dict[str, Any]) -> ScriptedMessage:
        done = sum(one["role"] == "tool" for one in body["messages"])
        return ScriptedMessage(calls=(played.calls[done],)) if done < len(played.calls) else ScriptedMessage("Well.")

    return openai_server(script)


def by_endpoint(url: str, played: Transcript) -> Outcome:
    async def exchange(address: str) -> Outcome:
        result = await endpoint_agent.play(place(url, played.case()), played.task, SEED, address)
        await close_clients()
        return outcome_of(result)

    with scripted_model(played) as model:
        return asyncio.run(exchange(model.url))


class RowList:
    """Folder of an evaluation that keeps its rows in memory."""

    def __init__(self) -> None:
        self.rows: list[AttemptRow] = []

    def is_done(self, key: object) -> bool:
        return False

    def append(self, row: AttemptRow) -> None:
        self.rows.append(row)


def by_evaluation(url: str, played: Transcript) -> Outcome:
    folder = RowList()

    async def make_calls(attempt: Attempt) -> None:
        for name, arguments in played.calls:
            if not attempt.done:
                await attempt.act(name, **arguments)

    async def evaluated() -> None:
        judging = open_judge(played.judge) if played.judge else nullcontext()
        async with AsyncClient(url, retries=0) as client, judging as judge:
            settings = RunSettings(limits=played.limits)
            tasks, skip = [played.task], lambda row: None
            await run_attempts(tasks, make_calls, client, folder, settings, skip, judge)  # type: ignore[arg-type]

    asyncio.run(evaluated())
    return Outcome(folder.rows[0]["reward"], folder.rows[0]["mask"])


class ScriptedSampler:
    """Model without weights that makes the calls of a transcript, one each turn, and then says nothing."""

    end_id = 0

    def __init__(self, played: Transcript) -> None:
        self._played, self._turn = played, -1

    def encode_prompt(self, task: Task, tools: Sequence[Mapping[str, object]]) -> Ids:
        return [1]

    def sample_turns(self, contexts: list[Ids], on_turn: Any = None) -> tuple[list[Ids], list[list[float]] | None]:
        self._turn += 1
        return [[2, self.end_id]], None

    def parse_turn(self, ids: Ids, context: Ids, tools: Sequence[ToolSchema]) -> Message:
        calls = self._played.calls[self._turn : self._turn + 1]
        functions = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
        return {"role": "assistant", "content": "", **({"tool_calls": functions} if functions else {})}  # type: ignore[typeddict-item]

    def encode_tool_results(self, results: Sequence[tuple[str, str]]) -> Ids:
        return [3]


def by_training(url: str, played: Transcript) -> Outcome:
    with EventLoopThread(url) as loop_thread:
        rollouts, _ = play(
            loop_thread, ScriptedSampler(played), [(played.task, SEED)], played.limits, 1000, judge=played.judge
        )
    return Outcome(rollouts[0].score.reward, rollouts[0].score.mask)


ADAPTERS = {"trl": by_trl, "gym": by_gym, "gym text": by_gym_text, "http": by_http, "evaluation": by_evaluation,
            "endpoint": by_endpoint, "training": by_training}  # fmt: skip
NUMBER_ADAPTERS = ("gym", "gym text")
"""Adapters whose trainers need a number as reward, which `neutralize_masked` then levels."""


@pytest.mark.parametrize("name", ["right", "wrong", "asked in vain", "outage in open", "judge fails"])
def test_an_environment_that_scores_itself_gives_the_reward_to_async_workers(world: World, name: str) -> None:
    played = transcript(world, name)
    with staged(world, played) as url:
        factories = pickle.loads(pickle.dumps(trl.async_environment_factories(place(url, played.case()))))
        row = trl.build_rows([played.task], SEED)[0]
        env = factories[row.pop("environment")]()
        env.reset(**row)
        for tool, arguments in played.calls:
            getattr(env, tool)(**arguments)
        assert env.get_reward() == expected(url, played).reward


@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_the_episode_earns(world: World, name: str) -> None:
    played = transcript(world, name)
    with staged(world, played) as url:
        outcome = expected(url, played)
    assert outcome.reward == pytest.approx(played.earns)
    assert bool(outcome.masked) == (played.earns is None)
    assert (outcome.masked == NO_VERDICT) == (name == "judge fails")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_gives_the_reward_and_the_mask_of_the_episode(world: World, adapter: str, name: str) -> None:
    played = transcript(world, name)
    with staged(world, played) as url:
        assert ADAPTERS[adapter](url, played) == expected(url, played)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_advantages_of_a_group_are_alike(world: World, adapter: str) -> None:
    """A masked episode has none, and changes nobody else's, whether the trainer takes None or needs a number."""
    outcomes = []
    for played in transcripts(world):
        with staged(world, played) as url:
            outcomes.append(ADAPTERS[adapter](url, played))
    targets = advantages([Outcome(one.earns, "" if one.earns is not None else "x") for one in transcripts(world)])
    if adapter in NUMBER_ADAPTERS:
        scores = [one.reward or 0.0 for one in outcomes]
        levelled = neutralize_masked(scores, [one.masked for one in outcomes], ["one group"] * len(outcomes))
        mean = sum(levelled) / len(levelled)
        assert [score - mean for score in levelled] == pytest.approx(targets)
    assert advantages(outcomes) == pytest.approx(targets)
    assert [value for value, one in zip(advantages(outcomes), outcomes, strict=True) if one.masked] == [0.0] * 6


def run_agent(url: str, played: Transcript, address: str) -> float:
    """Run the agent as AReaL does: with a row, an address and a key."""
    limits = {name: getattr(played.limits, name) for name in ("turns", "calls", "retries")}
    agent, row = WebAgent(server=url, limits=limits, max_tokens=64), endpoint_agent.build_rows([played.task], SEED)[0]

    async def run() -> float:
        reward = await agent.run(row, base_url=address, api_key="of the session", http_client=None)
        await close_clients()
        return reward

    return asyncio.run(run())


def test_an_agent_asks_the_address_of_its_trainer(world: World) -> None:
    played = transcript(world, "right")
    with scripted_model(played) as model:
        assert run_agent(world.url, played, model.url) == 1.0
    assert [one["Authorization"] for one in model.headers] == ["Bearer of the session"] * 3
    assert {one["max_tokens"] for one in model.requests} == {64}
    assert not any("seed" in one or "temperature" in one for one in model.requests), "its trainer samples"


def test_an_agent_without_a_web_or_a_model_gives_no_reward(world: World) -> None:
    played = transcript(world, "outage in open")
    with scripted_model(played) as model, staged(world, played) as url, pytest.raises(MaskedEpisodeError):
        run_agent(url, played, model.url)
    with pytest.raises(MaskedEpisodeError, match="endpoint-unreachable"):
        run_agent(world.url, played, "http://127.0.0.1:9/v1")
