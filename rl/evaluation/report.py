"""HTML report: one self-contained page with the figures and every attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jinja2.utils import htmlsafe_json_dumps

from webemu.rl.attempt_row import AttemptRow
from webemu.rl.evaluation.page import embed_attempt, observation_limit, render_template, verdict_of
from webemu.rl.evaluation.result import EvaluationResult
from webemu.rl.evaluation.statistics import Figure
from webemu.rl.evaluation.summary import DIMENSIONS

HEADLINES = ("em", "grounded", "f1", "coverage", "precision", "relevance", "recall", "reward", "calls", "tokens")
"""Figures shown as tiles at the top, if there are any."""
COLUMNS = ("em", "grounded", "recall", "reward", "calls", "tokens")
"""Figures shown in the tables by group."""


def render_report(result: EvaluationResult, rows: Iterable[AttemptRow]) -> str:
    """Return the report of an evaluation as HTML, from its result and rows."""
    overall = result.summary.overall.figures
    passes = [kind for kind in overall if kind.startswith("pass@")]
    clip = observation_limit(result.summary.overall.attempts)
    index, details = [], []
    for row in rows:
        verdict = verdict_of(row)
        index.append(_index_entry(row, verdict))
        details.append(embed_attempt(row, verdict, clip))
    return render_template(
        "report.html",
        evaluation=result,
        summary=result.summary,
        overall=overall,
        dimensions=DIMENSIONS,
        columns=_available_figures(overall, COLUMNS),
        headlines=_available_figures(overall, (*dict.fromkeys((*passes[:1], *passes[-1:])), *HEADLINES)),
        passes=passes,
        index=htmlsafe_json_dumps(index),
        details=details,
    )


def _available_figures(overall: Mapping[str, Figure], kinds: Iterable[str]) -> list[str]:
    """Return the names of the figures that exist; tokens only if any were spent."""
    return [kind for kind in kinds if kind in overall and (kind != "tokens" or overall[kind].high)]


def _index_entry(row: AttemptRow, verdict: str) -> dict[str, object]:
    """Return the fields by which the page lists and filters an attempt."""
    return {
        "task": row["task"],
        "sample": row["sample"],
        "recipe": row["recipe"],
        "hops": row["hops"],
        "verdict": verdict,
        "reward": row["reward"],
        "question": row["question"][:300],
        "answer": row["answer"][:160],
    }
