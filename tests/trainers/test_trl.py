"""A real `GRPOTrainer` plays episodes: what it sees, earns and masks is what the episode says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"

from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from tests.rl.contract import SEED, Case, case, expected
from tests.rl.worlds import World
from tests.trainers import tiny
from webemu.rl.adapters import trl
from webemu.rl.adapters.environment_config import EnvironmentConfig
from webemu.rl.arguments import TOOLS
from webemu.rl.state import Limits

LIMITS = Limits(characters=300, retries=0)


def test_the_schemas_are_the_episodes() -> None:
    env = trl.SearchEnv(EnvironmentConfig())
    for tool in TOOLS:
        name = tool["function"]["name"]
        schema, expected_schema = get_json_schema(getattr(env, name))["function"], tool["function"]
        assert (schema["name"], schema["description"]) == (name, expected_schema["description"])
        assert set(schema["parameters"]["required"]) == set(expected_schema["parameters"]["required"])
        for key, law in expected_schema["parameters"]["properties"].items():
            parameter = schema["parameters"]["properties"][key]
            assert (parameter["type"], parameter["description"]) == (law["type"], law["description"])


def trained(folder: Path, place: EnvironmentConfig, cases: list[Case]) -> tuple[GRPOTrainer, dict[str, list[Any]]]:
    """One step over a group whose samples play the cases."""
    words, logged = tiny.tokenizer(), dict[str, list[Any]](rewards=[], completions=[])

    def say(row: int, text: str) -> str:
        plan = int(text.rpartition("<plan ")[2][:1]) if "<plan " in text else row
        done = text.count("</tool_response>")
        calls = cases[plan].calls
        return f"<plan {plan}>" + (tiny.call(*calls[done]) if done < len(calls) else "I am done.")

    def reward(**row: Any) -> list[float | None]:
        logged["rewards"] += (rewards := trl.reward(**row))
        logged["completions"] += row["completions"]
        return rewards

    config = GRPOConfig(
        output_dir=str(folder), max_steps=1, per_device_train_batch_size=len(cases), num_generations=len(cases),
        max_completion_length=8000, learning_rate=1e-3, use_cpu=True, bf16=False, gradient_checkpointing=False,
        max_tool_calling_iterations=LIMITS.turns, report_to=[], save_strategy="no", logging_steps=1,
        disable_tqdm=True,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=tiny.model(words, say),
        reward_funcs=[reward],
        args=config,
        train_dataset=trl.build_dataset([cases[0].task], SEED),
        processing_class=words,
        environment_factory=trl.environment_factories(place),
    )
    trainer.train()
    return trainer, logged


def test_a_step_of_grpo(world: World, tmp_path: Path) -> None:
    cases = [replace(case(world, name), limits=LIMITS) for name in ("by address", "wrong", "misuses", "uncited")]
    calls = tuple(call for call in cases[2].calls if call[1].get("page") != "2")  # transformers reads "2" as 2
    cases[2] = replace(cases[2], calls=calls)
    place = EnvironmentConfig(world.url, LIMITS)
    before = {
        name: test_case.clone() for name, test_case in tiny.model(tiny.tokenizer(), lambda *_: "").named_parameters()
    }
    trainer, logged = trained(tmp_path, place, cases)
    for test_case, messages in zip(cases, logged["completions"], strict=True):
        episode = place.new_episode()
        question = episode.reset(test_case.task, SEED).text
        expected_texts = [episode.call(name, arguments).text for name, arguments in test_case.calls]
        assert [message["content"] for message in messages if message["role"] == "tool"] == expected_texts
        assert question == test_case.task.question
    assert logged["rewards"] == [expected(world.url, test_case).earned["reward"] for test_case in cases]
    assert logged["rewards"][0] == 1.0
    log = trainer.state.log_history[0]
    assert log["reward"] == pytest.approx(sum(logged["rewards"]) / len(cases))
    assert log["terms/finished"] == 1.0
    assert log["terms/misuses"] > 0
    assert log["tools/failure_frequency"] == 0
    after = dict(trainer.model.named_parameters())
    assert any(not test_case.equal(after[name]) for name, test_case in before.items())


def test_masked_episodes_teach_nothing(world: World, tmp_path: Path) -> None:
    cases = [case(world, "by address"), case(world, "uncited")]
    trainer, logged = trained(tmp_path, EnvironmentConfig("http://127.0.0.1:9", LIMITS), cases)
    assert logged["rewards"] == [None, None]
    log = trainer.state.log_history[0]
    assert log["reward"] is None
    assert log["masked"] == 1.0
    assert log["grad_norm"] == 0
