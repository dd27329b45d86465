"""Steps of SFT and GRPO by TRL, on models of random weights: what is learned from, what is logged, what is saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("trl")
pytest.importorskip("peft")

import pyarrow.parquet as pq
import torch
from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig

from tests.train.test_rollout import played
from tests.train.toy import BRIEF, FULL, WORDS, good, of
from tests.trainers import tiny
from webemu.rl.arguments import TOOLS
from webemu.rl.curriculum import Curriculum
from webemu.rl.environment import AsyncEpisode
from webemu.rl.rewards import rubric_of
from webemu.rl.rubric import Score
from webemu.rl.tasks import Task
from webemu.rl.train import grpo as module
from webemu.rl.train import tiny_models
from webemu.rl.train.chat_model import ChatModel, load_model, save_model, unwrap_model
from webemu.rl.train.chat_templates import prepare_tokenizer
from webemu.rl.train.choose import level_small_spreads, play_groups
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.grpo import MAX_LOW_ENTROPY_STEPS, RolloutFunction, grpo_config, train_grpo
from webemu.rl.train.patterns import PATTERNS, play_traces
from webemu.rl.train.recipe import EpisodeSettings, RecipeError, Stage
from webemu.rl.train.rollout import Rollout, play
from webemu.rl.train.run import _check_gate
from webemu.rl.train.run_folder import RunError
from webemu.rl.train.sampling import ChatCodec, LocalSampler
from webemu.rl.train.served_web import ServedWeb
from webemu.rl.train.sft import to_dataset, train_sft
from webemu.rl.train.step_log import read_steps
from webemu.rl.train.trainer import TrainingJob

pytestmark = pytest.mark.slow

SFT = Stage("skills", "sft", 2, 1e-3, batch=4)
GRPO = Stage("grpo", "grpo", 2, 1e-3, batch=8, group=4, resample=0, turn=8, context=64)
RANDOM = EpisodeSettings(BRIEF, control="random-reward")


def small(words: Any) -> Any:
    return tiny_models.create_model(tiny_models.SIZES["tiny"], 0, len(words), words.pad_token_id, words.eos_token_id)


def qwen(words: Any) -> Qwen3ForCausalLM:
    """The architecture of Qwen3, as large as a test can bear."""
    torch.manual_seed(0)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, head_dim=16, max_position_embeddings=1 << 15, tie_word_embeddings=True,
            pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id,
        )
    )  # fmt: skip


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: one.detach().clone() for name, one in model.named_parameters()}


def changed(before: dict[str, torch.Tensor], model: Any) -> bool:
    return any(not one.equal(before[name]) for name, one in model.named_parameters())


def rows(toy: ServedWeb, limits: Any = BRIEF, count: int = 8) -> list[dict[str, Any]]:
    mix = {"good": 0.5, "guess": 0.2, "unread": 0.2, "astray": 0.1}
    with EventLoopThread(toy.server) as room:
        conversations = play_traces(room, of(toy, "fact", count), mix, limits, 0)
    return [{"messages": messages, "tools": list(TOOLS)} for messages in conversations]


def test_rows_keep_their_own_arguments_and_no_null_is_said(toy: ServedWeb) -> None:
    given_rows = rows(toy)
    dataset_rows = to_dataset(given_rows)
    assert len({tuple(call["function"]["arguments"]) for row in given_rows for one in row["messages"]
                for call in one.get("tool_calls", ())}) > 1  # fmt: skip
    for name in WORDS:
        words = WORDS[name]()
        for row, given_row in zip(dataset_rows, given_rows, strict=True):
            assert arguments_of(row["messages"]) == arguments_of(given_row["messages"])
            text = words.apply_chat_template(row["messages"], tools=row["tools"], tokenize=False)
            assert text == words.apply_chat_template(given_row["messages"], tools=given_row["tools"], tokenize=False)
            assert "None" not in text
            assert "null" not in text


def arguments_of(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call["function"]["arguments"] for one in messages for call in one.get("tool_calls") or ()]


@pytest.mark.parametrize("name", sorted(WORDS))
def test_sft_learns_from_what_the_model_says_after_the_prompt_of_its_episodes(
    toy: ServedWeb, tmp_path: Path, name: str
) -> None:
    words = WORDS[name]()
    model = (qwen if name == "qwen3" else small)(words)
    before, conversations = weights(model), rows(toy, FULL if name == "qwen3" else BRIEF)
    trainer = train_sft(TrainingJob(SFT, tmp_path, 0), ChatModel(model, words), conversations)
    assert changed(before, trainer.model)
    assert [row["step"] for row in read_steps(tmp_path)] == [*range(1, SFT.steps + 1)]
    for row, encoded in zip(conversations, trainer.train_dataset, strict=True):
        prompt = ChatCodec(words).encode_prompt(Task("1", row["messages"][0]["content"], ("x",)), TOOLS)
        ids, is_lesson = encoded["input_ids"], [label != -100 for label in encoded["labels"]]
        assert ids[: len(prompt)] == prompt
        # Qwen2.5's template counts the line break that ends a prompt as the assistant's before a call.
        assert not any(is_lesson[: len(prompt) - (name == "chatml")])
        learned = words.decode([id_ for id_, is_own in zip(ids, is_lesson, strict=True) if is_own])
        for message in row["messages"]:
            for call in message.get("tool_calls", ()):
                assert call["function"]["name"] in learned
            if message["role"] == "tool" and len(message["content"]) > 20:
                assert message["content"] not in learned
        assert learned.count(words.eos_token) == sum(one["role"] == "assistant" for one in row["messages"])


@pytest.mark.parametrize("control", ["", "random-reward", "no-tools"])
def test_two_steps_of_grpo(toy: ServedWeb, tmp_path: Path, control: Any) -> None:
    words = WORDS["scratch"]()
    model = small(words)
    before = weights(model)
    with EventLoopThread(toy.server) as room:
        episodes = EpisodeSettings(BRIEF, control=control)
        train_grpo(TrainingJob(GRPO, tmp_path, 0), ChatModel(model, words), of(toy, "fact", 8), episodes, room)
    steps = read_steps(tmp_path)
    assert [row["step"] for row in steps] == [1, 2]
    assert all({"reward", "masked", "over/silent", "seconds/speaking", "trl/loss"} <= row.keys() for row in steps)
    assert all(row["tokens_per_second"] > 0 and 0 <= row["share/tools"] < 1 for row in steps)
    assert all(row["memory/peak_mb"] > 1 for row in steps)
    assert all(row["over/silent"] + row["over/long"] + row["over/done"] == 1.0 for row in steps)
    assert changed(before, model) == (control == "random-reward")
    for step in (1, 2):
        table_rows = pq.read_table(tmp_path / "trajectories" / f"{step:06d}.parquet").to_pylist()
        assert len(table_rows) == GRPO.batch
        assert [len({row["task"] for row in table_rows[at : at + 4]}) for at in (0, 4)] == [1, 1]
        assert all(json.loads(row["messages"]) and json.loads(row["terms"]) for row in table_rows)
    assert (tmp_path / "curriculum-2.json").exists()


def test_a_step_pays_what_the_episodes_earned(toy: ServedWeb, tmp_path: Path) -> None:
    """Four samples of one task: right, guessed, without a call, and with a call that no parser reads."""
    words, task = tiny.tokenizer(), of(toy, "fact")[0]
    turns = [[tiny.call(*call) for calls in good(task) for call in calls]]
    turns.append([tiny.call("finish", {"answer": "Kex Rano", "citations": ["r1"]})])
    turns += [["It is Kex Rano."], ["<tool_call>" + "[" * 3000 + "</tool_call>"]]

    def say(row: int, text: str) -> str:
        plan = int(text.rpartition("<plan ")[2][:1]) if "<plan " in text else row
        return f"<plan {plan}>{turns[plan][text.count('</tool_response>')]}"

    model = tiny.model(prepare_tokenizer(words), say)
    before = weights(model)
    stage = replace(GRPO, steps=1, batch=4, context=8000)
    with EventLoopThread(toy.server) as room:
        train_grpo(TrainingJob(stage, tmp_path, 0), ChatModel(model, words), [task], EpisodeSettings(FULL), room)
    table_rows = pq.read_table(tmp_path / "trajectories" / "000001.parquet").to_pylist()
    assert [row["reward"] for row in table_rows] == [1.0, 0.0, 0.0, 0.0]
    assert [row["over"] for row in table_rows] == ["done", "done", "silent", "silent"]
    step = read_steps(tmp_path)[0]
    assert (step["reward"], step["trl/reward"], step["over/silent"], step["grounded"]) == (0.25, 0.25, 0.5, 0.25)
    assert changed(before, model)


def test_a_masked_rollout_without_a_token_is_no_lesson(
    toy: ServedWeb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of each group is lost, like in an outage before the first turn; the rest is played."""

    def play_with_outage(*play_arguments: Any) -> Any:
        rollouts, timing = play(*play_arguments)
        return [Rollout(one.task, one.seed, one.prompt_ids) if n % 2 else one for n, one in enumerate(rollouts)], timing

    monkeypatch.setattr(module, "play", play_with_outage)
    words = WORDS["scratch"]()
    with EventLoopThread(toy.server) as room:
        job, chat_model = TrainingJob(GRPO, tmp_path, 0), ChatModel(small(words), words)
        trainer = train_grpo(job, chat_model, of(toy, "fact", 8), RANDOM, room)
    assert [row["masked"] for row in read_steps(tmp_path)] == [0.5, 0.5]
    assert all(0 < row["trl/grad_norm"] < 100 for row in read_steps(tmp_path))
    assert all(torch.isfinite(one).all() for one in trainer.model.parameters())


