"""Tables and definition lists of a document as data. Those used for layout, navigation or code are skipped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

MAX_ROWS, MAX_CELL_CHARACTERS = 200, 200
"""Largest number of rows of a table, and of characters in a cell."""
# Class names and ids of tables that arrange things instead of stating them.
_LAYOUT = re.compile(
    r"nav|menu|layout|toc|calendar|highlight|code|sidebar|diff|rouge|lineno|pager|footer|header|member|memitem|params"
    r"|directory|fieldtable|mlabels|index|messagebox|ambox|hidden|admon|footnote|contents|alignedsummary|citation|reference",
    re.IGNORECASE,
)
# A table or list with one of these inside arranges things, too.
_NOT_DATA = "ul,ol,pre,form,input,select,button,textarea,iframe,h1,h2,h3,h4"
_BREAKS = frozenset(("br", "p", "div", "li"))
"""Elements that separate words like a line break."""
_SECTION = "h1,h2,h3,h4,h5,h6,table,dl"


@dataclass(frozen=True, slots=True)
class KeyValuePairs:
    """Keys and values about one thing."""

    rows: tuple[tuple[str, str], ...]
    """(key, value) pairs."""
    is_table: bool
    """True for a table whose keys are row headings, such as an infobox; False for a list of terms."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table with a heading for each column. Its first column names the rows."""

    columns: tuple[str, ...]
    """Distinct headings of the columns."""
    rows: tuple[tuple[str, ...], ...]
    """Cells of each row, as many as there are columns."""
    name: str
    """The caption, or else the heading above the table; empty if it has neither."""
    has_caption: bool
    """True if the name is the table's caption."""


def read_tables(tree: LexborHTMLParser, drop: Callable[[str], None]) -> Iterator[KeyValuePairs | DataTable]:
    """Yield the tables and lists in document order. `drop` is called with the reason for each one that is skipped."""
    heading = ""
    for node in tree.css(_SECTION):
        if node.tag not in ("table", "dl"):
            heading = visible_text(node)
        elif isinstance(block := _parse_table(node, heading) if node.tag == "table" else _parse_list(node), str):
            drop(block)
        else:
            yield block


def visible_text(node: LexborNode) -> str:
    """Return the visible text of a cell or heading, on one line."""
    parts = [
        child.text_content if child.tag == "-text" else " " if child.tag in _BREAKS else ""
        for child in node.traverse(include_text=True)
    ]
    return " ".join("".join(part or "" for part in parts).split()).rstrip("¶§ ")


def _parse_table(node: LexborNode, heading: str) -> KeyValuePairs | DataTable | str:
    """Return the data of a table, or the reason why it has none."""
    attributes = node.attributes
    identifiers = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if _LAYOUT.search(identifiers) or attributes.get("role") in ("presentation", "none") or _is_nested(node):
        return "table of layout or navigation"
    rows = node.css("tr")
    if not 2 <= len(rows) <= MAX_ROWS or node.css_first(_NOT_DATA) is not None:
        return "table of one row, of very many, or of controls"
    caption = node.css_first("caption")
    cells = [[cell for cell in row.iter() if cell.tag in ("th", "td")] for row in rows]
    # With cells over several rows, positions no longer tell columns.
    if any(_spans_cells(cell, "rowspan") for row in cells for cell in row):
        return "table of irregular rows"
    name = visible_text(caption) if caption else heading
    return _parse_pairs(cells) or _parse_grid(cells, name, caption is not None) or "table of irregular rows"


def _parse_pairs(cells: list[list[LexborNode]]) -> KeyValuePairs | None:
    """Return the keys and values, if most rows with several cells are a heading with one cell; None otherwise."""
    pair_rows = [row for row in cells if len(row) == 2]
    if len(pair_rows) < 2 or len(pair_rows) < len([row for row in cells if len(row) > 1]):
        return None
    if any(key.tag != "th" or value.tag != "td" for key, value in pair_rows):
        return None
    return KeyValuePairs(tuple((visible_text(key), visible_text(value)) for key, value in pair_rows), True)


def _parse_grid(cells: list[list[LexborNode]], name: str, has_caption: bool) -> DataTable | None:
    """Return the table, if its columns have distinct headings and its rows distinct first cells; None otherwise."""
    headings, *body_rows = cells
    width = len(headings)
    if width < 2 or len(body_rows) < 2 or any(cell.tag != "th" for cell in headings):
        return None
    if any(len(row) != width or any(_spans_cells(cell, "colspan") for cell in row) for row in cells):
        return None
    columns = tuple(map(visible_text, headings))
    rows = tuple(tuple(map(visible_text, row)) for row in body_rows)
    if len({*columns}) < width or not all(columns) or len({row[0].lower() for row in rows}) < len(rows):
        return None
    return (
        DataTable(columns, rows, name, has_caption)
        if all(len(cell) <= MAX_CELL_CHARACTERS for row in rows for cell in row)
        else None
    )


def _parse_list(node: LexborNode) -> KeyValuePairs | str:
    """Return the keys and values of a list, or the reason why it has none. Each term must have a description of its
    own.
    """
    if _LAYOUT.search(node.attributes.get("class") or "") or _is_nested(node):
        return "list of layout or navigation"
    children = list(node.iter())
    # Several descriptions per term, or several terms per description, have no single answer.
    alternates = all(child.tag == ("dd" if position % 2 else "dt") for position, child in enumerate(children))
    if not alternates or len(children) % 2 or len(children) < 4 or node.css_first(_NOT_DATA) is not None:
        return "list of irregular terms"
    texts = [visible_text(child) for child in children]
    return KeyValuePairs(tuple(zip(texts[::2], texts[1::2], strict=True)), False)


def _is_nested(node: LexborNode) -> bool:
    """True if the table or list contains another, or is inside another, a list item or code."""
    if len(node.css("table,dl")) > 1:  # the first is the node itself
        return True
    parent = node.parent
    while parent is not None and parent.tag not in ("table", "dl", "li", "pre"):
        parent = parent.parent
    return parent is not None


def _spans_cells(cell: LexborNode, name: str) -> bool:
    """True if the cell covers several rows or columns (`rowspan`, `colspan`)."""
    return (cell.attributes.get(name) or "1").strip() not in ("0", "1")
