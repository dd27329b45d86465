"""Matches of a text inside a page, each with its surroundings."""

from __future__ import annotations

from collections.abc import Iterator

from webemu.emulator.types import Match


def build_matches(text: str, offsets: list[int], width: int, around: int = 120) -> Iterator[Match]:
    """Yield a match for each offset, with `around` characters of context on both sides."""
    for start in offsets:
        context = text[max(0, start - around) : start + width + around]
        yield Match(start, text.count("\n", 0, start), " ".join(context.split()))
