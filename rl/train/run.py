"""A run: the stages of a recipe one after another, each from what the one before left, each with a manifest at its end.

The manifest is written last, so its existence means that the stage is whole; a run that was killed goes on at its last
checkpoint when it is started again.
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
Rows = list[dict[str, Any]]
Show = Callable[[Stage, int, dict[str, Any]], None]


class RunError(ValueError):
    """A run that cannot go on; says what to do."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a run may be given in place of the webs of its recipe."""

    server: str | None = None
    collection: str | None = None
    tasks: Path | None = None
    held_out: Path | None = None
    """Tasks asked after each stage; those of `tasks` whose split is not `train` where none are given."""
    workers: int = 1
    after: Path | None = None
    """A run of the same recipe and seed, whose webs and finished SFT stages are taken over."""


def train(
    recipe: Recipe, text: str, out: Path, seed: int, given: Given, show: Show, until: str = ""
) -> list[dict[str, Any]]:
    """Run the stages that are not done, up to `until`; gives the manifests of all that are. Raises RunError."""
    if until and until not in [stage.name for stage in recipe.stages]:
        raise RunError(f"no stage {until!r}: there are {', '.join(stage.name for stage in recipe.stages)}")
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
    """The webs to learn on and to be asked about, served until `stack` ends; the folder is made ready for them."""
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
    reached = manifest["held_out"]["grounded"]["mean"]
    if reached < stage.gate:
        raise RunError(
            f"stage {stage.name!r} reached {reached:.3f} of grounded answers, its gate is {stage.gate}: look at its"
            f" trajectories (`webemu report`), then change the recipe and start a new run"
        )


class _Run:
    def __init__(self, recipe: Recipe, out: Path, seed: int, web: Place, away: Place, show: Show) -> None:
        self.recipe, self.out, self.seed, self.web, self.away, self.show = recipe, out, seed, web, away, show

    def folder(self, number: int) -> Path:
        return self.out / f"{number + 1}-{self.recipe.stages[number].name}"

    def stage(self, number: int, stage: Stage) -> dict[str, Any]:
        """Done now, unless it was done before."""
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
        """Of the stage before, else the recipe's."""
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
        """Held-out tasks, each once, at the temperature of training."""
        tasks = _of(self.away.tasks, stage)
        asked = Random(f"{self.seed}:held-out").sample(tasks, min(self.recipe.questions, len(tasks)))
        model.eval()
        set_seed(self.seed)
        limits = replace(self.recipe.limits, calls=0) if self.recipe.control == "no-tools" else self.recipe.limits
        voice = Voice(model, tokenizer, stage.turn, stage.temperature, self._system())
        pairs = [(task, self.seed) for task in asked]
        mine, made = distributed.share(pairs), list[Rollout]()
        for begin in range(0, len(mine), 128):
            part = play(room, voice, mine[begin : begin + 128], limits, stage.context, dict(self.recipe.policy))
            made += part[0]
        made = distributed.together(made)
        known = [one for one in made if one.score.reward is not None]
        if not known:
            raise RunError(
                f"no held-out task could be asked ({made[0].score.mask}): start the server, then run this again"
            )
        kinds = {one.task.recipe for one in known}
        each = {kind: _figures([one for one in known if one.task.recipe == kind]) for kind in sorted(kinds)}
        return _figures(known) | {"masked": len(made) - len(known), "recipes": each if len(kinds) > 1 else {}}

    def _manifest(self, number: int, stage: Stage, steps: int, held_out: dict[str, Any]) -> dict[str, Any]:
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
    """Means with their intervals, of rollouts that are not masked."""
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
    """A run goes on with the recipe and the seed that it began with."""
    out.mkdir(parents=True, exist_ok=True)
    mine = f"# seed {seed}\n{text}"
    path = out / RECIPE
    if path.exists() and path.read_text(encoding="utf-8") != mine:
        raise RunError(f"{out} holds a run of another recipe or seed: give another folder with --out")
    path.write_text(mine, encoding="utf-8")


def _of(tasks: Sequence[Task], stage: Stage) -> list[Task]:
    chosen = [task for task in tasks if not stage.recipes or task.recipe in stage.recipes]
    if not chosen:
        raise RunError(f"stage {stage.name!r}: no task is of {', '.join(stage.recipes)}")
    return chosen


def _parted(web: Place) -> tuple[Place, Place]:
    """What is learned from and what is asked, by the splits of one task file."""
    learned = tuple(task for task in web.tasks if task.split == "train")
    asked = tuple(task for task in web.tasks if task.split not in ("", "train"))
    if not learned or not asked:
        raise RunError(
            f"{web.file} has no tasks to hold out: name others with --held-out, or split it: see docs/tasks.md"
        )
    return replace(web, tasks=learned), replace(web, tasks=asked)


def _take_over(before: Path, out: Path, recipe: Recipe) -> None:
    """The webs, and the first stages as long as they are SFT and done; only the control may differ."""
    mine, theirs = ((folder / RECIPE).read_text(encoding="utf-8") for folder in (out, before))
    if _plain(mine) != _plain(theirs):
        raise RunError(f"{before} holds a run of another recipe or seed: nothing can be taken over from it")
    first = takewhile(lambda stage: stage[1].kind == "sft", enumerate(recipe.stages))
    names = [f"{number + 1}-{stage.name}" for number, stage in first]
    for name in ["webs", *takewhile(lambda name: (before / name / MANIFEST).exists(), names)]:
        if not (out / name).exists():
            unfinished = out / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(before / name, unfinished)
            unfinished.replace(out / name)


def _plain(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("# control "))


def _checkpoint(folder: Path, stage: Stage) -> int:
    """The last whole one, 0 if there is none."""
    names = [path.parent.name for path in folder.glob("checkpoint-*/trainer_state.json")]
    steps = [int(name.partition("-")[2]) for name in names]
    return max((n for n in steps if stage.kind == "sft" or (folder / CURRICULUM.format(n)).exists()), default=0)


def loaded(source: str) -> tuple[Any, Any]:
    """Model and tokenizer of a folder or hub id."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = sampling.prepared(AutoTokenizer.from_pretrained(source))
    # Small steps are lost in weights of 16 bits; the passes use them all the same (`bf16` of the trainers).
    return AutoModelForCausalLM.from_pretrained(source, dtype="float32"), words


def _lora(rank: int) -> Any:
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    whole = model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
    whole.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
