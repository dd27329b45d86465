"""Folder of a training run: where the files of its stages are, which recipe it belongs to, what it takes over from an
earlier run, and the checkpoint at which a stage continues.

    out/recipe.toml              recipe and seed of the run
    out/webs/                    webs that the recipe generates
    out/1-skills/                stage: checkpoints, steps.jsonl, trajectories/, model/, and manifest.json, written last
"""

from __future__ import annotations

import shutil
from itertools import takewhile
from pathlib import Path

from webemu.rl.train.manifest import MANIFEST_FILE
from webemu.rl.train.recipe import Recipe, Stage

RECIPE_FILE, WEBS_FOLDER, MODEL_FOLDER = "recipe.toml", "webs", "model"
VERDICTS_FILE = "verdicts.jsonl"
"""File name of the judge's verdicts, from which a resumed run takes them again."""
CURRICULUM_FILE = "curriculum-{}.json"
"""File name of the curriculum's state next to the checkpoint of a step."""


class RunError(ValueError):
    """Run that cannot go on; the message says what to do."""


def stage_folder(out: Path, recipe: Recipe, number: int) -> Path:
    """Return the folder of a stage, whose number counts from 0."""
    return out / f"{number + 1}-{recipe.stages[number].name}"


def claim_folder(out: Path, text: str, seed: int) -> None:
    """Record recipe and seed in the folder. Raises: RunError if it holds a run of other ones."""
    out.mkdir(parents=True, exist_ok=True)
    run_text = f"# seed {seed}\n{text}"
    path = out / RECIPE_FILE
    if path.exists() and path.read_text(encoding="utf-8") != run_text:
        raise RunError(f"{out} holds a run of another recipe or seed: name another folder with --out")
    path.write_text(run_text, encoding="utf-8")


def copy_earlier_run(earlier_run: Path, out: Path, recipe: Recipe) -> None:
    """Copy the webs of an earlier run, and its first stages as far as they are finished SFT stages. The seeds may
    differ: several controls, or several runs of GRPO, may start from one model.

    Raises: RunError if it is no run, or its recipe differs in anything but the control.
    """
    if not (earlier_run / RECIPE_FILE).exists():
        raise RunError(f"{earlier_run} holds no run: name the folder of one with --after")
    current_text, earlier_text = ((folder / RECIPE_FILE).read_text(encoding="utf-8") for folder in (out, earlier_run))
    if _recipe_itself(current_text) != _recipe_itself(earlier_text):
        raise RunError(f"{earlier_run} holds a run of another recipe: nothing can be copied from it; leave out --after")
    sft_stages = takewhile(lambda stage: stage[1].kind == "sft", enumerate(recipe.stages))
    names = [stage_folder(out, recipe, number).name for number, _ in sft_stages]
    for name in [WEBS_FOLDER, *takewhile(lambda name: (earlier_run / name / MANIFEST_FILE).exists(), names)]:
        if not (out / name).exists():
            unfinished = out / f"{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(earlier_run / name, unfinished)
            unfinished.replace(out / name)


def last_checkpoint(folder: Path, stage: Stage) -> int:
    """Return the step of the last complete checkpoint; 0 if there is none."""
    # The trainer writes its state last, and the curriculum of a GRPO stage is written after that.
    names = [path.parent.name for path in folder.glob("checkpoint-*/trainer_state.json")]
    steps = [int(name.partition("-")[2]) for name in names]
    return max(
        (step for step in steps if stage.kind == "sft" or (folder / CURRICULUM_FILE.format(step)).exists()), default=0
    )


def _recipe_itself(text: str) -> str:
    """Return a recipe's text without the lines that name control and seed."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("# control ", "# seed ")))
