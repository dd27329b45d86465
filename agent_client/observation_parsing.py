"""Parses what the tools print: result lists, pages with numbered links, infobox rows, tables, sentences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RESULT = re.compile(r"^\d+\. (.*)\n   (https?://\S+)", re.MULTILINE)
_LINK_MARK = re.compile(r"\s*[\[【](\d+)(?:[†:][^\]】]*)?[\]】]")
_INLINE_LINK = re.compile(r"\[([^\]\n]+)\]\((https?://[^)\s]+)\)")
_LINK_ADDRESS = re.compile(r"^\s*[\[【]?(\d+)[\]】]?[.:]?\s+(?:.*\s)?<?(https?://[^\s>]+)>?\s*$", re.MULTILINE)
_CELLS = re.compile(r"\s*\|\s*|\t+|\s{3,}")
_NEXT_START = re.compile(r"\n\nThe page goes on: open it with start=(\d+)\.\Z")
_TITLE_END = re.compile(r"\s+[-–—|·:]\s+")


@dataclass(frozen=True, slots=True)
class Cell:
    """A value found on a page."""

    text: str
    url: str = ""
    """Address of its link; empty if it is not a link or its address was not shown."""
    is_link: bool = False
    """True if the value is a link."""


def parse_results(observation: str) -> list[tuple[str, str]]:
    """Return (title, URL) of each search result, in rank order."""
    return [(title, url) for title, url in _RESULT.findall(observation)]


def has_title(page_title: str, title: str) -> bool:
    """True if a page title is `title`, ignoring case and what the site appends."""
    ends = [end.start() for end in _TITLE_END.finditer(page_title)]
    return any(_fold_text(page_title[:end]) == _fold_text(title) for end in [*ends, len(page_title)])


def is_namesake(page_title: str, title: str) -> bool:
    """True if a page title is `title` followed by something in parentheses."""
    base_title, bracket, _ = page_title.partition(" (")
    return bool(bracket) and _fold_text(base_title) == _fold_text(title)


def parse_window(observation: str) -> str:
    """Return the window of the page in the output of the tool `open`."""
    body = observation.partition("\n\n")[2]
    return body[: match.start()] if (match := _NEXT_START.search(body)) else body


def parse_next_start(observation: str) -> int | None:
    """Return the offset at which the page goes on; None at its end."""
    match = _NEXT_START.search(observation)
    return int(match[1]) if match else None


def find_infobox_value(page: str, label: str) -> Cell | None:
    """Return the value of an infobox row: `Label | value`, `Label: value`, on two lines, or `Label value`. None if
    absent.
    """
    name = re.escape(label)
    for shape in (
        rf"^[ \t|*]*{name}[ \t*]*(?:\||:|\t|[ ]{{3,}})[ \t|*]*(\S.*?)[ \t|]*$",
        rf"^[ \t]*{name}[ \t]*\n+[ \t]*(\S.*)$",
        rf"^[ \t]*{name} (\S.{{0,60}})$",
    ):
        if match := re.search(shape, page, re.MULTILINE):
            return _make_cell(page, match[1])
    return None


def find_in_sentence(page: str, label: str) -> Cell | None:
    """Return the value that prose states for a label (`The mayor of Brennaford is Ada Holm.`); None if absent."""
    linking = r"(?:\s+(?:is|was|are|were|in|by|on|of|at|since|the))+\s+"
    name_pattern = r"([A-Z\d][^.;,()\n]*?)"
    ends = r"(?=[.;,()\n]|\s(?:and|in|by|who|which)\s|$)"
    for between in (r"(?:\s+of\s+[^.;,()\n]+?\s+(?:is|was)\s+)", linking):
        if match := re.search(rf"\b(?i:{re.escape(label)}){between}{name_pattern}{ends}", page, re.MULTILINE):
            return _make_cell(page, match[1])
    return None


def find_in_table(page: str, column: str, year: str) -> Cell | None:
    """Return the cell of a column in the row whose first cell is `year`; None if there is none."""
    for header, rows in parse_tables(page):
        if column in header:
            index = header.index(column)
            for row in rows:
                if row[0] == year and len(row) > index:
                    return _make_cell(page, row[index])
    # Some pages render a table as one cell per line: the row's first cell, then its value.
    stacked = re.search(rf"^[ \t]*{year}[ \t]*(?:\n+[ \t]*|[ \t:]+)(\S.*)$", page, re.MULTILINE)
    return _make_cell(page, stacked[1]) if stacked else None


def find_largest(page: str, column: str, year: str) -> Cell | None:
    """Return the cell of a column in the row with the largest number in the column of `year`; None if absent."""
    for header, rows in parse_tables(page):
        compared_column = next((n for n, cell in enumerate(header) if year in cell), None)
        if column in header and compared_column is not None:
            best = max(rows, key=lambda row: _cell_number(row, compared_column), default=None)
            return _make_cell(page, best[header.index(column)]) if best else None
    return None


def parse_tables(page: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield (header, rows) of each run of lines with the same number of cells. Link marks are kept in the rows."""
    run: list[list[str]] = []
    for line in [*page.splitlines(), ""]:
        cells = _CELLS.split(line.strip().strip("|").strip())
        if len(cells) > 1 and (not run or len(cells) == len(run[0])):
            run.append(cells)
        else:
            if len(run) > 1:
                yield [_strip_marks(cell) for cell in run[0]], run[1:]
            run = [cells] if len(cells) > 1 else []


def _make_cell(page: str, text: str) -> Cell:
    """Return a cell, with its address if it is a link."""
    if inline := _INLINE_LINK.search(text):
        return Cell(_strip_marks(text), inline[2], True)
    if mark := _LINK_MARK.search(text):
        return Cell(_strip_marks(text), dict(_LINK_ADDRESS.findall(page)).get(mark[1], ""), True)
    return Cell(_strip_marks(text))


def _strip_marks(text: str) -> str:
    """Return a cell's text without links, marks and emphasis."""
    return _LINK_MARK.sub("", _INLINE_LINK.sub(r"\1", text)).strip().strip("*").strip()


def _cell_number(row: list[str], index: int) -> int:
    """Return the digits of a cell as a number; 0 if it has none."""
    digits = re.sub(r"\D", "", row[index]) if len(row) > index else ""
    return int(digits or 0)


def _fold_text(text: str) -> str:
    """Return the words of a text, case-folded."""
    return " ".join(re.findall(r"\w+", text.casefold()))
