"""Comparison of training runs as an HTML page: what they score on held-out tasks after each stage, how far they differ
task by task, their curves over each other, and the keys in which their recipes differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from webemu.emulator.bootstrap import CONFIDENCE_LEVEL
from webemu.rl.evaluation.statistics import Figure, mean_with_interval
from webemu.rl.train.curves import Chart, Drawing, Step, draw_chart
from webemu.rl.train.page import render_template
from webemu.rl.train.report import (
    CHARTS,
    add_rest,
    list_stage_folders,
    read_any_manifest,
    read_overrides,
    read_run_recipe,
)
from webemu.rl.train.step_log import HELD_OUT_FILE, grounded_by_task, read_steps

MAX_RUNS = 6
"""Runs that one page compares: as many as its charts have colours."""
HELD_OUT_FIGURES = ("grounded", "correct", "reward", "calls")
TOOL_SHARE = Chart("Share of waiting for tools", {"share/tools": "share"}, 1)


@dataclass(frozen=True, slots=True)
class StageOfRun:
    """Stage of one run."""

    run_number: int
    """Number of the run on the page, from 0."""
    run: str
    name: str
    kind: str
    manifest: Mapping[str, object]
    """Manifest of the stage; empty as long as it is not complete."""
    grounded: Mapping[str, float]
    """1 for each held-out task with a grounded answer, else 0, by its id; empty if the episodes were not kept."""
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class StageResult:
    """Figures of a stage on held-out tasks as the page shows them."""

    stage: StageOfRun
    figures: Mapping[str, object]
    gain: Figure | None
    """Difference to the stage before in the same run; None without one on the same tasks."""
    difference: Figure | None
    """Difference to the same stage of the first run; None without one on the same tasks."""


@dataclass(frozen=True, slots=True)
class StageComparison:
    """Stage of the same name in all runs that have it."""

    id: str
    name: str
    results: tuple[StageResult, ...]
    charts: tuple[Drawing, ...]


def render_comparison(runs: Sequence[Path]) -> str:
    """Return the HTML page that compares the folders of two to `MAX_RUNS` runs.

        Path("runs.html").write_text(render_comparison([Path("runs/a"), Path("runs/b")]), encoding="utf-8")

    Differences are means over the held-out tasks that both stages answered, with bootstrap intervals.
    """
    names = _name_runs(runs)
    texts_and_recipes = [read_run_recipe(run) for run in runs]
    stages_by_run = [
        [_read_stage(number, names[number], folder, config) for folder, config in list_stage_folders(run, recipe)]
        for number, (run, (_, recipe)) in enumerate(zip(runs, texts_and_recipes, strict=True))
    ]
    stage_names = list(dict.fromkeys(stage.name for stages in stages_by_run for stage in stages))
    return render_template(
        "compare.html",
        "'none'",
        names=names,
        summaries=[str(recipe.get("summary", "")) for _, recipe in texts_and_recipes],
        stages=[_compare_stage(f"stage-{n}", name, stages_by_run) for n, name in enumerate(stage_names)],
        figure_names=HELD_OUT_FIGURES,
        recipe_rows=_compare_recipes([read_overrides(text, recipe) | recipe for text, recipe in texts_and_recipes]),
        level=CONFIDENCE_LEVEL,
    )


def _name_runs(runs: Sequence[Path]) -> list[str]:
    """Return a name for each run: the last part of its folder, or the whole path where several end alike."""
    names = [run.resolve().name for run in runs]
    return [str(run) if names.count(name) > 1 else name for run, name in zip(runs, names, strict=True)]


def _read_stage(number: int, run: str, folder: Path, config: Mapping[str, object]) -> StageOfRun:
    path = folder / HELD_OUT_FILE
    grounded = grounded_by_task(pq.read_table(path).to_pylist()) if path.exists() else {}
    name = folder.name.partition("-")[2]
    steps = [add_rest(row) for row in read_steps(folder)]
    return StageOfRun(number, run, name, str(config.get("kind", "")), read_any_manifest(folder), grounded, steps)


def _compare_stage(id_: str, name: str, stages_by_run: Sequence[Sequence[StageOfRun]]) -> StageComparison:
    """Return what the runs have of the stages of one name."""
    results, reference = list[StageResult](), None
    for stages in stages_by_run:
        for number, stage in enumerate(stages):
            if stage.name != name:
                continue
            gain = _difference(stages[number - 1], stage) if number else None
            difference = _difference(reference, stage) if reference else None
            reference = reference or stage
            held_out = stage.manifest.get("held_out")
            results.append(StageResult(stage, held_out if isinstance(held_out, dict) else {}, gain, difference))
    stages = [one.stage for one in results]
    runs = [run_stages[0].run for run_stages in stages_by_run if run_stages]
    drawings = [_draw(stages, chart, runs) for chart in _list_charts(stages)]
    return StageComparison(id_, name, tuple(results), tuple(one for one in drawings if one))


def _difference(before: StageOfRun, after: StageOfRun) -> Figure | None:
    """Return the difference in grounded answers over the tasks that both stages answered."""
    tasks = sorted(before.grounded.keys() & after.grounded.keys())
    differences = [after.grounded[task] - before.grounded[task] for task in tasks]
    return mean_with_interval(differences, f"{before.name}:{after.name}")


def _list_charts(stages: Sequence[StageOfRun]) -> list[Chart]:
    """Return charts of one figure each, including one for every reward term."""
    terms = sorted({name for stage in stages for row in stage.steps for name in row if name.startswith("terms/")})
    charts = [*CHARTS, TOOL_SHARE, *(Chart(name[6:], {name: "mean"}) for name in terms)]
    return [
        Chart(chart.title if len(chart.lines) == 1 else f"{chart.title}: {label}", {figure: ""}, chart.least_maximum)
        for chart in charts
        for figure, label in chart.lines.items()
    ]


def _draw(stages: Sequence[StageOfRun], chart: Chart, runs: Sequence[str]) -> Drawing | None:
    """Return one figure of all stages in one chart, with a line for each run; None if it is the same everywhere."""
    (figure,) = chart.lines
    values_by_run = {stage.run: {row["step"]: row[figure] for row in stage.steps if figure in row} for stage in stages}
    values_by_run = {run: values for run, values in values_by_run.items() if values}
    if len({value for values in values_by_run.values() for value in values.values()}) < 2:
        return None
    all_steps = sorted({step for values in values_by_run.values() for step in values})
    columns = {run: _fill(values, all_steps) for run, values in values_by_run.items()}
    rows = [
        {"step": step} | {run: value for run, column in columns.items() if (value := column[number]) is not None}
        for number, step in enumerate(all_steps)
    ]
    return draw_chart(Chart(chart.title, {run: run for run in runs}, chart.least_maximum), rows)


def _fill(values: Mapping[float, float], steps: Sequence[float]) -> list[float | None]:
    """Return a value for each step: the last one so far, where a run logs fewer steps than others; None before its
    first and after its last step.
    """
    last_step, filled = max(values), list[float | None]()
    value: float | None = None
    for step in steps:
        value = values.get(step, value)
        filled.append(value if step <= last_step else None)
    return filled


def _compare_recipes(recipes: Sequence[Mapping[str, object]]) -> list[tuple[str, list[str]]]:
    """Return the keys in which recipes differ, with the value in each; a dash where it has none."""
    flat_recipes = [dict(_flatten("", recipe)) for recipe in recipes]
    for recipe in flat_recipes:
        recipe.pop("summary", None)  # it stands above
    keys = list(dict.fromkeys(key for recipe in flat_recipes for key in recipe))
    rows = [(key, [recipe.get(key, "–") for recipe in flat_recipes]) for key in keys]
    return [(key, values) for key, values in rows if len(set(values)) > 1]


def _flatten(prefix: str, value: object) -> list[tuple[str, str]]:
    """Return the values of nested tables by dotted keys; stages are called by their names."""
    if isinstance(value, Mapping):
        return [pair for key, one in value.items() for pair in _flatten(f"{prefix}.{key}" if prefix else key, one)]
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        named = {str(one.get("name", number)): one | {"name": number} for number, one in enumerate(value, 1)}
        return _flatten(prefix, named)
    return [(prefix, str(value))]
