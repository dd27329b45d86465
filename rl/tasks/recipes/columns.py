"""What follows from a column of a table: the largest, the smallest, the sum, how many."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from webemu.rl.tasks.recipes import grid, values
from webemu.rl.tasks.recipes.parsed_page import PAGE, Fact, Reading
from webemu.rl.tasks.recipes.rows import label_trouble, place

FEWEST, MOST, MOST_SUMMED = 4, 60, 12
_CELL = re.compile(rf"[$€£~+]?\s?({values.NUMBER})\s?([^\d\s]\S{{0,8}})?")
_NO_AMOUNT = re.compile(
    r"^(?:#|no\.?|nr\.?|id|index|rank|row|line|page|code|port|number|key|value|values|version|bit|bits|offset|opcode"
    r"|position|level|priority|default|type|hex|decimal|ascii|year|date|step|section|room|rfc|bug|issue|name|description)$",
    re.IGNORECASE,
)
_NOT_SUMMED = re.compile(
    r"average|avg|mean|median|rate|ratio|percent|%|share|year|temp|speed|density|age|version|min|max|rank|score"
    r"|difference|change|std|error|probability|per |/|elevation|height",
    re.IGNORECASE,
)


def operations(reading: Reading) -> Iterator[Fact]:
    """For each column of numbers, and for each that says one thing of several rows."""
    found = [one for one in grid.read(reading.tree, reading.drop) if isinstance(one, grid.Grid)]
    for one in found:
        where = place(one, found)
        if not FEWEST <= len(one.rows) <= MOST or not where or label_trouble(one.columns[0]):
            reading.drop("too few or many rows" if where else "which table")
            continue
        if re.search(r"\b(?:total|sum|all|average|mean)\b", " ".join(row[0] for row in one.rows), re.IGNORECASE):
            reading.drop("table with a total")
            continue
        for number in range(1, len(one.columns)):
            if label_trouble(one.columns[number]) or _NO_AMOUNT.match(one.columns[number]):
                reading.drop("column is no amount")
            else:
                yield from _of_column(reading, one, number, where)


def _of_column(reading: Reading, one: grid.Grid, number: int, where: str) -> Iterator[Fact]:
    lines = [reading.row(row[0], row[number]) for row in one.rows]
    amounts = _amounts([row[number] for row in one.rows])
    if not all(lines):
        reading.drop("row not in text")
        return
    if amounts is None:
        yield from _counted(reading, one, number, where, lines)
        return
    column = f'"{one.columns[number]}"'
    for word, best in (("largest", max(amounts)), ("smallest", min(amounts))):
        row = amounts.index(best)
        if amounts.count(best) == 1 and values.is_name(one.rows[row][0]):
            ask = f'In {where} {PAGE}, which entry in the column "{one.columns[0]}" has the {word} value of {column}?'
            yield Fact(ask, (one.rows[row][0],), "name", lines[row], one.rows[row][0])
        else:
            reading.drop("no single best")
    if len(amounts) > MOST_SUMMED or _NOT_SUMMED.search(one.columns[number]) or _is_series(one):
        reading.drop("no sum")
    else:
        yield _sum(one, number, where, lines, sum(amounts, Decimal(0)))


def _sum(one: grid.Grid, number: int, where: str, lines: list[str], total: Decimal) -> Fact:
    cells = [found for row in one.rows if (found := _CELL.fullmatch(row[number]))]
    stands = [(line, cell[1]) for line, cell in zip(lines, cells, strict=True)]
    answers = values.numbers(f"{total:f}")
    answers += tuple(f"{answer} {unit}" for answer in answers if (unit := cells[0][2]))
    ask = f'In {where} {PAGE}, what do the {len(lines)} values of the column "{one.columns[number]}" add up to?'
    return Fact(ask, answers, "number", *stands[0], tuple(stands[1:]), computed=True)


def _is_series(one: grid.Grid) -> bool:
    """Whether the rows are years or places in an order, which are not added."""
    return all(row[0].isdigit() for row in one.rows)


def _amounts(cells: list[str]) -> list[Decimal] | None:
    """The numbers of a column if all are of one unit and several differ."""
    found = [_CELL.fullmatch(cell) for cell in cells]
    if not all(found) or len({one[2] for one in found if one}) > 1:
        return None
    amounts = [values.decimal(one[1]) for one in found if one]
    return amounts if len({*amounts}) >= 3 else None


def _counted(reading: Reading, one: grid.Grid, number: int, where: str, lines: list[str]) -> Iterator[Fact]:
    """How many rows say the same."""
    held = Counter(row[number] for row in one.rows)
    said = [value for value, count in held.items() if 2 <= count < len(one.rows) and _is_category(value)]
    if not said or len(held) > len(one.rows) // 2:
        reading.drop("no numbers and no categories")
        return
    value = random.Random(reading.page.url).choice(said)
    stands = [(line, value) for line, row in zip(lines, one.rows, strict=True) if row[number] == value]
    ask = f'In {where} {PAGE}, how many rows have "{value}" in the column "{one.columns[number]}"?'
    yield Fact(ask, (str(len(stands)),), "number", *stands[0], tuple(stands[1:]), computed=True)


def _is_category(value: str) -> bool:
    return values.is_name(value) or value.lower() in ("yes", "no")
