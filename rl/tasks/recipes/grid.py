"""Tables and lists of a document as data: what is laid out, leads elsewhere or is code is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

MOST_ROWS, MOST_CELL = 200, 200
_LAYOUT = re.compile(
    r"nav|menu|layout|toc|calendar|highlight|code|sidebar|diff|rouge|lineno|pager|footer|header|member|memitem|params"
    r"|directory|fieldtable|mlabels|index|messagebox|ambox|hidden|admon|footnote|contents|alignedsummary|citation|reference",
    re.IGNORECASE,
)
_NOT_DATA = "ul,ol,pre,form,input,select,button,textarea,iframe,h1,h2,h3,h4"
_BREAKS = frozenset(("br", "p", "div", "li"))
_SECTION = "h1,h2,h3,h4,h5,h6,table,dl"


@dataclass(frozen=True, slots=True)
class Pairs:
    """A box of keys and values about one thing."""

    rows: tuple[tuple[str, str], ...]
    name: str
    """Caption or heading; empty if it has none."""
    boxed: bool
    """A table with its keys as row headings, such as an infobox; else a list of terms."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with a heading for every column; the first column names the rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str
    captioned: bool


def read(tree: LexborHTMLParser, drop: Callable[[str], None]) -> Iterator[Pairs | Grid]:
    """In the order of the document; told is why others are none."""
    heading = ""
    for node in tree.css(_SECTION):
        if node.tag not in ("table", "dl"):
            heading = text_of(node)
        elif isinstance(found := _table(node, heading) if node.tag == "table" else _list(node, heading), str):
            drop(found)
        else:
            yield found


def text_of(node: LexborNode) -> str:
    """What a cell or heading shows, in one line."""
    parts = [
        child.text_content if child.tag == "-text" else " " if child.tag in _BREAKS else ""
        for child in node.traverse(include_text=True)
    ]
    return " ".join("".join(part or "" for part in parts).split()).rstrip("¶§ ")


def _table(node: LexborNode, heading: str) -> Pairs | Grid | str:
    attributes = node.attributes
    marks = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if _LAYOUT.search(marks) or attributes.get("role") in ("presentation", "none") or _is_nested(node):
        return "table of layout or navigation"
    rows = node.css("tr")
    if not 2 <= len(rows) <= MOST_ROWS or node.css_first(_NOT_DATA) is not None:
        return "table of one row, of very many, or of controls"
    caption = node.css_first("caption")
    cells = [[cell for cell in row.iter() if cell.tag in ("th", "td")] for row in rows]
    name = text_of(caption) if caption else heading
    if any(_spans(cell, "rowspan") for row in cells for cell in row):
        return "table of irregular rows"
    return _pairs(cells, name) or _grid(cells, name, caption is not None) or "table of irregular rows"


def _pairs(cells: list[list[LexborNode]], name: str) -> Pairs | None:
    two = [row for row in cells if len(row) == 2]
    if len(two) < 2 or len(two) < len([row for row in cells if len(row) > 1]):
        return None
    if any(key.tag != "th" or value.tag != "td" for key, value in two):
        return None
    return Pairs(tuple((text_of(key), text_of(value)) for key, value in two), name, True)


def _grid(cells: list[list[LexborNode]], name: str, captioned: bool) -> Grid | None:
    head, *body = cells
    width = len(head)
    if width < 2 or len(body) < 2 or any(cell.tag != "th" for cell in head):
        return None
    if any(len(row) != width or any(_spans(cell, "colspan") for cell in row) for row in cells):
        return None
    columns = tuple(map(text_of, head))
    rows = tuple(tuple(map(text_of, row)) for row in body)
    if len({*columns}) < width or not all(columns) or len({row[0].lower() for row in rows}) < len(rows):
        return None
    return Grid(columns, rows, name, captioned) if all(len(cell) <= MOST_CELL for row in rows for cell in row) else None


def _list(node: LexborNode, heading: str) -> Pairs | str:
    """A list whose every term has one description of its own."""
    if _LAYOUT.search(node.attributes.get("class") or "") or _is_nested(node):
        return "list of layout or navigation"
    children = list(node.iter())
    in_turn = all(child.tag == ("dd" if place % 2 else "dt") for place, child in enumerate(children))
    if not in_turn or len(children) % 2 or len(children) < 4 or node.css_first(_NOT_DATA) is not None:
        return "list of irregular terms"
    texts = [text_of(child) for child in children]
    return Pairs(tuple(zip(texts[::2], texts[1::2], strict=True)), heading, False)


def _is_nested(node: LexborNode) -> bool:
    """Whether it holds another, or stands in one, in a list or in code."""
    if len(node.css("table,dl")) > 1:  # the first is the node itself
        return True
    parent = node.parent
    while parent is not None and parent.tag not in ("table", "dl", "li", "pre"):
        parent = parent.parent
    return parent is not None


def _spans(cell: LexborNode, name: str) -> bool:
    return (cell.attributes.get(name) or "1").strip() not in ("0", "1")
