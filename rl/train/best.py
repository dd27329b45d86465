"""Best episodes of earlier GRPO stages as SFT rows: correct, grounded, and each way of answering a task once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from webemu.rl.sanitizing import sanitize
from webemu.rl.tasks import AnswerType
from webemu.rl.train.messages import Message, system_messages
from webemu.rl.train.step_log import TRAJECTORIES_FOLDER, TrajectoryRow

MIN_REWARD = 0.9
"""Least reward of an episode that is selected."""


def select_best_episodes(stages: Sequence[Path], system: str = "") -> list[list[Message]]:
    """Return conversations from the trajectories of these stage folders: at most two for each task, the best first.
    `system` is the recipe's system prompt, to put before the question.
    """
    by_task: dict[str, dict[str, RatedConversation]] = {}
    for row in _read_good_rows(stages):
        messages: list[Message] = json.loads(row["messages"])
        # Only the rubric of reports has this term.
        answer_type: AnswerType = "report" if "coverage" in json.loads(row["terms"]) else ""
        opening: list[Message] = [{"role": "user", "content": sanitize(row["question"])}]
        conversation = [*system_messages(system, answer_type), *opening, *_until_last_turn(messages)]
        # Episodes with the same calls count once.
        by_calls = by_task.setdefault(row["task"], {})
        by_calls.setdefault(_calls_key(messages), RatedConversation(row["reward"] or 0.0, conversation))
    return [
        rated.messages
        for by_calls in by_task.values()
        for rated in sorted(by_calls.values(), key=lambda rated: -rated.reward)[:2]
    ]


@dataclass(frozen=True, slots=True)
class RatedConversation:
    """Conversation of an episode with its reward."""

    reward: float
    messages: list[Message]


def _read_good_rows(stages: Sequence[Path]) -> Iterator[TrajectoryRow]:
    """Yield the episodes whose reward is at least `MIN_REWARD`, in the order in which they were played."""
    for path in [file for stage in stages for file in sorted((stage / TRAJECTORIES_FOLDER).glob("*.parquet"))]:
        rows: list[TrajectoryRow] = pq.read_table(path).to_pylist()
        yield from (row for row in rows if row["reward"] is not None and row["reward"] >= MIN_REWARD)


def _until_last_turn(messages: list[Message]) -> list[Message]:
    """Return the messages up to the model's last turn."""
    last = max(number for number, one in enumerate(messages) if one["role"] == "assistant")
    return messages[: last + 1]


def _calls_key(messages: list[Message]) -> str:
    """Return the calls of an episode in one spelling, to find episodes that did the same."""
    return json.dumps([call["function"] for one in messages for call in one.get("tool_calls", ())], sort_keys=True)
