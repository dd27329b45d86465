"""Adapters that need no trainer: the same calls give what the episode gives. Those that do: tests/trainers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.rl.contract import NAMES, SEED, Case, Played, case, expected, line, place, same
from tests.rl.worlds import World
from webemu.rl.adapters import gym, trl
from webemu.rl.adapters.environment_config import EnvironmentConfig, close_clients, pack_task, read_seed, unpack_task
from webemu.rl.adapters.http import EpisodeRegistry, build_app
from webemu.rl.adapters.text_tool_calls import TextCall, parse_calls, tool_manual
from webemu.rl.arguments import TOOLS
from webemu.rl.state import Limits
from webemu.rl.tasks import save


def by_trl(url: str, test_case: Case, cut: Callable[[], None] = lambda: None) -> Played:
    row = trl.build_rows([test_case.task], SEED)[0]
    env = trl.environment_factories(place(url, test_case))[row.pop("environment")]()
    observations = [env.reset(**row)]
    cut()
    observations += [getattr(env, name)(**arguments) for name, arguments in test_case.calls]
    record = env._episode.record()
    rewards = trl.reward([env])
    assert env._result is not None
    assert rewards == [env._result["reward"]]
    return Played(tuple(observations), env._result, record.requests)


def by_gym(url: str, test_case: Case, cut: Callable[[], None] = lambda: None) -> Played:
    env = gym.SearchEnv([test_case.task], place(url, test_case))
    observations = [env.reset(seed=SEED, options={"task": test_case.task.id})[0]]
    cut()
    earned: dict[str, Any] = {}
    for name, arguments in test_case.calls:
        text, reward, terminated, truncated, info = env.step({"tool": name, "arguments": arguments})
        observations.append(text)
        if terminated or truncated:
            earned = {key: info[key] for key in ("reward", "terms", "masked", "end")}
            assert reward == (earned["reward"] or 0.0)
            assert terminated == (earned["end"] == "finished")
    return Played(tuple(observations), earned, env._episode.record().requests)


def by_http(url: str, test_case: Case, cut: Callable[[], None] = lambda: None) -> Played:
    return asyncio.run(_by_http(url, test_case, cut))


async def _by_http(url: str, test_case: Case, cut: Callable[[], None]) -> Played:
    transport = httpx.ASGITransport(build_app([test_case.task], place(url, test_case)))
    async with httpx.AsyncClient(transport=transport, base_url="http://episodes") as client:
        episode_start = (await client.post("/reset", json={"task_id": test_case.task.id, "seed": SEED})).json()
        observations = [episode_start["observation"]]
        cut()
        for name, arguments in test_case.calls:
            step_request = {"episode": episode_start["episode"], "tool": name, "arguments": arguments}
            answer = (await client.post("/step", json=step_request)).json()
            observations.append(answer["observation"])
        await close_clients()
    return Played(tuple(observations), {key: answer[key] for key in ("reward", "terms", "masked", "end")})


ADAPTERS = {"trl": by_trl, "gym": by_gym, "http": by_http}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_gives_what_the_episode_gives(world: World, adapter: str, name: str) -> None:
    test_case = case(world, name)
    if adapter == "trl" and not test_case.names_only_tools:
        pytest.skip("TRL itself answers unknown tools and arguments that are no object")
    same(ADAPTERS[adapter](world.url, test_case), expected(world.url, test_case))


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_outage_masks(world: World, adapter: str) -> None:
    test_case = Case("cut", world.of("founded_by"), (("search", {"query": "town"}),), Limits(retries=0))
    with line(world) as way:
        played = ADAPTERS[adapter](way.url, test_case, way.cut)
    assert played.observations[-1] == "The web is out of reach; this attempt does not count."
    assert played.earned["reward"] is None
    assert "unreachable" in played.earned["masked"]
    assert set(played.earned["terms"].values()) == {None}


def test_the_cases_tell_episodes_apart(world: World) -> None:
    """A contract that all sequences would keep alike would say nothing."""
    rewards = {name: expected(world.url, case(world, name)).earned["reward"] for name in NAMES}
    assert rewards["good"] == 1.0
    assert rewards["none"] == 1.0
    assert 0 < rewards["repeats"] < 1
    assert rewards["uncited"] == rewards["turns"] == 0
    weather = expected(world.url, case(world, "weather"))
    assert weather.earned["terms"]["weather"] > 2
    assert expected(world.url, case(world, "asks")).observations[1] == "I mean in 1901."


def test_a_trl_seat_is_used_again(world: World) -> None:
    test_case, other = case(world, "good"), case(world, "wrong")
    env = trl.SearchEnv(place(world.url, test_case))
    rewards = []
    for played in (test_case, other, test_case):
        env.reset(task=pack_task(played.task), seed=SEED)
        for name, arguments in played.calls:
            getattr(env, name)(**arguments)
        rewards += trl.reward([env])
    assert rewards == [1.0, 0.0, 1.0]


def test_trl_logs_every_term(world: World) -> None:
    test_case = case(world, "good")
    env = trl.SearchEnv(place(world.url, test_case))
    env.reset(task=pack_task(test_case.task), seed=SEED)
    for name, arguments in test_case.calls:
        getattr(env, name)(**arguments)
    metrics: dict[str, float] = {}
    extras: dict[str, list[Any]] = {}
    trl.reward([env], metrics.__setitem__, extras.__setitem__, prompts=[])
    assert metrics["terms/searches"] == metrics["terms/opened"] == metrics["terms/answer"] == 1.0
    assert metrics["masked"] == 0.0
    assert extras == {"task": [test_case.task.id], "masked": [""]}


def test_a_place_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="turns"):
        EnvironmentConfig.from_config({"limits": {"trns": 3}})
    with pytest.raises(ValueError, match="'turns' must be a whole number, got '3'"):
        EnvironmentConfig.from_config({"limits": {"turns": "3"}})
    with pytest.raises(ValueError, match="`limits` must be an object"):
        EnvironmentConfig.from_config({"limits": [3]})
    assert EnvironmentConfig.from_config({"limits": {"brief": 1}}).limits == Limits(brief=True)
    assert EnvironmentConfig.from_config({"limits": {"turns": 3}}).limits == Limits(turns=3)


def test_a_task_travels_as_one_column(world: World) -> None:
    assert [unpack_task(pack_task(task)) for task in world.tasks] == list(world.tasks)


def test_the_seed_of_a_row() -> None:
    assert [read_seed(one) for one in (None, "", 0, 7, "7", np.int64(7))] == [0, 0, 0, 7, 7, 7]
    with pytest.raises(TypeError, match="whole number"):
        read_seed([7])


PHRASES = {
    '<think>I <search>must</search></think><tool_call>\n{"name": "search", "arguments": {"query": "a"}}\n</tool_call>':
        [("search", {"query": "a"})],
    '<tool_call>{"name": "open", "parameters": {"link": "r1"}}</tool_call><tool_call>{"name": "find"}</tool_call>':
        [("open", {"link": "r1"}), ("find", None)],
    '<tool_call>{"name": "search", "arguments": {"query": </tool_call>':
        [("search", '{"name": "search", "arguments": {"query":')],
    "<tool_call>[1]</tool_call>": [(None, "[1]")],
    "<tool_call>nonsense": [(None, "nonsense")],
    "So: <search> who was it </search>": [("search", {"query": "who was it"})],
    "<open>r1</open><find>born</find>": [("open", {"link": "r1"}), ("find", {"pattern": "born"})],
    "<answer>Anna <cite>r1</cite> <cite>https://a.example/</cite></answer>":
        [("finish", {"answer": "Anna", "citations": ["r1", "https://a.example/"]})],
    "<answer>cut off": [("finish", {"answer": "cut off", "citations": []})],
    "I know it.": [(None, None)],
    "<think>I could <search>a</search>, or": [(None, None)],
    "": [(None, None)],
}  # fmt: skip


@pytest.mark.parametrize("text", PHRASES)
def test_calls_are_read_from_text(text: str) -> None:
    assert [(call.name, call.arguments) for call in parse_calls(text)] == PHRASES[text]


def test_the_manual_names_every_tool() -> None:
    text = tool_manual(TOOLS)
    assert all(f'"name": "{tool["function"]["name"]}"' in text for tool in TOOLS)
    assert parse_calls(text)[-1] == TextCall("search", {"query": "…"})


def test_gym_takes_a_models_text(world: World) -> None:
    task = world.of("founded_by")
    env = gym.SearchEnv([task], EnvironmentConfig(world.url))
    env.reset(seed=SEED)
    assert "no tool 'None'" in env.step("I know it.")[0]
    env.step(f"<open>{task.evidence[0].url}</open>")
    _, reward, terminated, _, info = env.step(f"<answer>{task.answers[0]}<cite>{task.evidence[0].url}</cite></answer>")
    assert (reward, terminated, info["terms"]["misuses"]) == (1.0, True, 1.0)


def test_gym_draws_tasks_by_the_seed(world: World) -> None:
    def drawn(seed: int | None) -> list[str]:
        env = gym.SearchEnv(world.tasks, EnvironmentConfig(world.url))
        first = env.reset(seed=seed)[1]["task"]
        return [first, *(env.reset()[1]["task"] for _ in range(4))]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_gold_is_in_no_answer_over_http(world: World) -> None:
    task = world.of("founded_by")

    async def collect_answers() -> str:
        transport = httpx.ASGITransport(build_app([task], EnvironmentConfig(world.url)))
        async with httpx.AsyncClient(transport=transport, base_url="http://episodes") as client:
            texts = [(await client.get("/tasks")).text, (await client.get("/health")).text]
            start_reply = await client.post("/reset", json={"task_id": task.id})
            name = start_reply.json()["episode"]
            answer = await client.post("/step", json={"episode": name, "tool": "open", "arguments": {}})
            end = {"episode": name, "tool": "finish", "arguments": {"answer": "x", "citations": []}}
            texts += [start_reply.text, answer.text, (await client.post("/step", json=end)).text]
            await close_clients()
            return "".join(texts)

    text = asyncio.run(collect_answers())
    assert task.question in text
    assert not [gold for gold in task.answers if gold in text.replace(task.question, "")]


BAD = [
    ("/reset", b"{", 400, "not JSON"),
    ("/reset", b"[]", 400, "JSON object"),
    ("/reset", b"[" * 100_000, 400, "not JSON"),
    ("/reset", b'{"task_id": "nope"}', 404, "no task 'nope'"),
    ("/reset", b'{"task": {"id": 1}}', 400, "`task` is malformed"),
    ("/reset", b'{"task": 7}', 400, "`task` is malformed"),
    ("/reset", b'{"task_id": "T", "seed": "1"}', 400, "whole number"),
    ("/reset", b" " * (1 << 20) + b"{}", 413, "larger"),
    ("/step", b'{"episode": "nope", "tool": "search"}', 404, "no episode 'nope'"),
    ("/step", b"{}", 404, "no episode"),
]


@pytest.mark.parametrize(("path", "body", "status", "message"), BAD)
def test_what_cannot_be_served_is_told(world: World, path: str, body: bytes, status: int, message: str) -> None:
    async def send_request() -> httpx.Response:
        transport = httpx.ASGITransport(build_app(world.tasks, EnvironmentConfig(world.url)))
        async with httpx.AsyncClient(transport=transport, base_url="http://episodes") as client:
            return await client.post(path, content=body.replace(b'"T"', json.dumps(world.tasks[0].id).encode()))

    answer = asyncio.run(send_request())
    assert answer.status_code == status
    assert message in answer.json()["error"]
    assert answer.json()["action"]


def test_episodes_are_bounded_and_idle_ones_forgotten(world: World) -> None:
    async def counted() -> list[Any]:
        seats = EpisodeRegistry(world.tasks, EnvironmentConfig(world.url), max_episodes=2, idle_seconds=0.3)
        reset_request = {"task_id": world.tasks[0].id}
        first, second = [(await seats.reset(reset_request))["episode"] for _ in range(2)]
        with pytest.raises(Exception, match="limit of 2 concurrent episodes"):
            await seats.reset(reset_request)
        assert (await seats.close({"episode": second}), await seats.close({"episode": second})) == (
            {"closed": True},
            {"closed": False},
        )
        third = (await seats.reset(reset_request))["episode"]
        await asyncio.sleep(0.4)
        await seats.step({"episode": third, "tool": "open", "arguments": {}})
        await seats.reset(reset_request)
        await close_clients()
        return [first in seats.slots, third in seats.slots]

    assert asyncio.run(counted()) == [False, True]


def test_the_command_serves_episodes(world: World, tmp_path: Path) -> None:
    save(tmp_path / "tasks.jsonl", world.tasks[:3])
    command = [sys.executable, "-m", "webemu.emulator.cli", "episodes", "--tasks", str(tmp_path / "tasks.jsonl")]
    process = subprocess.Popen([*command, "--server", world.url, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" at ")[1].split(" ")[0]
        task = world.tasks[0]
        start = httpx.post(f"{address}/reset", json={"task_id": task.id}, timeout=60).json()
        assert start["observation"] == task.question
        end = {"tool": "finish", "arguments": {"answer": task.answers[0], "citations": []}}
        answer = httpx.post(f"{address}/step", json={"episode": start["episode"]} | end, timeout=60).json()
        assert (answer["done"], answer["reward"], answer["terms"]["correct"]) == (True, 0.0, 1.0)
    finally:
        process.terminate()
        assert process.wait(30) is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--server", "http://127.0.0.1:9"], "http://127.0.0.1:9"), (["--limits", '{"trns": 1}'], "turns"),
     (["--limits", "{"], "--limits must hold a JSON object"), (["--limits", "[]"], "--limits"),
     (["--policy", "nowhere.json"], "nowhere.json"),
     (["--policy", "bad.json"], "weathr"), (["--policy", "list.json"], "list.json must"),
     (["--port", "taken"], "Address already in use")],
)  # fmt: skip
def test_the_command_tells_what_is_wrong(world: World, tmp_path: Path, arguments: list[str], message: str) -> None:
    save(tmp_path / "tasks.jsonl", world.tasks[:1])
    (tmp_path / "bad.json").write_text('{"weathr": {}}')
    (tmp_path / "list.json").write_text("[1]")
    command = [sys.executable, "-m", "webemu.emulator.cli", "episodes", "--tasks", "tasks.jsonl"]
    where = ["--server", world.url, *(world.url.rpartition(":")[2] if word == "taken" else word for word in arguments)]
    done = subprocess.run([*command, *where], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_adapters_load_without_their_trainers() -> None:
    heavy = "{'trl', 'torch', 'datasets', 'gymnasium', 'verifiers', 'openai', 'numpy', 'duckdb'}"
    modules = ("adapters.trl", "adapters.gym", "adapters.http", "adapters.command", "curriculum")
    names = ", ".join(f"webemu.rl.{module}" for module in modules)
    code = f"import sys, {names}; print(sorted({heavy} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
