"""Fits of the figures of `benchmarks.scale`, and what they predict for larger sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from statistics import linear_regression, median
from typing import Any

FURTHER = (10_000_000, 100_000_000)
"""Sizes, in pages, that are predicted."""
Size = Mapping[str, Any]
"""Figures of one size, as `benchmarks.scale` writes them in JSON."""
MB, GB, MS = 1e6, 1e9, 1.0
_CURVES: Sequence[tuple[str, Callable[[Size], float], float, str]] = (
    ("ingest", lambda one: one["ingest"]["core_s"], 1, "core-s"),
    ("ingest, wall", lambda one: one["ingest"]["wall_s"], 1, "s"),
    ("build", lambda one: one["build"]["core_s"], 1, "core-s"),
    ("build, wall", lambda one: one["build"]["wall_s"], 1, "s"),
    ("memory: ingest, parent", lambda one: one["ingest"]["parent_own"], MB, "MB"),
    ("memory: ingest, worker", lambda one: one["ingest"]["child_own"], MB, "MB"),
    ("memory: build, parent", lambda one: one["build"]["parent_own"], MB, "MB"),
    ("memory: build, worker", lambda one: one["build"]["child_own"], MB, "MB"),
    ("memory: asking", lambda one: one["warm"]["own"], MB, "MB"),
    ("disk: WARC files", lambda one: one["warc_bytes"], MB, "MB"),
    *(
        (f"disk: {part}", lambda one, part=part: one["disk"][part], MB, "MB")
        for part in ("catalog", "text index", "result records", "page views", "lookup", "columns", "others")
    ),
    ("search, warm", lambda one: one["warm"]["search"]["core_us"], MS, "core-us"),
    ("search, warm p99", lambda one: one["warm"]["search"]["p99_ms"], MS, "ms"),
    ("page, warm", lambda one: one["warm"]["fetch"]["core_us"], MS, "core-us"),
    ("search, cold p50", lambda one: _cold(one, "search", "p50_ms"), MS, "ms"),
    ("search, cold p99", lambda one: _cold(one, "search", "p99_ms"), MS, "ms"),
    ("search, cold reads", lambda one: _cold(one, "search", "read_bytes"), 1e3, "kB"),
    ("page, cold p50", lambda one: _cold(one, "fetch", "p50_ms"), MS, "ms"),
    ("page, cold p99", lambda one: _cold(one, "fetch", "p99_ms"), MS, "ms"),
    ("page, cold reads", lambda one: _cold(one, "fetch", "read_bytes"), 1e3, "kB"),
    ("opening, cold", lambda one: median(cold["open_s"] for cold in one["cold"]), 1e-3, "ms"),
)
"""Rows of the report: (name, figure of a size, divisor, unit)."""
ASSUMED = """The model continues each fitted line y = a * pages ** b. It assumes
- pages as the generator makes them: 3 kB of gzip and some 330 words each, so that sizes go with bytes, not with URLs;
- the same machine: core-seconds do not depend on how many cores there are, wall times do;
- that what is warm fits into memory; beyond it a request costs what the cold ones do, on this disk;
- that memory stays what it is at the largest size measured where its exponent is small."""


def _cold(one: Size, kind: str, name: str) -> float:
    """Return the median over the cold processes."""
    return float(median(cold[kind][name] for cold in one["cold"]))


def fitted(pages: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return a and b of y = a * pages ** b, by least squares of the logarithms."""
    slope, intercept = linear_regression([log(one) for one in pages], [log(max(one, 1e-9)) for one in values])
    return exp(intercept), slope


def report(sizes: Sequence[Size]) -> str:
    """Return a Markdown table: each figure at each size, its exponent, and its prediction for larger sizes."""
    sizes = sorted(sizes, key=lambda one: one["pages"])
    pages = [float(one["pages"]) for one in sizes]
    head = ["", *(f"{one:,.0f}" for one in pages), "exponent", *(f"{one:,.0f}" for one in FURTHER)]
    rows = [head, ["---"] * len(head)]
    for name, value, unit, called in _CURVES:
        values = [value(one) / unit for one in sizes]
        more = ["", *[""] * len(FURTHER)]
        if len(sizes) > 1:
            a, b = fitted(pages, values)
            more = [f"{b:.2f}", *(_shown(a * one**b) for one in FURTHER)]
        rows.append([f"{name}, {called}", *map(_shown, values), *more])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{ASSUMED}"


def _shown(value: float) -> str:
    """Return a figure with three significant digits, or as a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
