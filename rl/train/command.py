"""`webemu train`: a recipe from its first stage to its last, in a folder that goes on where it stopped."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from agent_client import ClientError
from rl.tasks import TaskError
from rl.train.recipe import RecipeError, read, shipped

SHOWN = ("loss", "reward", "grounded", "entropy", "calls", "masked", "seconds/speaking", "seconds/tools", "tool_ms/p99")


def train(
    recipe: Annotated[str, typer.Option(help="Name of a shipped recipe, or a TOML file.")] = "tiny",
    out: Annotated[Path | None, typer.Option(help="Folder of the run. [default: runs/NAME]")] = None,
    until: Annotated[str, typer.Option("--stage", help="Stop after this stage.")] = "",
    model: Annotated[str, typer.Option(help="Folder or hub id, in place of the recipe's model.")] = "",
    seed: Annotated[int, typer.Option(help="Of weights, draws and sampling.")] = 0,
    server: Annotated[str | None, typer.Option(help="Running server of the training web.")] = None,
    collection: Annotated[str | None, typer.Option(help="Else the collection that one is started over.")] = None,
    tasks: Annotated[Path | None, typer.Option(help="Task file, for recipes that make no web.")] = None,
    held_out: Annotated[Path | None, typer.Option(help="Task file that is asked after each stage.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Of a server that is started.")] = 1,
    show: Annotated[bool, typer.Option("--list", help="Show the shipped recipes and stop.")] = False,
) -> None:
    """Train a search agent: the stages of a recipe (SFT, GRPO), each examined on held-out tasks at its end.

    \b
    Examples:
      webemu train --recipe tiny                          # from nothing, on a CPU, in minutes
      webemu train --recipe tiny --stage sft              # the first stage alone; the same command again goes on
      webemu train --recipe mine.toml --model Qwen/Qwen3-1.7B --collection crawl --tasks tasks.jsonl
    """
    if show:
        for name in shipped():
            typer.echo(f"{name:<16} {read(name)[1].summary}")
        return
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    from rl.train.run import Given, RunError  # torch and trl, which take seconds
    from rl.train.run import train as run

    began = time.monotonic()

    def tell(stage: str, step: int, figures: dict[str, Any]) -> None:
        said = "  ".join(f"{name} {figures[name]:.3f}" for name in SHOWN if name in figures)
        typer.echo(f"{time.monotonic() - began:7.0f} s  {stage} {step}  {said}")

    try:
        text, told = read(recipe)
        if model:
            told, text = _with_model(told, model), f"# model {model}\n{text}"
        folder = out or Path("runs") / Path(recipe).stem
        given = Given(server, collection, tasks, held_out, workers)
        manifests = run(told, text, folder, seed, given, tell, until)
    except (RecipeError, RunError, TaskError, ClientError, ValueError) as error:
        typer.echo(f"webemu: {error}", err=True)
        raise typer.Exit(1) from None
    for one in manifests:
        parts = [f"{name} {told['mean']:.3f} [{told['low']:.3f}, {told['high']:.3f}]"
                 for name, told in one["held_out"].items() if isinstance(told, dict)]  # fmt: skip
        typer.echo(f"{one['stage']:<12} held out: {'  '.join(parts)}")
    typer.echo(f"next        webemu report {folder}")


def _with_model(recipe: Any, name: str) -> Any:
    from dataclasses import replace

    return replace(recipe, model=replace(recipe.model, name=name, size=""))
