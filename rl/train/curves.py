"""Curves of a training run as SVG paths between axes that end on round numbers. Pure; a figure that was never logged
has no curve.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

WIDTH, HEIGHT = 300, 124
LEFT, RIGHT, TOP, BOTTOM = 38, 292, 8, 104
POINTS = 240
"""Points of one curve. If there are more steps, each point is the mean of several."""
SMOOTHED = 60
"""Number of points from which a moving mean is drawn over the curve."""

Step = Mapping[str, float]
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """Specification of a chart: the figures that are drawn together."""

    title: str
    lines: Mapping[str, str]
    """Labels by the names of the figures in `steps.jsonl`."""
    top: float = 0
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


@dataclass(frozen=True, slots=True)
class Drawing:
    """Chart as a template draws it."""

    chart: Chart
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    """Pairs of (y coordinate, label)."""
    first: str
    last: str
    read: str
    """JSON from which the page's script shows the values under the pointer."""


def drawn(chart: Chart, steps: Sequence[Step]) -> Drawing | None:
    """Return a chart of the steps that have any of its figures; None if there are no such steps."""
    rows = thinned([row for row in steps if any(name in row for name in chart.lines)], [*chart.lines])
    found = {name: [row.get(name) for row in rows] for name in chart.lines}
    found = {name: values for name, values in found.items() if any(value is not None for value in values)}
    if not found:
        return None
    heights = _piled(found) if chart.stacked else found
    known = [value for values in heights.values() for value in values if value is not None]
    marks = ticks(min(0, *known), max(chart.top, *known))
    at = [_between(row["step"], rows[0]["step"], rows[-1]["step"], LEFT, RIGHT) for row in rows]
    lines, below = [], [0.0] * len(rows)
    for name, values in heights.items():
        if chart.stacked:
            path, mean = _area(at, _scaled(below, marks), _scaled(values, marks)), ""
            below = [value or 0 for value in values]
        else:
            path, mean = _path(at, _scaled(values, marks)), _path(at, _scaled(_moving(values), marks))
        last = next(value for value in reversed(found[name]) if value is not None)
        lines.append(Line(chart.lines[name], path, mean if len(rows) >= SMOOTHED else "", short(last)))
    told = [[short(value) for value in values] for values in found.values()]
    read = {"steps": [round(row["step"]) for row in rows], "x": [round(one, 1) for one in at], "labels": told}
    shown = tuple((round(_scaled([mark], marks)[0] or 0, 1), short(mark)) for mark in marks)
    return Drawing(chart, tuple(lines), shown, f"{rows[0]['step']:.0f}", f"{rows[-1]['step']:.0f}", json.dumps(read))


def thinned(rows: Sequence[Step], names: Sequence[str]) -> list[dict[str, float]]:
    """Return at most `MAX_POINTS` rows: means of neighbours under the number of their last step. Values that are not
    finite are left out.
    """
    wide = math.ceil(len(rows) / POINTS) or 1
    made = []
    for begin in range(0, len(rows), wide):
        part = rows[begin : begin + wide]
        known = {name: [row[name] for row in part if math.isfinite(row.get(name, math.nan))] for name in names}
        means = {name: sum(values) / len(values) for name, values in known.items() if values}
        made.append({"step": part[-1]["step"]} | means)
    return made


def ticks(low: float, high: float) -> list[float]:
    """Return two to four round numbers that enclose both values (Heckbert's nice numbers, 1990)."""
    high = high if high > low else low + 1
    wide = high - low
    size = 10 ** math.floor(math.log10(wide / 2))
    step = next(round(size * one, 12) or size for one in (1, 2, 2.5, 5, 10) if size * one >= wide / 2 * 0.999)
    first = math.floor(low / step + 1e-9)
    return [step * one for one in range(first, max(first + 1, math.ceil(high / step - 1e-9)) + 1)]


def short(value: float | None) -> str:
    """Return a number in few characters, such as `12.3k`; a dash for None."""
    if value is None:
        return "–"
    size = abs(value)
    if 0 < size < 0.001:
        return f"{value:.0e}"
    for least, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= least:
            return f"{value / (least if unit != 'k' else 1e3):.3g}{unit}"
    return f"{value:,.0f}" if size >= 100 else f"{value:.3g}"


def _piled(found: Mapping[str, Values]) -> dict[str, Values]:
    """Return the running sums of the figures, for stacked areas."""
    made: dict[str, Values] = {}
    below: list[float] = []
    for name, values in found.items():
        below = [(value or 0) + (below[n] if below else 0) for n, value in enumerate(values)]
        made[name] = below
    return made


def _moving(values: Values) -> list[float | None]:
    """Return the mean of each value and its neighbours. It takes as many on either side, so that the ends are not
    biased.
    """
    wide, made = max(1, len(values) // 16), list[float | None]()
    for at, value in enumerate(values):
        reach = min(wide, at, len(values) - 1 - at)
        near = [one for one in values[at - reach : at + reach + 1] if one is not None]
        made.append(sum(near) / len(near) if near and value is not None else None)
    return made


def _between(value: float, low: float, high: float, start: float, end: float) -> float:
    return start + (end - start) * ((value - low) / (high - low) if high > low else 0.5)


def _scaled(values: Values, marks: Sequence[float]) -> list[float | None]:
    return [None if value is None else _between(value, marks[0], marks[-1], BOTTOM, TOP) for value in values]


def _path(at: Sequence[float], heights: Values) -> str:
    """Return an SVG path with gaps where values are missing. A lone point becomes a dot, which round line ends make
    visible.
    """
    parts = []
    pairs = zip(at, heights, strict=True)
    # Missing values split the path into several.
    for known, run in groupby(pairs, key=lambda pair: pair[1] is not None):
        spots = [f"{x:.1f} {y:.1f}" for x, y in run]
        parts += ["M" + "L".join(spots if len(spots) > 1 else spots * 2)] if known else []
    return "".join(parts)


def _area(at: Sequence[float], below: Values, above: Values) -> str:
    """Return the SVG path of the area between two curves."""
    edge = [*zip(at, above, strict=True), *reversed(list(zip(at, below, strict=True)))]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in edge) + "Z"
