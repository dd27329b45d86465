"""Export of recorded episodes as conversations for supervised fine-tuning: chat messages with tool calls, from the
attempts that are worth copying.

Dropped attempts are counted by reason. A conversation contains only what a model saw and did: no gold answer, and no
call that needs knowledge of it. The trainer decides which tokens bear loss; they should be those of `assistant`.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from webemu.rl import arguments
from webemu.rl.chat import rules
from webemu.rl.gates import holds
from webemu.rl.verify import normalise

if TYPE_CHECKING:
    from datasets import Dataset

Row = Mapping[str, Any]
"""Attempt as a line of `episodes.jsonl`, or conversation as a line of the exported file."""


class EpisodesError(ValueError):
    """Unreadable file of episodes; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Criteria that an attempt must meet to be copied."""

    min_reward: float = 0.9
    """Least reward, in [0, 1]."""
    grounded: bool = False
    """True if every citation must be supported; for reports, every sentence."""
    max_turns: int | None = None
    """Largest number of turns; None for no limit."""
    per_task: int = 1
    """Largest number of attempts for each task: those with the highest reward, then the shortest."""
    slips: int = 0
    """Largest number of invalid calls and turns without a call."""
    split: str = ""
    """Split of the tasks; empty for all."""
    tasks: frozenset[str] | None = None
    """Ids of the tasks; None for all."""
    thoughts: bool = False
    """True to export the reasoning of models as `reasoning_content`."""


@dataclass(slots=True)
class Chosen:
    """Exported conversations, and what was dropped."""

    conversations: list[dict[str, Any]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of dropped attempts by reason."""


