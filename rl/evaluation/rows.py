"""Rows of `episodes.jsonl`, one for each attempt, and the outcome that figures are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from webemu.rl.ledger import opened
from webemu.rl.policies import Attempt
from webemu.rl.record import Record, key
from webemu.rl.rewards import rubric_of

PASS = 0.5
"""Reward from which an attempt counts as passed.

It takes a right answer with at least half of its citations good, or a report whose coverage times precision is as
much.
"""

Row = Mapping[str, Any]
"""Row of an attempt as JSON."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one attempt; None if a figure does not apply."""

    task: str
    groups: Mapping[str, str]
    """Recipe, hops and answer type, by which figures are grouped."""
    mask: str
    """Reason why the attempt is masked; empty if it counts."""
    end: str
    """Reason why the attempt ended: finished, unfinished, masked, or a limit such as too-long."""
    figures: Mapping[str, float | None]
    """Figures by their name in `summary.NAMES`, and `pass`."""


def row(attempt: Attempt, record: Record, sample: int, seconds: float) -> dict[str, Any]:
    """Return everything about an attempt, gold answers included: for people and programs, never for models."""
    task, mask = attempt.task, attempt.outage or record.mask
    score = rubric_of(task).score(record)
    return {
        **{"task": task.id, "sample": sample, "seed": attempt.seed, "question": task.question},
        **{"answers": list(task.answers), "evidence": list(dict.fromkeys(one.url for one in task.evidence))},
        **{"recipe": task.recipe, "hops": task.hops, "answer_type": task.answer_type, "split": task.split},
        "user": bool(task.user),
        "turns": [{name: value for name, value in asdict(turn).items() if value} for turn in attempt.turns],
        **{"answer": record.answer, "citations": list(record.citations), "opened": sorted(opened(record.requests))},
        **{"end": "masked" if mask else attempt.stopped or record.end or "unfinished", "mask": mask},
        "reward": None if mask else score.reward,
        "terms": {name: None if mask else value for name, value in score.terms.items()},
        "recall": None if mask else recall(record),
        "prompt_tokens": sum(turn.prompt_tokens for turn in attempt.turns),
        "completion_tokens": sum(turn.completion_tokens for turn in attempt.turns),
        "seconds": round(seconds, 3),
    }


def recall(record: Record) -> float | None:
    """Return the share of evidence pages that were opened; None if the task has no evidence."""
    wanted = {record.redirects.get(key(one.url), key(one.url)) for one in record.task.evidence}
    reached = {key(url) for url in opened(record.requests)}
    return len(wanted & reached) / len(wanted) if wanted else None


def outcome(told: Row) -> Outcome:
    """Return the outcome of a row; a masked one has no figures."""
    terms, reward = told["terms"], told["reward"]
    groups = {
        "recipe": told["recipe"] or "none",
        "hops": str(told["hops"]),
        "answer type": told["answer_type"] or "any",
    }
    right = terms.get("correct")
    grounded = None if right is None else float(bool(right) and bool(terms["grounding"]))
    figures = {
        "pass": None if reward is None else float(reward >= PASS),
        **{"em": right, "f1": terms.get("f1"), "grounded": grounded, "reward": reward, "recall": told["recall"]},
        **{name: terms.get(name) for name in ("coverage", "precision", "requests", "repeats", "misuses")},
        "calls": float(sum(len(turn.get("steps", ())) for turn in told["turns"])),
        "turns": float(len(told["turns"])),
        "tokens": float(told["prompt_tokens"] + told["completion_tokens"]),
        "written": float(told["completion_tokens"]),
    }
    if told["mask"]:  # an outage says nothing about the agent
        figures = dict.fromkeys(figures)
    return Outcome(told["task"], groups, told["mask"], told["end"], figures)
