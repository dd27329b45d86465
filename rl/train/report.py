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

from webemu.emulator.bootstrap import CONFIDENCE_LEVEL
from webemu.rl.rewards import LONG, SHORT
from webemu.rl.train import trajectories
from webemu.rl.train.curves import Chart, Drawing, Step, draw_chart, format_short
from webemu.rl.train.manifest import MANIFEST_FILE, is_figure
from webemu.rl.train.page import render_template
from webemu.rl.train.run_folder import RECIPE_FILE
from webemu.rl.train.step_log import PLAYING_FILE, STEPS_FILE, TRAJECTORIES_FOLDER, read_steps
from webemu.rl.train.trajectories import EpisodeView, TaskGroups

REST_SECONDS = "seconds/rest"
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
        {"seconds/speaking": "speaking", "seconds/tools": "tools", "seconds/scoring": "scoring", REST_SECONDS: "rest"},
        stacked=True,
    ),
)
"""Charts of every stage; a chart without data is left out."""
OVERRIDE_COMMENT = re.compile(r"^# (seed|model|control) (.+)$", re.MULTILINE)
"""Comment lines at the top of the recipe's text that record overrides of the command line."""
TERM_KINDS = {term.name: term.kind for rubric in (LONG, SHORT) for term in rubric.terms}
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
    manifest: Mapping[str, object]
    charts: tuple[Drawing, ...]
    terms: tuple[Drawing, ...]
    """Charts of the gates and factors that changed."""
    metrics: tuple[Drawing, ...]
    """Charts of the metrics that changed."""
    constant_terms: tuple[str, ...]
    """Terms that never changed, with their value."""
    task_groups: TaskGroups
    columns: tuple[int, ...]
    """Steps whose episodes are shown side by side."""
    rows: Sequence[Sequence[EpisodeView | None]]
    """Rows of episodes, with one column for each step; None if a step has no such episode."""
    playing: Sequence[EpisodeView]
    """First episodes of the step that is being played, as far as they have come."""
    read_error: str
    """Error that kept the steps from being read; empty if there was none."""


def render_page(run: Path, steps: Sequence[int] = (), live: float = 0) -> str:
    """Return the HTML page of a run folder. `steps` are those whose episodes are shown; `live` is the number of
    seconds between two refreshes of the page, 0 for a page that never refreshes.

        Path("report.html").write_text(render_page(Path("runs/tiny")), encoding="utf-8")
    """
    text, recipe = read_run_recipe(run)
    stages = [_view_stage(folder, stage_config, steps) for folder, stage_config in list_stage_folders(run, recipe)]
    return render_template(
        "report.html",
        "'self'" if live else "'none'",
        name=run.resolve().name,
        recipe=recipe,
        overrides=read_overrides(text, recipe),
        text=text,
        stages=stages,
        level=CONFIDENCE_LEVEL,
        live=live,
        held_out=_held_out_names(stages),
        kinds=TERM_KINDS,
    )


def page_version(run: Path) -> str:
    """Return a hash that changes whenever anything changes that the page shows."""
    # The folder of trajectories stands for its files: its modification time changes when one is added.
    paths = [
        run / RECIPE_FILE,
        *run.glob(f"*/{STEPS_FILE}"),
        *run.glob(f"*/{MANIFEST_FILE}"),
        *run.glob(f"*/{TRAJECTORIES_FOLDER}"),
        *run.glob(f"*/{PLAYING_FILE}"),
    ]
    digest = hashlib.sha256()
    for path in sorted(paths):
        stat = path.stat() if path.exists() else None
        digest.update(f"{path} {stat and (stat.st_mtime_ns, stat.st_size)}\n".encode())
    return digest.hexdigest()[:16]


def read_run_recipe(run: Path) -> tuple[str, dict[str, object]]:
    """Return the recipe's text and its parsed content without checking it, so that old runs can be shown whose recipes
    `webemu train` would no longer accept. Both are empty if there is no readable recipe.
    """
    try:
        text = (run / RECIPE_FILE).read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except (OSError, ValueError):
        return "", {}


def read_overrides(text: str, recipe: Mapping[str, object]) -> dict[str, str]:
    """Return the seed, and the model and control if they differ from the recipe's own."""
    from_recipe = {"control": str(recipe["control"])} if recipe.get("control") else {}
    return from_recipe | dict(reversed(OVERRIDE_COMMENT.findall(text)))


