"""Command `webemu data`: turn recorded episodes into training data. The selection and the format are in
`webemu.rl.sft`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webemu.agent_client.errors import BadRequest
from webemu.rl import sft
from webemu.rl.ending import exit_with_error
from webemu.rl.outputs import check_writable
from webemu.rl.sft import EpisodesError, SelectionCriteria
from webemu.rl.tasks import TaskError, load

data = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@data.callback()
def describe_group() -> None:
    """Make training data from episodes."""


@data.command("sft")
def export_sft(
    episodes: Annotated[list[Path], typer.Argument(help="Output folders of `webemu eval`, or their episodes.jsonl.")],
    out: Annotated[Path, typer.Option(help="File to write: JSON Lines with messages and tools.")],
    min_reward: Annotated[
        float, typer.Option(min=0, max=1, help="Least reward of an attempt.")
    ] = SelectionCriteria().min_reward,
    grounded: Annotated[
        bool, typer.Option("--grounded", help="Only attempts whose every citation is supported.")
    ] = False,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Largest number of turns. [default: no limit]")] = None,
    per_task: Annotated[int, typer.Option(min=1, help="Largest number of attempts for each task, the best first.")] = 1,
    slips: Annotated[int, typer.Option(min=0, help="Largest number of invalid calls and turns without a call.")] = 0,
    split: Annotated[str, typer.Option(help="Only tasks of this split: train, dev or test.")] = "",
    tasks: Annotated[Path | None, typer.Option(help="Task file; only attempts at its tasks.")] = None,
    thoughts: Annotated[bool, typer.Option("--thoughts", help="Keep the reasoning of models.")] = False,
) -> None:
    """Turn episodes into chat JSON Lines with tool calls, for supervised fine-tuning.

    Finished attempts with enough reward are kept, the best of each task. Dropped attempts are counted by reason.

    \b
    Examples:
      webemu eval --tasks train.jsonl --baseline oracle --out oracle && webemu data sft oracle --out sft.jsonl
      webemu data sft teacher/ --out sft.jsonl --min-reward 0.9 --grounded --per-task 2 --split train
    """
    try:
        check_writable(out)
        ids = frozenset(task.id for task in load(tasks)) if tasks else None
        attempts = (one for path in episodes for one in sft.read_episodes(path))
        criteria = SelectionCriteria(min_reward, grounded, max_turns, per_task, slips, split, ids, thoughts)
        selection = sft.select(attempts, criteria)
    except BadRequest as error:
        exit_with_error(error.message, error.action)
    except (EpisodesError, TaskError) as error:
        exit_with_error(str(error), "name an output folder of `webemu eval`, or its episodes.jsonl")
    sft.save_conversations(out, selection.conversations)
    typer.echo(f"written  {len(selection.conversations):,} conversations to {out}")
    for reason, count in selection.dropped.most_common():
        typer.echo(f"dropped  {count:,} {reason}")