def test_a_model_that_never_calls_a_tool_is_seen(toy: ServedWeb) -> None:
    words = WORDS["scratch"]()
    words.response_template = words.response_template | {"fields": {"content": {"close": "<|end|>", "content": "text"}}}
    task = of(toy, "fact")[0]
    rollout = played(toy, words, [(task, good(task))], BRIEF)[0]
    assert (rollout.end_reason, rollout.score.reward, rollout.latencies) == ("silent", 0.0, [])


@pytest.mark.parametrize("loss", ["dapo", "cispo", "dr_grpo", "grpo", "bnpo"])
def test_losses_are_known_to_trl(tmp_path: Path, loss: str) -> None:
    config = grpo_config(replace(GRPO, loss=loss), tmp_path, 0)
    assert isinstance(config, GRPOConfig)
    assert (config.loss_type, config.epsilon, config.epsilon_high) == (loss, 0.2, 0.28)
    assert (config.temperature, config.num_generations, config.beta) == (1.0, 4, 0.0)


@pytest.mark.parametrize("loss", ["cispo", "dr_grpo"])
def test_a_step_by_each_loss(toy: ServedWeb, tmp_path: Path, loss: str) -> None:
    words = WORDS["scratch"]()
    model = small(words)
    before, stage = weights(model), replace(GRPO, loss=loss, steps=1)
    with EventLoopThread(toy.server) as room:
        train_grpo(TrainingJob(stage, tmp_path, 0), ChatModel(model, words), of(toy, "fact", 8), RANDOM, room)
    assert changed(before, model)


