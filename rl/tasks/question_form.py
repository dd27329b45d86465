"""Options that a question offers, and its word n-grams: read from its words alone. Pure."""

from __future__ import annotations

import re

from webemu.rl.tasks.phrases import MASK, find_quotations, mask_quotations
from webemu.rl.verify import normalise

MAX_OPTION_WORDS = 9
"""Words that an option of a question may have."""
MAX_KIND_WORDS = 3
"""Words before a quoted name that say what it names, such as `the novel`."""
MAX_GRAM = 3
"""Words of the longest n-gram."""
_OPTIONS = re.compile(
    r"(?:[:,]|\b(?:of|than|between))\s+((?:[^,:?]+,\s*)*[^,:?]+?),?\s+or\s+([^,:?]+)\s*\?", re.IGNORECASE
)
_DESCRIPTION = re.compile(r"\b(?:of the|where|that|which|whose)\b")
"""Words of an option that is described and not named, so that it cannot be the answer as it stands."""


def find_options(question: str) -> list[str]:
    """Return the answers that a question offers to choose from, in order; empty if it offers none.

    find_options("Which town covers the larger area, Arlen or Brodice?")  # ["Arlen", "Brodice"]
    """
    masked = mask_quotations(question)
    match = _OPTIONS.search(masked)
    if match is None:
        return []
    quotations = iter(find_quotations(question)[masked[: match.start()].count(MASK) :])
    texts = [text.strip() for text in (*re.split(r",\s*", match[1]), match[2]) if text.strip()]
    if any(len(text.split()) > MAX_OPTION_WORDS or _DESCRIPTION.search(text) for text in texts):
        return []
    return [_name_of(text, next(quotations, "")) if MASK in text else text for text in texts]


def word_grams(text: str) -> frozenset[str]:
    """Return the runs of one to `MAX_GRAM` words of a text, normalised."""
    words = normalise(text).split()
    return frozenset(
        " ".join(words[start : start + length])
        for length in range(1, MAX_GRAM + 1)
        for start in range(len(words) - length + 1)
    )


def _name_of(text: str, quotation: str) -> str:
    """Return the quotation if few words before it say what it names, else the text with it."""
    is_name = text.endswith(MASK) and len(text.split()) <= MAX_KIND_WORDS + 1
    return quotation if is_name else text.replace(MASK, f'"{quotation}"')
