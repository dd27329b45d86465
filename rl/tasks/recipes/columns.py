"""Facts computed from a table's column: the largest and smallest value, and the sum."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from webemu.rl.tasks.recipes import english, grid, values
from webemu.rl.tasks.recipes.parsed_page import PageFact, ParsedPage
from webemu.rl.tasks.recipes.rows import describe_table, label_rejection_reason

MIN_ROWS, MAX_ROWS, MAX_SUMMED_VALUES = 4, 60, 12
"""Smallest and largest number of rows of a table, and largest number of values to add up."""
_AMOUNT_CELL = re.compile(rf"[$€£~+]?\s?({values.NUMBER})\s?([^\d\s]\S{{0,8}})?")
# Headings of columns whose numbers are names or positions: "largest" means nothing there.
_NOT_AMOUNTS = re.compile(
    r".*\bversion$|^(?:#|no\.?|nr\.?|id|index|rank|row|line|page|code|port|number|key|value|values|version|bit|bits|offset|opcode"
    r"|position|level|priority|default|type|hex|decimal|ascii|year|date|step|section|room|rfc|bug|issue|name|description)$",
    re.IGNORECASE,
)
# Headings of amounts whose sum means nothing.
_NOT_SUMMED = re.compile(
    r"average|avg|mean|median|rate|ratio|percent|%|share|year|temp|speed|density|age|version|min|max|rank|score"
    r"|difference|change|std|error|probability|per |/|elevation|height",
    re.IGNORECASE,
)


def find_column_facts(parsed: ParsedPage) -> Iterator[PageFact]:
    """Yield facts about each column of numbers."""
    tables = [table for table in grid.read_tables(parsed.tree, parsed.skip) if isinstance(table, grid.DataTable)]
    for table in tables:
        table_phrase = describe_table(table, tables)
        if not MIN_ROWS <= len(table.rows) <= MAX_ROWS or not table_phrase or label_rejection_reason(table.columns[0]):
            parsed.skip("too few or many rows" if table_phrase else "which table")
            continue
        # The row of the total would be the largest one, and would be added twice.
        if re.search(r"\b(?:total|sum|all|average|mean)\b", " ".join(row[0] for row in table.rows), re.IGNORECASE):
            parsed.skip("table with a total")
            continue
        for column_index in range(1, len(table.columns)):
            if label_rejection_reason(table.columns[column_index]) or _NOT_AMOUNTS.match(table.columns[column_index]):
                parsed.skip("column is no amount")
            else:
                yield from _column_facts(parsed, table, column_index)


def _column_facts(parsed: ParsedPage, table: grid.DataTable, column_index: int) -> Iterator[PageFact]:
    """Yield the facts of one column: extremes and sum."""
    lines = [parsed.find_row(row_index[0], row_index[column_index]) for row_index in table.rows]
    amounts = _amounts([row_index[column_index] for row_index in table.rows])
    if not all(lines):
        parsed.skip("row not in text")
        return
    if amounts is None:
        parsed.skip("no numbers")
        return
    for word, extreme in (("largest", max(amounts)), ("smallest", min(amounts))):
        row_index = amounts.index(extreme)
        # A tie has no single answer.
        if amounts.count(extreme) == 1 and values.is_name(table.rows[row_index][0]):
            question = (
                f"Of the {_rows_of(table)} {_context(parsed, table)}, "
                f"which has the {_extreme(word, table.columns[column_index])}?"
            )
            yield PageFact(question, (table.rows[row_index][0],), "name", lines[row_index], table.rows[row_index][0])
        else:
            parsed.skip("no single best")
    if len(amounts) > MAX_SUMMED_VALUES or not _can_be_summed(table.columns[column_index]) or _is_series(table):
        parsed.skip("no sum")
    else:
        yield _sum_fact(parsed, table, column_index, lines, sum(amounts, Decimal(0)))


def _sum_fact(
    parsed: ParsedPage, table: grid.DataTable, column_index: int, lines: list[str], total: Decimal
) -> PageFact:
    """Return the question for the sum, with every row of the column as a quote."""
    cells = [match for row in table.rows if (match := _AMOUNT_CELL.fullmatch(row[column_index]))]
    quotes = [(line, cell[1]) for line, cell in zip(lines, cells, strict=True)]
    answers = values.number_spellings(f"{total:f}")
    answers += tuple(f"{answer} {unit}" for answer in answers if (unit := cells[0][2]))
    thing = _lower(table.columns[column_index])
    start = f"How many {thing} are there in all" if thing.endswith("s") else f"What is the total {thing} of all"
    question = f"{start}{' for the' * thing.endswith('s')} {len(lines)} {_rows_of(table)} {_context(parsed, table)}?"
    return PageFact(question, answers, "number", *quotes[0], tuple(quotes[1:]), is_computed=True)


def _extreme(word: str, column: str) -> str:
    """Return "most looms" or "fewest looms" for a column in the plural, "largest height" for another."""
    noun = _lower(column)
    plain = {"largest": "most", "smallest": "fewest"}
    return f"{plain[word] if noun.endswith('s') and not noun.endswith('ss') else word} {noun}"


def _can_be_summed(heading: str) -> bool:
    """True if a column counts things or money, so that somebody may want the total."""
    counts = heading.endswith("s") or re.search(
        r"\b(?:number|count|population|cost|price|amount|total)\b", heading, re.I
    )
    return bool(counts) and not _NOT_SUMMED.search(heading)


def _lower(heading: str) -> str:
    """Return a heading as words inside a sentence; acronyms and names in camel case stay."""
    return " ".join(map(english.lower_first, heading.split()))


def _rows_of(table: grid.DataTable) -> str:
    """Return a noun for the rows: the heading of the first column in the plural."""
    return english.plural(_lower(table.columns[0]))


def _context(parsed: ParsedPage, table: grid.DataTable) -> str:
    """Return words that say which table is meant: its caption or heading, else what the page is about."""
    return f'listed under "{(table.name or parsed.short_title).rstrip(".:")}"'


def _is_series(table: grid.DataTable) -> bool:
    """True if the first cells are all numbers, such as years or ranks; such rows are not added up."""
    return all(row[0].isdigit() for row in table.rows)


def _amounts(cells: list[str]) -> list[Decimal] | None:
    """Return the numbers of a column; None unless all cells are numbers of one unit and at least three differ."""
    matches = [_AMOUNT_CELL.fullmatch(cell) for cell in cells]
    if not all(matches) or len({one[2] for one in matches if one}) > 1:
        return None
    amounts = [values.parse_decimal(one[1]) for one in matches if one]
    return amounts if len({*amounts}) >= 3 else None