def list_stage_folders(run: Path, recipe: Mapping[str, object]) -> list[tuple[Path, Mapping[str, object]]]:
    """Return the stage folders with what the recipe says of each, including stages that have not begun and folders
    that the recipe does not mention.
    """
    stages = _list_tables(recipe.get("stages"))
    stage_configs = {f"{n}-{stage.get('name', '')}": stage for n, stage in enumerate(stages, 1)}
    existing_names = [path.parent.name for path in run.glob(f"*-*/{STEPS_FILE}")]
    names = sorted(
        {*stage_configs, *existing_names}, key=lambda name: (not name[0].isdigit(), len(name.partition("-")[0]), name)
    )
    return [(run / name, stage_configs.get(name, {})) for name in names]


def _list_tables(value: object) -> list[Mapping[str, object]]:
    """Return the tables of a TOML array; empty if the value is no array."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _view_stage(folder: Path, stage_config: Mapping[str, object], shown_steps: Sequence[int]) -> StageView:
    read_error, steps = "", list[Step]()
    try:
        steps = [add_rest(row) for row in read_steps(folder)]
    except (OSError, ValueError) as error:
        read_error = f"{folder.name}/{STEPS_FILE} cannot be read: {error}"
    manifest, last = read_any_manifest(folder), int(steps[-1]["step"]) if steps else 0
    file_by_step = trajectories.list_files(folder, last)
    columns = trajectories.pick_milestones([*file_by_step], shown_steps)
    rows = trajectories.side_by_side([(step, file_by_step[step]) for step in columns])
    terms = _view_terms(steps)
    number, _, name = folder.name.partition("-")
    step_count, gate = stage_config.get("steps"), stage_config.get("gate")
    return StageView(
        id=f"stage-{number}",
        name=name,
        kind=str(stage_config.get("kind", "")),
        state="done" if manifest else "begun" if steps else "waiting",
        step=last,
        steps=step_count if isinstance(step_count, int) else None,
        gate=gate if isinstance(gate, int | float) else None,
        manifest=manifest,
        charts=_draw_charts(CHARTS, steps),
        terms=_draw_charts((Chart(name, {f"terms/{name}": "mean"}, 1) for name in terms.rewarded), steps),
        metrics=_draw_charts((Chart(name, {f"terms/{name}": "mean"}) for name in terms.metrics), steps),
        constant_terms=terms.constant,
        task_groups=trajectories.compute_groups(file_by_step),
        columns=tuple(columns),
        rows=rows,
        playing=() if manifest else trajectories.read_playing(folder),
        read_error=read_error,
    )


@dataclass(frozen=True, slots=True)
class _TermNames:
    """Names of the reward terms of a stage by the way in which the page shows them."""

    rewarded: tuple[str, ...]
    """Gates and factors that changed."""
    metrics: tuple[str, ...]
    """Metrics that changed."""
    constant: tuple[str, ...]
    """Terms that never changed, with their value."""


def _view_terms(steps: Sequence[Step]) -> _TermNames:
    names = sorted({name[6:] for row in steps for name in row if name.startswith("terms/")})
    changing = [name for name in names if len({row.get(f"terms/{name}") for row in steps}) > 1]
    return _TermNames(
        tuple(name for name in changing if TERM_KINDS.get(name) != "metric"),
        tuple(name for name in changing if TERM_KINDS.get(name) == "metric"),
        tuple(f"{name} {format_short(steps[-1].get(f'terms/{name}'))}" for name in names if name not in changing),
    )


def _draw_charts(charts: Iterable[Chart], steps: Sequence[Step]) -> tuple[Drawing, ...]:
    return tuple(drawing for chart in charts if (drawing := draw_chart(chart, steps)))


def add_rest(row: Mapping[str, object]) -> Step:
    """Return the numbers of a step, with the seconds that TRL spent on everything else."""
    numbers = {name: value for name, value in row.items() if isinstance(value, int | float)}
    parts = [value for name, value in numbers.items() if name.startswith("seconds/")]
    rest_figure = (
        {REST_SECONDS: max(0.0, numbers["trl/step_time"] - sum(parts))} if parts and "trl/step_time" in numbers else {}
    )
    return numbers | rest_figure


def read_any_manifest(folder: Path) -> dict[str, object]:
    """Return the manifest of a stage; empty if it is missing or unreadable, which means that the stage is not done."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _held_out_names(stages: Sequence[StageView]) -> list[str]:
    """Return the names of the figures that any stage has on held-out tasks."""
    held_out_figures = [figures for stage in stages if isinstance(figures := stage.manifest.get("held_out"), dict)]
    return list(dict.fromkeys(name for one in held_out_figures for name, value in one.items() if is_figure(value)))
