"""Passages of a page's text: sentences, table rows and list entries, each with the headings that it stands under.

Text of the web may be hostile, so every step is linear in its length, and no passage is longer than `MAX_LENGTH`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from webemu.rl.verify import normalise

MAX_LENGTH = 600
"""Characters of a passage; a longer sentence is cut into several, which count as neighbours."""
MAX_HEADING_LENGTH = 90
"""Characters of a heading."""
MIN_HEADER_CELLS = 2
"""Cells that a header of a table has at least."""
_LINE_END = re.compile(r"[\n\r\v\f\u2028\u2029]")
_CELL_END = re.compile(r"[\t|]+")
_LIST_MARK = re.compile(r"\s*(?:[•*·▪‣◦–-]|\d{1,3}[.)])\s")
_ABBREVIATION = "".join(
    rf"(?<!\b{one}\.)" for one in "Dr Mr Mrs Ms St Prof No vs Jr Sr Inc Ltd Co Rev Gen c ca".split()
)
_SENTENCE_END = re.compile(rf"(?<=[.!?。！？])(?<!\b[A-Z]\.){_ABBREVIATION}[\"”’)\]]?\s+(?=[^a-z\s])")
_ENDS_AS_SENTENCE = re.compile(r"[.!?;,。][\"”’)\]]?$")


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentence, row, list entry or heading of a page."""

    text: str
    normal: str
    """Text after `webemu.rl.verify.normalise`, cell by cell."""
    heading: str
    """Normalised heading above it and, in a table, the header of the columns; empty if there is none."""
    block: int
    """Number of its paragraph. Each row, list entry and heading is a paragraph of its own."""
    is_sentence: bool
    """False for rows, list entries and headings, whose neighbours speak of other things."""


@lru_cache(128)
def split_passages(text: str) -> tuple[Passage, ...]:
    """Return the passages of a text in order. Cached, since the samples of a task see the same pages."""
    return tuple(_walk_lines(text))


def normalise_cells(text: str) -> str:
    """Return a text normalised cell by cell: the numbers of two cells are not one number."""
    return " ".join(filter(None, map(normalise, _CELL_END.split(text))))


def _walk_lines(text: str) -> Iterator[Passage]:
    """Yield the passages of a text, keeping track of headings and table headers."""
    heading = header = ""
    was_row = False
    lines = [line.strip() for line in _LINE_END.split(text)]
    for number, line in enumerate(lines):
        if not line:
            continue
        is_row, is_entry = _is_row(line), bool(_LIST_MARK.match(line))
        if not is_row:
            header = ""
        elif not was_row:
            header = _header_of(line, lines[number + 1] if number + 1 < len(lines) else "")
        was_row = is_row
        is_text = not (is_row or is_entry)
        if is_text and _is_heading(line):
            yield Passage(line, normalise(line), heading, number, False)
            heading = normalise(line)
        else:
            yield from _split_line(line, f"{heading} {header}".strip(), number, is_text)


def _split_line(line: str, above: str, number: int, is_text: bool) -> Iterator[Passage]:
    """Yield the sentences of a line; a row or a list entry of usual length is one passage."""
    for piece in _SENTENCE_END.split(line) if is_text or len(line) > MAX_LENGTH else [line]:
        for start in range(0, len(piece), MAX_LENGTH):
            cut = piece[start : start + MAX_LENGTH]
            yield Passage(cut, normalise_cells(cut), above, number, is_text)


def _is_row(line: str) -> bool:
    return "\t" in line or " | " in line or line[0] == "|"


def _is_heading(line: str) -> bool:
    """True for a short line that does not end as a sentence does."""
    return line[0] == "#" or (len(line) <= MAX_HEADING_LENGTH and not _ENDS_AS_SENTENCE.search(line))


def _header_of(line: str, next_line: str) -> str:
    """Return the first row of a table, normalised, if it names columns; empty if it is an entry, as in an infobox.

    A header has three cells, or two above a column that begins with figures, such as "Year | Winner".
    """
    cells = [cell for cell in map(str.strip, _CELL_END.split(line)) if cell]
    if any(cell[0].isdigit() for cell in cells) or len(cells) < MIN_HEADER_CELLS:
        return ""
    is_header = len(cells) > MIN_HEADER_CELLS or next_line[:1].isdigit()
    return normalise_cells(line) if is_header else ""
