"""HTML report of a training run, also while it runs: curves, held-out figures, and what the model did at some steps.

Trajectories contain hostile text. Autoescaping turns it into plain text, and the page's Content-Security-Policy allows
no script but the page's own.
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
"""Figure for the seconds of TRL's step that are neither sampling nor tools nor scoring; above all the gradients."""
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
"""Charts of every stage; a chart without data is left out."""
SAID = re.compile(r"^# (seed|model|control) (.+)$", re.MULTILINE)
"""Comment lines at the top of the recipe's text that record overrides of the command line."""
KINDS = {term.name: term.kind for rubric in (LONG, SHORT) for term in rubric.terms}
"""Kind of each reward term, by name."""


@dataclass(frozen=True, slots=True)
class StageView:
    """Stage as the page shows it."""

    id: str
    name: str
    kind: str
    state: str
    """`done`, `begun` or `waiting`."""
    step: int
    """Last step so far."""
    steps: int | None
    """Steps of the whole stage; None if the recipe is unknown."""
    gate: float | None
    manifest: Mapping[str, Any]
    charts: tuple[Drawing, ...]
    terms: tuple[Drawing, ...]
    """Charts of the gates and factors that changed."""
    counted: tuple[Drawing, ...]
    """Charts of the metrics that changed."""
    same: tuple[str, ...]
    """Terms that never changed, with their value."""
    kinds: Kinds
    columns: tuple[int, ...]
    """Steps whose episodes are shown side by side."""
    rows: Sequence[Sequence[Told | None]]
    """Rows of episodes, with one column for each step; None if a step has no such episode."""
    trouble: str
    """Error that kept the steps from being read; empty if there was none."""


def page(run: Path, steps: Sequence[int] = (), live: float = 0) -> str:
    """Return the HTML page of a run folder. `steps` are those whose episodes are shown; `live` is the number of
    seconds between two refreshes of the page, 0 for a page that never refreshes.

        Path("report.html").write_text(render_page(Path("runs/tiny")), encoding="utf-8")
    """
    loader = PackageLoader("webemu.rl.train", ".")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short": short}
    text, recipe = _recipe(run)
    stages = [_stage(folder, told, steps) for folder, told in _folders(run, recipe)]
    source, connect = loader.get_source(environment, "report.html")[0], "'self'" if live else "'none'"
    return environment.get_template("report.html").render(
        name=run.resolve().name, recipe=recipe, overrides=_said(text, recipe), text=text, stages=stages, level=LEVEL,
        live=live, look=look(), held_out=_held_out(stages), policy=policy(source, connect), kinds=KINDS,
    )  # fmt: skip


def state(run: Path) -> str:
    """Return a hash that changes whenever anything changes that the page shows."""
    # The folder of trajectories stands for its files: its modification time changes when one is added.
    paths = [run / RECIPE, *run.glob(f"*/{STEPS}"), *run.glob(f"*/{MANIFEST}"), *run.glob(f"*/{TRAJECTORIES}")]
    digest = hashlib.sha256()
    for path in sorted(paths):
        stat = path.stat() if path.exists() else None
        digest.update(f"{path} {stat and (stat.st_mtime_ns, stat.st_size)}\n".encode())
    return digest.hexdigest()[:16]


def _recipe(run: Path) -> tuple[str, dict[str, Any]]:
    """Return the recipe's text and its parsed content without checking it, so that old runs can be shown whose recipes
    `webemu train` would no longer accept. Both are empty if there is no readable recipe.
    """
    try:
        text = (run / RECIPE).read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except (OSError, ValueError):
        return "", {}


def _said(text: str, recipe: Mapping[str, Any]) -> dict[str, str]:
    """Return the seed, and the model and control if they differ from the recipe's own."""
    own = {"control": str(recipe["control"])} if recipe.get("control") else {}
    return own | dict(reversed(SAID.findall(text)))


def _folders(run: Path, recipe: Mapping[str, Any]) -> list[tuple[Path, Mapping[str, Any]]]:
    """Return the stage folders with what the recipe says of each, including stages that have not begun and folders
    that the recipe does not mention.
    """
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
    """Return the numbers of a step, with the seconds that TRL spent on everything else."""
    known = {name: value for name, value in row.items() if isinstance(value, int | float)}
    parts = [value for name, value in known.items() if name.startswith("seconds/")]
    rest = {REST: max(0.0, known["trl/step_time"] - sum(parts))} if parts and "trl/step_time" in known else {}
    return known | rest


def _manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a stage; empty if it is missing or unreadable, which means that the stage is not done."""
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _held_out(stages: Sequence[StageView]) -> list[str]:
    """Return the names of the figures that any stage has on held-out tasks."""
    found = [stage.manifest.get("held_out", {}) for stage in stages]
    return list(
        dict.fromkeys(
            name for one in found for name, value in one.items() if isinstance(value, dict) and "mean" in value
        )
    )
