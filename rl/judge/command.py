"""Command `webemu judge`: measure a judge on labelled questions before it decides rewards."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from webemu.agent_client.errors import InfrastructureError
from webemu.rl.ending import exit_with_error
from webemu.rl.eval_command import JudgeKeyEnvOption, read_api_key
from webemu.rl.judge.agreement import format_agreement
from webemu.rl.judge.labels import Calibration, LabelError, LabelledQuestion, calibrate, load_labels
from webemu.rl.judge.spec import JudgeSpec, open_judge

judge_app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@judge_app.callback()
def describe_group() -> None:
    """Measure a model that judges answers."""


@judge_app.command("check")
def check(
    labels: Annotated[Path, typer.Argument(help="Labelled questions: JSON Lines.")],
    judge: Annotated[str, typer.Option(help="Address of the judge's OpenAI-compatible endpoint, ending in /v1.")],
    judge_model: Annotated[str, typer.Option(help="Name of the judging model at its endpoint.")],
    judge_key_env: JudgeKeyEnvOption = "",
) -> None:
    """Print how often a judge agrees with labels, and its errors.

    Exits with status 1 if the judge gave no verdict on a question.

    \b
    Example:
      webemu judge check tests/rl/data/judge_labels.jsonl --judge http://127.0.0.1:8000/v1 --judge-model Qwen/Qwen3-8B
    """
    read_api_key(judge_key_env, "--judge-key-env")  # exits now if the variable is not set
    spec = JudgeSpec(judge, judge_model, judge_key_env)
    try:
        calibration = asyncio.run(_calibrate(spec, load_labels(labels)))
    except LabelError as error:
        exit_with_error(str(error), "write one JSON object in each line, as tests/rl/data/judge_labels.jsonl has them")
    except InfrastructureError as error:
        exit_with_error(error.message, error.action)
    _print(calibration)
    if calibration.failures:
        raise typer.Exit(1)


async def _calibrate(spec: JudgeSpec, questions: tuple[LabelledQuestion, ...]) -> Calibration:
    async with open_judge(spec) as one_judge:
        return await calibrate(one_judge, questions)


def _print(calibration: Calibration) -> None:
    """Print the agreement by kind of question, the failures, and each error."""
    for group, agreement in calibration.agreements.items():
        typer.echo(f"{group:<12} {format_agreement(agreement) if agreement else 'no verdict'}")
    for reason, count in calibration.failures.items():
        typer.echo(f"{'no verdict':<12} {count} ({reason})")
    for question in calibration.errors:
        label = "yes" if question.label else "no"
        text = question.passage if question.kind == "support" else question.answer
        typer.echo(f"{'error':<12} {question.kind}, should be {label}: {question.gold} | {text}")
