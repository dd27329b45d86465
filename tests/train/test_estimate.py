"""The estimate of memory and time, and the keys of `[model]` that decide about them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("trl")

from webemu.emulator.cli import app
from webemu.rl.train.estimate import CARDS, GIB, SPARE_BYTES, estimate_stage, format_estimate, measure_model
from webemu.rl.train.recipe import Model, RecipeError, Stage, parse_recipe, read_recipe

SFT = Stage("sft", "sft", 100, 1e-4, batch=64, micro=8, context=2048)
GRPO = Stage("grpo", "grpo", 100, 1e-6, batch=128, micro=8, context=4096, turn=256)


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """The configuration of Qwen3-1.7B, as its card on the hub states it, without weights."""
    folder = tmp_path_factory.mktemp("qwen")
    config = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 2048, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 6144,
        "vocab_size": 151936, "tie_word_embeddings": True,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return Model(name=str(folder))


def test_a_model_is_measured_without_its_weights(qwen: Model) -> None:
    size = measure_model(qwen)
    assert size.parameters == size.trainable == 1_720_574_976
    assert (size.layers, size.hidden, size.vocabulary) == (28, 2048, 151936)
    assert size.cache_values == 2 * 28 * 8 * 128


def test_adapters_are_counted_as_peft_counts_them() -> None:
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    from webemu.rl.train.chat_model import lora_config, read_config

    spec = Model(size="tiny", lora=4)
    adapted = get_peft_model(AutoModelForCausalLM.from_config(read_config(spec)), lora_config(4))
    trained = sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)
    assert measure_model(spec).trainable == trained


def test_what_saves_memory_is_estimated_to_save_it(qwen: Model) -> None:
    def memory(stage: Stage, spec: Model) -> float:
        return estimate_stage(stage, spec, measure_model(spec), 6).memory_bytes / GIB

    full = memory(SFT, qwen)
    assert 30 < full < 80, "weights, gradients and Adam's two moments in 32 bits alone are 25.6 GiB"
    assert memory(replace(SFT, micro=1), qwen) < full - 15, "the logits of 151,936 words"
    assert memory(SFT, replace(qwen, dtype="bfloat16")) < full - 12
    assert memory(SFT, replace(qwen, optimizer="adamw_bnb_8bit")) < full - 9
    assert memory(SFT, replace(qwen, lora=16)) < full - 15
    assert memory(replace(GRPO, batch=1024), qwen) > memory(GRPO, qwen)


def test_time_grows_with_the_work_and_falls_with_the_card(qwen: Model) -> None:
    size = measure_model(qwen)
    short, long = (estimate_stage(replace(GRPO, steps=steps), qwen, size, 6) for steps in (50, 100))
    minutes = [long.minutes(card) for card in CARDS]
    assert long.minutes(CARDS[0]) == pytest.approx(2 * short.minutes(CARDS[0]))
    assert minutes[3] < minutes[2]
    assert minutes[4] < minutes[3]
    assert estimate_stage(GRPO, qwen, size, 12).minutes(CARDS[3]) > long.minutes(CARDS[3])


def test_the_table_names_stages_and_cards() -> None:
    recipe = read_recipe("tiny")[1]
    lines = list(format_estimate(recipe))
    assert "623k parameters; 2 layers of 128" in lines[0]
    assert [line.split()[0] for line in lines[2:6]] == ["skills", "habits", "grpo", "all"]
    assert all(card.name in lines[1] for card in CARDS)
    result = CliRunner().invoke(app, ["train", "--recipe", "tiny", "--estimate"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == lines


def test_too_large_a_stage_is_told(qwen: Model) -> None:
    text = '[[stages]]\nname = "one"\nkind = "sft"\nsteps = 2\nrate = 1e-3\nbatch = 64\ncontext = 8192\n'
    recipe = replace(parse_recipe(f'summary = "x"\n{text}'), model=qwen)
    row = next(line for line in format_estimate(recipe) if line.startswith("one"))
    assert row.count("too small") == len(CARDS)


def test_a_stage_that_trains_nothing_holds_weights_and_held_out_episodes(qwen: Model) -> None:
    size = measure_model(qwen)
    measured = estimate_stage(replace(SFT, steps=0), qwen, size, 6)
    weights, cache = 4 * size.parameters, 128 * SFT.context * size.cache_values * 2
    assert measured.memory_bytes == weights + cache + SPARE_BYTES
    assert (measured.tokens, measured.minutes(CARDS[0])) == (0, 0.0)
    assert estimate_stage(replace(SFT, micro=1), replace(qwen, lora=16), size, 6).memory_bytes >= measured.memory_bytes


def test_the_recipe_for_large_models_fits_a_card_of_80_gb(tmp_path: Path) -> None:
    """Qwen3-8B, as its card on the hub states it."""
    config = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288,
        "vocab_size": 151936, "tie_word_embeddings": False,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    _, recipe = read_recipe("large")
    spec = replace(recipe.model, name=str(tmp_path))
    size = measure_model(spec)
    assert size.parameters == 8_190_735_360
    estimates = [estimate_stage(stage, spec, size, recipe.limits.turns) for stage in recipe.stages]
    assert all(one.fits(CARDS[2]) for one in estimates)
    assert not all(one.fits(CARDS[1]) for one in estimates)


def test_a_model_without_a_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"holds no model: name a folder that has a config\.json"):
        measure_model(Model(name=str(tmp_path)))
    (tmp_path / "config.json").write_text('{"model_type": "nothing"}')
    with pytest.raises(RecipeError, match=r"' cannot be read \(.*its config\.json is enough for an estimate"):
        measure_model(Model(name=str(tmp_path)))


def test_the_keys_of_the_model_reach_its_trainer(tmp_path: Path) -> None:
    from webemu.rl.train.grpo import grpo_config
    from webemu.rl.train.sft import sft_config
    from webemu.rl.train.trainer import trainer_options

    options = trainer_options(Model(optimizer="adafactor", checkpointing="on"))
    for config in (sft_config(SFT, tmp_path, 0, options), grpo_config(GRPO, tmp_path, 0, "", options)):
        assert (str(config.optim.value), config.gradient_checkpointing) == ("adafactor", True)
    assert trainer_options(Model()) == {}, "what no key names stays the choice of the trainer"
    for passes, is_used in (("bfloat16", True), ("float32", False)):
        options = trainer_options(Model(name="m", passes=passes))  # type: ignore[arg-type]
        assert sft_config(SFT, tmp_path, 0, options).bf16 is is_used
    assert trainer_options(Model(fsdp="full_shard auto_wrap"))["fsdp"] == "full_shard auto_wrap"
    with pytest.raises(RecipeError, match="dtype of the model must be one of float32, bfloat16, got 'int4'"):
        parse_recipe('[model]\nname = "m"\ndtype = "int4"\n[[stages]]\nname = "a"\nkind = "sft"\nsteps = 1\nrate = 1\n')


def test_weights_of_16_bits_are_loaded_as_such(tmp_path: Path) -> None:
    import torch

    from tests.train.toy import WORDS
    from webemu.rl.train import tiny_models
    from webemu.rl.train.chat_model import load_model

    words = WORDS["scratch"]()
    model = tiny_models.create_model(tiny_models.SIZES["tiny"], 0, len(words), words.pad_token_id, words.eos_token_id)
    model.save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    loaded = load_model(str(tmp_path), dtype="bfloat16", attention="eager").model
    assert loaded.dtype == torch.bfloat16
    assert loaded.config._attn_implementation == "eager"
    assert load_model(str(tmp_path)).model.dtype == torch.float32
