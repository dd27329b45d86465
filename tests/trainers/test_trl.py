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
        schema, wanted = get_json_schema(getattr(env, name))["function"], tool["function"]
        assert (schema["name"], schema["description"]) == (name, wanted["description"])
        assert set(schema["parameters"]["required"]) == set(wanted["parameters"]["required"])
        for key, law in wanted["parameters"]["properties"].items():
            given = schema["parameters"]["properties"][key]
            assert (given["type"], given["description"]) == (law["type"], law["description"])


def trained(folder: Path, place: EnvironmentConfig, cases: list[Case]) -> tuple[GRPOTrainer, dict[str, list[Any]]]:
    """One step over a group whose samples play the cases."""
    words, seen = tiny.tokenizer(), dict[str, list[Any]](rewards=[], completions=[])

    def say(row: int, text: str) -> str:
        plan = int(text.rpartition("<plan ")[2][:1]) if "<plan " in text else row
        done = text.count("</tool_response>")
        calls = cases[plan].calls
        return f"<plan {plan}>" + (tiny.call(*calls[done]) if done < len(calls) else "I am done.")

    def reward(**row: Any) -> list[float | None]:
        seen["rewards"] += (found := trl.reward(**row))
        seen["completions"] += row["completions"]
        return found

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
    return trainer, seen


def test_a_step_of_grpo(world: World, tmp_path: Path) -> None:
    cases = [replace(case(world, name), limits=LIMITS) for name in ("by address", "wrong", "misuses", "uncited")]
    kept = tuple(call for call in cases[2].calls if call[1].get("page") != "2")  # transformers reads "2" as 2
    cases[2] = replace(cases[2], calls=kept)
    place = EnvironmentConfig(world.url, LIMITS)
    before = {name: one.clone() for name, one in tiny.model(tiny.tokenizer(), lambda *_: "").named_parameters()}
    trainer, seen = trained(tmp_path, place, cases)
    for one, messages in zip(cases, seen["completions"], strict=True):
        episode = place.new_episode()
        question = episode.reset(one.task, SEED).text
        wanted = [episode.call(name, given).text for name, given in one.calls]
        assert [message["content"] for message in messages if message["role"] == "tool"] == wanted
        assert question == one.task.question
    assert seen["rewards"] == [expected(world.url, one).earned["reward"] for one in cases]
    assert seen["rewards"][0] == 1.0
    log = trainer.state.log_history[0]
    assert log["reward"] == pytest.approx(sum(seen["rewards"]) / len(cases))
    assert log["terms/finished"] == 1.0
    assert log["terms/misuses"] > 0
    assert log["tools/failure_frequency"] == 0
    after = dict(trainer.model.named_parameters())
    assert any(not one.equal(after[name]) for name, one in before.items())


def test_masked_episodes_teach_nothing(world: World, tmp_path: Path) -> None:
    cases = [case(world, "by address"), case(world, "uncited")]
    trainer, seen = trained(tmp_path, EnvironmentConfig("http://127.0.0.1:9", LIMITS), cases)
    assert seen["rewards"] == [None, None]
    log = trainer.state.log_history[0]
    assert log["reward"] is None
    assert log["masked"] == 1.0
    assert log["grad_norm"] == 0
