"""Episodes as conversations to train on: chat messages with tool calls, of attempts that are worth copying.

What is dropped is counted under a reason. A conversation holds what a model would have seen and done: no gold, no call
that only somebody who knew the answer could make. Which tokens bear loss is left to the trainer: those of `assistant`.
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


class EpisodesError(ValueError):
    """A file of episodes that cannot be read; names file and line."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an attempt must be to be copied."""

    min_reward: float = 0.9
    grounded: bool = False
    """Every citation must hold, and for reports every sentence."""
    max_turns: int | None = None
    per_task: int = 1
    """So many of each task: the best rewarded, then the shortest."""
    slips: int = 0
    """Calls that could not be made, and turns that called nothing."""
    split: str = ""
    tasks: frozenset[str] | None = None
    """Ids; None for all."""
    thoughts: bool = False
    """Whether what reasoning models thought is kept, as `reasoning_content`."""


@dataclass(slots=True)
class Chosen:
    conversations: list[dict[str, Any]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    """Attempts by reason."""


def episodes(path: Path) -> Iterator[dict[str, Any]]:
    """The attempts of an evaluation's folder or file; of several lines about one, the last. Raises EpisodesError."""
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
            last[told["task"], told["sample"]] = told
        except (ValueError, KeyError, TypeError) as error:
            raise EpisodesError(f"{path}, line {number}: no episode ({type(error).__name__}: {error})") from error
    yield from last.values()


def choose(told: Iterable[Row], wanted: Wanted) -> Chosen:
    """The conversations worth copying, ordered by task."""
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
    chosen.dropped = +chosen.dropped
    return chosen


def refused(one: Row, wanted: Wanted) -> str:
    """Why an attempt is not copied; empty if it may be."""
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
    """Whether a call names the answer, or opens an address, before anything had shown it: only the gold could tell."""
    shown = one["question"]
    for turn in one["turns"]:
        for step in turn.get("steps", ()):
            for value in (_object(step["arguments"]) or {}).values():
                if step["tool"] != "finish" and isinstance(value, str) and _knows(value, shown, one["answers"]):
                    return True
        shown = "\n".join([shown, *(step["observation"] for step in turn.get("steps", ()))])
    return False


def conversation(one: Row, thoughts: bool = False) -> dict[str, Any]:
    """An attempt as messages and tools, up to the call that ended it. Calls have their arguments as objects, without
    those that were null; every row has the same names, since readers of tables fill in the missing ones."""
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
    while messages[-1]["role"] != "assistant":
        messages.pop()
    return {"messages": messages, "tools": list(arguments.tools(one["user"])), "task": one["task"]}


def save(path: Path, conversations: Iterable[Row]) -> None:
    """Write conversations as JSON Lines; the file appears under its name when it is whole."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text("".join(json.dumps(one) + "\n" for one in conversations), encoding="utf-8")
    unfinished.replace(path)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The conversations of a file."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def dataset(path: Path) -> Dataset:
    """The conversations of a file for trainers, with messages and tools as JSON: in Arrow's structs each call would get
    every other call's arguments as null, and a model would learn to write them."""
    from datasets import Dataset  # heavy, and only trainers have it

    return Dataset.from_list(list(rows(path)), on_mixed_types="use_json")


def _worst_last(one: Row) -> tuple[float, int, int, int]:
    calls = sum(len(turn.get("steps", ())) for turn in one["turns"])
    return -one["reward"], calls, one["prompt_tokens"] + one["completion_tokens"], one["sample"]


def _actions(one: Row) -> str:
    """What was called, in one spelling."""
    steps = [step for turn in one["turns"] for step in turn.get("steps", ())]
    return json.dumps([[step["tool"], _object(step["arguments"])] for step in steps], sort_keys=True)


def _call(step: Row, name: str) -> dict[str, Any]:
    given = _object(step["arguments"]) or {}
    return {"id": name, "type": "function", "function": {"name": step["tool"], "arguments": given}}


def _object(given: str | Mapping[str, Any]) -> dict[str, Any] | None:
    """Arguments as an object, without those that are null; None where they are none."""
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
    if "://" in value:
        return value not in shown
    said = normalise(value)
    named = [normalise(answer) for answer in answers if holds(said, normalise(answer))]
    return bool(named) and not any(holds(normalise(shown), answer) for answer in named)
