"""Curves as SVG paths: figures of steps between axes that end on round numbers. Pure; what nobody logged is none."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

WIDTH, HEIGHT = 300, 124
LEFT, RIGHT, TOP, BOTTOM = 38, 292, 8, 104
POINTS = 240
"""Of one curve; where there are more steps, each point is the mean of several."""
SMOOTHED = 60
"""Points from which a moving mean is drawn over the curve."""

Step = Mapping[str, float]
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn together."""

    title: str
    lines: Mapping[str, str]
    """Names in `steps.jsonl` to what they are called."""
    top: float = 0
    """Where the axis ends at the least."""
    stacked: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    path: str
    mean: str
    """Path of the moving mean; empty where there are few points."""
    last: str


@dataclass(frozen=True, slots=True)
class Drawing:
    chart: Chart
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    first: str
    last: str
    read: str
    """JSON that the page's script reads values from."""


def drawn(chart: Chart, steps: Sequence[Step]) -> Drawing | None:
    """A chart of the steps that have any of its figures; None where none has."""
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
    read = {"steps": [round(row["step"]) for row in rows], "at": [round(one, 1) for one in at], "told": told}
    shown = tuple((round(_scaled([mark], marks)[0] or 0, 1), short(mark)) for mark in marks)
    return Drawing(chart, tuple(lines), shown, f"{rows[0]['step']:.0f}", f"{rows[-1]['step']:.0f}", json.dumps(read))


def thinned(rows: Sequence[Step], names: Sequence[str]) -> list[dict[str, float]]:
    """At most `POINTS` rows: means of neighbours, at the last one's step. What is not finite is left out."""
    wide = math.ceil(len(rows) / POINTS) or 1
    made = []
    for begin in range(0, len(rows), wide):
        part = rows[begin : begin + wide]
        known = {name: [row[name] for row in part if math.isfinite(row.get(name, math.nan))] for name in names}
        means = {name: sum(values) / len(values) for name, values in known.items() if values}
        made.append({"step": part[-1]["step"]} | means)
    return made


def ticks(low: float, high: float) -> list[float]:
    """Two to four round numbers that hold both between them (the steps of Heckbert's nice numbers, 1990)."""
    high = high if high > low else low + 1
    wide = high - low
    size = 10 ** math.floor(math.log10(wide / 2))
    step = next(round(size * one, 12) or size for one in (1, 2, 2.5, 5, 10) if size * one >= wide / 2 * 0.999)
    first = math.floor(low / step + 1e-9)
    return [step * one for one in range(first, max(first + 1, math.ceil(high / step - 1e-9)) + 1)]


def short(value: float | None) -> str:
    """A number in few characters."""
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
    made: dict[str, Values] = {}
    below: list[float] = []
    for name, values in found.items():
        below = [(value or 0) + (below[n] if below else 0) for n, value in enumerate(values)]
        made[name] = below
    return made


def _moving(values: Values) -> list[float | None]:
    """The mean of each value's neighbours; of as many on both sides, so that the ends are not drawn from one side."""
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
    """Lines between neighbours; a point alone is a dot, which round ends make visible."""
    parts = []
    pairs = zip(at, heights, strict=True)
    for known, run in groupby(pairs, key=lambda pair: pair[1] is not None):
        spots = [f"{x:.1f} {y:.1f}" for x, y in run]
        parts += ["M" + "L".join(spots if len(spots) > 1 else spots * 2)] if known else []
    return "".join(parts)


def _area(at: Sequence[float], below: Values, above: Values) -> str:
    edge = [*zip(at, above, strict=True), *reversed(list(zip(at, below, strict=True)))]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in edge) + "Z"
