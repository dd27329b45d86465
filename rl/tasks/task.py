"""Tasks: questions whose accepted answers are known, one JSON object per line. Gold never reaches an observation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

AnswerType = Literal["", "name", "date", "number", "title", "url", "choice", "none", "report"]
"""`none`: the web does not say, and that is the answer. `report`: a cited synthesis, marked by its claims."""
NOT_FOUND = ("not found", "it cannot be found", "no such thing", "there is none", "none", "unknown", "not stated")
"""What is right where the answer type is `none`."""


class TaskError(ValueError):
    """A file that cannot be read; names file and line. `action` says what to do."""

    def __init__(self, message: str, action: str = "") -> None:
        super().__init__(message)
        self.action = action or "a task file has one JSON object per line: see docs/tasks.md"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A page that states what the answer stands on."""

    url: str
    quote: str = ""
    """As the page's text has it."""
    value: str = ""
    """What of the quote is needed: the answer, the name that leads on, or a report's claim."""
    digest: str = ""
    """Of the capture's payload, as the catalog has it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the scripted user says to a question that has one of these words."""

    words: tuple[str, ...]
    says: str


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    question: str
    answers: tuple[str, ...]
    """Every accepted spelling of the answer; at least one."""
    evidence: tuple[Evidence, ...] = ()
    """Where the answer stands, in the order it is reached."""
    hops: int = 1
    """How many pages must be read."""
    recipe: str = ""
    """What made it."""
    answer_type: AnswerType = ""
    split: str = ""
    """`train`, `dev` or `test`."""
    difficulty: float | None = None
    """From 0, easy, to 1; None where it was not measured."""
    filters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Verdict of each filter by name: `ok`, and what it saw."""
    user: tuple[Reply, ...] = ()
    """What the user knows and did not say; empty where there is none to ask."""


def load(path: Path) -> tuple[Task, ...]:
    """The tasks of a JSON Lines file in order. Raises TaskError."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from error
    return tuple(_task(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def save(path: Path, tasks: Iterable[Task]) -> None:
    """Write a task file; it appears under its name when it is whole."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text("".join(f"{line(task)}\n" for task in tasks), encoding="utf-8")
    unfinished.replace(path)


def line(task: Task) -> str:
    """The task as a line of a task file; what is empty is left out."""
    row = {name: value for name, value in asdict(task).items() if value not in ("", None, (), {})}
    if task.evidence:
        row["evidence"] = [{name: text for name, text in one.items() if text} for one in row["evidence"]]
    return json.dumps(row, ensure_ascii=False)


def from_row(row: Mapping[str, Any]) -> Task:
    """A task from its JSON object; what is null is left out. Raises ValueError, KeyError or TypeError."""
    if not isinstance(row, Mapping):
        raise TypeError("it is no object")
    row = {name: value for name, value in row.items() if value is not None}
    if missing := [name for name in ("id", "question", "answers") if row.get(name, "") in ("", [])]:
        raise ValueError(f"it has no `{missing[0]}`")
    given, hops, kind = row["answers"], int(row.get("hops", 1)), row.get("answer_type", "")
    if isinstance(given, str) or not all(one is not None and str(one).strip() for one in given):
        raise ValueError("`answers` must be a list of texts that are not empty")
    if hops < 1:
        raise ValueError(f"`hops` is {hops}: at least one page is read")
    if kind not in get_args(AnswerType):
        raise ValueError(f"`answer_type` {kind!r} is none of {', '.join(filter(None, get_args(AnswerType)))}")
    return Task(
        id=str(row["id"]),
        question=str(row["question"]),
        answers=tuple(map(str, given)),
        evidence=tuple(_evidence(one) for one in row.get("evidence", ())),
        hops=hops,
        recipe=str(row.get("recipe", "")),
        answer_type=kind,
        split=str(row.get("split", "")),
        difficulty=float(row["difficulty"]) if "difficulty" in row else None,
        filters=dict(row.get("filters", {})),
        user=tuple(Reply(tuple(map(str, one["words"])), str(one["says"])) for one in row.get("user", ())),
    )


def _evidence(row: str | Mapping[str, Any]) -> Evidence:
    if isinstance(row, str):
        return Evidence(row)
    return Evidence(str(row["url"]), *(str(row.get(name, "")) for name in ("quote", "value", "digest")))


def _task(path: Path, number: int, line: str) -> Task:
    try:
        return from_row(json.loads(line))
    except json.JSONDecodeError as error:
        raise TaskError(f"{path}, line {number}: not JSON ({error.msg} at character {error.pos})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path}, line {number}: not a task ({error})") from error
