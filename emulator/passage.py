"""The passage of a page that a search found: a hundred words around its snippet, whole sentences where it has any.

Retrieval servers for training (Search-R1, DPR before it) hand out such passages, neither pages nor snippets.
Pure: a text and a snippet of it in, a text out.
"""

from __future__ import annotations

import re

SIZE = 640
"""Characters of a hundred English words."""
WHOLE = 150
"""A page of so many words is a passage itself."""
_LONGEST = 1200
"""Characters up to which such a page is given whole."""
_READ = 18_000
"""Snippets are of the first 16,384 characters of a page."""
_SLACK = 80
_PROBE = 40
_END = re.compile(r"[.!?…。！？\n](?:(?<=[。！？\n])|[\"'”’)\]]*(?=\s))\s*")
"""Begins with a set of characters, so that all others are skipped at once."""


def passage(text: str, snippet: str) -> str:
    """About `SIZE` characters of the text from the snippet on, on one line; short texts whole, lines kept."""
    if len(text) <= SIZE or (len(text) <= _LONGEST and len(text.split()) <= WHOLE):
        return text
    text = text[:_READ]
    at = _place(text, snippet)
    start = _start(text, at)
    end = _end(text, at + len(snippet), start + SIZE)
    if end - start < SIZE - 2 * _SLACK:
        start = next((place for place in _ends(text, max(0, end - SIZE - _SLACK), start)), start)
    return " ".join(text[start:end].split())


def _place(text: str, snippet: str) -> int:
    """Where the snippet begins; snippets have one space where a text may have several, and line ends."""
    flat = text.replace("\n", " ")
    for probe in (snippet[:_PROBE], snippet.partition(" ")[0]):
        at = flat.find(probe) if probe else -1
        while at >= 0:
            if " ".join(flat[at : at + 2 * len(snippet)].split())[: len(snippet)] == snippet:
                return at
            at = flat.find(probe, at + 1)
    return 0


def _ends(text: str, first: int, last: int) -> list[int]:
    """Where sentences and lines end between two places: where the next one begins."""
    return [found.end() for found in _END.finditer(text, first, last)]


def _start(text: str, at: int) -> int:
    """Where the sentence begins that is at a place."""
    ends = _ends(text, max(0, at - 3 * _SLACK), at)
    return ends[-1] if ends else 0 if at <= 3 * _SLACK else at


def _end(text: str, least: int, wanted: int) -> int:
    """The last end of a sentence up to a place; where there is none, the last end of a word."""
    if len(text) <= wanted + _SLACK:
        return len(text)
    ends = _ends(text, least, wanted + _SLACK)
    return ends[-1] if ends else max(text.rfind(" ", least, wanted), least)
