"""Styles of snippets: how much of a page a search result shows."""

from __future__ import annotations

from typing import Literal, get_args

SnippetStyle = Literal["short", "long", "passage"]
"""Length of a snippet: `short` is one passage of at most 260 characters, `long` at most `LONG_CHARACTERS` of whole
sentences around it, `passage` about a hundred words.
"""
SNIPPET_STYLES: tuple[SnippetStyle, ...] = get_args(SnippetStyle)
"""All styles of snippets."""
LONG_CHARACTERS = 400
"""Characters of a `long` snippet at most."""


def find_snippet_style(name: str) -> SnippetStyle | None:
    """Return the style with this name; None if there is none."""
    return next((style for style in SNIPPET_STYLES if style == name), None)
