"""HTML report: one self-contained page with the figures and every trajectory.

Trajectories hold hostile text from the web. It is embedded as JSON data, which the page's one script writes as text
nodes. The Content Security Policy forbids any other script, style or request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps

from webemu.emulator.bootstrap import CONFIDENCE_LEVEL
from webemu.rl.attempt_row import AttemptRow, StepRow
from webemu.rl.evaluation.result import EvaluationResult
from webemu.rl.evaluation.rows import PASS_REWARD
from webemu.rl.evaluation.statistics import Figure
from webemu.rl.evaluation.stylesheet import content_security_policy, stylesheet
from webemu.rl.evaluation.summary import DIMENSIONS, FIGURE_HEADINGS
from webemu.rl.judge.answers import EQUIVALENT, OPEN, SUPPORTED
from webemu.rl.rewards import LONG, SHORT

MAX_OBSERVATION_CHARACTERS, MIN_OBSERVATION_CHARACTERS, MAX_TOTAL_CHARACTERS = 12_000, 400, 27_000_000
"""Characters shown of one observation, at most (more than a window of a page has) and at least, and of all together."""
HEADLINES = ("em", "grounded", "f1", "coverage", "precision", "relevance", "recall", "reward", "calls", "tokens")
"""Figures shown as tiles at the top, if there are any."""
COLUMNS = ("em", "grounded", "recall", "reward", "calls", "tokens")
"""Figures shown in the tables by group."""
SHARES = frozenset(("em", "f1", "grounded", "coverage", "precision", "relevance", "recall", "reward"))
"""Figures between 0 and 1."""
_KINDS = {term.name: term.kind for rubric in (LONG, SHORT) for term in rubric.terms} | dict.fromkeys(
    (OPEN, EQUIVALENT, SUPPORTED), "metric"
)


def render_report(result: EvaluationResult, rows: Iterable[AttemptRow]) -> str:
    """Return the report of an evaluation as HTML, from its result and rows."""
    loader = PackageLoader("webemu.rl.evaluation", ".")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"figure": _format_figure, "span": _format_span}
    overall = result.summary.overall.figures
    passes = [kind for kind in overall if kind.startswith("pass@")]
    index, details = [], []
    for row in rows:
        verdict = verdict_of(row)
        index.append(_index_entry(row, verdict))
        trajectory = _build_trajectory(row, verdict, _observation_limit(result.summary.overall.attempts))
        details.append(htmlsafe_json_dumps(trajectory))
    return environment.get_template("report.html").render(
        evaluation=result,
        summary=result.summary,
        overall=overall,
        dimensions=DIMENSIONS,
        names=FIGURE_HEADINGS,
        columns=_available_figures(overall, COLUMNS),
        headlines=_available_figures(overall, (*dict.fromkeys((*passes[:1], *passes[-1:])), *HEADLINES)),
        passes=passes,
        level=CONFIDENCE_LEVEL,
        passed=PASS_REWARD,
        kinds=htmlsafe_json_dumps(_KINDS),
        index=htmlsafe_json_dumps(index),
        details=details,
        shares=SHARES,
        look=stylesheet(),
        policy=content_security_policy(loader.get_source(environment, "report.html")[0]),
    )


def _available_figures(overall: Mapping[str, Figure], kinds: Iterable[str]) -> list[str]:
    """Return the names of the figures that exist; tokens only if any were spent."""
    return [kind for kind in kinds if kind in overall and (kind != "tokens" or overall[kind].high)]


def _observation_limit(attempts: int) -> int:
    """Return how many characters of each observation to show, assuming ten observations in each attempt."""
    return max(
        MIN_OBSERVATION_CHARACTERS, min(MAX_OBSERVATION_CHARACTERS, MAX_TOTAL_CHARACTERS // max(1, attempts * 10))
    )


def _build_trajectory(row: AttemptRow, verdict: str, clip: int) -> dict[str, object]:
    """Return everything that the page shows of an attempt."""
    turns = [{**turn, "steps": [_clip_step(step, clip) for step in turn.get("steps", ())]} for turn in row["turns"]]
    return {**row, "turns": turns, "verdict": verdict}


def _clip_step(step: StepRow, clip: int) -> dict[str, object]:
    """Return a step with its observation clipped, and the number of characters left out."""
    text = step.get("observation", "")
    return {**step, "observation": text[:clip], "more": max(0, len(text) - clip)}


def verdict_of(row: AttemptRow) -> str:
    """Return the outcome of an attempt in one word: masked, passed, ungrounded, wrong or unfinished."""
    if row["mask"]:
        return "masked"
    if (row["reward"] or 0) >= PASS_REWARD:
        return "passed"
    if row["terms"].get("correct"):
        return "ungrounded"
    return "wrong" if row["end"] == "finished" else "unfinished"


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


def _format_figure(figure: Figure, kind: str) -> str:
    return _format_value(figure.mean, kind)


def _format_span(figure: Figure, kind: str) -> str:
    return f"{_format_value(figure.low, kind)} to {_format_value(figure.high, kind)}"


def _format_value(value: float, kind: str) -> str:
    if kind in SHARES or kind.startswith("pass@"):
        return f"{value:.3f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
