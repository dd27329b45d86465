"""Command `webemu quiz`: run the scripted agent on a task file against a running server and grade its answers. The
evaluation of models is `webemu eval` (`webemu.rl.eval_command`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from webemu.agent_client import Client, ClientError, Trajectory, run
from webemu.agent_client.client import DEFAULT_URL
from webemu.agent_client.scripted import MAX_STEPS, scripted_policy
from webemu.rl.answers import is_equivalent
from webemu.rl.ending import exit_with_error
from webemu.rl.tasks import Task, TaskError, load

MAX_TRANSCRIPT_LINES, MAX_TRANSCRIPT_COLUMNS = 14, 110
"""Lines of an observation that a transcript prints, and characters of each line."""


@dataclass(frozen=True, slots=True)
class GradedTask:
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
      webemu quiz webemu-data/demo-web/tasks.jsonl --limit 12
    """
    try:
        selected_tasks = load(tasks)[:limit]
        if not selected_tasks:
            raise TaskError(f"{tasks} contains no tasks")
        with Client(server) as client:
            client.health()
            graded_tasks = [_grade_task(client, task, number < show) for number, task in enumerate(selected_tasks)]
    except (ClientError, TaskError, ValueError) as error:
        _stop(error)
    _print_table(graded_tasks)
    score = sum(one.correct for one in graded_tasks)
    typer.echo(f"score: {score} / {len(graded_tasks)}")
    if score < min_score:
        raise typer.Exit(1)


def _grade_task(client: Client, task: Task, prints_transcript: bool) -> GradedTask:
    """Run the scripted agent on a task and grade its answer; print the transcript if asked to."""
    trajectory = run(scripted_policy, client, task.question, MAX_STEPS)
    graded = GradedTask(
        task, trajectory, is_equivalent(trajectory.answer, task.answers, task.answer_type, task.question)
    )
    if prints_transcript:
        _print_transcript(graded)
    return graded


def _stop(error: Exception) -> NoReturn:
    """Print an error with its remedy and exit with status 1."""
    if isinstance(error, ClientError):
        exit_with_error(error.message, error.action or "start the server with `webemu serve`")
    exit_with_error(str(error), "`webemu generate OUT` writes a web with a task file")


def _print_transcript(graded: GradedTask) -> None:
    typer.secho(f"Question: {graded.task.question}", bold=True)
    for number, step in enumerate(graded.trajectory.steps, 1):
        arguments = ", ".join(f"{name}={value!r}" for name, value in step.arguments.items())
        typer.secho(f"\n{number}. {step.tool}({arguments})", fg="cyan")
        typer.echo(_excerpt(step.observation))
    verdict = "correct" if graded.correct else f"wrong, accepted: {' | '.join(graded.task.answers)}"
    typer.secho(f"\nAnswer: {graded.trajectory.answer or '(none)'}  [{verdict}]\n", bold=True)


def _excerpt(observation: str) -> str:
    """Return the first lines of an observation, shortened and indented."""
    lines = [line for line in observation.splitlines() if line.strip()]
    excerpt = [
        f"   | {line[:MAX_TRANSCRIPT_COLUMNS]}{'…' if len(line) > MAX_TRANSCRIPT_COLUMNS else ''}"
        for line in lines[:MAX_TRANSCRIPT_LINES]
    ]
    if len(lines) > MAX_TRANSCRIPT_LINES:
        excerpt.append(f"   | … {len(lines) - MAX_TRANSCRIPT_LINES} more lines")
    return "\n".join(excerpt)


def _print_table(graded_tasks: Sequence[GradedTask]) -> None:
    width = max((len(graded.task.id) for graded in graded_tasks), default=2)
    typer.secho(f"{'id':<{width}}  hops  correct  steps  answer", bold=True)
    for graded in graded_tasks:
        correct = "yes" if graded.correct else "no"
        steps = len(graded.trajectory.steps)
        answer = graded.trajectory.answer or "(none)"
        typer.echo(f"{graded.task.id:<{width}}  {graded.task.hops:>4}  {correct:<7}  {steps:>5}  {answer[:80]}")
