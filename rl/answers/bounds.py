"""Bounds and periods that a question asks for: "3.9 or higher" is the minimum 3.9, "€5 a year" the annual price."""

from __future__ import annotations

import re

_MINIMUM_QUESTION = re.compile(r"\b(?:minimum|minimal|at least|required|requires?|lowest|oldest)\b", re.IGNORECASE)
_MAXIMUM_QUESTION = re.compile(r"\b(?:maximum|maximal|at most|up to|limit|can|capacity|highest)\b", re.IGNORECASE)
_MINIMUM_WORDS = re.compile(
    r"(?:>=|≥|\b(?:at least|a minimum of))\s?(?=\S{0,12}\s?\d)|(?<=\d)\+(?!\w)"
    r"|(?<=\d)\s(?:or|and)\s(?:higher|older|later|above|newer|more|up)\b",
    re.IGNORECASE,
)
_MAXIMUM_WORDS = re.compile(
    r"(?:<=|≤|\b(?:at most|up to|a maximum of))\s?(?=\S{0,12}\s?\d)"
    r"|(?<=\d)\s(?:or|and)\s(?:less|fewer|younger|below)\b",
    re.IGNORECASE,
)
_PERIODS = (
    ("year", r"\b(?:annual|annually|yearly|year)\b"), ("month", r"\bmonth(?:ly)?\b"), ("week", r"\bweek(?:ly)?\b"),
    ("day", r"\b(?:daily|day)\b"), ("night", r"\b(?:night|nightly)\b"), ("hour", r"\bhour(?:ly)?\b"),
    ("share", r"\b(?:stock|shares?|dividend)\b"),
)  # fmt: skip


def relax(text: str, question: str) -> str:
    """Return a text without the words for a bound that the question asks for."""
    if _MINIMUM_QUESTION.search(question):
        text = _MINIMUM_WORDS.sub("", text)
    if _MAXIMUM_QUESTION.search(question):
        text = _MAXIMUM_WORDS.sub("", text)
    for noun, pattern in _PERIODS:
        if re.search(pattern, question, re.IGNORECASE):
            text = re.sub(rf"(?<=\S) (?:per|a|an|each) {noun}\b", "", text)
    return text
