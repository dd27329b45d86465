"""Cuts the passage that a search matched out of a page: about a hundred words around the snippet, at sentence ends.

Retrieval servers for training (Search-R1, and DPR before it) return such passages instead of pages or snippets. Pure:
a text and a snippet of it in, a text out.
"""

from __future__ import annotations

import json
import re

from webemu.emulator.types import Hit

HitPassages = list[tuple[Hit, str]]
"""Hits, each with its passage."""
PASSAGE_CHARS = 640
"""Length of a passage: about a hundred English words, in characters."""
MAX_WHOLE_WORDS = 150
"""A page of at most this many words is returned whole."""
_MAX_WHOLE_CHARS = 1200
"""A page longer than this, in characters, is cut even if it has few words."""
_SCANNED_CHARS = 18_000
"""Characters of a page that are searched; snippets come from the first 16,384."""
_SLACK_CHARS = 80
"""Characters by which a passage may miss its length to end with a sentence."""
_PROBE_CHARS = 40
"""Characters of the snippet that are searched for first."""
_SENTENCE_END = re.compile(r"[.!?…。！？\n](?:(?<=[。！？\n])|[\"'”’)\]]*(?=\s))\s*")
"""End of a sentence. The pattern begins with a character class, so that all other characters are skipped at once."""


def extract_passage(text: str, snippet: str) -> str:
    """Return about `PASSAGE_CHARS` characters of the text from the snippet on, on one line.

    A short text is returned whole, with its line ends.
    """
    if len(text) <= PASSAGE_CHARS or (len(text) <= _MAX_WHOLE_CHARS and len(text.split()) <= MAX_WHOLE_WORDS):
        return text
    text = text[:_SCANNED_CHARS]  # bounds the work on long pages; every snippet is within
    offset = _locate_snippet(text, snippet)
    start = _sentence_start(text, offset)
    end = _passage_end(text, offset + len(snippet), start + PASSAGE_CHARS)
    if end - start < PASSAGE_CHARS - 2 * _SLACK_CHARS:  # too short, as at the end of a page: begin earlier
        start = next(
            (
                sentence_start
                for sentence_start in _sentence_starts_after(text, max(0, end - PASSAGE_CHARS - _SLACK_CHARS), start)
            ),
            start,
        )
    return " ".join(text[start:end].split())


def with_passage(hit: Hit, passage: str) -> Hit:
    """Return a hit that shows a passage, on one line, in place of its snippet."""
    line = " ".join(passage.split())
    return hit._replace(snippet_json=json.dumps(line, ensure_ascii=False)[1:-1].encode())


def _locate_snippet(text: str, snippet: str) -> int:
    """Return the offset of the snippet; 0 if it is not found. Whitespace differs: snippets have single spaces, texts
    any. So do borders of cells and rows, for which snippets have colons and semicolons.
    """
    flat, words = text.replace("\n", " "), _split_words(snippet)
    flat_snippet = " ".join(words)
    for probe in (snippet[:_PROBE_CHARS], words[0] if words else ""):
        offset = flat.find(probe) if probe else -1
        while offset >= 0:
            flat_part = " ".join(_split_words(flat[offset : offset + 2 * len(snippet)]))
            if flat_part[: len(flat_snippet)] == flat_snippet:
                return offset
            offset = flat.find(probe, offset + 1)
    return 0


def _split_words(text: str) -> list[str]:
    """Return the words of a text without the borders of cells and rows."""
    # str.translate would look up each character of a text that is not ASCII.
    return text.replace("|", " ").replace(":", " ").replace(";", " ").split()


def _sentence_starts_after(text: str, first: int, last: int) -> list[int]:
    """Return the offsets after each sentence or line that ends between two offsets."""
    return [match.end() for match in _SENTENCE_END.finditer(text, first, last)]


def _sentence_start(text: str, offset: int) -> int:
    """Return the offset at which the sentence around `offset` begins; `offset` itself if that is too far away."""
    ends = _sentence_starts_after(text, max(0, offset - 3 * _SLACK_CHARS), offset)
    return ends[-1] if ends else 0 if offset <= 3 * _SLACK_CHARS else offset


def _passage_end(text: str, minimum: int, target: int) -> int:
    """Return the last sentence end up to `target` plus slack, else the last word end, but never less than `minimum`."""
    if len(text) <= target + _SLACK_CHARS:
        return len(text)
    ends = _sentence_starts_after(text, minimum, target + _SLACK_CHARS)
    return ends[-1] if ends else max(text.rfind(" ", minimum, target), minimum)
