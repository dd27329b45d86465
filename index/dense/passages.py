"""Cuts a page into the windows that are embedded: its title over 100 to 200 words, made of its record's passages.

A window is a run of passages of `webemu.index.records`, so that a snippet can be chosen from the window a page was
found by.
"""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 4
"""Passages of a window: about a thousand characters, which most models read entirely."""


def cut_windows(url: str, title: str, passages: Sequence[str], limit: int) -> list[str]:
    """Return the first `limit` windows of a page, at least one. A URL that stands in for a title is not repeated."""
    bodies = [
        " ".join(passages[start : start + WINDOW]) for start in range(0, min(len(passages), limit * WINDOW), WINDOW)
    ]
    if bodies and url.startswith(title):
        return bodies
    return [body if body.startswith(title) else f"{title}\n{body}" for body in bodies] or [title]


def window_mask(window: int) -> int:
    """Return the bit mask of the passages in a window."""
    return (1 << WINDOW) - 1 << window * WINDOW
