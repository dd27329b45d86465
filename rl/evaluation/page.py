"""Pages of evaluations: Jinja templates of this folder, with their style sheet, the script that shows attempts, and a
Content Security Policy that lets nothing else run.

Attempts hold hostile text from the web. It is embedded as JSON data, which the scripts write as text nodes.
"""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from webemu.emulator.bootstrap import CONFIDENCE_LEVEL
from webemu.rl.attempt_row import AttemptRow, StepRow
from webemu.rl.evaluation.rows import PASS_REWARD
from webemu.rl.evaluation.statistics import Figure
from webemu.rl.evaluation.stylesheet import content_security_policy, stylesheet
from webemu.rl.evaluation.summary import FIGURE_HEADINGS
from webemu.rl.judge.answers import EQUIVALENT, OPEN, SUPPORTED
from webemu.rl.rewards import LONG, SHORT

MAX_OBSERVATION_CHARACTERS, MIN_OBSERVATION_CHARACTERS, MAX_TOTAL_CHARACTERS = 12_000, 400, 27_000_000
"""Characters shown of one observation, at most (more than a window of a page has) and at least, and of all together."""
SHARES = frozenset(("pass", "em", "f1", "grounded", "coverage", "precision", "relevance", "recall", "reward"))
"""Figures between 0 and 1."""
_KINDS = {term.name: term.kind for rubric in (LONG, SHORT) for term in rubric.terms} | dict.fromkeys(
    (OPEN, EQUIVALENT, SUPPORTED), "metric"
)


def render_template(name: str, **values: object) -> str:
    """Return a page from a template of this folder and the values that it names."""
    loader = PackageLoader("webemu.rl.evaluation", ".")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"figure": _format_figure, "span": _format_span}
    script = Markup(files("webemu.rl.evaluation").joinpath("attempt.js").read_text(encoding="utf-8"))
    source = loader.get_source(environment, name)[0]
    return environment.get_template(name).render(
        names=FIGURE_HEADINGS,
        kinds=htmlsafe_json_dumps(_KINDS),
        level=CONFIDENCE_LEVEL,
        passed=PASS_REWARD,
        shares=SHARES,
        look=stylesheet(),
        attempt_script=script,
        policy=content_security_policy(source, included={"attempt_script": script}),
        **values,
    )


def observation_limit(attempts: int) -> int:
    """Return how many characters of each observation to show, assuming ten observations in each attempt."""
    return max(
        MIN_OBSERVATION_CHARACTERS, min(MAX_OBSERVATION_CHARACTERS, MAX_TOTAL_CHARACTERS // max(1, attempts * 10))
    )


def embed_attempt(row: AttemptRow, verdict: str, clip: int) -> Markup:
    """Return everything that a page shows of an attempt as JSON for a script element; observations are clipped."""
    turns = [{**turn, "steps": [_clip_step(step, clip) for step in turn.get("steps", ())]} for turn in row["turns"]]
    return htmlsafe_json_dumps({**row, "turns": turns, "verdict": verdict})


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


def _format_figure(figure: Figure, kind: str) -> str:
    return format_value(figure.mean, kind)


def _format_span(figure: Figure, kind: str) -> str:
    return f"{format_value(figure.low, kind)} to {format_value(figure.high, kind)}"


def format_value(value: float, kind: str, sign: str = "") -> str:
    """Return a value of a figure as pages show it; with the sign `+`, differences have theirs."""
    if kind in SHARES or kind.startswith("pass@"):
        return f"{value:{sign}.3f}"
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.1f}"
