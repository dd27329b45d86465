"""CDX server of the Wayback Machine, `/cdx/search/cdx` (README of Internet Archive's `wayback-cdx-server`).

Lines come in the order of SURT keys and times unless the query sorts them. Parameters shared with Common Crawl's index
are in `webemu.api.archives.selection`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote_plus

import orjson

from webemu.api.archives import filters
from webemu.api.archives.filters import FieldGetter, RowTest
from webemu.api.archives.listing import CdxRow, block_starts
from webemu.api.archives.parameters import Pairs, all_values, choice_value, first_value, is_on
from webemu.api.archives.responses import make_response, text_response
from webemu.api.archives.selection import (
    MAX_ROWS,
    CdxQuery,
    count_pages,
    format_resume_key,
    list_captures,
    parse_query,
    parse_resume_key,
    row_filter,
    scan_limit,
    sort_rows,
)
from webemu.api.archives.wayback_fields import ALIASES, FIELDS, Column, field_getters, original_columns, resolve_revisit
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World


def answer(world: World, request: Request, extra_pairs: Pairs = (), default_fields: Sequence[str] = FIELDS) -> Response:
    """Answer a CDX query as text or JSON.

    `extra_pairs` are parameters put before those of the query, so they win; `default_fields` are shown without `fl`.
    Raises BadRequest on a bad parameter.
    """
    pairs = [*extra_pairs, *request.parameters]
    query = parse_query(pairs)
    if is_on(pairs, "showNumPages"):
        block_count = len(block_starts(world, query.scope, _any_capture))
        return text_response(200, f"{max(1, count_pages(block_count, query.page_size))}\n")
    table = _run_query(world, query, pairs, list(default_fields))
    return (
        _json_response(table)
        if choice_value(pairs, "output", ("", "text", "json")) == "json"
        else _text_response(table)
    )


def _any_capture(_: Capture) -> bool:
    """Include every capture: the Wayback Machine has one collection."""
    return True


@dataclass(frozen=True, slots=True)
class _CdxTable:
    """Table to answer with: column names, lines, and the key that continues after them (empty if none)."""

    names: list[str]
    lines: list[list[str]]
    next_key: str
    is_truncated: bool


def _run_query(world: World, query: CdxQuery, pairs: Pairs, default_fields: list[str]) -> _CdxTable:
    """Run the query: filter, sort, collapse, limit, then add the optional columns."""
    getters = field_getters(world)
    field_names = filters.select_fields(first_value(pairs, "fl", "fields"), getters, default_fields, ALIASES)
    tests = [filters.wayback_filter(text, getters, _line_getter(getters)) for text in all_values(pairs, "filter")]
    collapses = [_parse_collapse(text, getters) for text in all_values(pairs, "collapse")]
    source = list_captures(world, query, _any_capture, start=parse_resume_key(pairs, query.scope))
    passes, limit = row_filter(query, tests), scan_limit(query, bool(collapses))
    column_names, columns = list(field_names), [getters[name] for name in field_names]
    if is_on(pairs, "resolveRevisits"):
        column_names += ["orig.length", "orig.offset", "orig.filename"]
        columns = [
            resolve_revisit(name, value) for name, value in zip(field_names, columns, strict=True)
        ] + original_columns(world)
    if is_on(pairs, "showSkipCount"):  # skipped rows are counted, so they must reach the counter
        counted_rows = _count_skips(sort_rows(source, query, MAX_ROWS), passes, _collapse_filter(collapses))
    else:
        sorted_rows = sort_rows((row for row in source if passes(row)), query, limit)
        counted_rows = ((row, 0, row.timestamp) for row in filter(_collapse_filter(collapses), sorted_rows))
    selected, more = _apply_limit(counted_rows, query, is_on(pairs, "fastLatest"))
    lines = [[column(row) or "-" for column in columns] for row, _, _ in selected]
    _add_counter_columns(column_names, lines, selected, pairs)
    has_next_key = more and query.sort == "regular" and is_on(pairs, "showResumeKey")
    return _CdxTable(
        column_names, lines, format_resume_key(selected[-1][0]) if has_next_key else "", more and not query.limit
    )


_RowWithSkips = tuple[CdxRow, int, str]
"""A row, how many rows after it were skipped, and the timestamp of the last skipped one (or its own)."""


def _apply_limit(
    counted_rows: Iterator[_RowWithSkips], query: CdxQuery, is_latest: bool
) -> tuple[list[_RowWithSkips], bool]:
    """Apply `offset` and `limit`; return the rows and whether more follow. `is_latest` keeps only the last rows."""
    limit = -(abs(query.limit) or 1) if is_latest else query.limit
    remaining = islice(counted_rows, query.offset, None)
    if limit < 0:
        last_rows: list[_RowWithSkips] = []
        for counted_row in remaining:
            last_rows.append(counted_row)
            if len(last_rows) >= 2 * -limit:  # drops in bulk: deleting at the front for every row would be quadratic
                del last_rows[:limit]
        return last_rows[limit:], False
    maximum = min(limit or MAX_ROWS, MAX_ROWS)
    selected = list(islice(remaining, maximum + 1))
    return selected[:maximum], len(selected) > maximum


def _count_skips(source: Iterator[CdxRow], passes: RowTest, is_new: RowTest) -> Iterator[_RowWithSkips]:
    """Yield the rows that pass and are not collapsed, each with the number of rows skipped before the next one."""
    current: CdxRow | None = None
    skipped, last_timestamp = 0, ""
    for row in source:
        if passes(row) and is_new(row):
            if current:
                yield current, skipped, last_timestamp
            current, skipped, last_timestamp = row, 0, row.timestamp
        elif current:
            skipped, last_timestamp = skipped + 1, row.timestamp
    if current:
        yield current, skipped, last_timestamp


def _add_counter_columns(
    column_names: list[str], lines: list[list[str]], selected: list[_RowWithSkips], pairs: Pairs
) -> None:
    """Append the counter columns that the query asks for to `column_names` and `lines`, in place."""
    if is_on(pairs, "showDupeCount"):
        column_names.append("dupecount")
        count_by_digest: dict[str, int] = {}
        for line, (row, _, _) in zip(lines, selected, strict=True):
            line.append(str(count_by_digest.get(row.capture.digest, 0)))
            count_by_digest[row.capture.digest] = count_by_digest.get(row.capture.digest, 0) + 1
    if is_on(pairs, "showSkipCount"):
        column_names.append("skipcount")
        for line, (_, skipped, _) in zip(lines, selected, strict=True):
            line.append(str(skipped))
        if is_on(pairs, "lastSkipTimestamp"):
            column_names.append("endtimestamp")
            for line, (_, _, last_timestamp) in zip(lines, selected, strict=True):
                line.append(last_timestamp)


def _parse_collapse(text: str, getters: dict[str, FieldGetter]) -> Column:
    """Parse `collapse=FIELD` or `FIELD:N` into a getter of the first N characters. Raises BadRequest on any other
    form.
    """
    name, colon, count = text.partition(":")
    name = ALIASES.get(name, name)
    if name not in getters or (colon and not (count.isascii() and count.isdigit())):
        raise BadRequest(f"collapse must be FIELD or FIELD:N, got {text[:60]!r}", action=f"use {', '.join(getters)}")
    getter, length = getters[name], int(count[:6]) if colon else None
    return lambda row: getter(row)[:length]


def _collapse_filter(collapses: list[Column]) -> RowTest:
    """Return a stateful test: True if a row differs from the row before it in a collapsed field."""
    previous: list[str] | None = None

    def is_new(row: CdxRow) -> bool:
        nonlocal previous
        cells = [column(row) for column in collapses]
        differs = not collapses or cells != previous
        previous = cells
        return differs

    return is_new


def _line_getter(getters: dict[str, FieldGetter]) -> FieldGetter:
    return lambda row: " ".join(getters[name](row) or "-" for name in FIELDS)


def _text_response(table: _CdxTable) -> Response:
    lines = [" ".join(line) for line in table.lines]
    if table.next_key:
        lines += ["", quote_plus(table.next_key)]
    return text_response(200, "".join(f"{line}\n" for line in lines), _truncation_headers(table))


def _json_response(table: _CdxTable) -> Response:
    rows: list[list[str]] = [table.names, *table.lines] if table.lines else []
    if table.next_key:
        rows += [[], [quote_plus(table.next_key)]]
    body = b"[" + b",\n ".join(orjson.dumps(row) for row in rows) + b"]\n"
    return make_response(200, body, "application/json", _truncation_headers(table))


def _truncation_headers(table: _CdxTable) -> Headers:
    return [(b"X-Webemu-Truncated", b"%d lines" % MAX_ROWS)] if table.is_truncated else []
