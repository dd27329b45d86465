"""Command `webemu train`: run the stages of a recipe in a folder. A run that was interrupted continues where it
stopped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.agent_client import ClientError
from webemu.rl.tasks import TaskError
from webemu.rl.train.manifest import HeldOutFigures, Manifest, is_figure
from webemu.rl.train.recipe import ControlName, Recipe, RecipeError, Stage, list_shipped, read_recipe
from webemu.rl.train.served_web import RunInputs

PROGRESS_FIGURES = {
    "loss": "loss",
    "reward": "reward",
    "grounded": "grounded",
    "entropy": "entropy",
    "masked": "masked",
}
"""Figures in the progress bar, and their labels."""


def train(
    recipe: Annotated[str, typer.Option(help="Name of a shipped recipe, or a TOML file.")] = "tiny",
    out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
    until: Annotated[str, typer.Option("--stage", help="Stop after this stage.")] = "",
    model: Annotated[str, typer.Option(help="Folder or hub id of a model that replaces the recipe's.")] = "",
    seed: Annotated[int, typer.Option(help="Seed of weights, task draws and sampling.")] = 0,
    server: Annotated[str | None, typer.Option(help="Address of a running server of the training web.")] = None,
    collection: Annotated[str | None, typer.Option(help="Collection of the server to start, without --server.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="Task file, for recipes that generate no web.")] = None,
    held_out: Annotated[Path | None, typer.Option(help="Task file of the evaluation after each stage.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes of a server that is started.")] = 1,
    control: Annotated[
        str,
        typer.Option(
            help="Control experiment: random-reward, no-tools, shuffled-gold, which must fail, or ungated-cost."
        ),
    ] = "",
    after: Annotated[Path | None, typer.Option(help="Earlier run whose webs and first SFT stages are copied.")] = None,
    scale: Annotated[str, typer.Option(help="Variant of a shipped recipe for another machine: cpu.")] = "",
    estimate: Annotated[bool, typer.Option("--estimate", help="Print memory and time on common cards.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Make a step of each stage, with random weights.")] = False,
    get: Annotated[str, typer.Option(help="Download this model into models/ and exit: smollm.")] = "",
    show: Annotated[bool, typer.Option("--list", help="List the shipped recipes and exit.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Train a search agent: run the stages of a recipe (SFT, GRPO), each evaluated on held-out tasks at its end.

    \b
    Examples:
      webemu train --recipe tiny                          # from scratch, on a CPU, in minutes
      webemu train --recipe tiny --stage skills           # the first stage alone; run again without --stage to continue
      webemu train --recipe tiny --control no-tools --after runs/tiny --out runs/no-tools
      webemu train --get smollm && webemu train --recipe smollm --scale cpu      # a pretrained model; hours on a CPU
      webemu train --recipe smollm --model Qwen/Qwen3-1.7B --estimate            # memory and minutes, before renting
      webemu train --recipe smollm --model Qwen/Qwen3-1.7B --dry-run             # all stages, without its weights
      webemu train --recipe mine.toml --model Qwen/Qwen3-1.7B --collection crawl --tasks tasks.jsonl
    """
    with _print_errors():
        if show or get:
            typer.echo(f"{'model':<12} {_fetch_model(get)}" if get else _list_recipes())
            return
        recipe = f"{recipe}-{scale}" if scale else recipe
        text, parsed_recipe = _apply_overrides(*read_recipe(recipe), model, control)
        if estimate:
            _print_estimate(parsed_recipe)
            return
        folder = out or Path("runs") / (Path(recipe).stem + ("-dry-run" if dry_run else ""))
        if dry_run:
            text, parsed_recipe = f"# dry run\n{text}", _shrink(parsed_recipe, folder)
        inputs = RunInputs(server, collection, tasks, held_out, workers, after)
        _run_stages(parsed_recipe, text, folder, seed, until, quiet, inputs)


@contextmanager
def _print_errors() -> Iterator[None]:
    """Print an error that the user can mend, and exit with status 1."""
    try:
        yield
    except (RecipeError, TaskError, ClientError, ValueError) as error:
        typer.echo(f"webemu: {error}", err=True)
        raise typer.Exit(1) from None


def _run_stages(recipe: Recipe, text: str, out: Path, seed: int, until: str, quiet: bool, inputs: RunInputs) -> None:
    """Run the stages with a progress bar for each, and print their results. Of several processes, the first prints."""
    _silence_libraries()
    from webemu.rl.train import run  # imports torch and trl, which takes seconds

    is_first = os.environ.get("RANK", "0") == "0"
    manifests = run.train(recipe, text, out, seed, inputs, ProgressBars(quiet or not is_first).show, until)
    if is_first:
        _print_results(manifests, out)


def _list_recipes() -> str:
    return "\n".join(f"{name:<12} {read_recipe(name)[1].summary}" for name in list_shipped())


def _print_estimate(recipe: Recipe) -> None:
    _silence_libraries()
    from webemu.rl.train.estimate import format_estimate  # imports torch, which takes seconds

    for line in format_estimate(recipe):
        typer.echo(line)


def _print_results(manifests: list[Manifest], folder: Path) -> None:
    for manifest in manifests:
        typer.echo(f"{manifest['stage']:<12} held out: {_format_figures(manifest['held_out'])}")
    typer.echo(f"{'next':<12} webemu report {folder}")


def _shrink(recipe: Recipe, folder: Path) -> Recipe:
    _silence_libraries()
    from webemu.rl.train.dry_run import shrink_recipe  # imports torch and trl, which takes seconds

    return shrink_recipe(recipe, folder / "dry-run-model")


def _fetch_model(name: str) -> Path:
    _silence_libraries()
    from webemu.rl.train.fetched_models import fetch_model  # imports torch and trl, which takes seconds

    return fetch_model(name)


def _silence_libraries() -> None:
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    for library in ("HF_HUB", "HF_DATASETS"):
        os.environ.setdefault(f"{library}_DISABLE_PROGRESS_BARS", "1")


class ProgressBars:
    """Progress bars on standard error, one for each stage that makes a step."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._bars: dict[str, tqdm] = {}

    def show(self, stage: Stage, step: int, figures: Mapping[str, float]) -> None:
        """Move the bar of a stage to a step and show the step's figures beside it."""
        if stage.name not in self._bars:
            self._bars[stage.name] = tqdm(
                total=stage.steps, desc=stage.name, unit="step", file=sys.stderr, disable=self._quiet
            )
        progress_bar = self._bars[stage.name]
        labels = [f"{name} {figures[key]:.3f}" for key, name in PROGRESS_FIGURES.items() if key in figures]
        progress_bar.set_postfix_str(", ".join(labels))
        progress_bar.update(step - progress_bar.n)
        if step == stage.steps:
            progress_bar.close()


def _apply_overrides(text: str, recipe: Recipe, model: str, control: str) -> tuple[str, Recipe]:
    """Return the recipe with the overrides of the command line, which are also recorded in its text."""
    if model:
        recipe, text = replace(recipe, model=replace(recipe.model, name=model, size="")), f"# model {model}\n{text}"
    if control:
        kind: ControlName = control  # type: ignore[assignment]
        recipe, text = replace(recipe, control=kind), f"# control {control}\n{text}"
    return text, recipe


def _format_figures(held_out: HeldOutFigures) -> str:
    """Return the means of the held-out figures with their intervals."""
    figures = [(name, value) for name, value in held_out.items() if is_figure(value)]
    return "  ".join(f"{name} {one['mean']:.3f} [{one['low']:.3f}, {one['high']:.3f}]" for name, one in figures)
