"""Best episodes of earlier GRPO stages as SFT rows: correct, grounded, and each way of answering a task once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from webemu.rl.sanitizing import sanitize
from webemu.rl.train.step_log import TRAJECTORIES_FOLDER

MIN_REWARD = 0.9
"""Least reward of an episode that is selected."""


def select_best_episodes(stages: Sequence[Path], system: str = "") -> list[dict[str, Any]]:
    """Return rows of `messages` from the trajectories of these stage folders: at most two for each task, the best
    first. `system` is a system prompt to put before the question.
    """
    by_task: dict[str, dict[str, tuple[float, list[dict[str, Any]]]]] = {}
    for path in [file for stage in stages for file in sorted((stage / TRAJECTORIES_FOLDER).glob("*.parquet"))]:
        for row in pq.read_table(path).to_pylist():
            if row["reward"] is not None and row["reward"] >= MIN_REWARD:
                messages = json.loads(row["messages"])
                by_calls = by_task.setdefault(row["task"], {})
                # Episodes with the same calls count once.
                by_calls.setdefault(
                    _calls_key(messages),
                    (row["reward"], [*_opening_messages(row["question"], system), *_until_last_turn(messages)]),
                )
    selected = [
        way for by_calls in by_task.values() for way in sorted(by_calls.values(), key=lambda rated: -rated[0])[:2]
    ]
    return [{"messages": messages} for _, messages in selected]


def _opening_messages(question: str, system: str) -> list[dict[str, Any]]:
    head = [{"role": "system", "content": system}] if system else []
    return [*head, {"role": "user", "content": sanitize(question)}]


def _until_last_turn(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages up to the model's last turn."""
    last = max(number for number, one in enumerate(messages) if one["role"] == "assistant")
    return messages[: last + 1]


def _calls_key(messages: list[dict[str, Any]]) -> str:
    """Return the calls of an episode in one spelling, to find episodes that did the same."""
    return json.dumps([call["function"] for one in messages for call in one.get("tool_calls", ())], sort_keys=True)