@pytest.mark.parametrize("rank", [0, 4], ids=["whole", "lora"])
def test_a_qwen3_goes_through_both_stages_and_speaks_again(toy: ServedWeb, tmp_path: Path, rank: int) -> None:
    words, folder = WORDS["qwen3"](), tmp_path / "model"
    job = TrainingJob(replace(SFT, steps=1), tmp_path / "1", 0, lora=rank)
    save_model(unwrap_model(train_sft(job, ChatModel(qwen(words), words), rows(toy, FULL, 4))), folder)
    tasks = of(toy, "fact", 4)
    job = TrainingJob(replace(GRPO, steps=1, turn=16, context=1024), tmp_path / "2", 0, lora=rank)
    with EventLoopThread(toy.server) as room:
        episodes = EpisodeSettings(FULL, control="random-reward")
        save_model(unwrap_model(train_grpo(job, load_model(str(folder)), tasks, episodes, room)), folder)
        again = load_model(str(folder))
        sampler = LocalSampler(again.model, again.tokenizer, 16)
        rollouts, _ = play(room, sampler, [(task, 0) for task in tasks], FULL, 1024)
    assert [row["step"] for row in read_steps(tmp_path / "2")] == [1]
    assert all(one.score.reward == 0.0 and 0 < len(one.ids) <= 16 for one in rollouts)
    assert changed(weights(qwen(words)), again.model)


