"""Statements of a report in Markdown: every visible sentence, heading, caption and table row, with what it cites.

A mark at the end of a paragraph covers its sentences that have none. A line with nothing but a source covers the block
above it. Headings and captions are covered by what their section cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token as MarkdownToken

from webemu.rl.reports.citations import MARK, ids_of, strip_marks
from webemu.rl.reports.sentences import split_sentences

MAX_STATEMENTS = 400
"""Statements of a report that are read. A report with more supports nothing."""
_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_STRUCK_OPEN, _STRUCK_CLOSE = "\ue010", "\ue011"
_BOLD_LINE = re.compile(r"(?:\*\*[^*\n]+\*\*|__[^_\n]+__):?")
_CAPTION = re.compile(r"\W{0,3}(?:figure|fig\.?|table|image|photo|chart|map)\s*\d{0,3}\s*[:.–-]", re.IGNORECASE)
_CAPTION_HEAD = re.compile(r"\W{0,3}(?:figure|fig\.?|table|image|photo|chart|map)\s*\d{0,3}\s*[:.–-]\s*", re.IGNORECASE)
_SOURCE_LINE = re.compile(r"[\s\W]*(?:(?:source|sources|references?|see|via|citations?|ref)[\s\W]*)?", re.IGNORECASE)
_NAMED_SOURCE = re.compile(r"\W*(?:sources?|references?|see)(?: for [\w ]{1,30})?\s*:(?:\W*\w+){0,6}\W*", re.IGNORECASE)
_SOURCE_HEADER = re.compile(r"\W*(?:sources?|references?|refs?|citations?|cited|links?|url|#|no\.?)\W*", re.IGNORECASE)
StatementKind = Literal["sentence", "heading", "row", "source"]
BlockKind = Literal["heading", "paragraph", "item", "table"]


@dataclass(frozen=True, slots=True)
class Statement:
    """Sentence, heading or table row of a report."""

    text: str
    """Text with its marks."""
    kind: StatementKind = "sentence"
    cells: tuple[str, ...] = ()
    """Claims of a table row, one for each cell: the first cell, the header and the cell."""
    ids: tuple[str, ...] = ()
    """Sources that it cites, itself or by its block."""
    section: str = ""
    """Heading, label or parent item above it."""
    is_struck: bool = False
    """True if the text is struck through."""
    ends_with_colon: bool = False

    @property
    def plain(self) -> str:
        """Text without marks."""
        return strip_marks(self.text)


@dataclass(frozen=True, slots=True)
class Block:
    """Statements of a heading, paragraph, list item or table."""

    kind: BlockKind
    statements: tuple[Statement, ...]
    level: int = 0
    """Level of a heading; 7 for a line in bold, 8 for a caption."""
    is_lead: bool = False
    """True if it ends with a colon and so opens what follows."""


@lru_cache(64)
def parse_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a report with marks, in order, with sources handed down."""
    blocks = list(_read_blocks(_PARSER.parse(text)))
    blocks = [_cover_sentences(block) for block in blocks]
    blocks = _cover_blocks(blocks)
    return tuple(_cover_headings(blocks))


def _read_blocks(tokens: Sequence[MarkdownToken]) -> Iterator[Block]:
    """Yield the blocks of parsed Markdown; headings and parent items become the sections of what follows."""
    section, parents, position = "", list[str](), 0
    while position < len(tokens):
        token = tokens[position]
        if token.type == "list_item_open":
            parents.append("")
        elif token.type == "list_item_close":
            parents.pop()
        elif token.type == "table_open":
            end = next(n for n in range(position, len(tokens)) if tokens[n].type == "table_close")
            yield _read_table(tokens[position:end], section)
            position = end
        elif token.type in ("fence", "code_block"):
            yield _paragraph(token.content, section, "paragraph")
        elif token.type == "inline":
            opener = tokens[position - 1]
            above = next((parent for parent in reversed(parents[:-1]) if parent), "") or section
            for block in _read_inline(token, opener, above, bool(parents)):
                if block.kind == "heading" and block.level < 8:
                    section = block.statements[0].plain if block.statements else section
                yield block
                if parents and not parents[-1] and block.statements:
                    parents[-1] = block.statements[0].plain
        position += 1


def _read_inline(token: MarkdownToken, opener: MarkdownToken, section: str, is_item: bool) -> Iterator[Block]:
    """Yield the blocks of a run of text: lines in bold and captions are blocks of their own."""
    text = _render(token)
    if opener.type == "heading_open":
        yield Block("heading", (Statement(text, "heading"),), int(opener.tag[1:]))
        return
    raw_lines, lines = token.content.split("\n"), text.split("\n")
    if len(raw_lines) != len(lines):
        raw_lines = lines
    open_lines = list[str]()
    for raw, line in zip(raw_lines, lines, strict=True):
        is_bold, is_caption = bool(_BOLD_LINE.fullmatch(raw.strip())), bool(_CAPTION.match(line))
        if not is_bold and not is_caption:
            open_lines.append(line)
            continue
        yield from _flush(open_lines, section, is_item)
        section = line if is_bold else section
        yield Block(
            "heading", (Statement(_CAPTION_HEAD.sub("", line) if is_caption else line, "heading"),), 7 + is_caption
        )
    yield from _flush(open_lines, section, is_item)


def _flush(lines: list[str], section: str, is_item: bool) -> Iterator[Block]:
    if any(line.strip() for line in lines):
        yield _paragraph("\n".join(lines), section, "item" if is_item else "paragraph")
    lines.clear()


