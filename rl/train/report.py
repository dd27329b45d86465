"""The page of a training run: curves, held-out figures, and what the model did at some steps; while it runs, too.

Trajectories hold hostile text, which autoescaping makes text; the page's policy lets nothing but its own script run.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from webemu.rl.evaluation.statistics import LEVEL
from webemu.rl.evaluation.stylesheet import look, policy
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.train import trajectories
from webemu.rl.train.curves import Chart, Drawing, Step, drawn, short
from webemu.rl.train.step_log import STEPS, TRAJECTORIES, read_steps
from webemu.rl.train.trajectories import Kinds, Told

MANIFEST, RECIPE = "manifest.json", "recipe.toml"
REST = "seconds/rest"
"""Of TRL's step, what is neither speaking nor tools nor scoring: above all the gradients."""
CHARTS = (
    Chart("Reward", {"reward": "mean"}, 1),
    Chart("Grounded answers", {"grounded": "share"}, 1),
    Chart("Calls of an episode", {"calls": "mean"}),
    Chart("Tokens of an episode", {"tokens": "the model's own"}),
    Chart("Entropy", {"trl/entropy": "nats per token"}),
    Chart("Loss", {"trl/loss": "loss"}),
    Chart("Gradient norm", {"trl/grad_norm": "norm"}),
    Chart("Divergence", {"trl/kl": "KL"}, note="from the model that the stage began with"),
    Chart("Token accuracy", {"trl/mean_token_accuracy": "share"}, 1),
    Chart("Groups played", {"groups": "groups"}, note="until enough had rewards that differ"),
    Chart("Groups without spread", {"trl/frac_reward_zero_std": "share"}, 1, note="of those learned from"),
    Chart("Masked episodes", {"masked": "share"}, 0.01, note="by an outage; they have no reward"),
    Chart("How episodes end", {"over/done": "answered", "over/silent": "without a call", "over/long": "too long"}, 1),
    Chart("Milliseconds of a tool call", {"tool_ms/p50": "p50", "tool_ms/p99": "p99"}),
    Chart(
        "Seconds of a step",
        {"seconds/speaking": "speaking", "seconds/tools": "tools", "seconds/scoring": "scoring", REST: "rest"},
        stacked=True,
    ),
)
SAID = re.compile(r"^# (seed|model|control) (.+)$", re.MULTILINE)
"""What the command line said of the recipe stands before its text."""
KINDS = {term.name: term.kind for rubric in (LONG, SHORT) for term in rubric.terms}


@dataclass(frozen=True, slots=True)
class StageView:
    """A stage as the page shows it."""

    id: str
    name: str
    kind: str
    state: str
    """`done`, `begun` or `waiting`."""
    step: int
    steps: int | None
    gate: float | None
    manifest: Mapping[str, Any]
    charts: tuple[Drawing, ...]
    terms: tuple[Drawing, ...]
    counted: tuple[Drawing, ...]
    same: tuple[str, ...]
    """Terms that never changed, with their value."""
    kinds: Kinds
    columns: tuple[int, ...]
    rows: Sequence[Sequence[Told | None]]
    trouble: str


def page(run: Path, steps: Sequence[int] = (), live: float = 0) -> str:
    """The page of a run folder; `steps` are those whose episodes are shown, `live` the seconds between two looks."""
    loader = PackageLoader("webemu.rl.train", ".")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short": short}
    text, recipe = _recipe(run)
    stages = [_stage(folder, told, steps) for folder, told in _folders(run, recipe)]
    source, connect = loader.get_source(environment, "report.html")[0], "'self'" if live else "'none'"
    return environment.get_template("report.html").render(
        name=run.resolve().name, recipe=recipe, said=_said(text, recipe), text=text, stages=stages, level=LEVEL,
        live=live, look=look(), held_out=_held_out(stages), policy=policy(source, connect), kinds=KINDS,
    )  # fmt: skip


