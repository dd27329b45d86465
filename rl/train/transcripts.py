"""Episodes of a run as plain text, whole: for reading on a terminal, for `less` and for searching.

The page (`webemu.rl.train.report`) bounds what it shows; here nothing is cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.rl.train.messages import Message
from webemu.rl.train.step_log import HELD_OUT_FILE, TrajectoryRow, read_steps
from webemu.rl.train.trajectories import format_arguments, list_files, pick_milestones

HELD_OUT = "held out"
"""Name of the episodes after a stage, in place of a step."""


def list_episode_files(stage: Path, steps: Sequence[int], is_search: bool) -> dict[str, Path]:
    """Return the files of a stage by the name of their step, those on held-out tasks last.

    Without `steps`: the first, the middle and the last step; all of them for a search.
    """
    journal = read_steps(stage)
    files = list_files(stage, int(journal[-1]["step"]) if journal else 0)
    ordered = sorted(files)
    targets = steps or [ordered[0], ordered[len(ordered) // 2], ordered[-1]] if ordered else []
    shown_steps = [*files] if is_search and not steps else pick_milestones([*files], targets)
    held_out = {HELD_OUT: stage / HELD_OUT_FILE} if not steps and (stage / HELD_OUT_FILE).exists() else {}
    return {f"step {step}": files[step] for step in shown_steps} | held_out


def print_episodes(
    stages: Sequence[Path], count: int, steps: Sequence[int] = (), search_text: str = ""
) -> Iterator[str]:
    """Yield at most `count` episodes of each step of the stages as texts, evenly spaced over the tasks of the step.

    With `search_text`, only episodes that contain it in a message, whatever the case: at most `count` of each stage.
    """
    for stage in stages:
        remaining = count
        for step, path in list_episode_files(stage, steps, bool(search_text)).items():
            rows = _read_rows(path)
            matching = [row for row in rows if search_text.casefold() in _searched_text(row)] if search_text else rows
            for row in _spread(matching, remaining):
                yield format_episode(f"{stage.name}, {step}", row, _group_mean(rows, row["task"]))
                remaining -= bool(search_text)


def format_episode(place: str, row: TrajectoryRow, group_mean: float | None) -> str:
    """Return an episode as text: a line with its figures, one with its terms, and every message whole."""
    reward = row["reward"]
    figures = [place, row["task"], f"reward {_number(reward)}"]
    if reward is not None and group_mean is not None:
        figures.append(f"advantage {reward - group_mean:+.3f}")
    figures += [f"{row['tokens']} tokens", f"over: {row['over'] or 'playing'}"]
    figures += [f"masked: {row['mask']}"] if row["mask"] else []
    terms: Mapping[str, float | None] = json.loads(row["terms"])
    lines = [f"=== {' | '.join(figures)}", "    " + ", ".join(f"{name} {_number(one)}" for name, one in terms.items())]
    lines += [f"[user]\n{row['question']}"]
    messages: list[Message] = json.loads(row["messages"])
    return "\n".join([*lines, *(_format_message(message) for message in messages)]) + "\n"


def _format_message(message: Message) -> str:
    name = f" {message['name']}" if message.get("name") else ""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    parts = [
        f"({message['reasoning_content']})" if message.get("reasoning_content") else "",
        str(message.get("content") or ""),
        *(f"{call['name']}({format_arguments(call.get('arguments'))})" for call in calls),
    ]
    return "\n".join([f"[{message['role']}{name}]", *(part for part in parts if part)])


def _searched_text(row: TrajectoryRow) -> str:
    """Return the question and all texts of an episode in one case."""
    messages = "\n".join(_format_message(message) for message in json.loads(row["messages"]))
    return f"{row['question']}\n{messages}".casefold()


def _read_rows(path: Path) -> list[TrajectoryRow]:
    """Return the episodes of a file; none if a running stage has just removed it."""
    try:
        rows: list[TrajectoryRow] = pq.read_table(path, partitioning=None).to_pylist()
    except (OSError, pa.ArrowException):
        return []
    return rows


def _spread(rows: Sequence[TrajectoryRow], count: int) -> list[TrajectoryRow]:
    """Return at most `count` rows at equal distances."""
    if count <= 0:
        return []
    return [rows[number * len(rows) // count] for number in range(count)] if len(rows) > count else list(rows)


def _group_mean(rows: Sequence[TrajectoryRow], task: str) -> float | None:
    """Return the mean reward of the episodes of a task in a step; None for a single one, which has no group."""
    rewards = [row["reward"] for row in rows if row["task"] == task and row["reward"] is not None]
    return sum(rewards) / len(rewards) if len(rewards) > 1 else None


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}".rstrip("0").rstrip(".")
