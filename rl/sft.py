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
from typing import TYPE_CHECKING, TypedDict

from webemu.rl import arguments
from webemu.rl.attempt_row import AttemptRow, StepRow
from webemu.rl.chat import answer_rules
from webemu.rl.gates import contains_phrase
from webemu.rl.tool_schema import ToolSchema
from webemu.rl.verify import normalise

if TYPE_CHECKING:
    from datasets import Dataset


class Conversation(TypedDict):
    """Line of the exported file."""

    messages: list[dict[str, object]]
    """Messages of the chat completions API; the arguments of tool calls are objects."""
    tools: list[ToolSchema]
    task: str
    """Id of the task."""


class EpisodesError(ValueError):
    """Unreadable file of episodes; the message names the file and the line."""


@dataclass(frozen=True, slots=True)
class SelectionCriteria:
    """Criteria that an attempt must meet to be copied."""

    min_reward: float = 0.9
    """Least reward, in [0, 1]."""
    require_grounded: bool = False
    """True if every citation must be supported; for reports, every sentence."""
    max_turns: int | None = None
    """Largest number of turns; None for no limit."""
    per_task: int = 1
    """Largest number of attempts for each task: those with the highest reward, then the shortest."""
    max_slips: int = 0
    """Largest number of invalid calls and turns without a call."""
    split: str = ""
    """Split of the tasks; empty for all."""
    task_ids: frozenset[str] | None = None
    """Ids of the tasks; None for all."""
    keep_thoughts: bool = False
    """True to export the reasoning of models as `reasoning_content`."""


