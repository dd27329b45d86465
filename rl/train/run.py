"""Training run: the stages of a recipe in order, each starting from the model of the one before.

The manifest of a stage is written last, so its existence means that the stage is complete. A run that was killed
continues at its last checkpoint when it is started again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any

from transformers import set_seed

from webemu.rl.arguments import list_tools
from webemu.rl.chat import answer_rules
from webemu.rl.evaluation.statistics import mean_with_interval
from webemu.rl.tasks import Task
from webemu.rl.train import choose, distributed, sampling, step_log, tiny_models
from webemu.rl.train.best import select_best_episodes
from webemu.rl.train.event_loop import EventLoopThread
from webemu.rl.train.grpo import CURRICULUM_FILE, train_grpo
from webemu.rl.train.patterns import play_traces
from webemu.rl.train.recipe import Recipe, Stage
from webemu.rl.train.rollout import Rollout, play
from webemu.rl.train.sampling import LocalSampler
from webemu.rl.train.served_web import ServedWeb, serve_web
from webemu.rl.train.sft import train_sft

MANIFEST_FILE, RECIPE_FILE = "manifest.json", "recipe.toml"
VERSIONS = ("webemu", "trl", "transformers", "torch", "peft", "datasets")
"""Packages whose versions the manifest records."""
Rows = list[dict[str, Any]]
OnStep = Callable[[Stage, int, dict[str, Any]], None]
"""Function that is called with the stage, the step and its figures, to show the progress."""


class RunError(ValueError):
    """Run that cannot go on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class RunInputs:
    """Options of a run that replace the webs of its recipe."""

    server: str | None = None
    """Address of a running server of the training web."""
    collection: str | None = None
    """Collection to start a server over, if `server` is None."""
    tasks: Path | None = None
    """Task file of the training web."""
    held_out: Path | None = None
    """Task file that is asked after each stage; None for the tasks of `tasks` whose split is not `train`."""
    workers: int = 1
    """Workers of a server that is started."""
    after: Path | None = None
    """Folder of an earlier run of the same recipe and seed, whose webs and finished first SFT stages are copied."""


def train(
    recipe: Recipe, text: str, out: Path, seed: int, inputs: RunInputs, on_step: OnStep, until: str = ""
) -> list[dict[str, Any]]:
    """Run the stages that are not done, up to the stage `until` (empty for all), and return their manifests, including
    those of stages that were done before.

    Raises: RunError if the folder belongs to another run, a stage misses its gate, or there are no tasks.
    """
    if until and until not in [stage.name for stage in recipe.stages]:
        raise RunError(
            f"unknown stage {until!r}; stages of the recipe: {', '.join(stage.name for stage in recipe.stages)}"
        )
    with ExitStack() as stack:
        web, held_out_web = distributed.broadcast_from_first(lambda: _open_webs(recipe, text, out, seed, inputs, stack))
        runner = _StageRunner(recipe, out, seed, web, held_out_web, on_step)
        manifests = []
        for number, stage in enumerate(recipe.stages):
            manifests.append(runner.run_stage(number, stage))
            _check_gate(stage, manifests[-1])
            if stage.name == until:
                break
    return manifests


def _open_webs(
    recipe: Recipe, text: str, out: Path, seed: int, inputs: RunInputs, stack: ExitStack
) -> tuple[ServedWeb, ServedWeb]:
    """Return the web to learn on and that of the held-out tasks, served until `stack` is closed. The folder is
    prepared first.
    """
    _check_same_recipe(out, text, seed)
    if inputs.after:
        _copy_earlier_run(inputs.after, out, recipe)
    webs = out / "webs"
    location = (inputs.server, inputs.tasks, inputs.collection, inputs.workers)
    web = stack.enter_context(serve_web(recipe.web, "train", webs, *location))
    held_out_location = (inputs.server, inputs.held_out or inputs.tasks, inputs.collection, inputs.workers)
    held_out_web = stack.enter_context(serve_web(recipe.held_out, "held-out", webs, *held_out_location))
    return _split_web(web) if held_out_web.file == web.file else (web, held_out_web)


