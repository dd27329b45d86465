"""Figures as a table for terminals. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from webemu.rl.evaluation.statistics import Figure
from webemu.rl.evaluation.summary import DIMENSIONS, FIGURE_HEADINGS, GroupSummary, Summary

SHARES = ("pass@1", "em", "f1", "grounded", "coverage", "precision", "relevance", "recall", "reward")
"""Columns between 0 and 1."""
COUNTS = ("calls", "turns", "tokens")
"""Columns of counts, left out if they are all 0."""


def format_table(summary: Summary) -> str:
    """Return the figures as text: one row overall, then a row for each group, with the interval behind pass@1."""
    figures = summary.overall.figures
    candidates = [kind for kind in (*SHARES, *COUNTS) if kind in figures]
    kinds = [kind for kind in candidates if kind in SHARES or figures[kind].high]
    largest_pass = [kind for kind in figures if kind.startswith("pass@") and kind != "pass@1"][-1:]
    kinds[1:1] = largest_pass
    head = ["", "tasks", *(_heading(kind) for kind in kinds), "masked"]
    rows = [head, _table_row("all", summary.overall, kinds)]
    for dimension in DIMENSIONS:
        groups = summary.groups[dimension]
        if len(groups) > 1:
            rows += [[f"by {dimension}"], *(_table_row(f"  {name}", one, kinds) for name, one in groups.items())]
    return "\n".join(_aligned_lines(rows))


def _heading(kind: str) -> str:
    return kind + " (95%)" if kind == "pass@1" else FIGURE_HEADINGS.get(kind, kind)


def _table_row(name: str, group: GroupSummary, kinds: list[str]) -> list[str]:
    cells = [_format_cell(kind, group.figures.get(kind)) for kind in kinds]
    return [name, str(group.tasks), *cells, str(group.masked)]


def _format_cell(kind: str, figure: Figure | None) -> str:
    if figure is None:
        return "-"
    if kind == "pass@1":
        return f"{figure.mean:.3f} ({figure.low:.2f}-{figure.high:.2f})"
    return f"{figure.mean:,.0f}" if kind == "tokens" else f"{figure.mean:.{1 if kind in COUNTS else 3}f}"


def _aligned_lines(rows: list[list[str]]) -> Iterator[str]:
    """Yield the rows as lines with aligned columns."""
    widths = [max(len(row[n]) for row in rows if len(row) > n) for n in range(len(rows[0]))]
    for row in rows:
        first_cell, *other_cells = (cell.rjust(width) if n else cell.ljust(width) for n, (cell, width) in
                          enumerate(zip(row, widths, strict=False)))  # fmt: skip
        yield "  ".join([first_cell, *other_cells]).rstrip()
