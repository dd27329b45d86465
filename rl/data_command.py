"""`webemu data`: data for training, made out of episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from webemu.agent_client.errors import BadRequest
from webemu.rl import sft
from webemu.rl.outputs import writable
from webemu.rl.sft import EpisodesError, Wanted
from webemu.rl.tasks import TaskError, load

data = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@data.callback()
def _data() -> None:
    """Make data for training out of episodes."""


@data.command("sft")
def of_episodes(
    episodes: Annotated[list[Path], typer.Argument(help="Folders of `webemu eval`, or their episodes.jsonl.")],
    out: Annotated[Path, typer.Option(help="File to write: JSON Lines with messages and tools.")],
    min_reward: Annotated[float, typer.Option(min=0, max=1, help="Least reward.")] = Wanted().min_reward,
    grounded: Annotated[bool, typer.Option("--grounded", help="Only where every citation holds.")] = False,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Most turns.")] = None,
    per_task: Annotated[int, typer.Option(min=1, help="So many of each task, the best first.")] = 1,
    slips: Annotated[int, typer.Option(min=0, help="Calls that could not be made, and turns without one.")] = 0,
    split: Annotated[str, typer.Option(help="Only tasks of a split: train, dev or test.")] = "",
    tasks: Annotated[Path | None, typer.Option(help="Only the tasks of this file.")] = None,
    thoughts: Annotated[bool, typer.Option("--thoughts", help="Keep what reasoning models thought.")] = False,
) -> None:
    """Turn episodes into chat JSON Lines with tool calls, for supervised fine-tuning.

    Kept are finished attempts with enough reward, the best of each task; what is dropped is counted under a reason.

    \b
    Examples:
      webemu eval --tasks train.jsonl --policy oracle --out oracle && webemu data sft oracle --out sft.jsonl
      webemu data sft teacher/ --out sft.jsonl --min-reward 0.9 --grounded --per-task 2 --split train
    """
    try:
        writable(out)
        ids = frozenset(task.id for task in load(tasks)) if tasks else None
        told = (one for path in episodes for one in sft.episodes(path))
        wanted = Wanted(min_reward, grounded, max_turns, per_task, slips, split, ids, thoughts)
        chosen = sft.choose(told, wanted)
    except BadRequest as error:
        _stop(error.message, error.action)
    except (EpisodesError, TaskError) as error:
        _stop(str(error), "`webemu eval` writes folders of episodes")
    sft.save(out, chosen.conversations)
    typer.echo(f"written  {len(chosen.conversations):,} conversations to {out}")
    for reason, count in chosen.dropped.most_common():
        typer.echo(f"dropped  {count:,} {reason}")


def _stop(message: str, action: str) -> NoReturn:
    typer.echo(f"webemu: {message}", err=True)
    typer.echo(f"  -> {action}", err=True)
    raise typer.Exit(1) from None
