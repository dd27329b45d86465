"""Curves of a training run as SVG paths between axes that end on round numbers. Pure; a figure that was never logged
has no curve.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

PLOT_LEFT, PLOT_RIGHT, PLOT_TOP, PLOT_BOTTOM = 38, 292, 8, 104
MAX_POINTS = 240
"""Points of one curve. If there are more steps, each point is the mean of several."""
MIN_POINTS_FOR_MEAN = 60
"""Number of points from which a moving mean is drawn over the curve."""

Step = Mapping[str, float]
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """Specification of a chart: the figures that are drawn together."""

    title: str
    lines: Mapping[str, str]
    """Labels by the names of the figures in `steps.jsonl`."""
    least_maximum: float = 0
    """Least value at the top of the axis."""
    stacked: bool = False
    """True to draw the figures as areas on top of each other."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Curve of one figure."""

    name: str
    path: str
    mean: str
    """Path of the moving mean; empty if there are few points."""
    last: str
    """Last value as text."""
    color: int
    """Number of its colour: the place of the figure in the chart, whether or not the figures before it have values."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Chart as a template draws it."""

    chart: Chart
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    """Pairs of (y coordinate, label)."""
    first: str
    last: str
    values_json: str
    """JSON from which the page's script shows the values under the pointer."""


def draw_chart(chart: Chart, steps: Sequence[Step]) -> Drawing | None:
    """Return a chart of the steps that have any of its figures; None if there are no such steps."""
    rows = thin_rows([row for row in steps if any(name in row for name in chart.lines)], [*chart.lines])
    series = {name: [row.get(name) for row in rows] for name in chart.lines}
    series = {name: values for name, values in series.items() if any(value is not None for value in values)}
    if not series:
        return None
    heights = _stack(series) if chart.stacked else series
    all_values = [value for values in heights.values() for value in values if value is not None]
    tick_values = axis_ticks(min(0, *all_values), max(chart.least_maximum, *all_values))
    x_positions = [_interpolate(row["step"], rows[0]["step"], rows[-1]["step"], PLOT_LEFT, PLOT_RIGHT) for row in rows]
    lines, lower_edge, names = [], [0.0] * len(rows), [*chart.lines]
    for name, values in heights.items():
        if chart.stacked:
            path, mean = (
                _area_path(x_positions, _scale_heights(lower_edge, tick_values), _scale_heights(values, tick_values)),
                "",
            )
            lower_edge = [value or 0 for value in values]
        else:
            path, mean = (
                _line_path(x_positions, _scale_heights(values, tick_values)),
                _line_path(x_positions, _scale_heights(_moving_mean(values), tick_values)),
            )
        last = next(value for value in reversed(series[name]) if value is not None)
        smooth = mean if len(rows) >= MIN_POINTS_FOR_MEAN else ""
        lines.append(Line(chart.lines[name], path, smooth, format_short(last), names.index(name)))
    value_labels = [[format_short(value) for value in values] for values in series.values()]
    values_by_step = {
        "steps": [round(row["step"]) for row in rows],
        "x": [round(one, 1) for one in x_positions],
        "labels": value_labels,
    }
    tick_labels = tuple(
        (round(_scale_heights([mark], tick_values)[0] or 0, 1), format_short(mark)) for mark in tick_values
    )
    return Drawing(
        chart,
        tuple(lines),
        tick_labels,
        f"{rows[0]['step']:.0f}",
        f"{rows[-1]['step']:.0f}",
        json.dumps(values_by_step),
    )


def thin_rows(rows: Sequence[Step], names: Sequence[str]) -> list[dict[str, float]]:
    """Return at most `MAX_POINTS` rows: means of neighbours under the number of their last step. Values that are not
    finite are left out.
    """
    group_size = math.ceil(len(rows) / MAX_POINTS) or 1
    means_by_group = []
    for begin in range(0, len(rows), group_size):
        part = rows[begin : begin + group_size]
        finite = {name: [row[name] for row in part if math.isfinite(row.get(name, math.nan))] for name in names}
        means = {name: sum(values) / len(values) for name, values in finite.items() if values}
        means_by_group.append({"step": part[-1]["step"]} | means)
    return means_by_group


def axis_ticks(low: float, high: float) -> list[float]:
    """Return two to four round numbers that enclose both values (Heckbert's nice numbers, 1990)."""
    high = high if high > low else low + 1
    span = high - low
    size = 10 ** math.floor(math.log10(span / 2))
    step = next(round(size * one, 12) or size for one in (1, 2, 2.5, 5, 10) if size * one >= span / 2 * 0.999)
    first = math.floor(low / step + 1e-9)
    return [step * one for one in range(first, max(first + 1, math.ceil(high / step - 1e-9)) + 1)]


def format_short(value: float | None) -> str:
    """Return a number in few characters, such as `12.3k`; a dash for None."""
    if value is None:
        return "–"
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.0e}"
    for threshold, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= threshold:
            return f"{value / (threshold if unit != 'k' else 1e3):.3g}{unit}"
    return f"{value:,.0f}" if size >= 100 else f"{value:.3g}"


def _stack(series: Mapping[str, Values]) -> dict[str, Values]:
    """Return the running sums of the figures, for stacked areas."""
    stacked: dict[str, Values] = {}
    running_sum: list[float] = []
    for name, values in series.items():
        running_sum = [(value or 0) + (running_sum[n] if running_sum else 0) for n, value in enumerate(values)]
        stacked[name] = running_sum
    return stacked


def _moving_mean(values: Values) -> list[float | None]:
    """Return the mean of each value and its neighbours. It takes as many on either side, so that the ends are not
    biased.
    """
    max_reach, means = max(1, len(values) // 16), list[float | None]()
    for position, value in enumerate(values):
        reach = min(max_reach, position, len(values) - 1 - position)
        neighbours = [one for one in values[position - reach : position + reach + 1] if one is not None]
        means.append(sum(neighbours) / len(neighbours) if neighbours and value is not None else None)
    return means


def _interpolate(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (end - start) * ((value - low) / (high - low) if high > low else 0.5)


def _scale_heights(values: Values, marks: Sequence[float]) -> list[float | None]:
    return [
        None if value is None else _interpolate(value, marks[0], marks[-1], PLOT_BOTTOM, PLOT_TOP) for value in values
    ]


def _line_path(x_positions: Sequence[float], heights: Values) -> str:
    """Return an SVG path with gaps where values are missing. A lone point becomes a dot, which round line ends make
    visible.
    """
    parts = []
    pairs = zip(x_positions, heights, strict=True)
    # Missing values split the path into several.
    for is_known, run in groupby(pairs, key=lambda pair: pair[1] is not None):
        if is_known:
            points = [f"{x:.1f} {y:.1f}" for x, y in run]
            parts.append("M" + "L".join(points if len(points) > 1 else points * 2))
    return "".join(parts)


def _area_path(x_positions: Sequence[float], below: Values, above: Values) -> str:
    """Return the SVG path of the area between two curves."""
    edge = [*zip(x_positions, above, strict=True), *reversed(list(zip(x_positions, below, strict=True)))]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in edge) + "Z"
