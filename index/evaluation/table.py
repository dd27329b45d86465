"""Formats the figures of an evaluation for people: one line for each group of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webemu.index.evaluation.score import Group, Scored, differences, figures, groups


def table(scored: Sequence[Scored]) -> Iterator[str]:
    """Yield the mean of each measure with its interval, for all queries and for each kind and half."""
    names = list(scored[0].values)
    yield f"{'':<18}{'queries':>8}" + "".join(f"   {name:<20}" for name in names)
    for group, places in groups(scored).items():
        shown = (f"   {one.mean:.4f} [{one.low:.3f} {one.high:.3f}]" for one in figures(scored, places).values())
        yield f"{_named(group):<18}{len(places):>8,}" + "".join(shown)


def comparison(first: Sequence[Scored], second: Sequence[Scored]) -> Iterator[str]:
    """Yield each measure of both, the gain of the second with its interval, and the p of the randomization test."""
    yield f"{'':<18}{'measure':<10}{'first':>8}{'second':>8}{'ratio':>7}   gain                      p"
    for group, places in groups(first).items():
        for name, one in differences(first, second, places).items():
            ratio = f"{one.second / one.first:.2f}" if one.first else "-"
            gain = f"{one.gain.mean:+.4f} [{one.gain.low:+.4f} {one.gain.high:+.4f}]"
            yield f"{_named(group):<18}{name:<10}{one.first:>8.4f}{one.second:>8.4f}{ratio:>7}   {gain}  {one.p:.4f}"


def _named(group: Group) -> str:
    """Return a group as text."""
    return " ".join(filter(None, group)) or "all"
