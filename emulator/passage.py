"""Cuts the passage that a search matched out of a page: about a hundred words around the snippet, at sentence ends.

Retrieval servers for training (Search-R1, and DPR before it) return such passages instead of pages or snippets. Pure:
a text and a snippet of it in, a text out.
"""

from __future__ import annotations

import re

SIZE = 640
"""Length of a passage: about a hundred English words, in characters."""
WHOLE = 150
"""A page of at most this many words is returned whole."""
_LONGEST = 1200
"""A page longer than this, in characters, is cut even if it has few words."""
_READ = 18_000
"""Characters of a page that are searched; snippets come from the first 16,384."""
_SLACK = 80
"""Characters by which a passage may miss its length to end with a sentence."""
_PROBE = 40
"""Characters of the snippet that are searched for first."""
_END = re.compile(r"[.!?…。！？\n](?:(?<=[。！？\n])|[\"'”’)\]]*(?=\s))\s*")
"""End of a sentence. The pattern begins with a character class, so that all other characters are skipped at once."""


def passage(text: str, snippet: str) -> str:
    """Return about `PASSAGE_CHARS` characters of the text from the snippet on, on one line.

    A short text is returned whole, with its line ends.
    """
    if len(text) <= SIZE or (len(text) <= _LONGEST and len(text.split()) <= WHOLE):
        return text
    text = text[:_READ]  # bounds the work on long pages; every snippet is within
    at = _place(text, snippet)
    start = _start(text, at)
    end = _end(text, at + len(snippet), start + SIZE)
    if end - start < SIZE - 2 * _SLACK:  # too short, as at the end of a page: begin earlier
        start = next((place for place in _ends(text, max(0, end - SIZE - _SLACK), start)), start)
    return " ".join(text[start:end].split())


def _place(text: str, snippet: str) -> int:
    """Return the offset of the snippet; 0 if it is not found. Whitespace differs: snippets have single spaces, texts
    any.
    """
    flat = text.replace("\n", " ")
    for probe in (snippet[:_PROBE], snippet.partition(" ")[0]):
        at = flat.find(probe) if probe else -1
        while at >= 0:
            if " ".join(flat[at : at + 2 * len(snippet)].split())[: len(snippet)] == snippet:
                return at
            at = flat.find(probe, at + 1)
    return 0


def _ends(text: str, first: int, last: int) -> list[int]:
    """Return the offsets after each sentence or line that ends between two offsets."""
    return [found.end() for found in _END.finditer(text, first, last)]


def _start(text: str, at: int) -> int:
    """Return the offset at which the sentence around `at` begins; `at` itself if that is too far away."""
    ends = _ends(text, max(0, at - 3 * _SLACK), at)
    return ends[-1] if ends else 0 if at <= 3 * _SLACK else at


def _end(text: str, least: int, wanted: int) -> int:
    """Return the last sentence end up to `wanted` plus slack, else the last word end, but never less than `least`."""
    if len(text) <= wanted + _SLACK:
        return len(text)
    ends = _ends(text, least, wanted + _SLACK)
    return ends[-1] if ends else max(text.rfind(" ", least, wanted), least)
