"""Tasks: questions whose accepted answers are known, one JSON object per line. Gold never reaches an observation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class TaskError(ValueError):
    """A task file that cannot be read; names file and line."""


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    question: str
    answers: tuple[str, ...]
    """Every accepted spelling of the answer; at least one."""
    evidence: tuple[Any, ...] = ()
    """Where the answer stands, in the order it is reached; as written in the file."""
    hops: int = 1
    """How many pages must be read."""
    kind: str = ""


def load(path: Path) -> tuple[Task, ...]:
    """The tasks of a JSON Lines file in order. Raises TaskError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}") from error
    return tuple(_task(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _task(path: Path, number: int, line: str) -> Task:
    try:
        return _from(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path}, line {number}: not a task ({type(error).__name__}: {error})") from error


def _from(row: Mapping[str, Any]) -> Task:
    answers = tuple(str(answer) for answer in row["answers"])
    if not answers or isinstance(row["answers"], str):
        raise ValueError("`answers` must be a list of at least one text")
    return Task(
        str(row["id"]),
        str(row["question"]),
        answers,
        tuple(row.get("evidence", ())),
        int(row.get("hops", 1)),
        str(row.get("kind", "")),
    )
