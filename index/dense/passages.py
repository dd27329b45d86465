"""What is embedded of a page: its title over windows of a hundred to two hundred words, made of its record's passages.

A window is so many passages of `webemu.index.records`, so that what a result shows can be looked for in the window it was
found by.
"""

from __future__ import annotations

from collections.abc import Sequence

WINDOW = 4
"""Passages of a window: about a thousand characters, which most models read whole."""


def windows(url: str, title: str, passages: Sequence[str], most: int) -> list[str]:
    """The first `most` windows of a page, at least one; a page without a title is not called by its URL."""
    bodies = [" ".join(passages[at : at + WINDOW]) for at in range(0, min(len(passages), most * WINDOW), WINDOW)]
    if bodies and url.startswith(title):
        return bodies
    return [body if body.startswith(title) else f"{title}\n{body}" for body in bodies] or [title]


def mask(window: int) -> int:
    """The passages of a window, a bit each."""
    return (1 << WINDOW) - 1 << window * WINDOW
