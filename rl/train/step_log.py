"""Records of a training stage: a JSON line for each step, and every trajectory with its reward terms as Parquet."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.rl.rubric import Score
from webemu.rl.train.rollout import Rollout, Timing

STEPS_FILE, TRAJECTORIES_FOLDER, HELD_OUT_FILE = "steps.jsonl", "trajectories", "held-out.parquet"
PLAYING_FILE, MAX_PLAYING = "playing.parquet", 8
"""File with the episodes that are being played, and how many of them it holds."""
TRAJECTORY_SCHEMA = pa.schema(
    [
        ("step", pa.int32()),
        ("task", pa.string()),
        ("recipe", pa.string()),
        ("hops", pa.int16()),
        ("seed", pa.int64()),
        ("question", pa.string()),
        ("messages", pa.string()),
        ("over", pa.string()),
        ("reward", pa.float32()),
        ("terms", pa.string()),
        ("mask", pa.string()),
        ("tokens", pa.int32()),
    ]
)
"""Schema of the trajectories. `messages` and `terms` are JSON text, since Arrow structs would fill them up with nulls.
"""


class TrajectoryRow(TypedDict):
    """Episode as a row of `TRAJECTORY_SCHEMA`."""

    step: int
    task: str
    """Id of the task."""
    recipe: str
    hops: int
    seed: int
    question: str
    messages: str
    """Messages after the question (`webemu.rl.train.messages`) as JSON text."""
    over: str
    """Reason why it ended: `webemu.rl.train.rollout.Rollout.end_reason`; empty while it is played."""
    reward: float | None
    """Reward of the rubric; None if the episode is masked or still being played."""
    terms: str
    """Terms of the rubric by name as JSON text."""
    mask: str
    tokens: int
    """Tokens of the model."""


class StepLog:
    """Writer of the records of one stage. If the stage resumes, the records after its checkpoint are deleted first."""

    def __init__(self, folder: Path, resumed: int = 0, writes: bool = True) -> None:
        """Prepare the stage's folder. `resumed` is the step of the checkpoint; `writes` is False on all processes but
        the first.
        """
        self.folder, self._writes = folder, writes
        if not writes:
            return
        (folder / TRAJECTORIES_FOLDER).mkdir(parents=True, exist_ok=True)
        earlier_rows = [row for row in read_steps(folder) if row["step"] <= resumed]
        (folder / PLAYING_FILE).unlink(missing_ok=True)
        for path in (folder / TRAJECTORIES_FOLDER).glob("*.parquet"):
            if int(path.stem) > resumed:
                path.unlink()
        path = folder / STEPS_FILE
        # Renaming is atomic: a report that is being rendered never sees half a file.
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text("".join(f"{json.dumps(row)}\n" for row in earlier_rows), encoding="utf-8")
        unfinished.replace(path)

    def write_step(self, step: int, figures: Mapping[str, float]) -> None:
        """Append the figures of a step; NaN values are left out."""
        if not self._writes:
            return
        finite_figures = {name: value for name, value in figures.items() if not math.isnan(value)}
        with (self.folder / STEPS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step} | finite_figures) + "\n")

    def write_trajectories(self, step: int, rollouts: Sequence[Rollout]) -> None:
        """Write the rollouts of a step to a file of their own."""
        if not self._writes:
            return
        write_rollouts(self.folder / TRAJECTORIES_FOLDER / f"{step:06d}.parquet", step, rollouts)
        (self.folder / PLAYING_FILE).unlink(missing_ok=True)

    def write_playing(self, step: int, rollouts: Sequence[Rollout]) -> None:
        """Write the first episodes of a step as far as they have been played, for who follows the run."""
        if self._writes:
            write_rollouts(self.folder / PLAYING_FILE, step, rollouts[:MAX_PLAYING])


def write_rollouts(path: Path, step: int, rollouts: Sequence[Rollout]) -> None:
    """Write rollouts of a step as Parquet (`TRAJECTORY_SCHEMA`)."""
    rows = [_to_row(step, one) for one in rollouts]
    unfinished = path.with_suffix(".unfinished")
    pq.write_table(pa.Table.from_pylist(rows, schema=TRAJECTORY_SCHEMA), unfinished, compression="zstd")
    unfinished.replace(path)


def read_steps(folder: Path) -> list[dict[str, float]]:
    """Return the steps of a stage so far. A last line that was cut off by a kill is left out."""
    path = folder / STEPS_FILE
    if not path.exists():
        return []
    complete_lines = [line for line in path.read_text(encoding="utf-8").split("\n")[:-1] if line]
    return [json.loads(line) for line in complete_lines]


def compute_figures(rollouts: Sequence[Rollout], timing: Timing, played: int) -> dict[str, float]:
    """Return the figures of one step's rollouts: means of reward and terms by name, shares of masked episodes and of
    ways to end, seconds, sampled tokens per second, the share of waiting for tools, and tool latencies in milliseconds.
    """
    scored = [one for one in rollouts if one.score.reward is not None]
    terms = sorted({name for one in scored for name in one.score.terms})
    means = {f"terms/{name}": _mean([one.score.terms.get(name) for one in scored]) for name in terms}
    latencies_ms = sorted(1000 * seconds for one in rollouts for seconds in one.latencies)
    ends = {f"over/{end}": _mean([one.end_reason == end for one in rollouts]) for end in ("done", "silent", "long")}
    seconds = timing.sampling_seconds + timing.tool_seconds + timing.scoring_seconds
    return means | ends | {
        "reward": _mean([one.score.reward for one in scored]),
        "grounded": _mean([is_grounded(one) for one in scored]),
        "masked": 1 - len(scored) / max(1, len(rollouts)),
        "calls": _mean([len(one.latencies) for one in rollouts]),
        "tokens": _mean([sum(one.mask) for one in rollouts]),
        "groups": played,
        "seconds/speaking": timing.sampling_seconds,
        "seconds/tools": timing.tool_seconds,
        "seconds/scoring": timing.scoring_seconds,
        "tokens_per_second": _ratio(timing.tokens, timing.sampling_seconds),
        "share/tools": _ratio(timing.tool_seconds, seconds),
        "tool_ms/p50": _quantile(latencies_ms, 0.5),
        "tool_ms/p99": _quantile(latencies_ms, 0.99),
    }  # fmt: skip


def is_grounded(rollout: Rollout) -> bool:
    """True if the answer is correct and every cited page was opened and says it. For a report: all sentences are
    supported, and they cover more than half of the claims.
    """
    return is_grounded_score(rollout.score)


def is_grounded_score(score: Score) -> bool:
    """True if the score belongs to a grounded episode."""
    terms = score.terms
    if "correct" in terms:
        return bool(terms["correct"]) and terms["grounding"] == 1.0 and bool(score.reward)
    return (terms.get("coverage") or 0) > 0.5 and terms.get("precision") == 1.0


def grounded_by_task(rows: Iterable[TrajectoryRow]) -> dict[str, float]:
    """Return 1 for each task whose answer was grounded, else 0, by its id; without masked episodes."""
    return {
        row["task"]: float(is_grounded_score(Score(row["reward"], json.loads(row["terms"]))))
        for row in rows
        if row["reward"] is not None
    }


def _to_row(step: int, rollout: Rollout) -> TrajectoryRow:
    task = rollout.task
    return {
        "step": step, "task": task.id, "recipe": task.recipe, "hops": task.hops, "seed": rollout.seed,
        "question": task.question, "messages": json.dumps(rollout.messages), "over": rollout.end_reason,
        "reward": rollout.score.reward, "terms": json.dumps(dict(rollout.score.terms)), "mask": rollout.score.mask,
        "tokens": sum(rollout.mask),
    }  # fmt: skip


def _mean(values: Sequence[float | None]) -> float:
    """Return the mean of the values that are not None; NaN if there are none."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else math.nan


def _ratio(dividend: float, divisor: float) -> float:
    """Return a quotient; NaN if the divisor is 0."""
    return dividend / divisor if divisor else math.nan


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of sorted values; NaN if there are none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan
