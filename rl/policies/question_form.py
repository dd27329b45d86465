"""What a question asks for, read from its words alone: the options it offers, and its word n-grams. Pure."""

from __future__ import annotations

import re

from webemu.rl.verify import normalise

MAX_OPTION_WORDS = 9
"""Words that an option of a question may have."""
MAX_GRAM = 3
"""Words of the longest n-gram."""
_OPTIONS = re.compile(
    r"(?:[:,]|\b(?:of|than|between))\s+((?:[^,:?]+,\s*)*[^,:?]+?),?\s+or\s+([^,:?]+)\s*\?", re.IGNORECASE
)
_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”')


def find_options(question: str) -> list[str]:
    """Return the answers that a question offers to choose from, in order; empty if it offers none.

    find_options("Which town covers the larger area, Arlen or Brodice?")  # ["Arlen", "Brodice"]
    """
    match = _OPTIONS.search(question)
    if match is None:
        return []
    texts = [*re.split(r",\s*", match[1]), match[2]]
    options = [_unquote(text.strip()) for text in texts if text.strip()]
    return options if all(len(one.split()) <= MAX_OPTION_WORDS for one in options) else []


def word_grams(text: str) -> frozenset[str]:
    """Return the runs of one to `MAX_GRAM` words of a text, normalised."""
    words = normalise(text).split()
    return frozenset(
        " ".join(words[start : start + length])
        for length in range(1, MAX_GRAM + 1)
        for start in range(len(words) - length + 1)
    )


def _unquote(text: str) -> str:
    """Return the quoted name in a text, or the text if it has none."""
    match = _QUOTED.search(text)
    return (match[1] or match[2]) if match else text
