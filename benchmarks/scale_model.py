"""Fits of the figures of `benchmarks.scale`, and what they predict for larger sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log
from statistics import linear_regression, median
from typing import Literal, NotRequired, TypedDict

PREDICTED_SIZES = (10_000_000, 100_000_000)
"""Sizes, in pages, that are predicted."""


class CommandFigures(TypedDict):
    """Cost of a `webemu` command: seconds, and the greatest anonymous and resident memory in bytes."""

    wall_s: float
    core_s: float
    parent_own: int
    """Anonymous memory of the process itself."""
    child_own: int
    """Anonymous memory of its largest child."""
    tree_own: int
    """Anonymous memory of the process and all its children."""
    rss: int
    """Largest resident set of one process."""


class RequestFigures(TypedDict):
    """Cost of one request: means, and percentiles of the time."""

    asked: int
    """Number of requests."""
    core_us: float
    p50_ms: float
    p99_ms: float
    read_bytes: float


class QueryFigures(TypedDict):
    """Figures of a process that opens the collection and asks it."""

    bytes: NotRequired[int]
    """Size of all files, in a cold process."""
    resident: NotRequired[int]
    """Bytes of the files that are in the page cache all the same, in a cold process."""
    open_s: float
    open_bytes: int
    search: RequestFigures
    fetch: RequestFigures
    suggest: RequestFigures
    batch: RequestFigures
    """Figures of a batch of queries (`benchmarks.scale_queries`)."""
    engine: RequestFigures
    """Figures of the engine's part of a search, alone."""
    own: int
    """Anonymous memory in bytes."""
    rss: int
    """Resident set in bytes, mapped files included."""


class Size(TypedDict):
    """Figures of one size, as `benchmarks.scale` writes them in JSON."""

    asked_for: int
    """Pages that the generator was asked for."""
    texts: str
    """Collection whose texts a dump was made of; empty for a generated web."""
    workers: int
    generate: CommandFigures
    resumed: list[str]
    """Steps that went on where an earlier run had ended: their figures are of the rest only."""
    source_bytes: int
    """Size of the files that are ingested."""
    ingest: CommandFigures
    build: CommandFigures
    pages: int
    captures: int
    links: int
    hosts: int
    snapshot: str
    disk: dict[str, int]
    """Bytes by part of the collection."""
    warm: QueryFigures
    cold: list[QueryFigures]


MB, MS = 1e6, 1.0
_CURVES: Sequence[tuple[str, Callable[[Size], float], float, str]] = (
    ("ingest", lambda figures: figures["ingest"]["core_s"], 1, "core-s"),
    ("ingest, wall", lambda figures: figures["ingest"]["wall_s"], 1, "s"),
    ("build", lambda figures: figures["build"]["core_s"], 1, "core-s"),
    ("build, wall", lambda figures: figures["build"]["wall_s"], 1, "s"),
    ("memory: ingest, parent", lambda figures: figures["ingest"]["parent_own"], MB, "MB"),
    ("memory: ingest, worker", lambda figures: figures["ingest"]["child_own"], MB, "MB"),
    ("memory: build, parent", lambda figures: figures["build"]["parent_own"], MB, "MB"),
    ("memory: build, worker", lambda figures: figures["build"]["child_own"], MB, "MB"),
    ("memory: asking", lambda figures: figures["warm"]["own"], MB, "MB"),
    ("memory: asking, with mapped files", lambda figures: figures["warm"]["rss"], MB, "MB"),
    ("disk: files that are ingested", lambda figures: figures["source_bytes"], MB, "MB"),
    *(
        (f"disk: {part}", lambda figures, part=part: figures["disk"][part], MB, "MB")
        for part in (
            *("copies of dumps", "catalog", "text index", "result records", "page views", "lookup", "columns"),
            "others",
        )
    ),
    ("search, warm", lambda figures: figures["warm"]["search"]["core_us"], MS, "core-us"),
    ("search, warm p99", lambda figures: figures["warm"]["search"]["p99_ms"], MS, "ms"),
    ("plain OR, warm", lambda figures: figures["warm"]["engine"]["core_us"], MS, "core-us"),
    ("64 queries at once, warm", lambda figures: figures["warm"]["batch"]["core_us"], MS, "core-us"),
    ("completion, warm", lambda figures: figures["warm"]["suggest"]["core_us"], MS, "core-us"),
    ("page, warm", lambda figures: figures["warm"]["fetch"]["core_us"], MS, "core-us"),
    ("search, cold p50", lambda figures: _median_of_cold(figures, "search", "p50_ms"), MS, "ms"),
    ("search, cold p99", lambda figures: _median_of_cold(figures, "search", "p99_ms"), MS, "ms"),
    ("search, cold reads", lambda figures: _median_of_cold(figures, "search", "read_bytes"), 1e3, "kB"),
    ("page, cold p50", lambda figures: _median_of_cold(figures, "fetch", "p50_ms"), MS, "ms"),
    ("page, cold p99", lambda figures: _median_of_cold(figures, "fetch", "p99_ms"), MS, "ms"),
    ("page, cold reads", lambda figures: _median_of_cold(figures, "fetch", "read_bytes"), 1e3, "kB"),
    ("opening, cold", lambda figures: median(cold["open_s"] for cold in figures["cold"]), 1e-3, "ms"),
)
"""Rows of the report: (name, figure of a size, divisor, unit)."""
ASSUMPTIONS = """The model continues each fitted line y = a * pages ** b. It assumes
- pages like those that were measured: sizes go with bytes, not with URLs;
- the same machine: core-seconds do not depend on how many cores there are, wall times do;
- that what is warm fits into memory; beyond it a request costs what the cold ones do, on this disk;
- that memory stays what it is at the largest size measured where its exponent is small."""


def _median_of_cold(
    size: Size, kind: Literal["search", "fetch"], name: Literal["p50_ms", "p99_ms", "read_bytes"]
) -> float:
    """Return the median over the cold processes."""
    return float(median(cold[kind][name] for cold in size["cold"]))


def fit_power_law(pages: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Return a and b of y = a * pages ** b, by least squares of the logarithms."""
    slope, intercept = linear_regression(
        [log(number) for number in pages], [log(max(number, 1e-9)) for number in values]
    )
    return exp(intercept), slope


def build_report(sizes: Sequence[Size]) -> str:
    """Return a Markdown table: each figure at each size, its exponent, the largest share by which the fit misses one of
    them, and predictions for larger sizes.
    """
    sizes = sorted(sizes, key=lambda figure: figure["pages"])
    pages = [float(figure["pages"]) for figure in sizes]
    predicted_sizes = [size for size in PREDICTED_SIZES if size > 2 * pages[-1]]
    head = [
        "",
        *(f"{figure:,.0f}" for figure in pages),
        "exponent",
        "misses by",
        *(f"{predicted:,}" for predicted in predicted_sizes),
    ]
    rows = [head, ["---"] * len(head)]
    for name, extract_figure, unit, unit_name in _CURVES:
        values = [extract_figure(figure) / unit for figure in sizes]
        predictions = ["", "", *[""] * len(predicted_sizes)]
        if len(sizes) > 1 and all(values):
            a, b = fit_power_law(pages, values)
            misses = [abs(a * size**b / value - 1) for size, value in zip(pages, values, strict=True)]
            predictions = [f"{b:.2f}", f"{max(misses):.0%}", *(_format_figure(a * size**b) for size in predicted_sizes)]
        rows.append([f"{name}, {unit_name}", *map(_format_figure, values), *predictions])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\n{ASSUMPTIONS}"


def _format_figure(value: float) -> str:
    """Return a figure with three significant digits, or as a whole number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
