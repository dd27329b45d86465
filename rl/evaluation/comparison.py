"""Comparison of two evaluations as an HTML page: their figures with the difference task by task, how many attempts
changed their outcome, and every pair of attempts side by side.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from webemu.rl.attempt_row import AttemptRow
from webemu.rl.evaluation.folder import AttemptKey, RecordedEvaluation
from webemu.rl.evaluation.page import embed_attempt, format_value, observation_limit, render_template, verdict_of
from webemu.rl.evaluation.rows import Outcome, outcome_of
from webemu.rl.evaluation.statistics import mean_with_interval
from webemu.rl.evaluation.summary import EFFORT_FIGURES, QUALITY_FIGURES

FIGURES = ("pass", *QUALITY_FIGURES, *EFFORT_FIGURES)
"""Figures that are compared, if both evaluations have them."""
VERDICTS = ("passed", "ungrounded", "wrong", "unfinished", "masked")
"""Outcomes of an attempt in one word, best first."""


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """Figure of two evaluations over the tasks that both answered."""

    kind: str
    """Name of the figure, such as `em`."""
    before: str
    after: str
    difference: str
    """Mean over tasks of the second minus the first, with its sign."""
    low: str
    high: str
    """Upper end of the bootstrap interval of the difference."""
    is_clear: bool
    """True if the interval excludes 0."""
    tasks: int
    """Number of tasks."""


def render_comparison(first: Path, second: Path) -> str:
    """Return the HTML page that compares the folders of two evaluations.

        Path("comparison.html").write_text(render_comparison(Path("a"), Path("b")), encoding="utf-8")

    Differences are means over the tasks that both answered, with bootstrap intervals over tasks; an attempt is
    compared with the one that has its task and number. Raises FolderError if a folder is no evaluation.
    """
    evaluations = (RecordedEvaluation(first), RecordedEvaluation(second))
    keys = list(dict.fromkeys(key for evaluation in evaluations for key in evaluation.attempt_keys()))
    limit = observation_limit(2 * len(keys))
    sides = tuple(_read_side(evaluation, keys, limit) for evaluation in evaluations)
    before, after = sides
    verdicts = Counter((before.verdicts[key], after.verdicts[key]) for key in keys if key in before and key in after)
    return render_template(
        "comparison.html",
        labels=_name_folders(first, second),
        manifests=[evaluation.manifest for evaluation in evaluations],
        settings=_compare_settings(*(evaluation.manifest for evaluation in evaluations)),
        attempts=[len(evaluation.attempt_keys()) for evaluation in evaluations],
        figures=_compare_figures(before.outcomes, after.outcomes),
        verdicts=[verdict for verdict in VERDICTS if any(verdict in pair for pair in verdicts)],
        changes=verdicts,
        index=htmlsafe_json_dumps([_index_pair(key, sides) for key in keys]),
        details=[
            (f"d{number}-{place}", side.details[key])
            for number, key in enumerate(keys)
            for place, side in enumerate(sides)
            if key in side
        ],
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """Attempts of one evaluation, by task and number."""

    outcomes: Sequence[Outcome]
    verdicts: Mapping[AttemptKey, str]
    summaries: Mapping[AttemptKey, Mapping[str, object]]
    """Fields by which the page lists an attempt."""
    details: Mapping[AttemptKey, Markup]
    """Everything that the page shows of an attempt, as JSON."""

    def __contains__(self, key: AttemptKey) -> bool:
        return key in self.verdicts


def _read_side(evaluation: RecordedEvaluation, keys: Sequence[AttemptKey], limit: int) -> _Side:
    outcomes, verdicts = list[Outcome](), dict[AttemptKey, str]()
    summaries, details = dict[AttemptKey, Mapping[str, object]](), dict[AttemptKey, Markup]()
    for row in evaluation.read_rows(keys):
        key, verdict = (row["task"], row["sample"]), verdict_of(row)
        outcomes.append(outcome_of(row))
        verdicts[key], summaries[key] = verdict, _summarize(row, verdict)
        details[key] = embed_attempt(row, verdict, limit)
    return _Side(outcomes, verdicts, summaries, details)


def _summarize(row: AttemptRow, verdict: str) -> dict[str, object]:
    return {
        "verdict": verdict,
        "reward": row["reward"],
        "answer": row["answer"][:160],
        "question": row["question"][:300],
        "recipe": row["recipe"],
        "hops": row["hops"],
    }


def _index_pair(key: AttemptKey, sides: Sequence[_Side]) -> dict[str, object]:
    """Return the fields by which the page lists and filters a pair of attempts; a missing one is null."""
    return {"task": key[0], "sample": key[1], "sides": [side.summaries.get(key) for side in sides]}


def _name_folders(first: Path, second: Path) -> tuple[str, str]:
    """Return a name for each folder: its last part, or the whole path where both end alike."""
    names = first.resolve().name, second.resolve().name
    return names if names[0] != names[1] else (str(first), str(second))


def _compare_settings(first: Mapping[str, object], second: Mapping[str, object]) -> list[tuple[str, object, object]]:
    """Return the settings in which two evaluations differ."""
    names = dict.fromkeys((*first, *second))
    return [(name, first.get(name), second.get(name)) for name in names if first.get(name) != second.get(name)]


def _compare_figures(first: Iterable[Outcome], second: Iterable[Outcome]) -> list[FigureComparison]:
    means = _means_by_task(first), _means_by_task(second)
    compared = (_compare_figure(kind, means[0].get(kind, {}), means[1].get(kind, {})) for kind in FIGURES)
    return [comparison for comparison in compared if comparison]


def _means_by_task(outcomes: Iterable[Outcome]) -> dict[str, dict[str, float]]:
    """Return the mean over the attempts at each task, by the name of the figure and by task; masked ones are left
    out.
    """
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        for kind, value in outcome.figures.items():
            if value is not None:
                values[kind][outcome.task].append(value)
    return {kind: {task: sum(row) / len(row) for task, row in by_task.items()} for kind, by_task in values.items()}


def _compare_figure(kind: str, before: Mapping[str, float], after: Mapping[str, float]) -> FigureComparison | None:
    """Return a figure over the tasks that both evaluations answered; None without any, or if it is 0 everywhere."""
    tasks = sorted(before.keys() & after.keys())
    difference = mean_with_interval([after[task] - before[task] for task in tasks], f"difference:{kind}")
    if difference is None or not any(before[task] or after[task] for task in tasks):
        return None
    before_mean, after_mean = (sum(side[task] for task in tasks) / len(tasks) for side in (before, after))
    return FigureComparison(
        kind,
        format_value(before_mean, kind),
        format_value(after_mean, kind),
        format_value(difference.mean, kind, "+"),
        format_value(difference.low, kind, "+"),
        format_value(difference.high, kind, "+"),
        difference.low > 0 or difference.high < 0,
        len(tasks),
    )
