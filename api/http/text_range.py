"""Cut a part out of a long page, by characters or by lines, and tell where the rest begins."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_LENGTH = 20_000
"""Characters that are shown unless the request says otherwise."""
DEFAULT_LINES = 200
"""Lines that are shown unless the request says otherwise."""


@dataclass(frozen=True, slots=True)
class TextRange:
    """The part of a text that is wanted."""

    first: int = 0
    """First character or line, from 0."""
    count: int = DEFAULT_LENGTH
    """Number of characters or lines; 0 means all that follow."""
    by_lines: bool = False
    """True if the two numbers count lines."""


@dataclass(frozen=True, slots=True)
class TextSlice:
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


def slice_text(content: str, text_range: TextRange) -> TextSlice:
    """Return the part of the content that the window selects; empty if it lies beyond the end.

    slice_text("one two three", TextRange(4, 3)).text   # "two"
    """
    start, end = _line_bounds(content, text_range) if text_range.by_lines else _character_bounds(content, text_range)
    total = len(content)
    line = content.count("\n", 0, start)
    if end >= total:
        return TextSlice(content[start:], start, total, line, None, None)
    return TextSlice(content[start:end], start, total, line, end, line + content.count("\n", start, end))


def _character_bounds(content: str, text_range: TextRange) -> tuple[int, int]:
    """Return the first character and the one after the last of a window by characters."""
    start = min(text_range.first, len(content))
    return start, start + text_range.count if text_range.count else len(content)


def _line_bounds(content: str, text_range: TextRange) -> tuple[int, int]:
    """Return the first character and the one after the last of a window by lines."""
    lines = content.split("\n")
    start = _joined_length(lines[: text_range.first])
    selected = (
        lines[text_range.first :]
        if not text_range.count
        else lines[text_range.first : text_range.first + text_range.count]
    )
    return min(start, len(content)), min(start + _joined_length(selected), len(content))


def _joined_length(lines: list[str]) -> int:
    """Return the number of characters of lines, each with its line end."""
    return sum(map(len, lines)) + len(lines)