@dataclass(slots=True)
class SelectedConversations:
    """Exported conversations, and what was dropped."""

    conversations: list[Conversation] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of dropped attempts by reason."""


def read_episodes(path: Path) -> Iterator[AttemptRow]:
    """Yield the attempts in an evaluation's folder or file. If several lines describe one attempt, the last one
    counts.

    Raises: EpisodesError if the file cannot be read or a line is not an episode.
    """
    path = path / "episodes.jsonl" if path.is_dir() else path
    last: dict[tuple[str, int], AttemptRow] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise EpisodesError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise EpisodesError(f"{path}: not UTF-8 ({error.reason} at byte {error.start:,})") from error
    for number, line in enumerate(filter(None, lines), 1):
        try:
            row = json.loads(line)
            # A repeated attempt is appended, so the last line of a sample is the valid one.
            last[row["task"], row["sample"]] = row
        except (ValueError, KeyError, TypeError) as error:
            raise EpisodesError(
                f"{path}, line {number}: not an episode of `webemu eval` ({type(error).__name__}: {error})"
            ) from error
    yield from last.values()


def select(attempts: Iterable[AttemptRow], criteria: SelectionCriteria) -> SelectedConversations:
    """Return the conversations that are worth copying, ordered by task. Attempts of a task with the same actions count
    once.

        selection = select(read_episodes(Path("oracle")), SelectionCriteria(grounded=True))
    """
    selection, by_task = SelectedConversations(), defaultdict[str, list[AttemptRow]](list)
    for attempt in attempts:
        if reason := rejection_reason(attempt, criteria):
            selection.dropped[reason] += 1
        else:
            by_task[attempt["task"]].append(attempt)
    for task in sorted(by_task):
        distinct_attempts: dict[str, AttemptRow] = {}
        for attempt in sorted(by_task[task], key=_sort_key):
            distinct_attempts.setdefault(_actions_key(attempt), attempt)
        best_attempts = list(distinct_attempts.values())[: criteria.per_task]
        selection.dropped["the same actions"] += len(by_task[task]) - len(distinct_attempts)
        selection.dropped["better ones of the task"] += len(distinct_attempts) - len(best_attempts)
        selection.conversations += [to_conversation(attempt, criteria.keep_thoughts) for attempt in best_attempts]
    selection.dropped = +selection.dropped  # drops reasons with a count of 0
    return selection


def rejection_reason(attempt: AttemptRow, criteria: SelectionCriteria) -> str:
    """Return why an attempt is not copied; empty if it meets the criteria."""
    steps = [step for turn in attempt["turns"] for step in turn.get("steps", ())]
    slips = sum(step["kind"] == "misuse" for step in steps) + sum("told" in turn for turn in attempt["turns"])
    reasons = (
        ("masked", bool(attempt["mask"])),
        ("another split", bool(criteria.split) and attempt["split"] != criteria.split),
        ("another task", criteria.task_ids is not None and attempt["task"] not in criteria.task_ids),
        ("not finished", attempt["end"] != "finished"),
        ("reward too low", (attempt["reward"] or 0) < criteria.min_reward),
        ("not grounded", criteria.require_grounded and (_grounding_of(attempt) or 0) < 1),
        ("too many turns", criteria.max_turns is not None and len(attempt["turns"]) > criteria.max_turns),
        ("slips", slips > criteria.max_slips or any(_parse_arguments(step["arguments"]) is None for step in steps)),
    )
    return next((reason for reason, applies in reasons if applies), "") or (
        "foreknown" if uses_unseen_answer(attempt) else ""
    )


def uses_unseen_answer(attempt: AttemptRow) -> bool:
    """True if a call names the answer, or opens a URL, before anything had shown it. Only the gold answer could tell
    it that.
    """
    visible_text = attempt["question"]
    for turn in attempt["turns"]:
        for step in turn.get("steps", ()):
            for value in (_parse_arguments(step["arguments"]) or {}).values():
                if (
                    step["tool"] != "finish"
                    and isinstance(value, str)
                    and _names_unseen_answer(value, visible_text, attempt["answers"])
                ):
                    return True
        visible_text = "\n".join([visible_text, *(step["observation"] for step in turn.get("steps", ()))])
    return False


def to_conversation(attempt: AttemptRow, thoughts: bool = False) -> Conversation:
    """Return an attempt as messages and tools, up to the call that ended it.

    The arguments of calls are objects without nulls. Every row has the same keys, since table readers fill in missing
    ones.
    """
    messages: list[dict[str, object]] = [
        {"role": "system", "content": answer_rules(attempt["answer_type"])},
        {"role": "user", "content": attempt["question"]},
    ]
    for turn in attempt["turns"]:
        steps = turn.get("steps", ())
        calls = [_to_tool_call(step, f"call{len(messages) + number:05}") for number, step in enumerate(steps)]
        thought = {"reasoning_content": turn["thought"]} if thoughts and turn.get("thought") else {}
        assistant_fields = {"role": "assistant", "content": turn.get("text", ""), **thought}
        messages.append(assistant_fields | ({"tool_calls": calls} if calls else {}))
        for call, step in zip(calls, steps, strict=True):
            tool_message = {
                "role": "tool",
                "tool_call_id": call["id"],
                "name": step["tool"],
                "content": step["observation"],
            }
            messages.append(tool_message)
        if "told" in turn:
            messages.append({"role": "user", "content": turn["told"]})
    # Loss is on the assistant's tokens, so messages after its last turn teach nothing.
    while messages[-1]["role"] != "assistant":
        messages.pop()
    return {"messages": messages, "tools": list(arguments.TOOLS), "task": attempt["task"]}


def save_conversations(path: Path, conversations: Iterable[Conversation]) -> None:
    """Write conversations as JSON Lines. The file only gets its name when it is complete."""
    # Renaming is atomic: a reader never sees half a file.
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text("".join(json.dumps(one) + "\n" for one in conversations), encoding="utf-8")
    unfinished.replace(path)


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a file."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def load_dataset(path: Path) -> Dataset:
    """Return the conversations of a file as a Hugging Face dataset, with messages and tools stored as JSON. As Arrow
    structs, each call would get the arguments of every other call as nulls, and a model would learn to write them.
    """
    from datasets import Dataset  # slow to import, and only installed with trainers

    return Dataset.from_list(list(read_conversations(path)), on_mixed_types="use_json")


def _sort_key(attempt: AttemptRow) -> tuple[float, int, int, int]:
    """Return the sort key of an attempt: highest reward first, then fewest calls, then fewest tokens."""
    calls = sum(len(turn.get("steps", ())) for turn in attempt["turns"])
    return -(attempt["reward"] or 0), calls, attempt["prompt_tokens"] + attempt["completion_tokens"], attempt["sample"]


def _actions_key(attempt: AttemptRow) -> str:
    """Return the calls of an attempt in one spelling, to find attempts that did the same."""
    steps = [step for turn in attempt["turns"] for step in turn.get("steps", ())]
    return json.dumps([[step["tool"], _parse_arguments(step["arguments"])] for step in steps], sort_keys=True)


def _to_tool_call(step: StepRow, call_id: str) -> dict[str, object]:
    call_arguments = _parse_arguments(step["arguments"]) or {}
    return {"id": call_id, "type": "function", "function": {"name": step["tool"], "arguments": call_arguments}}


def _parse_arguments(raw_arguments: str | Mapping[str, object]) -> dict[str, object] | None:
    """Return arguments as an object without nulls; None if they are not a JSON object."""
    if isinstance(raw_arguments, str):
        try:
            raw_arguments = json.loads(raw_arguments or "{}")
        except (ValueError, RecursionError):
            return None
    return (
        {name: value for name, value in raw_arguments.items() if value is not None}
        if isinstance(raw_arguments, Mapping)
        else None
    )


def _grounding_of(attempt: AttemptRow) -> float | None:
    terms = attempt["terms"]
    return terms.get("grounding", terms.get("precision"))


def _names_unseen_answer(value: str, visible_text: str, answers: Sequence[str]) -> bool:
    """True if an argument contains an answer, or is a URL, that does not occur in the visible text."""
    if "://" in value:
        return value not in visible_text
    normal_value = normalise(value)
    named_answers = [normalise(answer) for answer in answers if contains_phrase(normal_value, normalise(answer))]
    return bool(named_answers) and not any(contains_phrase(normalise(visible_text), answer) for answer in named_answers)
