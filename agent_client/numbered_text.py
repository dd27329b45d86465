"""Wraps a text into numbered lines of 80 columns, and finds where a token budget ends in them. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache

from webemu.agent_client.tokens import TokenOffset

WIDTH = 80
"""Columns of a line."""


@lru_cache(64)
def wrap_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a page; empty lines and all spaces are kept. Cached, since a page is shown several times."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, WIDTH, replace_whitespace=False, drop_whitespace=False) or [""]
    return tuple(lines)


def number_lines(lines: Sequence[str], first: int) -> str:
    """Return the lines as text, each with its number as `L7: `."""
    return "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, first))


def end_of_view(lines: Sequence[str], first: int, budget: int, token_offset: TokenOffset) -> int:
    """Return the line before which a view of `budget` tokens ends; the line in which the budget runs out is still
    shown.
    """
    text = number_lines(lines[first : first + 2 * budget + 1], first)
    if len(text) <= budget:
        return len(lines)
    end = token_offset(text, budget)
    return first + text.count("\n", 0, end) + 1 if end < len(text) else len(lines)