def _paragraph(text: str, section: str, kind: BlockKind) -> Block:
    statements = list[Statement]()
    depth = 0
    for sentence in split_sentences(text):
        is_struck = depth > 0 or _STRUCK_OPEN in sentence
        depth += sentence.count(_STRUCK_OPEN) - sentence.count(_STRUCK_CLOSE)
        plain = sentence.replace(_STRUCK_OPEN, "").replace(_STRUCK_CLOSE, "")
        statements.append(Statement(plain, section=section, ids=tuple(ids_of(plain)), is_struck=is_struck))
    return Block(kind, tuple(statements), is_lead=strip_marks(text).rstrip(" *_").endswith(":"))


def _render(token: MarkdownToken) -> str:
    """Return the text of inline Markdown, without its signs."""
    pieces = list[str]()
    for child in token.children or []:
        if child.type in ("softbreak", "hardbreak"):
            pieces.append("\n")
        elif child.type in ("s_open", "s_close"):
            pieces.append(_STRUCK_OPEN if child.type == "s_open" else _STRUCK_CLOSE)
        else:
            pieces.append(child.content)
    return "".join(pieces)


def _read_table(tokens: Sequence[MarkdownToken], section: str) -> Block:
    """Return a table with one statement for each row, the header included if it says more than names of columns."""
    rows = list[list[str]]()
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_render(token).replace("\n", " "))
    header, body = rows[0], rows[1:]
    return Block("table", (_header_row(header), *(_row(header, row, section) for row in body)))


def _header_row(header: Sequence[str]) -> Statement:
    return Statement(" | ".join(header), "heading")


def _row(header: Sequence[str], row: Sequence[str], section: str) -> Statement:
    """Return the statement of a row: each cell with the row's first cell and the column's header."""
    is_struck = any(_STRUCK_OPEN in cell for cell in row)
    columns = [
        (head.strip(), cell.replace(_STRUCK_OPEN, "").replace(_STRUCK_CLOSE, "").strip())
        for head, cell in zip(header, row, strict=False)
    ]
    text = " | ".join(cell for _, cell in columns)
    facts = [
        (head, cell)
        for head, cell in columns
        if strip_marks(cell).strip()
        and not (_SOURCE_HEADER.fullmatch(head) and _SOURCE_LINE.fullmatch(strip_marks(cell)))
    ]
    first = strip_marks(facts[0][1]) if facts else ""
    cells = tuple(f"{first} ; {head} : {strip_marks(cell)}" for head, cell in facts[1:]) or (first,)
    return Statement(text, "row", cells, tuple(ids_of(text)), section, is_struck)


def _is_source_line(statement: Statement) -> bool:
    """True if there is nothing but sources in it."""
    if not MARK.search(statement.text):
        return False
    return bool(_SOURCE_LINE.fullmatch(statement.plain) or _NAMED_SOURCE.fullmatch(statement.plain))


def _cover_sentences(block: Block) -> Block:
    """Return the block with the sources of its end on its sentences that cite none."""
    if block.kind in ("heading", "table") or not block.statements:
        return block
    ids = block.statements[-1].ids
    return replace(
        block,
        statements=tuple(replace(one, ids=one.ids or ids) for one in block.statements if not _is_source_line(one))
        if not all(map(_is_source_line, block.statements))
        else block.statements,
    )


def _cover_blocks(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with the sources of a lead-in above, or of a line of sources below."""
    covered = list[Block]()
    lead: tuple[str, ...] = ()
    for block in blocks:
        if block.kind in ("paragraph", "item") and block.statements and all(map(_is_source_line, block.statements)):
            ids = tuple(dict.fromkeys(one for statement in block.statements for one in statement.ids))
            _cover_back(covered, ids)
            continue
        if block.kind in ("item", "table") and lead:
            block = _with_ids(block, lead)
        elif block.kind in ("paragraph", "heading"):
            lead = block.statements[-1].ids if block.is_lead and block.statements else ()
        covered.append(block)
    return covered


def _cover_back(covered: list[Block], ids: tuple[str, ...]) -> None:
    """Give sources to the block at the end, or to the whole list that ends there."""
    position = len(covered) - 1
    while position >= 0 and covered[position].kind != "heading":
        covered[position] = _with_ids(covered[position], ids)
        if covered[position].kind != "item":
            return
        position -= 1


def _with_ids(block: Block, ids: tuple[str, ...]) -> Block:
    return replace(
        block,
        statements=tuple(
            one if one.ids or one.kind == "heading" else replace(one, ids=ids) for one in block.statements
        ),
    )


def _cover_headings(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks; headings have the sources of their sections, a header of a table those of its rows."""
    for position, block in enumerate(blocks):
        if block.kind == "heading":
            below = list(_section_of(blocks, position))
            ids = _all_ids(below) or _all_ids(blocks)
            yield _with_heading_ids(block, ids)
        elif block.kind == "table":
            yield _with_heading_ids(block, _all_ids([block]))
        else:
            yield block


def _section_of(blocks: Sequence[Block], position: int) -> Iterator[Block]:
    for block in blocks[position + 1 :]:
        if block.kind == "heading" and block.level <= blocks[position].level:
            return
        yield block


def _all_ids(blocks: Iterable[Block]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for block in blocks for statement in block.statements for one in statement.ids))


def _with_heading_ids(block: Block, ids: tuple[str, ...]) -> Block:
    return replace(
        block,
        statements=tuple(
            replace(one, ids=tuple(ids_of(one.text)) or ids) if one.kind == "heading" else one
            for one in block.statements
        ),
    )
