"""Dry run of a recipe: every stage for one step of few rows, with two layers of random weights in the model's shape.

It shows in minutes, on a machine that could not hold the model, that template, tools, tasks, stages and the keys of
`[model]` fit together. It says nothing about what is learned, nor about memory and time (`webemu.rl.train.estimate`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from webemu.rl.train import distributed
from webemu.rl.train.chat_model import ChatModel, load_tokenizer, read_config, save_model
from webemu.rl.train.recipe import Model, Recipe, Stage, Web

LAYERS = 2
"""Layers of the model."""
QUESTIONS = 2
"""Number of held-out tasks that are asked after each stage."""
MAX_PAGES = {"toy": 60, "world": 1_000}
"""Pages of a generated web by its kind. A world has all kinds of task from 1,000 pages up."""
MAX_TASKS = 50
"""Harder tasks that are built for a world."""


def shrink_recipe(recipe: Recipe, folder: Path) -> Recipe:
    """Return a recipe whose run is a dry run, with a model that is saved in `folder`.

    Raises: RecipeError if the configuration of the model cannot be read, ValueError if its chat template cannot be
    trained on.
    """
    return replace(
        recipe,
        questions=QUESTIONS,
        web=_shrink_web(recipe.web),
        held_out=_shrink_web(recipe.held_out),
        model=recipe.model if recipe.model.size else replace(recipe.model, name=str(_save_model(recipe.model, folder))),
        stages=tuple(map(_shrink_stage, recipe.stages)),
    )


def _shrink_web(web: Web) -> Web:
    return replace(web, pages=min(web.pages, MAX_PAGES[web.kind]), tasks=min(web.tasks, MAX_TASKS))


def _shrink_stage(stage: Stage) -> Stage:
    """Return a stage of one step and one group. Random weights earn nothing, so that rows of the best episodes are
    played instead.
    """
    return replace(
        stage,
        steps=min(1, stage.steps),
        batch=distributed.process_count() * (stage.group if stage.kind == "grpo" else 1),
        micro=1,
        rows="played" if stage.rows == "best" else stage.rows,
        mix=stage.mix or {"oracle": 1.0},
        resample=0,
        gate=0.0,
        entropy=0.0,
        save=1,
    )


def _save_model(spec: Model, folder: Path) -> Path:
    """Save `LAYERS` layers of random weights in the shape of a model, with its tokenizer, and return the folder."""
    tokenizer, config = load_tokenizer(spec.name, spec.template), read_config(spec)
    config.num_hidden_layers = LAYERS
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:LAYERS]
    if hasattr(config, "quantization_config"):  # of a GGUF file
        del config.quantization_config
    torch.manual_seed(0)
    save_model(ChatModel(AutoModelForCausalLM.from_config(config), tokenizer), folder)
    return folder