def _check_gate(stage: Stage, manifest: dict[str, Any]) -> None:
    """Raise RunError if the stage did not reach its gate on the held-out tasks."""
    reached = manifest["held_out"]["grounded"]["mean"]
    if reached < stage.gate:
        raise RunError(
            f"stage {stage.name!r} reached {reached:.3f} grounded answers, but its gate is {stage.gate}: look at its"
            f" trajectories with `webemu report`, change the recipe and start a new run"
        )


class _StageRunner:
    """Runner of the stages of one run, on each process."""

    def __init__(
        self, recipe: Recipe, out: Path, seed: int, web: ServedWeb, held_out_web: ServedWeb, on_step: OnStep
    ) -> None:
        self.recipe, self.out, self.seed, self.web, self.held_out_web, self.on_step = (
            recipe,
            out,
            seed,
            web,
            held_out_web,
            on_step,
        )

    def stage_folder(self, number: int) -> Path:
        """Return the folder of a stage, whose number counts from 0."""
        return self.out / f"{number + 1}-{self.recipe.stages[number].name}"

    def run_stage(self, number: int, stage: Stage) -> dict[str, Any]:
        """Return the manifest of a stage, running the stage first if that was not done before."""
        folder = self.stage_folder(number)
        if manifest := distributed.broadcast_from_first(lambda: _read_manifest(folder)):
            return manifest
        folder.mkdir(parents=True, exist_ok=True)
        with EventLoopThread(self.web.server) as loop_thread:
            rows = (
                distributed.broadcast_from_first(lambda: self._sft_rows(number, stage, loop_thread))
                if stage.kind == "sft"
                else []
            )
            model, tokenizer, lora_config = self._load_model(number, rows)
            trainer = self._train_stage(number, stage, loop_thread, rows, model, tokenizer, lora_config)
        if distributed.is_first():
            _save_model(trainer.accelerator.unwrap_model(trainer.model), tokenizer, folder / "model")
        with EventLoopThread(self.held_out_web.server) as loop_thread:
            held_out = self._evaluate_held_out(
                stage, loop_thread, trainer.accelerator.unwrap_model(trainer.model), tokenizer
            )
        steps = int(trainer.state.global_step)
        return distributed.broadcast_from_first(lambda: self._write_manifest(number, stage, steps, held_out))

    def _train_stage(
        self,
        number: int,
        stage: Stage,
        loop_thread: EventLoopThread,
        rows: Rows,
        model: Any,
        tokenizer: Any,
        lora_config: Any,
    ) -> Any:
        """Train a stage and return its trainer."""
        folder = self.stage_folder(number)
        common_options: dict[str, Any] = {
            "seed": self.seed,
            "peft": lora_config,
            "resume": _last_checkpoint(folder, stage),
        }
        common_options["show"] = lambda step, figures: self.on_step(stage, step, figures)
        if stage.kind == "sft":
            return train_sft(stage, model, tokenizer, rows, folder, **common_options)
        tasks = _tasks_of_stage(self.web.tasks, stage)
        tasks = choose.shuffle_answers(tasks, self.seed) if self.recipe.control == "shuffled-gold" else tasks
        grpo_options: dict[str, Any] = {
            "policy": dict(self.recipe.policy),
            "system": self._system_prompt(),
            "control": self.recipe.control,
            "vllm": self.recipe.model.vllm,
        }
        return train_grpo(
            stage, model, tokenizer, loop_thread, tasks, self.recipe.limits, folder, **common_options, **grpo_options
        )

    def _sft_rows(self, number: int, stage: Stage, loop_thread: EventLoopThread) -> Rows:
        """Return the SFT rows of a stage: patterns, or the best episodes of earlier stages mixed with patterns."""
        tasks = _tasks_of_stage(self.web.tasks, stage)
        if stage.rows == "best":
            earlier = [self.stage_folder(n) for n in range(number) if self.recipe.stages[n].kind == "grpo"]
            rows = select_best_episodes(earlier, self._system_prompt())
            pattern_count = round(len(rows) * sum(stage.mix.values()))
            tasks = Random(f"{self.seed}:{stage.name}").sample(tasks, min(pattern_count, len(tasks)))
        else:
            rows = []
        conversations = play_traces(loop_thread, tasks, dict(stage.mix), self.recipe.limits, self.seed) if tasks else []
        system_messages = [{"role": "system", "content": self._system_prompt()}] if self._system_prompt() else []
        rows += [{"messages": system_messages + messages} for messages in conversations]
        return [row | {"tools": list(list_tools(False))} for row in rows]

    def _load_model(self, number: int, rows: Rows) -> tuple[Any, Any, Any]:
        """Return model, tokenizer and LoRA configuration (None without): those of the stage before, or the recipe's
        for the first.
        """
        model_spec = self.recipe.model
        if number == 0 and model_spec.size:
            size = tiny_models.SIZES[model_spec.size]
            texts = [text for row in rows for text in tiny_models.list_texts(row["messages"])]
            tokenizer = tiny_models.train_tokenizer(texts, size.vocabulary)
            seed = model_spec.seed + self.seed
            return (
                tiny_models.create_model(size, seed, len(tokenizer), tokenizer.pad_token_id, tokenizer.eos_token_id),
                tokenizer,
                _lora_config(model_spec.lora),
            )
        source = self.stage_folder(number - 1) / "model" if number else Path(model_spec.name)
        return *load_model(str(source)), _lora_config(model_spec.lora)

    def _evaluate_held_out(
        self, stage: Stage, loop_thread: EventLoopThread, model: Any, tokenizer: Any
    ) -> dict[str, Any]:
        """Return the figures on held-out tasks, each asked once, at the temperature of training.

        Raises: RunError if all episodes are masked.
        """
        tasks = _tasks_of_stage(self.held_out_web.tasks, stage)
        held_out_tasks = Random(f"{self.seed}:held-out").sample(tasks, min(self.recipe.questions, len(tasks)))
        model.eval()
        set_seed(self.seed)
        limits = replace(self.recipe.limits, calls=0) if self.recipe.control == "no-tools" else self.recipe.limits
        sampler = LocalSampler(model, tokenizer, stage.turn, stage.temperature, self._system_prompt())
        pairs = [(task, self.seed) for task in held_out_tasks]
        local_pairs, rollouts = distributed.this_rank_share(pairs), list[Rollout]()
        # Batches of 128 bound the memory of generation.
        for begin in range(0, len(local_pairs), 128):
            part = play(
                loop_thread, sampler, local_pairs[begin : begin + 128], limits, stage.context, dict(self.recipe.policy)
            )
            rollouts += part[0]
        rollouts = distributed.gather_all(rollouts)
        scored = [one for one in rollouts if one.score.reward is not None]
        if not scored:
            raise RunError(
                f"an outage masked all held-out tasks ({rollouts[0].score.mask}): start the server, then run this again"
            )
        recipes = {one.task.recipe for one in scored}
        figures_by_recipe = {
            kind: _compute_figures([one for one in scored if one.task.recipe == kind]) for kind in sorted(recipes)
        }
        return _compute_figures(scored) | {
            "masked": len(rollouts) - len(scored),
            "recipes": figures_by_recipe if len(recipes) > 1 else {},
        }

    def _write_manifest(self, number: int, stage: Stage, steps: int, held_out: dict[str, Any]) -> dict[str, Any]:
        """Write the manifest of a finished stage and return it."""
        manifest = {
            "stage": stage.name,
            "seed": self.seed,
            "steps": steps,
            "held_out": held_out,
            "from": _hash_weights(self.stage_folder(number - 1) / "model")
            if number
            else self.recipe.model.name or "scratch",
            "model": _hash_weights(self.stage_folder(number) / "model"),
            "recipe": _hash_file(self.out / RECIPE_FILE),
            "tasks": _hash_file(self.web.file),
            "snapshot": self.web.snapshot,
            "held_out_tasks": _hash_file(self.held_out_web.file),
            "held_out_snapshot": self.held_out_web.snapshot,
            "versions": {name: version(name) for name in VERSIONS},
        }
        path = self.stage_folder(number) / MANIFEST_FILE
        path.with_suffix(".unfinished").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        path.with_suffix(".unfinished").replace(path)
        return manifest

    def _system_prompt(self) -> str:
        return answer_rules("") if self.recipe.model.system == "rules" else self.recipe.model.system


