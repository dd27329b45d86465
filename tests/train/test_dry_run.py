"""`webemu train --dry-run`: every stage of a recipe, with a large model's configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from transformers import AutoConfig

from tests.trainers import tiny
from webemu.rl.train.dry_run import LAYERS, QUESTIONS, shrink_recipe
from webemu.rl.train.recipe import RecipeError, parse_recipe
from webemu.rl.train.step_log import read_steps

pytestmark = pytest.mark.slow


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with the tokenizer of Qwen3's kind and a configuration of 28 layers, without weights."""
    folder = tmp_path / "qwen"
    tiny.tokenizer().save_pretrained(folder)
    config = {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64, "num_hidden_layers": 28,
        "layer_types": ["full_attention"] * 28, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "intermediate_size": 128, "vocab_size": len(tiny.tokenizer()), "tie_word_embeddings": True,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


RECIPE = """\
summary = "for tests"
[web]
pages = 5000
seed = 5
[held_out]
pages = 5000
seed = 6
[model]
name = "{model}"
[limits]
turns = 3
calls = 2
results = 3
brief = true
[[stages]]
name = "sft"
kind = "sft"
steps = 400
batch = 64
rate = 1e-4
recipes = ["fact"]
mix = {{ good = 1.0 }}
turn = 24
context = 200
[[stages]]
name = "grpo"
kind = "grpo"
steps = 300
batch = 512
group = 4
rate = 1e-6
recipes = ["fact"]
gate = 0.5
turn = 24
context = 200
[[stages]]
name = "best"
kind = "sft"
steps = 40
rate = 1e-6
rows = "best"
recipes = ["fact"]
mix = {{ good = 0.5 }}
turn = 24
context = 200
"""


def test_all_stages_of_a_pretrained_model_run_without_its_weights(model: Path, tmp_path: Path) -> None:
    recipe, out = tmp_path / "recipe.toml", tmp_path / "run"
    recipe.write_text(RECIPE.format(model=model))
    options = ["--recipe", str(recipe), "--out", str(out), "--dry-run", "--quiet"]
    finished = subprocess.run(
        [sys.executable, "-P", "-m", "webemu.emulator.cli", "train", *options],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    for folder in (out / "1-sft", out / "2-grpo", out / "3-best"):
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["steps"] == len(read_steps(folder)) == 1
        assert manifest["held_out"]["grounded"]["tasks"] == QUESTIONS
        assert AutoConfig.from_pretrained(folder / "model").num_hidden_layers == LAYERS
    assert (out / "recipe.toml").read_text().startswith("# seed 0\n# dry run\n")


def test_what_would_stop_the_run_stops_the_dry_run(tmp_path: Path) -> None:
    tiny.tokenizer().save_pretrained(tmp_path / "words")
    with pytest.raises(RecipeError, match=r"name a folder with its config\.json"):
        shrink_recipe(parse_recipe(RECIPE.format(model=tmp_path / "words")), tmp_path)
    with pytest.raises((ValueError, OSError)):
        shrink_recipe(parse_recipe(RECIPE.format(model=tmp_path / "nowhere")), tmp_path)
