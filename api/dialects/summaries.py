"""Summaries without a language model: sentences of the page itself, never ones that it does not have."""

from __future__ import annotations

import re

from webemu.emulator.world import World

SUMMARY_CHARACTERS = 600
"""Most characters of a summary."""
READ_SIZES = 4
"""Characters of a page that are read for a summary, in lengths of the summary: its white space is dropped."""
_SENTENCE_END = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")


def summarize(world: World, content: str, query: str = "", size: int = SUMMARY_CHARACTERS) -> str:
    """Return whole sentences of a page's text, from the first that has a word of the query on, or from the start.

    A sentence longer than `size` characters is cut. The result is empty for a page without text.

        summarize(world, "The mill burned down. It was rebuilt in 1911.", "rebuilt")    # "It was rebuilt in 1911."
    """
    start = 0
    if query and (offsets := world.occurrences(content, query)):
        ends = [match.end() for match in _SENTENCE_END.finditer(content, max(0, offsets[0][0] - size), offsets[0][0])]
        start = ends[-1] if ends else offsets[0][0] if offsets[0][0] > size else 0
    summary = ""
    for sentence in _SENTENCE_END.split(content[start : start + READ_SIZES * size].strip()):
        words = " ".join(sentence.split())
        if summary and len(summary) + len(words) >= size:
            break
        summary = f"{summary} {words}".lstrip()[:size]
    return summary
