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
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.rl.rubric import Score
from webemu.rl.train.messages import Message
from webemu.rl.train.step_log import PLAYING_FILE, TRAJECTORIES_FOLDER, TrajectoryRow, is_grounded_score

T = TypeVar("T")

MAX_EPISODES = 60
"""Episodes of a stage that are shown."""
MAX_TEXT_CHARACTERS = 8_000
"""Characters of one text that are shown: as many as an observation has by default (`webemu.rl.state.Limits`)."""
MAX_STEPS_READ = 100
"""Steps whose episodes are counted in the figures by kind of task. If there are more, an even sample is taken."""
STAGE_PARTS = 5
"""Parts of a stage, by steps, for which the figures are given."""


@dataclass(frozen=True, slots=True)
class EpisodePart:
    """Text of an episode: a thought, a message, a call or what a tool showed."""

    kind: str
    """`thought`, `said`, `call` or `shown`."""
    name: str
    text: str
    more: int = 0
    """Number of characters that were cut off."""


@dataclass(frozen=True, slots=True)
class EpisodeView:
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
    parts: tuple[EpisodePart, ...]
    group: tuple[float | None, ...]
    """Rewards of all samples of the task in this step."""
    sample_number: int
    """Position of this episode in its group, from 0."""
    advantage: float | None
    """Reward beyond the mean of the group, before `scale_rewards` divides it; None without a reward."""
    mask: str
    tokens: int


@dataclass(frozen=True, slots=True)
class TaskGroup:
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
class TaskGroups:
    """Figures of a stage by kind of task."""

    part_labels: tuple[str, ...]
    """Labels of the parts of the stage, such as `1–20`."""
    by_dimension: Mapping[str, tuple[TaskGroup, ...]]
    """Groups by dimension: `recipe` and `hops`."""
    sampling_interval: int
    """Sampling interval: one step in this many is counted."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Result of one episode, as far as the figures need it."""

    recipe: str
    hops: str
    reward: float | None
    grounded: float
    calls: float | None


def list_files(stage: Path, until: int) -> dict[int, Path]:
    """Return the trajectory files by step, up to the step `until`. Later files were left by a run that was killed and
    resumed from an earlier checkpoint.
    """
    file_by_step = {
        int(path.stem): path for path in (stage / TRAJECTORIES_FOLDER).glob("*.parquet") if path.stem.isdecimal()
    }
    return {step: file_by_step[step] for step in sorted(file_by_step) if step <= until}


def read_playing(stage: Path) -> tuple[EpisodeView, ...]:
    """Return the episodes that are being played; empty if none are, or they cannot be read at this moment."""
    return _read_episodes(stage / PLAYING_FILE)


def pick_milestones(steps: Sequence[int], targets: Sequence[int] = ()) -> list[int]:
    """Return the existing steps that are nearest to the wanted ones. Without wanted steps: the first, one after a
    fifth of the stage, and the last.
    """
    if not steps:
        return []
    targets = targets or (steps[0], round(steps[-1] / 5), steps[-1])
    return sorted({min(steps, key=lambda step: (abs(step - one), step)) for one in targets})


