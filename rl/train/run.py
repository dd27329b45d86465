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

from webemu.rl.arguments import tools
from webemu.rl.chat import rules
from webemu.rl.evaluation.statistics import figure
from webemu.rl.tasks import Task
from webemu.rl.train import choose, distributed, sampling, step_log, tiny_models
from webemu.rl.train.best import best
from webemu.rl.train.event_loop import Room
from webemu.rl.train.grpo import CURRICULUM, grpo
from webemu.rl.train.patterns import traces
from webemu.rl.train.recipe import Recipe, Stage
from webemu.rl.train.rollout import Rollout, play
from webemu.rl.train.sampling import Voice
from webemu.rl.train.served_web import Place, place
from webemu.rl.train.sft import sft

MANIFEST, RECIPE = "manifest.json", "recipe.toml"
VERSIONS = ("webemu", "trl", "transformers", "torch", "peft", "datasets")
"""Packages whose versions the manifest records."""
Rows = list[dict[str, Any]]
Show = Callable[[Stage, int, dict[str, Any]], None]
"""Function that is called with the stage, the step and its figures, to show the progress."""


class RunError(ValueError):
    """Run that cannot go on; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Given:
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
    recipe: Recipe, text: str, out: Path, seed: int, given: Given, show: Show, until: str = ""
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
        web, away = distributed.told(lambda: _places(recipe, text, out, seed, given, stack))
        run = _Run(recipe, out, seed, web, away, show)
        manifests = []
        for number, stage in enumerate(recipe.stages):
            manifests.append(run.stage(number, stage))
            _pass(stage, manifests[-1])
            if stage.name == until:
                break
    return manifests


def _places(recipe: Recipe, text: str, out: Path, seed: int, given: Given, stack: ExitStack) -> tuple[Place, Place]:
    """Return the web to learn on and that of the held-out tasks, served until `stack` is closed. The folder is
    prepared first.
    """
    _same_recipe(out, text, seed)
    if given.after:
        _take_over(given.after, out, recipe)
    webs = out / "webs"
    home = (given.server, given.tasks, given.collection, given.workers)
    web = stack.enter_context(place(recipe.web, "train", webs, *home))
    away_home = (given.server, given.held_out or given.tasks, given.collection, given.workers)
    away = stack.enter_context(place(recipe.held_out, "held-out", webs, *away_home))
    return _parted(web) if away.file == web.file else (web, away)


def _pass(stage: Stage, manifest: dict[str, Any]) -> None:
    """Raise RunError if the stage did not reach its gate on the held-out tasks."""
    reached = manifest["held_out"]["grounded"]["mean"]
    if reached < stage.gate:
        raise RunError(
            f"stage {stage.name!r} reached {reached:.3f} grounded answers, but its gate is {stage.gate}: look at its"
            f" trajectories with `webemu report`, change the recipe and start a new run"
        )


class _Run:
    """Runner of the stages of one run, on each process."""

    def __init__(self, recipe: Recipe, out: Path, seed: int, web: Place, away: Place, show: Show) -> None:
        self.recipe, self.out, self.seed, self.web, self.away, self.show = recipe, out, seed, web, away, show

    def folder(self, number: int) -> Path:
        """Return the folder of a stage, whose number counts from 0."""
        return self.out / f"{number + 1}-{self.recipe.stages[number].name}"

    def stage(self, number: int, stage: Stage) -> dict[str, Any]:
        """Return the manifest of a stage, running the stage first if that was not done before."""
        folder = self.folder(number)
        if done := distributed.told(lambda: _read_manifest(folder)):
            return done
        folder.mkdir(parents=True, exist_ok=True)
        with Room(self.web.server) as room:
            rows = distributed.told(lambda: self._rows(number, stage, room)) if stage.kind == "sft" else []
            model, tokenizer, peft = self._model(number, rows)
            trainer = self._train(number, stage, room, rows, model, tokenizer, peft)
        if distributed.is_first():
            _save(trainer.accelerator.unwrap_model(trainer.model), tokenizer, folder / "model")
        with Room(self.away.server) as room:
            held_out = self._examine(stage, room, trainer.accelerator.unwrap_model(trainer.model), tokenizer)
        steps = int(trainer.state.global_step)
        return distributed.told(lambda: self._manifest(number, stage, steps, held_out))

    def _train(self, number: int, stage: Stage, room: Room, rows: Rows, model: Any, tokenizer: Any, peft: Any) -> Any:
        """Train a stage and return its trainer."""
        folder = self.folder(number)
        common: dict[str, Any] = {"seed": self.seed, "peft": peft, "resume": _checkpoint(folder, stage)}
        common["show"] = lambda step, figures: self.show(stage, step, figures)
        if stage.kind == "sft":
            return sft(stage, model, tokenizer, rows, folder, **common)
        tasks = _of(self.web.tasks, stage)
        tasks = choose.shuffled(tasks, self.seed) if self.recipe.control == "shuffled-gold" else tasks
        more: dict[str, Any] = {
            "policy": dict(self.recipe.policy),
            "system": self._system(),
            "control": self.recipe.control,
            "vllm": self.recipe.model.vllm,
        }
        return grpo(stage, model, tokenizer, room, tasks, self.recipe.limits, folder, **common, **more)

    def _rows(self, number: int, stage: Stage, room: Room) -> Rows:
        """Return the SFT rows of a stage: patterns, or the best episodes of earlier stages mixed with patterns."""
        tasks = _of(self.web.tasks, stage)
        if stage.rows == "best":
            earlier = [self.folder(n) for n in range(number) if self.recipe.stages[n].kind == "grpo"]
            rows = best(earlier, self._system())
            fresh = round(len(rows) * sum(stage.mix.values()))
            tasks = Random(f"{self.seed}:{stage.name}").sample(tasks, min(fresh, len(tasks)))
        else:
            rows = []
        made = traces(room, tasks, dict(stage.mix), self.recipe.limits, self.seed) if tasks else []
        system = [{"role": "system", "content": self._system()}] if self._system() else []
        rows += [{"messages": system + messages} for messages in made]
        return [row | {"tools": list(tools(False))} for row in rows]

    def _model(self, number: int, rows: Rows) -> tuple[Any, Any, Any]:
        """Return model, tokenizer and LoRA configuration (None without): those of the stage before, or the recipe's
        for the first.
        """
        told = self.recipe.model
        if number == 0 and told.size:
            size = tiny_models.SIZES[told.size]
            seen = [text for row in rows for text in tiny_models.words(row["messages"])]
            words = tiny_models.tokenizer(seen, size.vocabulary)
            seed = told.seed + self.seed
            return (
                tiny_models.model(size, seed, len(words), words.pad_token_id, words.eos_token_id),
                words,
                _lora(told.lora),
            )
        source = self.folder(number - 1) / "model" if number else Path(told.name)
        return *loaded(str(source)), _lora(told.lora)

    def _examine(self, stage: Stage, room: Room, model: Any, tokenizer: Any) -> dict[str, Any]:
        """Return the figures on held-out tasks, each asked once, at the temperature of training.

        Raises: RunError if all episodes are masked.
        """
        tasks = _of(self.away.tasks, stage)
        asked = Random(f"{self.seed}:held-out").sample(tasks, min(self.recipe.questions, len(tasks)))
        model.eval()
        set_seed(self.seed)
        limits = replace(self.recipe.limits, calls=0) if self.recipe.control == "no-tools" else self.recipe.limits
        voice = Voice(model, tokenizer, stage.turn, stage.temperature, self._system())
        pairs = [(task, self.seed) for task in asked]
        mine, made = distributed.share(pairs), list[Rollout]()
        # Batches of 128 bound the memory of generation.
        for begin in range(0, len(mine), 128):
            part = play(room, voice, mine[begin : begin + 128], limits, stage.context, dict(self.recipe.policy))
            made += part[0]
        made = distributed.together(made)
        known = [one for one in made if one.score.reward is not None]
        if not known:
            raise RunError(
                f"an outage masked all held-out tasks ({made[0].score.mask}): start the server, then run this again"
            )
        kinds = {one.task.recipe for one in known}
        each = {kind: _figures([one for one in known if one.task.recipe == kind]) for kind in sorted(kinds)}
        return _figures(known) | {"masked": len(made) - len(known), "recipes": each if len(kinds) > 1 else {}}

    def _manifest(self, number: int, stage: Stage, steps: int, held_out: dict[str, Any]) -> dict[str, Any]:
        """Write the manifest of a finished stage and return it."""
        told = {
            "stage": stage.name, "seed": self.seed, "steps": steps, "held_out": held_out,
            "from": _hash(self.folder(number - 1) / "model") if number else self.recipe.model.name or "scratch",
            "model": _hash(self.folder(number) / "model"), "recipe": _sha(self.out / RECIPE),
            "tasks": _sha(self.web.file), "snapshot": self.web.snapshot,
            "held_out_tasks": _sha(self.away.file), "held_out_snapshot": self.away.snapshot,
            "versions": {name: version(name) for name in VERSIONS},
        }  # fmt: skip
        path = self.folder(number) / MANIFEST
        path.with_suffix(".unfinished").write_text(json.dumps(told, indent=1), encoding="utf-8")
        path.with_suffix(".unfinished").replace(path)
        return told

    def _system(self) -> str:
        return rules("") if self.recipe.model.system == "rules" else self.recipe.model.system


def _figures(known: Sequence[Rollout]) -> dict[str, Any]:
    """Return the means of rollouts that are not masked, with their intervals."""
    values = {
        "grounded": [float(step_log.is_grounded(one)) for one in known],
        "correct": [choose.outcome(one.score) or 0.0 for one in known],
        "reward": [one.score.reward or 0.0 for one in known],
        "coverage": [one.score.terms["coverage"] or 0.0 for one in known if "coverage" in one.score.terms],
        "calls": [float(len(one.latencies)) for one in known],
    }
    return {name: asdict(told) for name, of in values.items() if (told := figure(of, name))}


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _same_recipe(out: Path, text: str, seed: int) -> None:
    """Record recipe and seed in the folder. Raises: RunError if it holds a run of other ones."""
    out.mkdir(parents=True, exist_ok=True)
    mine = f"# seed {seed}\n{text}"
    path = out / RECIPE
    if path.exists() and path.read_text(encoding="utf-8") != mine:
        raise RunError(f"{out} holds a run of another recipe or seed: name another folder with --out")
    path.write_text(mine, encoding="utf-8")


def _of(tasks: Sequence[Task], stage: Stage) -> list[Task]:
    """Return the tasks of a stage. Raises: RunError if there are none."""
    chosen = [task for task in tasks if not stage.recipes or task.recipe in stage.recipes]
    if not chosen:
        raise RunError(f"stage {stage.name!r}: the task file has no task of the recipes {', '.join(stage.recipes)}")
    return chosen


def _parted(web: Place) -> tuple[Place, Place]:
    """Return the web with its training tasks, and the same web with its held-out tasks, by the splits of the task
    file.

    Raises: RunError if either has no tasks.
    """
    learned = tuple(task for task in web.tasks if task.split == "train")
    asked = tuple(task for task in web.tasks if task.split not in ("", "train"))
    if not learned or not asked:
        raise RunError(
            f"{web.file} has no training tasks or no held-out tasks: name others with --held-out, or split it"
            f" (docs/tasks.md)"
        )
    return replace(web, tasks=learned), replace(web, tasks=asked)


def _take_over(before: Path, out: Path, recipe: Recipe) -> None:
    """Copy the webs of an earlier run, and its first stages as far as they are finished SFT stages.

    Raises: RunError if its recipe or seed differs in anything but the control.
    """
    mine, theirs = ((folder / RECIPE).read_text(encoding="utf-8") for folder in (out, before))
    if _plain(mine) != _plain(theirs):
        raise RunError(
            f"{before} holds a run of another recipe or seed: nothing can be copied from it; leave out --after"
        )
    first = takewhile(lambda stage: stage[1].kind == "sft", enumerate(recipe.stages))
    names = [f"{number + 1}-{stage.name}" for number, stage in first]
    for name in ["webs", *takewhile(lambda name: (before / name / MANIFEST).exists(), names)]:
        if not (out / name).exists():
            unfinished = out / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(before / name, unfinished)
            unfinished.replace(out / name)


def _plain(text: str) -> str:
    """Return a recipe's text without the line that names the control."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("# control "))


def _checkpoint(folder: Path, stage: Stage) -> int:
    """Return the step of the last complete checkpoint; 0 if there is none."""
    names = [path.parent.name for path in folder.glob("checkpoint-*/trainer_state.json")]
    steps = [int(name.partition("-")[2]) for name in names]
    return max((n for n in steps if stage.kind == "sft" or (folder / CURRICULUM.format(n)).exists()), default=0)


def loaded(source: str) -> tuple[Any, Any]:
    """Return model and tokenizer of a folder or hub id."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = sampling.prepared(AutoTokenizer.from_pretrained(source))
    # Weights of 16 bits would lose small optimizer steps; the passes still use bf16, set by the trainers.
    return AutoModelForCausalLM.from_pretrained(source, dtype="float32"), words


def _lora(rank: int) -> Any:
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save the model, with LoRA adapters merged into it, and the tokenizer."""
    whole = model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
    whole.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _hash(folder: Path) -> str:
    """Return the SHA-256 of the weights in a model folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