def test_a_model_of_16_bits_is_trained_in_32(tmp_path: Path) -> None:
    words = WORDS["qwen3"]()
    qwen(words).to(torch.bfloat16).save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    assert AutoModelForCausalLM.from_pretrained(tmp_path).dtype == torch.bfloat16
    assert load_model(str(tmp_path)).model.dtype == torch.float32


def test_a_stage_that_tries_nothing_any_more_ends(toy: ServedWeb, tmp_path: Path) -> None:
    words = WORDS["scratch"]()
    stage = replace(GRPO, steps=MAX_LOW_ENTROPY_STEPS + 3, entropy=100.0)
    with EventLoopThread(toy.server) as room:
        job, chat_model = TrainingJob(stage, tmp_path, 0), ChatModel(small(words), words)
        trainer = train_grpo(job, chat_model, of(toy, "fact", 8), EpisodeSettings(BRIEF), room)
    assert trainer.state.global_step == len(read_steps(tmp_path)) == MAX_LOW_ENTROPY_STEPS


@pytest.mark.parametrize(
    ("control", "reward", "correct", "length", "earned"),
    [
        ("", 1.0, 1.0, 0.0, 1.0),
        ("", 1.0, 1.0, 0.5, 0.75),
        ("", 0.05, 0.0, 0.0, 0.05),
        ("", None, None, 0.5, None),
        ("shuffled-gold", 0.05, 0.0, 0.0, 0.0),
        ("shuffled-gold", 1.0, 1.0, 0.0, 1.0),
        ("random-reward", None, None, 0.0, None),
    ],
)
def test_what_a_rollout_is_worth(
    control: Any, reward: float | None, correct: float | None, length: float, earned: float | None
) -> None:
    stage = replace(GRPO, length=length, context=20)
    episodes = EpisodeSettings(BRIEF, control=control)
    rounds = RolloutFunction(stage, Curriculum([Task("1", "Q", ("x",))]), episodes, None, None)  # type: ignore[arg-type]
    rollout = Rollout(Task("1", "Q", ("x",)), 0, [1], [2] * 15, [1] * 10 + [0] * 5)
    rollout.score = Score(reward, {"correct": correct})
    assert rounds._reward_of(rollout, 0) == earned


def test_an_ungated_cost_makes_wrong_answers_differ_by_their_calls() -> None:
    def earned(control: Any, reward: float, requests: float) -> float | None:
        rollout = Rollout(Task("1", "Q", ("x",)), 0, [1], [2], [1])
        rollout.score = Score(reward, {"correct": reward, "requests": requests})
        return _rounds(control)._reward_of(rollout, 0)

    assert [earned("", 0.0, calls) for calls in (0, 3)] == [0.0, 0.0]
    assert [earned("ungated-cost", 0.0, calls) for calls in (0, 3)] == [0.0, pytest.approx(-0.06)]
    assert earned("ungated-cost", 1.0, 2) == pytest.approx(0.96)


@pytest.mark.parametrize("control", ["", "ungated-cost"])
def test_an_ungated_cost_chooses_groups_that_differ_by_it(control: Any) -> None:
    def play_batch(samples: Sequence[tuple[Task, int]]) -> list[Rollout]:
        rollouts = [Rollout(task, seed, [1], [2], [1]) for task, seed in samples]
        for rollout, calls in zip(rollouts, (3, 3, 3, 1), strict=True):
            rollout.score = Score(0.0, {"correct": 0.0, "requests": calls})
        return rollouts

    rounds = _rounds(control)
    _, played = play_groups(rounds.curriculum, play_batch, 1, 4, 2, 0, rounds._min_spread, **rounds._choice(0))
    assert played == (1 if control else 3)
    rewards = level_small_spreads([0.0, 0.0, 0.0, -0.02], 4, rounds._min_spread)
    assert (len({*rewards}) == 2) == bool(control)


