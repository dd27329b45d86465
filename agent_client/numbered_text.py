"""A text as numbered lines of at most 80 columns, and as many of them as a budget of tokens allows. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache

from webemu.agent_client.tokens import Tokens

WIDTH = 80


@lru_cache(64)
def wrapped(text: str) -> tuple[str, ...]:
    """Lines of a page; empty ones and all spaces are kept. Remembered, since a page is shown several times."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, WIDTH, replace_whitespace=False, drop_whitespace=False) or [""]
    return tuple(lines)


def numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"L{number}: {line}" for number, line in enumerate(lines, first))


def end_of_view(lines: Sequence[str], first: int, budget: int, tokens: Tokens) -> int:
    """The line that the view ends before: the last shown is the one that the budget ends in."""
    text = numbered(lines[first : first + 2 * budget + 1], first)
    if len(text) <= budget:
        return len(lines)
    end = tokens(text, budget)
    return first + text.count("\n", 0, end) + 1 if end < len(text) else len(lines)
