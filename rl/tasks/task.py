"""Tasks: questions whose accepted answers are known, stored as one JSON object per line.

The accepted answers (gold) are for graders only; they never appear in an observation. docs/tasks.md has the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, SupportsFloat, SupportsInt, get_args

AnswerType = Literal["", "name", "date", "number", "title", "url", "choice", "none", "report"]
"""Form of the answer; "" means that it was not declared. `none`: the web does not say, and that is the right answer.
`report`: a synthesis with citations, scored by the claims that it states.
"""
NOT_FOUND = ("not found", "it cannot be found", "no such thing", "there is none", "none", "unknown", "not stated")
"""Phrasings that are right for a task of the answer type `none`."""


class TaskError(ValueError):
    """A file that cannot be read, with its name and, where it is known, the line. `action` says what to do."""

    def __init__(self, message: str, action: str = "") -> None:
        super().__init__(message)
        self.action = action or "write one JSON object per line; docs/tasks.md has the fields"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A page that states something the answer follows from."""

    url: str
    """URL of the page."""
    quote: str = ""
    """Words of the page that state it, copied from the page's text."""
    value: str = ""
    """The part of the quote that is needed: the answer, the name that leads to the next page, or a report's claim."""
    digest: str = ""
    """Digest of the capture's payload, as in the catalog."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A canned reply of the scripted user."""

    words: tuple[str, ...]
    """The user says this if the agent's question has one of these words."""
    says: str
    """The reply."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question, its accepted answers, and the pages that state them."""

    id: str
    """Unique within a task file. A recipe leaves it empty; the builder fills it in."""
    question: str
    """The question as an agent gets it."""
    answers: tuple[str, ...]
    """Every accepted spelling of the answer; at least one."""
    evidence: tuple[Evidence, ...] = ()
    """Pages that state the answer, in the order in which an agent reaches them."""
    hops: int = 1
    """Number of pages that must be read."""
    recipe: str = ""
    """Name of the recipe that made the task; empty for a task written by hand."""
    answer_type: AnswerType = ""
    split: str = ""
    """`train`, `dev` or `test`; empty until the file is split."""
    difficulty: float | None = None
    """A number from 0 (easy) to 1; None if it was not measured."""
    filters: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Verdict of each filter, by the filter's name: `ok`, and the observations that led to it."""
    user: tuple[Reply, ...] = ()
    """Replies of the scripted user about things that the question leaves open; empty if nobody can be asked."""


def load(path: Path) -> tuple[Task, ...]:
    """Return the tasks of a JSON Lines file, in order.

        tasks = load(Path("tasks.jsonl"))
        train = [task for task in tasks if task.split == "train"]

    Raises:
        TaskError: The file cannot be read, is not UTF-8, or a line is no task.
    """
    try:
        # Not splitlines(): it also breaks at U+2028 and other characters that JSON leaves unescaped in strings.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise TaskError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from error
    return tuple(_parse_line(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def save(path: Path, tasks: Iterable[Task]) -> None:
    """Write a task file. It replaces the old file only once it is complete.

    save(Path("tasks.jsonl"), tasks)
    """
    # Another process that reads the file never sees half of it.
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text("".join(f"{to_json_line(task)}\n" for task in tasks), encoding="utf-8")
    unfinished.replace(path)


def to_json_line(task: Task) -> str:
    """Return the task as one line of a task file, without the newline. Empty fields are left out."""
    row = {name: value for name, value in asdict(task).items() if value not in ("", None, (), {})}
    if task.evidence:
        row["evidence"] = [{name: text for name, text in one.items() if text} for one in row["evidence"]]
    return json.dumps(row, ensure_ascii=False)


def parse_task(row: object) -> Task:
    """Return a task from its JSON object. A field that is null counts as absent.

    Raises:
        ValueError, KeyError, TypeError: A field is missing or has the wrong type or value.
    """
    if not isinstance(row, Mapping):
        raise TypeError("a task must be a JSON object")
    fields: dict[str, object] = {name: value for name, value in row.items() if value is not None}
    if missing := [name for name in ("id", "question", "answers") if fields.get(name, "") in ("", [])]:
        raise ValueError(f"the field `{missing[0]}` is missing or empty")
    answer_texts = _read_list(fields, "answers")
    if not all(one is not None and str(one).strip() for one in answer_texts):
        raise ValueError("`answers` must be a list of strings that are not empty")
    difficulty = fields.get("difficulty")
    return Task(
        id=str(fields["id"]),
        question=str(fields["question"]),
        answers=tuple(map(str, answer_texts)),
        evidence=tuple(_parse_evidence(one) for one in _read_list(fields, "evidence")),
        hops=_parse_hops(fields.get("hops", 1)),
        recipe=str(fields.get("recipe", "")),
        answer_type=_parse_answer_type(fields.get("answer_type", "")),
        split=str(fields.get("split", "")),
        difficulty=None if difficulty is None else _parse_difficulty(difficulty),
        filters=_parse_filters(fields.get("filters", {})),
        user=tuple(_parse_reply(one) for one in _read_list(fields, "user")),
    )


def _read_list(fields: Mapping[str, object], name: str) -> list[object]:
    """Return the list in a field; empty if the field is absent. Raises TypeError if it is no list."""
    value = fields.get(name, ())
    if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
        raise TypeError(f"`{name}` must be a list, got {value!r}")
    return list(value)


def _parse_hops(value: object) -> int:
    if not isinstance(value, str | SupportsInt):
        raise TypeError(f"`hops` must be a whole number, got {value!r}")
    if (hops := int(value)) < 1:
        raise ValueError(f"`hops` must be at least 1, got {hops}")
    return hops


def _parse_answer_type(value: object) -> AnswerType:
    answer_types: tuple[AnswerType, ...] = get_args(AnswerType)
    for answer_type in answer_types:
        if answer_type == value:
            return answer_type
    raise ValueError(f"`answer_type` must be one of {', '.join(filter(None, answer_types))}, got {value!r}")


def _parse_difficulty(value: object) -> float:
    if not isinstance(value, str | SupportsFloat):
        raise TypeError(f"`difficulty` must be a number from 0 to 1, got {value!r}")
    return float(value)


def _parse_filters(value: object) -> dict[str, Mapping[str, object]]:
    """Return the verdicts by the filter's name. Raises TypeError if they are no objects."""
    if not isinstance(value, Mapping) or not all(isinstance(verdict, Mapping) for verdict in value.values()):
        raise TypeError("`filters` must be an object with one object for each filter")
    return dict(value)


def _parse_reply(row: object) -> Reply:
    """Return a reply of the scripted user from its JSON object."""
    if not isinstance(row, Mapping):
        raise TypeError("an entry of `user` must be a JSON object")
    return Reply(tuple(map(str, _read_list(row, "words"))), str(row["says"]))


def _parse_evidence(row: object) -> Evidence:
    """Return evidence from its JSON object, or from a bare URL."""
    if isinstance(row, str):
        return Evidence(row)
    if not isinstance(row, Mapping):
        raise TypeError("an entry of `evidence` must be a URL or a JSON object")
    return Evidence(str(row["url"]), *(str(row.get(name, "")) for name in ("quote", "value", "digest")))


def _parse_line(path: Path, number: int, line: str) -> Task:
    """Return the task of one line. Raises TaskError with the file and the line number."""
    try:
        return parse_task(json.loads(line))
    except json.JSONDecodeError as error:
        raise TaskError(f"{path}, line {number}: not JSON ({error.msg} at character {error.pos})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TaskError(f"{path}, line {number}: not a task ({error})") from error
