"""Curves of a run of `benchmarks.soak` as SVG: latency, answers, memory and file descriptors by the minute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from benchmarks.soak_checks import compute_percentiles
from benchmarks.soak_run import ProcessSample, SoakRun

WIDTH, HEIGHT, MARGIN, LABELS = 672, 150, 48, 80
"""Size of one panel, the space around its curves, and that for their labels to the right, in pixels."""
COLOURS = ("#1f6feb", "#d1592c", "#2f8f4e", "#8250df")
"""Colours of the curves of a panel, which readers without colour vision can tell apart by their labels."""


class Curve(NamedTuple):
    """One curve of a panel."""

    label: str
    points: Sequence[tuple[float, float]]
    """Points as (minute, value)."""


def draw_run(run: SoakRun) -> str:
    """Return an SVG image with a panel for latency, for answers, for memory and for file descriptors."""
    minutes = max(1, round(run.plan.minutes))
    by_minute: list[list[float]] = [[] for _ in range(minutes)]
    for moment, seconds in zip(run.observations.answered_at, run.observations.answer_seconds, strict=True):
        if (minute := int((moment - run.started_at) // 60)) < minutes:
            by_minute[minute].append(seconds)
    figures = [(minute, compute_percentiles(seconds)) for minute, seconds in enumerate(by_minute) if seconds]
    latencies = [Curve(name, [(minute, row[name]) for minute, row in figures]) for name in ("p50", "p99")]
    panels = [
        _draw_panel("milliseconds until the answer", latencies, minutes),
        _draw_panel(
            "answers per second",
            [Curve("", [(minute, len(seconds) / 60) for minute, seconds in enumerate(by_minute)])],
            minutes,
        ),
        _draw_panel("own memory in MB", _draw_processes(run, lambda sample: sample.memory_bytes / 1e6), minutes),
        _draw_panel("open file descriptors", _draw_processes(run, lambda sample: sample.descriptors), minutes),
    ]
    placed = "".join(
        f'<g transform="translate(0 {HEIGHT * number})">{panel}</g>' for number, panel in enumerate(panels)
    )
    size = f'width="{WIDTH}" height="{HEIGHT * len(panels)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="#fff"/>{placed}</svg>\n'
    )


def _draw_processes(run: SoakRun, read_value: Callable[[ProcessSample], float]) -> list[Curve]:
    """Return a curve of each process that lived for a tenth of the run or longer, with a point a minute."""
    curves = []
    for pid in dict.fromkeys(sample.pid for sample in run.process_samples):
        samples = [sample for sample in run.process_samples if sample.pid == pid]
        if samples[-1].elapsed - samples[0].elapsed >= run.plan.seconds / 10:
            last_of_minute = {
                int(sample.elapsed // 60): read_value(sample) for sample in samples if sample.elapsed < run.plan.seconds
            }
            curves.append(Curve(samples[0].kind, list(last_of_minute.items())))
    return curves


def _draw_panel(title: str, curves: Sequence[Curve], minutes: int) -> str:
    """Return one panel: a frame from zero to the greatest value, and its curves with their labels."""
    top = max((value for curve in curves for _, value in curve.points), default=0.0) or 1.0
    width, height = WIDTH - MARGIN - LABELS, HEIGHT - MARGIN

    def place(minute: float, value: float) -> str:
        return f"{MARGIN + width * minute / minutes:.1f},{MARGIN / 2 + height * (1 - value / top):.1f}"

    parts = [
        f'<text x="{MARGIN}" y="{MARGIN / 2 - 8}" font-weight="bold">{escape(title)}</text>',
        f'<path d="M{place(0, top)} L{place(0, 0)} L{place(minutes, 0)}" fill="none" stroke="#888"/>',
        f'<text x="{MARGIN - 6}" y="{MARGIN / 2 + 8}" text-anchor="end">{top:.3g}</text>',
        f'<text x="{MARGIN - 6}" y="{MARGIN / 2 + height}" text-anchor="end">0</text>',
        f'<text x="{WIDTH - LABELS}" y="{HEIGHT - 8}" text-anchor="end">minute {minutes}</text>',
    ]
    for colour, curve in zip(COLOURS, curves, strict=False):
        path = " L".join(place(minute + 0.5, value) for minute, value in curve.points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        last = place(*curve.points[-1]).split(",")[1]
        parts.append(f'<text x="{WIDTH - LABELS + 4}" y="{last}" fill="{colour}">{escape(curve.label)}</text>')
    return "".join(parts)
