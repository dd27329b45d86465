"""Cut a part out of a long page, by characters or by lines, and tell where the rest begins."""

from __future__ import annotations

from dataclasses import dataclass

LENGTH = 20_000
"""Characters that are shown unless the request says otherwise."""
LINES = 200
"""Lines that are shown unless the request says otherwise."""


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a text that is wanted."""

    first: int = 0
    """First character or line, from 0."""
    count: int = LENGTH
    """Number of characters or lines; 0 means all that follow."""
    by_lines: bool = False
    """True if the two numbers count lines."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of a text, and its position in the whole."""

    text: str
    start: int
    """Characters before the part."""
    total: int
    """Characters in the whole text."""
    line: int
    """Line in which the part begins, from 0."""
    next: int | None
    """Character at which the rest begins; None at the end."""
    next_line: int | None
    """Line in which the rest begins; None at the end."""


def cut(content: str, window: Window) -> Cut:
    """Return the part of the content that the window selects; empty if it lies beyond the end.

    slice_text("one two three", TextRange(4, 3)).text   # "two"
    """
    start, end = _by_lines(content, window) if window.by_lines else _by_characters(content, window)
    total = len(content)
    line = content.count("\n", 0, start)
    if end >= total:
        return Cut(content[start:], start, total, line, None, None)
    return Cut(content[start:end], start, total, line, end, line + content.count("\n", start, end))


def _by_characters(content: str, window: Window) -> tuple[int, int]:
    """Return the first character and the one after the last of a window by characters."""
    start = min(window.first, len(content))
    return start, start + window.count if window.count else len(content)


def _by_lines(content: str, window: Window) -> tuple[int, int]:
    """Return the first character and the one after the last of a window by lines."""
    lines = content.split("\n")
    start = _width(lines[: window.first])
    wanted = lines[window.first :] if not window.count else lines[window.first : window.first + window.count]
    return min(start, len(content)), min(start + _width(wanted), len(content))


def _width(lines: list[str]) -> int:
    """Return the number of characters of lines, each with its line end."""
    return sum(map(len, lines)) + len(lines)
