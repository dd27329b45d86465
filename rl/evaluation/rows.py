"""An attempt as one line of `episodes.jsonl`, and what the figures are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from webemu.rl.ledger import opened
from webemu.rl.policies import Attempt
from webemu.rl.record import Record, key
from webemu.rl.rewards import rubric_of

PASS = 0.5
"""The reward from which an attempt counts as passed: a right answer with good citations (half of them at
least), or a report whose coverage times precision is as much."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of one attempt; None where one has no meaning."""

    task: str
    groups: Mapping[str, str]
    """Recipe, hops and type of answer."""
    mask: str
    end: str
    figures: Mapping[str, float | None]


def row(attempt: Attempt, record: Record, sample: int, seconds: float) -> dict[str, Any]:
    """Everything of an attempt, gold included: for people and programs, never for models."""
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
    """Share of the pages of the evidence that were opened; None where there is no evidence."""
    wanted = {record.redirects.get(key(one.url), key(one.url)) for one in record.task.evidence}
    reached = {key(url) for url in opened(record.requests)}
    return len(wanted & reached) / len(wanted) if wanted else None


def outcome(told: Row) -> Outcome:
    """What the figures need of a line."""
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
    if told["mask"]:
        figures = dict.fromkeys(figures)
    return Outcome(told["task"], groups, told["mask"], told["end"], figures)
