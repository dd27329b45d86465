"""Command `webemu quiz`: run the scripted agent on a task file against a running server and grade its answers. The
evaluation of models is `webemu eval` (`webemu.rl.eval_command`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from webemu.agent_client import Client, ClientError, Trajectory, run
from webemu.agent_client.client import DEFAULT_URL
from webemu.agent_client.scripted import MAX_STEPS, scripted
from webemu.rl.tasks import Task, TaskError, load
from webemu.rl.verify import exact

SHOWN_LINES, SHOWN_WIDTH = 14, 110
"""Lines of an observation that a transcript prints, and characters of each line."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A task with the agent's trajectory and its grade."""

    task: Task
    trajectory: Trajectory
    correct: bool


def quiz(
    tasks: Annotated[Path, typer.Argument(help="Task file: JSON Lines with id, question, answers, hops.")],
    server: Annotated[
        str,
        typer.Option("--server", envvar="WEBEMU_SERVER", help="Address of the running server: a URL, or unix:///path."),
    ] = DEFAULT_URL,
    limit: Annotated[
        int | None, typer.Option(help="Number of questions to ask, from the top of the file. [default: all]")
    ] = None,
    show: Annotated[int, typer.Option(help="Number of questions whose whole transcript is printed.")] = 1,
    min_score: Annotated[
        int, typer.Option(help="Least number of correct answers; with fewer, the exit status is 1.")
    ] = 0,
) -> None:
    """Let the scripted agent answer a task file against a running server.

    The agent gets only the questions: it searches, opens pages and follows links over HTTP.

    \b
    Example:
      webemu quiz webemu-data/demo/tasks.jsonl --limit 12
    """
    try:
        chosen = load(tasks)[:limit]
        if not chosen:
            raise TaskError(f"{tasks} contains no tasks")
        with Client(server) as client:
            client.health()
            marked = [_marked(client, task, number < show) for number, task in enumerate(chosen)]
    except (ClientError, TaskError, ValueError) as error:
        _stop(error)
    _print_table(marked)
    correct = sum(one.correct for one in marked)
    typer.echo(f"score: {correct} / {len(marked)}")
    if correct < min_score:
        raise typer.Exit(1)


def _marked(client: Client, task: Task, shown: bool) -> Marked:
    """Run the scripted agent on a task and grade its answer; print the transcript if asked to."""
    trajectory = run(scripted, client, task.question, MAX_STEPS)
    marked = Marked(task, trajectory, exact(trajectory.answer, task.answers))
    if shown:
        _print_transcript(marked)
    return marked


def _stop(error: Exception) -> None:
    """Print an error with its remedy and exit with status 1."""
    typer.echo(f"webemu: {error.message if isinstance(error, ClientError) else error}", err=True)
    if isinstance(error, ClientError):
        typer.echo(f"  -> {error.action or 'start the server with `webemu serve`'}", err=True)
    else:
        typer.echo("  -> `webemu generate OUT` writes a web with a task file", err=True)
    raise typer.Exit(1) from None


def _print_transcript(marked: Marked) -> None:
    typer.secho(f"Question: {marked.task.question}", bold=True)
    for number, step in enumerate(marked.trajectory.steps, 1):
        arguments = ", ".join(f"{name}={value!r}" for name, value in step.arguments.items())
        typer.secho(f"\n{number}. {step.tool}({arguments})", fg="cyan")
        typer.echo(_excerpt(step.observation))
    verdict = "correct" if marked.correct else f"wrong, accepted: {' | '.join(marked.task.answers)}"
    typer.secho(f"\nAnswer: {marked.trajectory.answer or '(none)'}  [{verdict}]\n", bold=True)


def _excerpt(observation: str) -> str:
    """Return the first lines of an observation, shortened and indented."""
    lines = [line for line in observation.splitlines() if line.strip()]
    shown = [f"   | {line[:SHOWN_WIDTH]}{'…' if len(line) > SHOWN_WIDTH else ''}" for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append(f"   | … {len(lines) - SHOWN_LINES} more lines")
    return "\n".join(shown)


def _print_table(marked: Sequence[Marked]) -> None:
    width = max((len(one.task.id) for one in marked), default=2)
    typer.secho(f"{'id':<{width}}  hops  correct  steps  answer", bold=True)
    for one in marked:
        correct = "yes" if one.correct else "no"
        steps = len(one.trajectory.steps)
        answer = one.trajectory.answer or "(none)"
        typer.echo(f"{one.task.id:<{width}}  {one.task.hops:>4}  {correct:<7}  {steps:>5}  {answer[:80]}")
