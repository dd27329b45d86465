"""Parses what the tools print: result lists, pages with numbered links, infobox rows, tables, sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RESULT = re.compile(r"^\d+\. (.*)\n   (https?://\S+)", re.MULTILINE)
_MARK = re.compile(r"\s*[\[【](\d+)(?:[†:][^\]】]*)?[\]】]")
_INLINE = re.compile(r"\[([^\]\n]+)\]\((https?://[^)\s]+)\)")
_ADDRESS = re.compile(r"^\s*[\[【]?(\d+)[\]】]?[.:]?\s+(?:.*\s)?<?(https?://[^\s>]+)>?\s*$", re.MULTILINE)
_CELLS = re.compile(r"\s*\|\s*|\t+|\s{3,}")
_NEXT = re.compile(r"\n\nThe page goes on: open it with start=(\d+)\.\Z")
_TITLE_END = re.compile(r"\s+[-–—|·:]\s+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value found on a page."""

    text: str
    url: str = ""
    """Address of its link; empty if it is not a link or its address was not shown."""
    linked: bool = False
    """True if the value is a link."""


def results(observation: str) -> list[tuple[str, str]]:
    """Return (title, URL) of each search result, in rank order."""
    return [(title, url) for title, url in _RESULT.findall(observation)]


def is_titled(shown: str, title: str) -> bool:
    """True if a page title is `title`, ignoring case and what the site appends."""
    ends = [end.start() for end in _TITLE_END.finditer(shown)]
    return any(_fold(shown[:end]) == _fold(title) for end in [*ends, len(shown)])


def is_namesake(shown: str, title: str) -> bool:
    """True if a page title is `title` followed by something in parentheses."""
    bare, bracket, _ = shown.partition(" (")
    return bool(bracket) and _fold(bare) == _fold(title)


def content(observation: str) -> str:
    """Return the window of the page in the output of the tool `open`."""
    body = observation.partition("\n\n")[2]
    return body[: found.start()] if (found := _NEXT.search(body)) else body


def next_start(observation: str) -> int | None:
    """Return the offset at which the page goes on; None at its end."""
    found = _NEXT.search(observation)
    return int(found[1]) if found else None


def value(page: str, label: str) -> Cell | None:
    """Return the value of an infobox row: `Label | value`, `Label: value`, on two lines, or `Label value`. None if
    absent.
    """
    name = re.escape(label)
    for shape in (
        rf"^[ \t|*]*{name}[ \t*]*(?:\||:|\t|[ ]{{3,}})[ \t|*]*(\S.*?)[ \t|]*$",
        rf"^[ \t]*{name}[ \t]*\n+[ \t]*(\S.*)$",
        rf"^[ \t]*{name} (\S.{{0,60}})$",
    ):
        if found := re.search(shape, page, re.MULTILINE):
            return _cell(page, found[1])
    return None


def in_sentence(page: str, label: str) -> Cell | None:
    """Return the value that prose states for a label (`The mayor of Brennaford is Ada Holm.`); None if absent."""
    linking = r"(?:\s+(?:is|was|are|were|in|by|on|of|at|since|the))+\s+"
    named = r"([A-Z\d][^.;,()\n]*?)"
    ends = r"(?=[.;,()\n]|\s(?:and|in|by|who|which)\s|$)"
    for between in (r"(?:\s+of\s+[^.;,()\n]+?\s+(?:is|was)\s+)", linking):
        if found := re.search(rf"\b(?i:{re.escape(label)}){between}{named}{ends}", page, re.MULTILINE):
            return _cell(page, found[1])
    return None


def in_table(page: str, column: str, year: str) -> Cell | None:
    """Return the cell of a column in the row whose first cell is `year`; None if there is none."""
    for header, rows in tables(page):
        if column in header:
            place = header.index(column)
            for row in rows:
                if row[0] == year and len(row) > place:
                    return _cell(page, row[place])
    # Some pages render a table as one cell per line: the row's first cell, then its value.
    stacked = re.search(rf"^[ \t]*{year}[ \t]*(?:\n+[ \t]*|[ \t:]+)(\S.*)$", page, re.MULTILINE)
    return _cell(page, stacked[1]) if stacked else None


def largest(page: str, column: str, year: str) -> Cell | None:
    """Return the cell of a column in the row with the largest number in the column of `year`; None if absent."""
    for header, rows in tables(page):
        by = next((n for n, cell in enumerate(header) if year in cell), None)
        if column in header and by is not None:
            best = max(rows, key=lambda row: _number(row, by), default=None)
            return _cell(page, best[header.index(column)]) if best else None
    return None


def tables(page: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield (header, rows) of each run of lines with the same number of cells. Link marks are kept in the rows."""
    run: list[list[str]] = []
    for line in [*page.splitlines(), ""]:
        cells = _CELLS.split(line.strip().strip("|").strip())
        if len(cells) > 1 and (not run or len(cells) == len(run[0])):
            run.append(cells)
        else:
            if len(run) > 1:
                yield [_bare(cell) for cell in run[0]], run[1:]
            run = [cells] if len(cells) > 1 else []


def _cell(page: str, text: str) -> Cell:
    """Return a cell, with its address if it is a link."""
    if inline := _INLINE.search(text):
        return Cell(_bare(text), inline[2], True)
    if mark := _MARK.search(text):
        return Cell(_bare(text), dict(_ADDRESS.findall(page)).get(mark[1], ""), True)
    return Cell(_bare(text))


def _bare(text: str) -> str:
    """Return a cell's text without links, marks and emphasis."""
    return _MARK.sub("", _INLINE.sub(r"\1", text)).strip().strip("*").strip()


def _number(row: list[str], place: int) -> int:
    """Return the digits of a cell as a number; 0 if it has none."""
    digits = re.sub(r"\D", "", row[place]) if len(row) > place else ""
    return int(digits or 0)


def _fold(text: str) -> str:
    """Return the words of a text, case-folded."""
    return " ".join(re.findall(r"\w+", text.casefold()))