def _rounds(control: Any) -> RolloutFunction:
    curriculum = Curriculum([Task("1", "Q", ("x",))])
    return RolloutFunction(GRPO, curriculum, EpisodeSettings(BRIEF, control=control), None, None)  # type: ignore[arg-type]


def test_a_gate_holds_up_what_misses_it() -> None:
    figure = {"mean": 0.25, "low": 0.2, "high": 0.3, "tasks": 8}
    manifest: Any = {"held_out": {"grounded": figure, "masked": 0}}
    _check_gate(replace(GRPO, gate=0.25), manifest)
    with pytest.raises(RunError, match=r"reached 0\.250 grounded answers, but its gate is 0\.3"):
        _check_gate(replace(GRPO, gate=0.3), manifest)


def test_vllm_is_told_what_transformers_is(tmp_path: Path) -> None:
    for place, mode in (("colocate", "colocate"), ("http://127.0.0.1:8000", "server")):
        config = grpo_config(GRPO, tmp_path, 0, place)
        assert (config.use_vllm, config.vllm_mode) == (True, mode)
        assert config.generation_kwargs == {"max_tokens": GRPO.turn}
    assert config.vllm_server_base_url == "http://127.0.0.1:8000"


def test_a_batch_goes_through_the_model_in_parts(toy: ServedWeb, tmp_path: Path) -> None:
    config = grpo_config(replace(GRPO, batch=8, micro=2), tmp_path, 0)
    assert (config.per_device_train_batch_size, config.gradient_accumulation_steps, config.steps_per_generation) == (
        2,
        4,
        4,
    )
    with pytest.raises(RecipeError, match="must be a multiple of processes"):
        grpo_config(replace(GRPO, batch=8, micro=3), tmp_path, 0)
    words = WORDS["scratch"]()
    model = small(words)
    before = weights(model)
    with EventLoopThread(toy.server) as room:
        job = TrainingJob(replace(GRPO, batch=8, micro=2, steps=2), tmp_path, 0)
        train_grpo(job, ChatModel(model, words), of(toy, "fact", 8), RANDOM, room)
    assert [len(pq.read_table(path)) for path in sorted((tmp_path / "trajectories").glob("*.parquet"))] == [8, 8]
    assert changed(before, model)


def test_good_traces_earn_everything_and_short_ones_a_part(toy: ServedWeb) -> None:
    earned: dict[tuple[str, str], list[float]] = {}
    with EventLoopThread(toy.server) as room:
        for name in ("good", "short", "guess"):
            for task, score in zip(
                toy.tasks, room.gather(_scored(room, name, task, toy) for task in toy.tasks), strict=True
            ):
                earned.setdefault((name, task.recipe), []).append(score)
    means = {key: sum(values) / len(values) for key, values in earned.items()}
    assert means["good", "fact"] == means["good", "linked fact"] == 1
    assert means["good", "report"] > 0.9
    assert means["short", "linked fact"] < 0.1
    assert 0.2 < means["short", "report"] < 0.4
    assert max(means["guess", recipe] for recipe in ("fact", "linked fact", "report")) == 0


async def _scored(room: EventLoopThread, name: str, task: Task, place: ServedWeb) -> float:
    episode = AsyncEpisode(room.client, replace(BRIEF, turns=5, calls=4))
    await episode.reset(task)

    async def call(tool: str, arguments: dict[str, Any]) -> str:
        return (await episode.call(tool, arguments)).text

    await PATTERNS[name](call, task, Random(task.id), place.tasks)
    return rubric_of(task).score(await episode.record()).reward or 0.0


def test_echoes_say_words_of_the_web_again(toy: ServedWeb) -> None:
    with EventLoopThread(toy.server) as room:
        conversations = play_traces(room, toy.tasks[:9], {"echo": 1.0}, BRIEF, 0)
    for question, answered in conversations:
        assert question["content"] == answered["content"]
        assert 1 < len(question["content"].split()) <= 20
    assert len({one[0]["content"] for one in conversations}) == 9