def episodes(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the attempts in an evaluation's folder or file. If several lines describe one attempt, the last one
    counts.

    Raises: EpisodesError if the file cannot be read or a line is not an episode.
    """
    path = path / "episodes.jsonl" if path.is_dir() else path
    last: dict[tuple[str, int], dict[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise EpisodesError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EpisodesError(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from error
    for number, line in enumerate(filter(None, lines), 1):
        try:
            told = json.loads(line)
            # A repeated attempt is appended, so the last line of a sample is the valid one.
            last[told["task"], told["sample"]] = told
        except (ValueError, KeyError, TypeError) as error:
            raise EpisodesError(
                f"{path}, line {number}: not an episode of `webemu eval` ({type(error).__name__}: {error})"
            ) from error
    yield from last.values()


def choose(told: Iterable[Row], wanted: Wanted) -> Chosen:
    """Return the conversations that are worth copying, ordered by task. Attempts of a task with the same actions count
    once.

        selection = select(read_episodes(Path("oracle")), SelectionCriteria(grounded=True))
    """
    chosen, by_task = Chosen(), defaultdict[str, list[Row]](list)
    for one in told:
        if reason := refused(one, wanted):
            chosen.dropped[reason] += 1
        else:
            by_task[one["task"]].append(one)
    for task in sorted(by_task):
        kept: dict[str, Row] = {}
        for one in sorted(by_task[task], key=_worst_last):
            kept.setdefault(_actions(one), one)
        best = list(kept.values())[: wanted.per_task]
        chosen.dropped["the same actions"] += len(by_task[task]) - len(kept)
        chosen.dropped["better ones of the task"] += len(kept) - len(best)
        chosen.conversations += [conversation(one, wanted.thoughts) for one in best]
    chosen.dropped = +chosen.dropped  # drops reasons with a count of 0
    return chosen


def refused(one: Row, wanted: Wanted) -> str:
    """Return why an attempt is not copied; empty if it meets the criteria."""
    steps = [step for turn in one["turns"] for step in turn.get("steps", ())]
    slips = sum(step["kind"] == "misuse" for step in steps) + sum("told" in turn for turn in one["turns"])
    reasons = (
        ("masked", bool(one["mask"])),
        ("another split", bool(wanted.split) and one["split"] != wanted.split),
        ("another task", wanted.tasks is not None and one["task"] not in wanted.tasks),
        ("not finished", one["end"] != "finished"),
        ("reward too low", (one["reward"] or 0) < wanted.min_reward),
        ("not grounded", wanted.grounded and (_grounding(one) or 0) < 1),
        ("too many turns", wanted.max_turns is not None and len(one["turns"]) > wanted.max_turns),
        ("slips", slips > wanted.slips or any(_object(step["arguments"]) is None for step in steps)),
    )
    return next((reason for reason, holds in reasons if holds), "") or ("foreknown" if is_foreknown(one) else "")


def is_foreknown(one: Row) -> bool:
    """True if a call names the answer, or opens a URL, before anything had shown it. Only the gold answer could tell
    it that.
    """
    shown = one["question"]
    for turn in one["turns"]:
        for step in turn.get("steps", ()):
            for value in (_object(step["arguments"]) or {}).values():
                if step["tool"] != "finish" and isinstance(value, str) and _knows(value, shown, one["answers"]):
                    return True
        shown = "\n".join([shown, *(step["observation"] for step in turn.get("steps", ()))])
    return False


def conversation(one: Row, thoughts: bool = False) -> dict[str, Any]:
    """Return an attempt as messages and tools, up to the call that ended it.

    The arguments of calls are objects without nulls. Every row has the same keys, since table readers fill in missing
    ones.
    """
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": rules(one["answer_type"])},
        {"role": "user", "content": one["question"]},
    ]
    for turn in one["turns"]:
        steps = turn.get("steps", ())
        calls = [_call(step, f"call{len(messages) + number:05}") for number, step in enumerate(steps)]
        thought = {"reasoning_content": turn["thought"]} if thoughts and turn.get("thought") else {}
        said = {"role": "assistant", "content": turn.get("text", ""), **thought}
        messages.append(said | ({"tool_calls": calls} if calls else {}))
        for call, step in zip(calls, steps, strict=True):
            told = {"role": "tool", "tool_call_id": call["id"], "name": step["tool"], "content": step["observation"]}
            messages.append(told)
        if "told" in turn:
            messages.append({"role": "user", "content": turn["told"]})
    # Loss is on the assistant's tokens, so messages after its last turn teach nothing.
    while messages[-1]["role"] != "assistant":
        messages.pop()
    return {"messages": messages, "tools": list(arguments.tools(one["user"])), "task": one["task"]}


def save(path: Path, conversations: Iterable[Row]) -> None:
    """Write conversations as JSON Lines. The file only gets its name when it is complete."""
    # Renaming is atomic: a reader never sees half a file.
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text("".join(json.dumps(one) + "\n" for one in conversations), encoding="utf-8")
    unfinished.replace(path)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the conversations of a file."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def dataset(path: Path) -> Dataset:
    """Return the conversations of a file as a Hugging Face dataset, with messages and tools stored as JSON. As Arrow
    structs, each call would get the arguments of every other call as nulls, and a model would learn to write them.
    """
    from datasets import Dataset  # slow to import, and only installed with trainers

    return Dataset.from_list(list(rows(path)), on_mixed_types="use_json")


def _worst_last(one: Row) -> tuple[float, int, int, int]:
    """Return the sort key of an attempt: highest reward first, then fewest calls, then fewest tokens."""
    calls = sum(len(turn.get("steps", ())) for turn in one["turns"])
    return -one["reward"], calls, one["prompt_tokens"] + one["completion_tokens"], one["sample"]


def _actions(one: Row) -> str:
    """Return the calls of an attempt in one spelling, to find attempts that did the same."""
    steps = [step for turn in one["turns"] for step in turn.get("steps", ())]
    return json.dumps([[step["tool"], _object(step["arguments"])] for step in steps], sort_keys=True)


def _call(step: Row, name: str) -> dict[str, Any]:
    given = _object(step["arguments"]) or {}
    return {"id": name, "type": "function", "function": {"name": step["tool"], "arguments": given}}


def _object(given: str | Mapping[str, Any]) -> dict[str, Any] | None:
    """Return arguments as an object without nulls; None if they are not a JSON object."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return None
    return {name: value for name, value in given.items() if value is not None} if isinstance(given, Mapping) else None


def _grounding(one: Row) -> float | None:
    terms: Mapping[str, float | None] = one["terms"]
    return terms.get("grounding", terms.get("precision"))


def _knows(value: str, shown: str, answers: Sequence[str]) -> bool:
    """True if an argument contains an answer, or is a URL, that does not occur in the visible text."""
    if "://" in value:
        return value not in shown
    said = normalise(value)
    named = [normalise(answer) for answer in answers if holds(said, normalise(answer))]
    return bool(named) and not any(holds(normalise(shown), answer) for answer in named)
