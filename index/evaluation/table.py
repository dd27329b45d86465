"""Formats the figures of an evaluation for people: one line for each group of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webemu.index.evaluation.score import Group, QueryScore, compare_scores, group_queries, mean_figures


def format_table(scores: Sequence[QueryScore]) -> Iterator[str]:
    """Yield the mean of each measure with its interval, for all queries and for each kind and half."""
    names = list(scores[0].values)
    yield f"{'':<18}{'queries':>8}" + "".join(f"   {name:<20}" for name in names)
    for group, indices in group_queries(scores).items():
        cells = (
            f"   {value_figure.mean:.4f} [{value_figure.low:.3f} {value_figure.high:.3f}]"
            for value_figure in mean_figures(scores, indices).values()
        )
        yield f"{_describe_group(group):<18}{len(indices):>8,}" + "".join(cells)


def format_comparison(first: Sequence[QueryScore], second: Sequence[QueryScore]) -> Iterator[str]:
    """Yield each measure of both, the gain of the second with its interval, and the p of the randomization test."""
    yield f"{'':<18}{'measure':<10}{'first':>8}{'second':>8}{'ratio':>7}   gain                      p"
    for group, indices in group_queries(first).items():
        for name, comparison_figure in compare_scores(first, second, indices).items():
            ratio = f"{comparison_figure.second / comparison_figure.first:.2f}" if comparison_figure.first else "-"
            gain = (
                f"{comparison_figure.gain.mean:+.4f} [{comparison_figure.gain.low:+.4f} "
                f"{comparison_figure.gain.high:+.4f}]"
            )
            yield (
                f"{_describe_group(group):<18}"
                f"{name:<10}"
                f"{comparison_figure.first:>8.4f}{comparison_figure.second:>8.4f}{ratio:>7}   "
                f"{gain}  {comparison_figure.p:.4f}"
            )


def _describe_group(group: Group) -> str:
    """Return a group as text."""
    return " ".join(filter(None, group)) or "all"