def side_by_side(step_files: Sequence[tuple[int, Path]]) -> list[list[EpisodeView | None]]:
    """Return rows of episodes with one column for each step: of the same task and sample if all steps have it,
    otherwise of the same recipe and number of hops.
    """
    if not step_files:
        return []
    columns = [_read_episodes(path) for _, path in step_files]
    shared = set.intersection(*({_sample_key(one) for one in column} for column in columns))
    rows: list[list[EpisodeView | None]] = []
    for key in sorted(shared):
        rows.append([next(one for one in column if _sample_key(one) == key) for column in columns])
    unmatched = [[one for one in column if _sample_key(one) not in shared] for column in columns]
    kind_keys = sorted({(one.sample_number, one.recipe, one.hops) for column in unmatched for one in column})
    for kind_key in kind_keys:
        matching = [
            [one for one in column if (one.sample_number, one.recipe, one.hops) == kind_key] for column in unmatched
        ]
        rows += [list(row) for row in zip_longest(*matching)]
    return (
        sorted(rows, key=lambda row: min(one.sample_number for one in row if one))[
            : max(1, MAX_EPISODES // len(columns))
        ]
        if columns
        else []
    )


def compute_groups(file_by_step: Mapping[int, Path]) -> TaskGroups:
    """Return the figures of a stage by recipe and by hops, for each part of the stage."""
    # -(-a // b) rounds up.
    sampling_interval = -(-len(file_by_step) // MAX_STEPS_READ) or 1
    steps = list(file_by_step)[::sampling_interval]
    group_size = -(-len(steps) // STAGE_PARTS) or 1
    step_groups = [steps[begin : begin + group_size] for begin in range(0, len(steps), group_size)]
    parts = [[one for step in part for one in _read_cached(_load_outcomes, file_by_step[step])] for part in step_groups]
    names = tuple(f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in step_groups)
    groups = {"recipe": _group_by(parts, lambda view: view.recipe), "hops": _group_by(parts, lambda view: view.hops)}
    return TaskGroups(names, groups, sampling_interval)


def _group_by(parts: Sequence[Sequence[_Outcome]], name_of: Callable[[_Outcome], str]) -> tuple[TaskGroup, ...]:
    groups = []
    for group_name in sorted({name_of(one) for part in parts for one in part}):
        outcomes_by_part = [[one for one in part if name_of(one) == group_name] for part in parts]
        scored_by_part = [[one for one in part if one.reward is not None] for part in outcomes_by_part]
        count, scored_count = sum(map(len, outcomes_by_part)), sum(map(len, scored_by_part))
        grounded = tuple(_mean([one.grounded for one in part]) for part in scored_by_part)
        reward, calls = (
            _mean([one.reward for one in scored_by_part[-1]]),
            _mean([one.calls for one in scored_by_part[-1]]),
        )
        groups.append(TaskGroup(group_name, count, count - scored_count, grounded, reward, calls))
    return tuple(groups)


def _read_cached(read: Callable[[Path, int], tuple[T, ...]], path: Path) -> tuple[T, ...]:
    """Read a file unless its current state is cached; empty if the file is gone or damaged."""
    try:
        return read(path, path.stat().st_mtime_ns)
    except (OSError, ValueError, KeyError, pa.ArrowException):
        return ()


@lru_cache(maxsize=1024)
def _load_outcomes(path: Path, changed: int) -> tuple[_Outcome, ...]:
    """Return the results of the episodes in a file. `changed` is its modification time, which is part of the cache
    key.
    """
    rows = pq.read_table(path, columns=["recipe", "hops", "reward", "terms"], partitioning=None).to_pylist()
    return tuple(_to_outcome(row, json.loads(row["terms"])) for row in rows)


def _to_outcome(row: TrajectoryRow, terms: Mapping[str, float | None]) -> _Outcome:
    grounded = is_grounded_score(Score(row["reward"], terms))
    return _Outcome(row["recipe"], str(row["hops"]), row["reward"], float(grounded), terms.get("turns"))


def _read_episodes(path: Path) -> tuple[EpisodeView, ...]:
    return _read_cached(_load_episodes, path)


@lru_cache(maxsize=8)
def _load_episodes(path: Path, changed: int) -> tuple[EpisodeView, ...]:
    """Return the episodes in a file. `changed` is its modification time, which is part of the cache key."""
    rows: list[TrajectoryRow] = pq.read_table(path, partitioning=None).to_pylist()
    groups: dict[str, list[float | None]] = {}
    episodes = []
    for row in rows:
        groups.setdefault(row["task"], []).append(row["reward"])
    sample_counts = dict.fromkeys(groups, 0)
    for row in rows:
        episodes.append(_view_episode(row, tuple(groups[row["task"]]), sample_counts[row["task"]]))
        sample_counts[row["task"]] += 1
    return tuple(episodes)


def _view_episode(row: TrajectoryRow, group: tuple[float | None, ...], sample_number: int) -> EpisodeView:
    messages: list[Message] = json.loads(row["messages"])
    terms: dict[str, float | None] = json.loads(row["terms"])
    return EpisodeView(
        step=row["step"],
        task=row["task"],
        recipe=row["recipe"],
        hops=row["hops"],
        question=row["question"],
        verdict=_verdict_of(Score(row["reward"], terms, row["mask"]), row["over"]),
        answer=_last_answer(messages),
        reward=row["reward"],
        terms=terms,
        parts=tuple(_split_messages(messages)),
        group=group,
        sample_number=sample_number,
        advantage=None if row["reward"] is None else row["reward"] - (_mean(group) or 0.0),
        mask=row["mask"],
        tokens=row["tokens"],
    )


def _verdict_of(score: Score, over: str) -> str:
    """Return the verdict in one word: those of `webemu.rl.evaluation.page`, `partial` for a report, and `playing` for
    an episode that has not ended.
    """
    if score.reward is None:
        return "masked" if score.mask else "playing"
    if is_grounded_score(score):
        return "passed"
    if score.terms.get("correct"):
        return "ungrounded"
    if over != "done":
        return "unfinished"
    return "partial" if "correct" not in score.terms and score.reward else "wrong"


def _last_answer(messages: Sequence[Message]) -> str:
    """Return the answer in the last call of `finish`; empty if there is none."""
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    last = next((call.get("arguments") for call in reversed(calls) if call["name"] == "finish"), None)
    return str(last.get("answer", ""))[:MAX_TEXT_CHARACTERS] if isinstance(last, Mapping) else ""


def _split_messages(messages: Sequence[Message]) -> Iterator[EpisodePart]:
    """Yield the texts of an episode, each call followed by what it showed."""
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        for kind, text in (("thought", message.get("reasoning_content")), ("said", message.get("content"))):
            if text:
                yield _clip(kind, "", str(text))
        after = [other["role"] for other in messages[index + 1 :]]
        count = next((n for n, role in enumerate(after) if role != "tool"), len(after))
        tool_messages = messages[index + 1 : index + 1 + count]
        for call, tool_message in zip_longest(message.get("tool_calls") or (), tool_messages):
            if call:
                yield _clip("call", str(call["function"]["name"]), format_arguments(call["function"].get("arguments")))
            if tool_message:
                yield _clip("shown", str(tool_message.get("name", "")), str(tool_message["content"]))


def format_arguments(arguments: object) -> str:
    """Return the arguments of a call as text: name=value, or whatever else the model wrote."""
    if not isinstance(arguments, Mapping):
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def _clip(kind: str, name: str, text: str) -> EpisodePart:
    return EpisodePart(kind, name[:80], text[:MAX_TEXT_CHARACTERS], max(0, len(text) - MAX_TEXT_CHARACTERS))


def _sample_key(view: EpisodeView) -> tuple[str, int]:
    return view.task, view.sample_number


def _mean(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None
