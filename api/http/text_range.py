"""A window over a long page: by characters or by lines, with the place where the rest begins."""

from __future__ import annotations

from dataclasses import dataclass

LENGTH = 20_000
LINES = 200


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of the content is wanted."""

    first: int = 0
    """First character or line, from 0."""
    count: int = LENGTH
    """How many; 0 is all that follow."""
    by_lines: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """The part, and where it lies in the whole."""

    text: str
    start: int
    """Characters before it."""
    total: int
    """Characters in the whole."""
    line: int
    """0-based line that it begins in."""
    next: int | None
    """Character that the rest begins with; None at the end."""
    next_line: int | None
    """Line that the rest begins in; None at the end."""


def cut(content: str, window: Window) -> Cut:
    """The part of the content that the window shows; empty beyond the end."""
    start, end = _by_lines(content, window) if window.by_lines else _by_characters(content, window)
    total = len(content)
    line = content.count("\n", 0, start)
    if end >= total:
        return Cut(content[start:], start, total, line, None, None)
    return Cut(content[start:end], start, total, line, end, line + content.count("\n", start, end))


def _by_characters(content: str, window: Window) -> tuple[int, int]:
    start = min(window.first, len(content))
    return start, start + window.count if window.count else len(content)


def _by_lines(content: str, window: Window) -> tuple[int, int]:
    lines = content.split("\n")
    start = _width(lines[: window.first])
    wanted = lines[window.first :] if not window.count else lines[window.first : window.first + window.count]
    return min(start, len(content)), min(start + _width(wanted), len(content))


def _width(lines: list[str]) -> int:
    return sum(map(len, lines)) + len(lines)
