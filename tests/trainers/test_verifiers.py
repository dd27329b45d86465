"""`vf-eval` plays episodes through its own interception, asking a stand-in for a model over HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("verifiers")

from tests.rl.contract import NAMES, SEED, Case, Played, case, expected, same
from tests.rl.openai_server import ScriptedMessage, openai_server
from tests.rl.worlds import World
from webemu.rl.state import Limits
from webemu.rl.tasks import save

PLUGIN = """from webemu.rl.adapters.verifiers import WebHarness, WebTaskset
__all__ = ["WebHarness", "WebTaskset"]
"""


CONFIG = """model = "stand-in"
push = false
output_dir = "out"

[client]
base_url = "{base_url}"
api_key_var = "NO_KEY"

[run]
name = "one"

[env.taskset]
id = "webemu_search"
tasks = "tasks.jsonl"

[env.agent.runtime]
type = "subprocess"

[env.agent.harness]
id = "webemu_search"
server = "{server}"
seed = {seed}
limits = {limits}
policy = {policy}
judge = {judge}
"""


def _toml(value: Any) -> str:
    """Numbers and tables of them."""
    return (
        f"{{{', '.join(f'{key} = {_toml(one)}' for key, one in value.items())}}}"
        if isinstance(value, Mapping)
        else json.dumps(value)
    )


def evaluated(folder: Path, url: str, cases: list[Case]) -> list[dict[str, Any]]:
    """The traces of a run, by the order of the cases, whose limits and policy are those of the first."""
    (folder / "webemu_search.py").write_text(PLUGIN)
    save(folder / "tasks.jsonl", [one.task for one in cases])
    scripts = {one.task.question: one.calls for one in cases}

    def script(body: dict[str, Any]) -> ScriptedMessage:
        question = next(one["content"] for one in body["messages"] if one["role"] == "user")
        done = sum(one["role"] == "tool" for one in body["messages"])
        calls = scripts[question]
        return ScriptedMessage(calls=(calls[done],)) if done < len(calls) else ScriptedMessage("I am done.")

    limits = {name: getattr(cases[0].limits, name) for name in ("turns", "calls", "retries")}
    with openai_server(script) as server:
        config_text = CONFIG.format(
            server=url, limits=_toml(limits), policy=_toml(cases[0].policy), base_url=server.url, seed=SEED,
            judge=_toml(cases[0].judge),
        )  # fmt: skip
        (folder / "eval.toml").write_text(config_text)
        command = [
            sys.executable,
            "-c",
            "from verifiers.v1.cli.eval.main import main; main()",
            "@",
            "eval.toml",
            "--no-rich",
        ]
        paths = f"{folder}:{Path(__file__).parent.parent.parent}"
        environment = {**os.environ, "PYTHONPATH": paths, "NO_KEY": "none"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = (folder / "out" / "one" / "traces.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def told_apart(cases: list[Case]) -> list[Case]:
    """Return the cases with distinct questions, by which the stand-in knows them; no endpoint sends a null name."""
    return [
        replace(
            one,
            task=replace(one.task, id=f"t{number}", question=f"{one.task.question} ({number})"),
            calls=tuple(call for call in one.calls if call[0] is not None),
        )
        for number, one in enumerate(cases)
    ]


def played(row: dict[str, Any]) -> Played:
    (trace,) = row["traces"]
    messages = [node["message"] for node in trace["nodes"]]
    texts = [message["content"] for message in messages if message["role"] in ("user", "tool")]
    assert trace["rewards"]["reward"]["score"] == trace["info"]["webemu"]["reward"]
    assert trace["metrics"].items() >= trace["info"]["webemu"]["terms"].items()
    return Played(tuple(texts), trace["info"]["webemu"])


@pytest.mark.parametrize("names", [[name for name in NAMES if name not in ("weather", "turns", "calls")],
                                   ["weather"], ["turns"]], ids=len)  # fmt: skip
def test_verifiers_gives_what_the_episode_gives(world: World, tmp_path: Path, names: list[str]) -> None:
    cases = told_apart([case(world, name) for name in names])
    rows = {row["traces"][0]["task"]["data"]["id"]: row for row in evaluated(tmp_path, world.url, cases)}
    for test_case in cases:
        expected_play = expected(world.url, test_case)
        turn_count = int(
            expected_play.earned["terms"]["turns"]
        )  # the last observation goes to no model, so no trace has it
        same(
            played(rows[test_case.task.id]),
            replace(expected_play, observations=expected_play.observations[:turn_count]),
        )


def test_a_masked_episode_is_an_error_and_no_reward(world: World, tmp_path: Path) -> None:
    test_case = replace(case(world, "good"), limits=Limits(retries=0))
    (row,) = evaluated(tmp_path, "http://127.0.0.1:9", told_apart([test_case]))
    (trace,) = row["traces"]
    assert "masked: " in json.dumps(trace["errors"])
    assert trace["rewards"].get("reward") is None