def _compute_figures(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Return the means of rollouts that are not masked, with their intervals."""
    values = {
        "grounded": [float(step_log.is_grounded(one)) for one in rollouts],
        "correct": [choose.score_outcome(one.score) or 0.0 for one in rollouts],
        "reward": [one.score.reward or 0.0 for one in rollouts],
        "coverage": [one.score.terms["coverage"] or 0.0 for one in rollouts if "coverage" in one.score.terms],
        "calls": [float(len(one.latencies)) for one in rollouts],
    }
    return {
        name: asdict(interval) for name, samples in values.items() if (interval := mean_with_interval(samples, name))
    }


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST_FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _check_same_recipe(out: Path, text: str, seed: int) -> None:
    """Record recipe and seed in the folder. Raises: RunError if it holds a run of other ones."""
    out.mkdir(parents=True, exist_ok=True)
    run_text = f"# seed {seed}\n{text}"
    path = out / RECIPE_FILE
    if path.exists() and path.read_text(encoding="utf-8") != run_text:
        raise RunError(f"{out} holds a run of another recipe or seed: name another folder with --out")
    path.write_text(run_text, encoding="utf-8")


def _tasks_of_stage(tasks: Sequence[Task], stage: Stage) -> list[Task]:
    """Return the tasks of a stage. Raises: RunError if there are none."""
    selected_tasks = [task for task in tasks if not stage.recipes or task.recipe in stage.recipes]
    if not selected_tasks:
        raise RunError(f"stage {stage.name!r}: the task file has no task of the recipes {', '.join(stage.recipes)}")
    return selected_tasks


def _split_web(web: ServedWeb) -> tuple[ServedWeb, ServedWeb]:
    """Return the web with its training tasks, and the same web with its held-out tasks, by the splits of the task
    file.

    Raises: RunError if either has no tasks.
    """
    training_tasks = tuple(task for task in web.tasks if task.split == "train")
    held_out_tasks = tuple(task for task in web.tasks if task.split not in ("", "train"))
    if not training_tasks or not held_out_tasks:
        raise RunError(
            f"{web.file} has no training tasks or no held-out tasks: name others with --held-out, or split it"
            f" (docs/tasks.md)"
        )
    return replace(web, tasks=training_tasks), replace(web, tasks=held_out_tasks)


def _copy_earlier_run(earlier_run: Path, out: Path, recipe: Recipe) -> None:
    """Copy the webs of an earlier run, and its first stages as far as they are finished SFT stages.

    Raises: RunError if its recipe or seed differs in anything but the control.
    """
    current_text, earlier_text = ((folder / RECIPE_FILE).read_text(encoding="utf-8") for folder in (out, earlier_run))
    if _without_control(current_text) != _without_control(earlier_text):
        raise RunError(
            f"{earlier_run} holds a run of another recipe or seed: nothing can be copied from it; leave out --after"
        )
    sft_stages = takewhile(lambda stage: stage[1].kind == "sft", enumerate(recipe.stages))
    names = [f"{number + 1}-{stage.name}" for number, stage in sft_stages]
    for name in ["webs", *takewhile(lambda name: (earlier_run / name / MANIFEST_FILE).exists(), names)]:
        if not (out / name).exists():
            unfinished = out / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(earlier_run / name, unfinished)
            unfinished.replace(out / name)


def _without_control(text: str) -> str:
    """Return a recipe's text without the line that names the control."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("# control "))


def _last_checkpoint(folder: Path, stage: Stage) -> int:
    """Return the step of the last complete checkpoint; 0 if there is none."""
    names = [path.parent.name for path in folder.glob("checkpoint-*/trainer_state.json")]
    steps = [int(name.partition("-")[2]) for name in names]
    return max(
        (step for step in steps if stage.kind == "sft" or (folder / CURRICULUM_FILE.format(step)).exists()), default=0
    )


def load_model(source: str) -> tuple[Any, Any]:
    """Return model and tokenizer of a folder or hub id."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = sampling.prepare_tokenizer(AutoTokenizer.from_pretrained(source))
    # Weights of 16 bits would lose small optimizer steps; the passes still use bf16, set by the trainers.
    return AutoModelForCausalLM.from_pretrained(source, dtype="float32"), tokenizer


def _lora_config(rank: int) -> Any:
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def _save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save the model, with LoRA adapters merged into it, and the tokenizer."""
    merged_model = model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
    merged_model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _hash_weights(folder: Path) -> str:
    """Return the SHA-256 of the weights in a model folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
