"""Training run, from top to bottom: the stages of a recipe in order, each starting from the model of the one before.

A stage trains on rows (`sft`) or on episodes that it plays (`grpo`), saves its model, answers held-out tasks
(`held_out`) and writes its manifest. The manifest comes last, so its existence means that the stage is complete. A run
that was killed continues at its last checkpoint when it is started again. Of several processes (`distributed`), all go
through these lines. Recipes are read in `recipe`; where files are is known by `run_folder`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch

from webemu.rl.train import distributed
from webemu.rl.train.chat_model import ChatModel, create_model, load_model, read_config, save_model, unwrap_model
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.grpo import train_grpo
from webemu.rl.train.held_out import draw_tasks, play_held_out, summarize_held_out
from webemu.rl.train.manifest import (
    HeldOutFigures,
    Manifest,
    hash_file,
    hash_weights,
    is_figure,
    package_versions,
    read_manifest,
    write_manifest,
)
from webemu.rl.train.messages import SftRow
from webemu.rl.train.recipe import Recipe, Stage
from webemu.rl.train.run_folder import (
    MODEL_FOLDER,
    RECIPE_FILE,
    VERDICTS_FILE,
    WEBS_FOLDER,
    RunError,
    claim_folder,
    copy_earlier_run,
    last_checkpoint,
    stage_folder,
)
from webemu.rl.train.served_web import RunInputs, Webs, serve_webs, tasks_of_stage
from webemu.rl.train.sft import train_sft
from webemu.rl.train.sft_rows import collect_rows
from webemu.rl.train.step_log import HELD_OUT_FILE, write_rollouts
from webemu.rl.train.trainer import TrainingJob, trainer_options

OnStep = Callable[[Stage, int, Mapping[str, float]], None]
"""Function that is called with the stage, the step and its figures, to show the progress."""


@dataclass(frozen=True, slots=True)
class Run:
    """Values that stay the same from the first stage to the last."""

    recipe: Recipe
    out: Path
    seed: int
    webs: Webs
    on_step: OnStep


def train(
    recipe: Recipe, text: str, out: Path, seed: int, inputs: RunInputs, on_step: OnStep, until: str = ""
) -> list[Manifest]:
    """Run the stages that are not done, up to the stage `until` (empty for all), and return their manifests, including
    those of stages that were done before.

    Raises: RunError if the folder belongs to another run, a stage misses its gate, or there are no tasks; RecipeError
    if the model is not there.
    """
    names = [stage.name for stage in recipe.stages]
    if until and until not in names:
        raise RunError(f"unknown stage {until!r}; stages of the recipe: {', '.join(names)}")
    if recipe.judge:
        try:
            recipe.judge.read_key()
        except ValueError as error:  # now rather than after the web is built
            raise RunError(str(error)) from error
        recipe = replace(recipe, judge=replace(recipe.judge, cache=recipe.judge.cache or str(out / VERDICTS_FILE)))
    with ExitStack() as stack:
        webs = distributed.broadcast_from_first(partial(_open_run, recipe, text, out, seed, inputs, stack))
        run = Run(recipe, out, seed, webs, on_step)
        manifests = []
        for number, stage in enumerate(recipe.stages):
            manifest = distributed.broadcast_from_first(partial(read_manifest, stage_folder(out, recipe, number)))
            manifests.append(manifest or _run_stage(run, number, stage))
            _check_gate(stage, manifests[-1])
            if stage.name == until:
                break
    return manifests


def _run_stage(run: Run, number: int, stage: Stage) -> Manifest:
    """Train a stage, evaluate its model on the held-out tasks, and return its manifest."""
    recipe, seed = run.recipe, run.seed
    folder = stage_folder(run.out, recipe, number)
    folder.mkdir(parents=True, exist_ok=True)
    if stage.steps:
        trained, steps = _train_stage(run, number, stage, folder)
    else:
        trained, steps = _open_model(run, number, []), 0
        trained.model.to("cuda" if torch.cuda.is_available() else "cpu")
    if distributed.is_first():
        save_model(trained, folder / MODEL_FOLDER)

    held_out_tasks = draw_tasks(tasks_of_stage(run.webs.held_out, stage), recipe.questions, seed)
    with EventLoopThread(run.webs.held_out.server) as loop_thread:
        rollouts = play_held_out(trained, held_out_tasks, stage, seed, recipe.episodes, loop_thread)
    held_out = summarize_held_out(rollouts)
    if distributed.is_first():
        write_rollouts(folder / HELD_OUT_FILE, steps, rollouts)

    return distributed.broadcast_from_first(
        lambda: write_manifest(folder, _describe_stage(run, number, stage, steps, held_out))
    )


def _train_stage(run: Run, number: int, stage: Stage, folder: Path) -> tuple[ChatModel, int]:
    """Return the model that a stage has trained, and its number of steps."""
    spec, episodes, resume = run.recipe.model, run.recipe.episodes, last_checkpoint(folder, stage)
    on_step = partial(run.on_step, stage)
    job = TrainingJob(stage, folder, run.seed, spec.lora, spec.vllm, trainer_options(spec), resume, on_step)
    tasks = tasks_of_stage(run.webs.training, stage)
    with EventLoopThread(run.webs.training.server) as loop_thread:
        if stage.kind == "sft":
            rows = distributed.broadcast_from_first(
                partial(collect_rows, job, tasks, _earlier_grpo_folders(run, number), episodes, loop_thread)
            )
            trainer = train_sft(job, _open_model(run, number, rows), rows)
        else:
            trainer = train_grpo(job, _open_model(run, number, []), tasks, episodes, loop_thread)
    return unwrap_model(trainer), int(trainer.state.global_step)


def _open_run(recipe: Recipe, text: str, out: Path, seed: int, inputs: RunInputs, stack: ExitStack) -> Webs:
    """Prepare the folder of the run and return its webs, which are served until `stack` is closed.

    Raises: RunError if the folder belongs to another run; RecipeError if the model is not there.
    """
    claim_folder(out, text, seed)
    if inputs.after:
        copy_earlier_run(inputs.after, out, recipe)
    if recipe.model.name and not read_manifest(stage_folder(out, recipe, 0)):
        read_config(recipe.model)  # a model that is not there is refused before the web is built
    return stack.enter_context(serve_webs(recipe, inputs, out / WEBS_FOLDER))


def _open_model(run: Run, number: int, rows: list[SftRow]) -> ChatModel:
    """Return the model of the stage before; for the first stage the recipe's, which may be created from its rows."""
    spec = run.recipe.model
    if number:
        earlier_model = str(stage_folder(run.out, run.recipe, number - 1) / MODEL_FOLDER)
        return load_model(earlier_model, dtype=spec.dtype, attention=spec.attention)
    if spec.size:
        return create_model(spec, run.seed, rows)
    return load_model(spec.name, spec.template, spec.dtype, spec.attention)


