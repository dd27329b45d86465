"""Rows of `episodes.jsonl`, one for each attempt, and the outcome that figures are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from webemu.rl.attempt_row import AttemptRow, StepRow, TurnRow
from webemu.rl.credit import credit_calls, evidence_recall
from webemu.rl.ledger import find_opened_urls
from webemu.rl.policies import Attempt
from webemu.rl.policies.attempt import Step, Turn
from webemu.rl.record import EpisodeRecord
from webemu.rl.rubric import Score

DIFFICULTY_BANDS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Bounds of the difficulties that are figured together; the last band has its upper bound."""
PASS_REWARD = 0.5
"""Reward from which an attempt counts as passed.

It takes a right answer with at least half of its citations good, or a report whose coverage and precision are as
much.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one attempt; None if a figure does not apply."""

    task: str
    groups: Mapping[str, str]
    """Recipe, hops, difficulty and answer type, by which figures are grouped."""
    mask: str
    """Reason why the attempt is masked; empty if it counts."""
    end: str
    """Reason why the attempt ended: finished, unfinished, masked, or a limit such as too-long."""
    figures: Mapping[str, float | None]
    """Figures by their name in `summary.NAMES`, and `pass`."""


def attempt_row(attempt: Attempt, record: EpisodeRecord, score: Score, sample: int, seconds: float) -> AttemptRow:
    """Return everything about an attempt, gold answers included: for people and programs, never for models."""
    task, mask = attempt.task, score.mask
    credits = iter(credit_calls(record, score))
    return {
        "task": task.id,
        "sample": sample,
        "seed": attempt.seed,
        "question": task.question,
        "answers": list(task.answers),
        "evidence": list(dict.fromkeys(one.url for one in task.evidence)),
        "recipe": task.recipe,
        "hops": task.hops,
        "difficulty": task.difficulty,
        "answer_type": task.answer_type,
        "split": task.split,
        "user": bool(task.user),
        "turns": [_turn_row(turn, credits) for turn in attempt.turns],
        "answer": record.answer,
        "citations": list(record.citations),
        "opened": sorted(find_opened_urls(record.requests)),
        "end": "masked" if mask else attempt.stop_reason or record.end or "unfinished",
        "mask": mask,
        "reward": None if mask else score.reward,
        "terms": {name: None if mask else value for name, value in score.terms.items()},
        "recall": None if mask else evidence_recall(record),
        "prompt_tokens": sum(turn.prompt_tokens for turn in attempt.turns),
        "completion_tokens": sum(turn.completion_tokens for turn in attempt.turns),
        "seconds": round(seconds, 3),
    }


def _turn_row(turn: Turn, credits: Iterator[Mapping[str, float]]) -> TurnRow:
    """Return a turn as JSON, without its empty fields. `credits` has what the next calls earned."""
    row: TurnRow = {}
    if turn.text:
        row["text"] = turn.text
    if turn.thought:
        row["thought"] = turn.thought
    if turn.reminder:
        row["told"] = turn.reminder
    if turn.steps:
        row["steps"] = [_step_row(step, next(credits, {})) for step in turn.steps]
    if turn.prompt_tokens:
        row["prompt_tokens"] = turn.prompt_tokens
    if turn.completion_tokens:
        row["completion_tokens"] = turn.completion_tokens
    return row


def _step_row(step: Step, earned: Mapping[str, float]) -> StepRow:
    row: StepRow = {
        "tool": step.tool,
        "arguments": step.arguments,
        "observation": step.observation,
        "kind": step.kind,
        "id": step.id,
    }
    if earned:
        row["earned"] = dict(earned)
    return row


def name_difficulty(difficulty: float | None) -> str:
    """Return the band of a difficulty, such as `0.25 to 0.50`; `not measured` if there is none."""
    if difficulty is None:
        return "not measured"
    bands = list(pairwise(DIFFICULTY_BANDS))
    low, high = next((band for band in bands if difficulty < band[1]), bands[-1])
    return f"{low:.2f} to {high:.2f}"


def outcome_of(attempt: AttemptRow) -> Outcome:
    """Return the outcome of a row; a masked one has no figures."""
    terms, reward = attempt["terms"], attempt["reward"]
    groups = {
        "recipe": attempt["recipe"] or "none",
        "hops": str(attempt["hops"]),
        "difficulty": name_difficulty(attempt.get("difficulty")),
        "answer type": attempt["answer_type"] or "any",
    }
    correct = terms.get("correct")
    grounded = None if correct is None else float(bool(correct) and bool(terms["grounding"]))
    figures = {
        "pass": None if reward is None else float(reward >= PASS_REWARD),
        **{"em": correct, "f1": terms.get("f1"), "grounded": grounded, "reward": reward, "recall": attempt["recall"]},
        **{name: terms.get(name) for name in ("coverage", "precision", "relevance", "requests", "repeats", "misuses")},
        "calls": float(sum(len(turn.get("steps", ())) for turn in attempt["turns"])),
        "turns": float(len(attempt["turns"])),
        "tokens": float(attempt["prompt_tokens"] + attempt["completion_tokens"]),
        "written": float(attempt["completion_tokens"]),
    }
    if attempt["mask"]:  # an outage says nothing about the agent
        figures = dict.fromkeys(figures)
    return Outcome(attempt["task"], groups, attempt["mask"], attempt["end"], figures)
