"""Reader of a stage's Parquet files for the report: figures by kind of task over time, and episodes of some steps side
by side.

The files of a running stage come and go; one that cannot be read is left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.rl.rubric import Score
from webemu.rl.train.step_log import TRAJECTORIES, is_grounded_score

EPISODES = 60
"""Episodes of a stage that are shown."""
SHOWN = 2_000
"""Characters of one text that are shown."""
READ = 100
"""Steps whose episodes are counted in the figures by kind of task. If there are more, an even sample is taken."""
PARTS = 5
"""Parts of a stage, by steps, for which the figures are given."""


@dataclass(frozen=True, slots=True)
class Part:
    """Text of an episode: a thought, a message, a call or what a tool showed."""

    kind: str
    """`thought`, `said`, `call` or `shown`."""
    name: str
    text: str
    more: int = 0
    """Number of characters that were cut off."""


@dataclass(frozen=True, slots=True)
class Told:
    """Episode as the page shows it."""

    step: int
    task: str
    recipe: str
    hops: int
    question: str
    verdict: str
    answer: str
    reward: float | None
    terms: Mapping[str, float | None]
    parts: tuple[Part, ...]
    group: tuple[float | None, ...]
    """Rewards of all samples of the task in this step."""
    place: int
    """Position of this episode in its group, from 0."""
    mask: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Kind:
    """Figures of the episodes of one recipe, or of one number of hops."""

    name: str
    episodes: int
    masked: int
    grounded: tuple[float | None, ...]
    """Share of grounded episodes in each part of the stage; None for a part without such episodes."""
    reward: float | None
    calls: float | None
    """Mean number of calls in the last part of the stage, like `reward`."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """Figures of a stage by kind of task."""

    parts: tuple[str, ...]
    """Labels of the parts of the stage, such as `1–20`."""
    by: Mapping[str, tuple[Kind, ...]]
    """Groups by dimension: `recipe` and `hops`."""
    every: int
    """Sampling interval: one step in this many is counted."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Result of one episode, as far as the figures need it."""

    recipe: str
    hops: str
    reward: float | None
    grounded: float
    calls: float | None


def files(stage: Path, until: int) -> dict[int, Path]:
    """Return the trajectory files by step, up to the step `until`. Later files were left by a run that was killed and
    resumed from an earlier checkpoint.
    """
    found = {int(path.stem): path for path in (stage / TRAJECTORIES).glob("*.parquet") if path.stem.isdecimal()}
    return {step: found[step] for step in sorted(found) if step <= until}


def milestones(steps: Sequence[int], wanted: Sequence[int] = ()) -> list[int]:
    """Return the existing steps that are nearest to the wanted ones. Without wanted steps: the first, one after a
    fifth of the stage, and the last.
    """
    if not steps:
        return []
    wanted = wanted or (steps[0], round(steps[-1] / 5), steps[-1])
    return sorted({min(steps, key=lambda step: (abs(step - one), step)) for one in wanted})


def side_by_side(chosen: Sequence[tuple[int, Path]]) -> list[list[Told | None]]:
    """Return rows of episodes with one column for each step: of the same task and sample if all steps have it,
    otherwise of the same recipe and number of hops.
    """
    if not chosen:
        return []
    columns = [_episodes(path) for _, path in chosen]
    shared = set.intersection(*({_key(one) for one in column} for column in columns))
    rows: list[list[Told | None]] = []
    for key in sorted(shared):
        rows.append([next(one for one in column if _key(one) == key) for column in columns])
    rest = [[one for one in column if _key(one) not in shared] for column in columns]
    kinds = sorted({(one.place, one.recipe, one.hops) for column in rest for one in column})
    for kind in kinds:
        alike = [[one for one in column if (one.place, one.recipe, one.hops) == kind] for column in rest]
        rows += [list(row) for row in zip_longest(*alike)]
    return (
        sorted(rows, key=lambda row: min(one.place for one in row if one))[: max(1, EPISODES // len(columns))]
        if columns
        else []
    )


def kinds(found: Mapping[int, Path]) -> Kinds:
    """Return the figures of a stage by recipe and by hops, for each part of the stage."""
    # -(-a // b) rounds up.
    every = -(-len(found) // READ) or 1
    steps = list(found)[::every]
    wide = -(-len(steps) // PARTS) or 1
    cut = [steps[begin : begin + wide] for begin in range(0, len(steps), wide)]
    parts = [[one for step in part for one in _read(_outcomes, found[step])] for part in cut]
    names = tuple(f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in cut)
    by = {"recipe": _by(parts, lambda one: one.recipe), "hops": _by(parts, lambda one: one.hops)}
    return Kinds(names, by, every)


def _by(parts: Sequence[Sequence[_Outcome]], name: Callable[[_Outcome], str]) -> tuple[Kind, ...]:
    made = []
    for kind in sorted({name(one) for part in parts for one in part}):
        mine = [[one for one in part if name(one) == kind] for part in parts]
        known = [[one for one in part if one.reward is not None] for part in mine]
        count, left = sum(map(len, mine)), sum(map(len, known))
        grounded = tuple(_mean([one.grounded for one in part]) for part in known)
        reward, calls = _mean([one.reward for one in known[-1]]), _mean([one.calls for one in known[-1]])
        made.append(Kind(kind, count, count - left, grounded, reward, calls))
    return tuple(made)


def _read(read: Callable[[Path, int], tuple[Any, ...]], path: Path) -> tuple[Any, ...]:
    """Read a file unless its current state is cached; empty if the file is gone or damaged."""
    try:
        return read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return ()


@lru_cache(maxsize=1024)
def _outcomes(path: Path, changed: int) -> tuple[_Outcome, ...]:
    """Return the results of the episodes in a file. `changed` is its modification time, which is part of the cache
    key.
    """
    rows = pq.read_table(path, columns=["recipe", "hops", "reward", "terms"], partitioning=None).to_pylist()
    return tuple(_outcome(row, json.loads(row["terms"])) for row in rows)


def _outcome(row: Mapping[str, Any], terms: Mapping[str, float | None]) -> _Outcome:
    grounded = is_grounded_score(Score(row["reward"], terms))
    return _Outcome(row["recipe"], str(row["hops"]), row["reward"], float(grounded), terms.get("turns"))


def _episodes(path: Path) -> tuple[Told, ...]:
    return _read(_told, path)


@lru_cache(maxsize=8)
def _told(path: Path, changed: int) -> tuple[Told, ...]:
    """Return the episodes in a file. `changed` is its modification time, which is part of the cache key."""
    rows = pq.read_table(path, partitioning=None).to_pylist()
    groups: dict[str, list[float | None]] = {}
    made = []
    for row in rows:
        groups.setdefault(row["task"], []).append(row["reward"])
    seen = dict.fromkeys(groups, 0)
    for row in rows:
        made.append(_one(row, tuple(groups[row["task"]]), seen[row["task"]]))
        seen[row["task"]] += 1
    return tuple(made)


def _one(row: Mapping[str, Any], group: tuple[float | None, ...], place: int) -> Told:
    messages, terms = json.loads(row["messages"]), json.loads(row["terms"])
    parts = tuple(_parts(messages))
    same = {name: row[name] for name in ("step", "task", "recipe", "hops", "question", "reward", "mask", "tokens")}
    verdict = _verdict(Score(row["reward"], terms, row["mask"]), row["over"])
    return Told(**same, verdict=verdict, answer=_answer(messages), terms=terms, parts=parts, group=group, place=place)


def _verdict(score: Score, over: str) -> str:
    """Return the verdict in one word: those of `webemu.rl.evaluation.report`, and `partial` for a report."""
    if score.reward is None:
        return "masked"
    if is_grounded_score(score):
        return "passed"
    if score.terms.get("correct"):
        return "ungrounded"
    if over != "done":
        return "unfinished"
    return "partial" if "correct" not in score.terms and score.reward else "wrong"


def _answer(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the answer in the last call of `finish`; empty if there is none."""
    calls = [call["function"] for one in messages for call in one.get("tool_calls") or ()]
    last = next((call.get("arguments") for call in reversed(calls) if call["name"] == "finish"), None)
    return str(last.get("answer", ""))[:SHOWN] if isinstance(last, Mapping) else ""


def _parts(messages: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    """Yield the texts of an episode, each call followed by what it showed."""
    for at, one in enumerate(messages):
        if one["role"] != "assistant":
            continue
        for kind, name in (("thought", "reasoning_content"), ("said", "content")):
            if one.get(name):
                yield _cut(kind, "", str(one[name]))
        after = [other["role"] for other in messages[at + 1 :]]
        count = next((n for n, role in enumerate(after) if role != "tool"), len(after))
        shown = messages[at + 1 : at + 1 + count]
        for call, seen in zip_longest(one.get("tool_calls") or (), shown):
            if call:
                yield _cut("call", str(call["function"]["name"]), _given(call["function"].get("arguments")))
            if seen:
                yield _cut("shown", str(seen.get("name", "")), str(seen["content"]))


def _given(arguments: object) -> str:
    if not isinstance(arguments, Mapping):
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def _cut(kind: str, name: str, text: str) -> Part:
    return Part(kind, name[:80], text[:SHOWN], max(0, len(text) - SHOWN))


def _key(one: Told) -> tuple[str, int]:
    return one.task, one.place


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