def _earlier_grpo_folders(run: Run, number: int) -> list[Path]:
    """Return the folders of the GRPO stages before this one."""
    stages = enumerate(run.recipe.stages[:number])
    return [stage_folder(run.out, run.recipe, earlier) for earlier, stage in stages if stage.kind == "grpo"]


def _describe_stage(run: Run, number: int, stage: Stage, steps: int, held_out: HeldOutFigures) -> Manifest:
    """Return the manifest of a stage whose model is saved and evaluated."""
    earlier_model = stage_folder(run.out, run.recipe, number - 1) / MODEL_FOLDER
    return {
        "stage": stage.name,
        "seed": run.seed,
        "steps": steps,
        "held_out": held_out,
        "from": hash_weights(earlier_model) if number else run.recipe.model.name or "scratch",
        "model": hash_weights(stage_folder(run.out, run.recipe, number) / MODEL_FOLDER),
        "recipe": hash_file(run.out / RECIPE_FILE),
        "tasks": hash_file(run.webs.training.file),
        "snapshot": run.webs.training.snapshot,
        "held_out_tasks": hash_file(run.webs.held_out.file),
        "held_out_snapshot": run.webs.held_out.snapshot,
        "versions": package_versions(),
    }


def _check_gate(stage: Stage, manifest: Manifest) -> None:
    """Raise RunError if the stage did not reach its gate on the held-out tasks."""
    grounded = manifest["held_out"]["grounded"]
    if is_figure(grounded) and grounded["mean"] < stage.gate:
        raise RunError(
            f"stage {stage.name!r} reached {grounded['mean']:.3f} grounded answers, but its gate is {stage.gate}: look"
            f" at its trajectories with `webemu report`, change the recipe and start a new run"
        )
