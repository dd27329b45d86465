"""Reads what the tools show: result lists, and pages with numbered links, infobox rows, tables and sentences. Pure."""

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
    """A value as it stands on a page."""

    text: str
    url: str = ""
    """Where its link leads, if it is one and its address was shown."""
    linked: bool = False


def results(observation: str) -> list[tuple[str, str]]:
    """(title, URL) of each search result, in rank order."""
    return [(title, url) for title, url in _RESULT.findall(observation)]


def is_titled(shown: str, title: str) -> bool:
    """Whether a page's title is this one, up to case and what the site adds to it."""
    ends = [end.start() for end in _TITLE_END.finditer(shown)]
    return any(_fold(shown[:end]) == _fold(title) for end in [*ends, len(shown)])


def is_namesake(shown: str, title: str) -> bool:
    """Whether a page's title is this one with something in brackets after it."""
    bare, bracket, _ = shown.partition(" (")
    return bool(bracket) and _fold(bare) == _fold(title)


def content(observation: str) -> str:
    """The window of the page in the text of the tool `open`."""
    body = observation.partition("\n\n")[2]
    return body[: found.start()] if (found := _NEXT.search(body)) else body


def next_start(observation: str) -> int | None:
    """Where the page goes on."""
    found = _NEXT.search(observation)
    return int(found[1]) if found else None


def value(page: str, label: str) -> Cell | None:
    """The value of an infobox row: `Label | value`, `Label: value`, on two lines, or `Label value`."""
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
    """What prose says of a label: `founded in 1987`, `The mayor of Brennaford is Ada Holm.`"""
    linking = r"(?:\s+(?:is|was|are|were|in|by|on|of|at|since|the))+\s+"
    named = r"([A-Z\d][^.;,()\n]*?)"
    ends = r"(?=[.;,()\n]|\s(?:and|in|by|who|which)\s|$)"
    for between in (r"(?:\s+of\s+[^.;,()\n]+?\s+(?:is|was)\s+)", linking):
        if found := re.search(rf"\b(?i:{re.escape(label)}){between}{named}{ends}", page, re.MULTILINE):
            return _cell(page, found[1])
    return None


def in_table(page: str, column: str, year: str) -> Cell | None:
    """The cell of a column in the row whose first cell is `year`."""
    for header, rows in tables(page):
        if column in header:
            place = header.index(column)
            for row in rows:
                if row[0] == year and len(row) > place:
                    return _cell(page, row[place])
    stacked = re.search(rf"^[ \t]*{year}[ \t]*(?:\n+[ \t]*|[ \t:]+)(\S.*)$", page, re.MULTILINE)
    return _cell(page, stacked[1]) if stacked else None


def largest(page: str, column: str, year: str) -> Cell | None:
    """The cell of a column in the row with the greatest number in the column that names `year`."""
    for header, rows in tables(page):
        by = next((n for n, cell in enumerate(header) if year in cell), None)
        if column in header and by is not None:
            best = max(rows, key=lambda row: _number(row, by), default=None)
            return _cell(page, best[header.index(column)]) if best else None
    return None


def tables(page: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """(header, rows) of each run of lines with as many cells, marks of links still in them."""
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
    if inline := _INLINE.search(text):
        return Cell(_bare(text), inline[2], True)
    if mark := _MARK.search(text):
        return Cell(_bare(text), dict(_ADDRESS.findall(page)).get(mark[1], ""), True)
    return Cell(_bare(text))


def _bare(text: str) -> str:
    return _MARK.sub("", _INLINE.sub(r"\1", text)).strip().strip("*").strip()


def _number(row: list[str], place: int) -> int:
    digits = re.sub(r"\D", "", row[place]) if len(row) > place else ""
    return int(digits or 0)


def _fold(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