def state(run: Path) -> str:
    """Changes when anything changes that the page shows."""
    paths = [run / RECIPE, *run.glob(f"*/{STEPS}"), *run.glob(f"*/{MANIFEST}"), *run.glob(f"*/{TRAJECTORIES}")]
    digest = hashlib.sha256()
    for path in sorted(paths):
        stat = path.stat() if path.exists() else None
        digest.update(f"{path} {stat and (stat.st_mtime_ns, stat.st_size)}\n".encode())
    return digest.hexdigest()[:16]


def _recipe(run: Path) -> tuple[str, dict[str, Any]]:
    """Read loosely: a page is also made of runs whose recipes today's `webemu train` would not take."""
    try:
        text = (run / RECIPE).read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except (OSError, ValueError):
        return "", {}


def _said(text: str, recipe: Mapping[str, Any]) -> dict[str, str]:
    """Seed, and model and control where they are not the recipe's own."""
    own = {"control": str(recipe["control"])} if recipe.get("control") else {}
    return own | dict(reversed(SAID.findall(text)))


def _folders(run: Path, recipe: Mapping[str, Any]) -> list[tuple[Path, Mapping[str, Any]]]:
    """Stage folders with what the recipe says of them, begun or not; those without a recipe too."""
    told = {f"{n}-{stage.get('name', '')}": stage for n, stage in enumerate(recipe.get("stages", ()), 1)}
    there = [path.parent.name for path in run.glob(f"*-*/{STEPS}")]
    names = sorted({*told, *there}, key=lambda name: (not name[0].isdigit(), len(name.partition("-")[0]), name))
    return [(run / name, told.get(name, {})) for name in names]


def _stage(folder: Path, told: Mapping[str, Any], wanted: Sequence[int]) -> StageView:
    trouble, steps = "", list[Step]()
    try:
        steps = [_with_rest(row) for row in read_steps(folder)]
    except (OSError, ValueError) as error:
        trouble = f"{folder.name}/{STEPS} cannot be read: {error}"
    manifest, last = _manifest(folder), int(steps[-1]["step"]) if steps else 0
    found = trajectories.files(folder, last)
    chosen = trajectories.milestones([*found], wanted)
    rows = trajectories.side_by_side([(step, found[step]) for step in chosen])
    terms = sorted({name for row in steps for name in row if name.startswith("terms/")})
    moved = [name for name in terms if len({row.get(name) for row in steps}) > 1]
    same = tuple(f"{name[6:]} {short(steps[-1].get(name))}" for name in terms if name not in moved)
    number, _, name = folder.name.partition("-")
    return StageView(
        f"stage-{number}", name, told.get("kind", ""), "done" if manifest else "begun" if steps else "waiting", last,
        told.get("steps"), told.get("gate"), manifest, _drawn(CHARTS, steps),
        _drawn((Chart(one[6:], {one: "mean"}, 1) for one in moved if KINDS.get(one[6:]) != "metric"), steps),
        _drawn((Chart(one[6:], {one: "mean"}) for one in moved if KINDS.get(one[6:]) == "metric"), steps),
        same, trajectories.kinds(found), tuple(chosen), rows, trouble,
    )  # fmt: skip


def _drawn(charts: Iterable[Chart], steps: Sequence[Step]) -> tuple[Drawing, ...]:
    return tuple(made for chart in charts if (made := drawn(chart, steps)))


def _with_rest(row: Mapping[str, Any]) -> Step:
    known = {name: value for name, value in row.items() if isinstance(value, int | float)}
    parts = [value for name, value in known.items() if name.startswith("seconds/")]
    rest = {REST: max(0.0, known["trl/step_time"] - sum(parts))} if parts and "trl/step_time" in known else {}
    return known | rest


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _held_out(stages: Sequence[StageView]) -> list[str]:
    """Names of the figures that any stage was examined for."""
    found = [stage.manifest.get("held_out", {}) for stage in stages]
    return list(
        dict.fromkeys(
            name for one in found for name, value in one.items() if isinstance(value, dict) and "mean" in value
        )
    )
