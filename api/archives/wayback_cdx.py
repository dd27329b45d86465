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
from webemu.api.archives.filters import Test, Value
from webemu.api.archives.listing import Row, blocks
from webemu.api.archives.parameters import Pairs, choice, is_on, many, one
from webemu.api.archives.responses import plain, reply
from webemu.api.archives.selection import (
    MAX_ROWS,
    Selection,
    listed,
    ordered,
    pages,
    passing,
    reach,
    resume_key,
    resumed,
    selection,
)
from webemu.api.archives.wayback_fields import ALIASES, FIELDS, Column, originals, resolved, values_of
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World


def answer(world: World, request: Request, before: Pairs = (), otherwise: Sequence[str] = FIELDS) -> Reply:
    """Answer a CDX query as text or JSON.

    `extra_pairs` are parameters put before those of the query, so they win; `default_fields` are shown without `fl`.
    Raises BadRequest on a bad parameter.
    """
    pairs = [*before, *request.parameters]
    asked = selection(pairs)
    if is_on(pairs, "showNumPages"):
        count = len(blocks(world, asked.scope, _all))
        return plain(200, f"{max(1, pages(count, asked.size))}\n")
    found = _find(world, asked, pairs, list(otherwise))
    return _json(found) if choice(pairs, "output", ("", "text", "json")) == "json" else _text(found)


def _all(_: Capture) -> bool:
    """Include every capture: the Wayback Machine has one collection."""
    return True


@dataclass(frozen=True, slots=True)
class _Found:
    """Table to answer with: column names, lines, and the key that continues after them (empty if none)."""

    names: list[str]
    lines: list[list[str]]
    resume: str
    is_cut: bool


def _find(world: World, asked: Selection, pairs: Pairs, otherwise: list[str]) -> _Found:
    """Run the query: filter, sort, collapse, limit, then add the optional columns."""
    values = values_of(world)
    named = filters.fields(one(pairs, "fl", "fields"), values, otherwise, ALIASES)
    tests = [filters.wayback(text, values, _line(values)) for text in many(pairs, "filter")]
    collapses = [_collapse(text, values) for text in many(pairs, "collapse")]
    source = listed(world, asked, _all, start=resumed(pairs, asked.scope))
    passes, most = passing(asked, tests), reach(asked, bool(collapses))
    names, columns = list(named), [values[name] for name in named]
    if is_on(pairs, "resolveRevisits"):
        names += ["orig.length", "orig.offset", "orig.filename"]
        columns = [resolved(name, value) for name, value in zip(named, columns, strict=True)] + originals(world)
    if is_on(pairs, "showSkipCount"):  # skipped rows are counted, so they must reach the counter
        counted = _counted(ordered(source, asked, MAX_ROWS), passes, _fresh(collapses))
    else:
        inside = ordered((row for row in source if passes(row)), asked, most)
        counted = ((row, 0, row.stamp) for row in filter(_fresh(collapses), inside))
    taken, more = _taken(counted, asked, is_on(pairs, "fastLatest"))
    lines = [[column(row) or "-" for column in columns] for row, _, _ in taken]
    _count(names, lines, taken, pairs)
    goes_on = more and asked.sort == "regular" and is_on(pairs, "showResumeKey")
    return _Found(names, lines, resume_key(taken[-1][0]) if goes_on else "", more and not asked.limit)


_Counted = tuple[Row, int, str]
"""A row, how many rows after it were skipped, and the timestamp of the last skipped one (or its own)."""


def _taken(counted: Iterator[_Counted], asked: Selection, is_latest: bool) -> tuple[list[_Counted], bool]:
    """Apply `offset` and `limit`; return the rows and whether more follow. `is_latest` keeps only the last rows."""
    limit = -(abs(asked.limit) or 1) if is_latest else asked.limit
    rest = islice(counted, asked.offset, None)
    if limit < 0:
        kept: list[_Counted] = []
        for one_of in rest:
            kept.append(one_of)
            if len(kept) >= 2 * -limit:  # drops in bulk: deleting at the front for every row would be quadratic
                del kept[:limit]
        return kept[limit:], False
    most = min(limit or MAX_ROWS, MAX_ROWS)
    taken = list(islice(rest, most + 1))
    return taken[:most], len(taken) > most


def _counted(found: Iterator[Row], passes: Test, fresh: Test) -> Iterator[_Counted]:
    """Yield the rows that pass and are not collapsed, each with the number of rows skipped before the next one."""
    shown: Row | None = None
    skipped, last = 0, ""
    for row in found:
        if passes(row) and fresh(row):
            if shown:
                yield shown, skipped, last
            shown, skipped, last = row, 0, row.stamp
        elif shown:
            skipped, last = skipped + 1, row.stamp
    if shown:
        yield shown, skipped, last


def _count(names: list[str], lines: list[list[str]], taken: list[_Counted], pairs: Pairs) -> None:
    """Append the counter columns that the query asks for to `names` and `lines`, in place."""
    if is_on(pairs, "showDupeCount"):
        names.append("dupecount")
        seen: dict[str, int] = {}
        for line, (row, _, _) in zip(lines, taken, strict=True):
            line.append(str(seen.get(row.capture.digest, 0)))
            seen[row.capture.digest] = seen.get(row.capture.digest, 0) + 1
    if is_on(pairs, "showSkipCount"):
        names.append("skipcount")
        for line, (_, skipped, _) in zip(lines, taken, strict=True):
            line.append(str(skipped))
        if is_on(pairs, "lastSkipTimestamp"):
            names.append("endtimestamp")
            for line, (_, _, last) in zip(lines, taken, strict=True):
                line.append(last)


def _collapse(text: str, values: dict[str, Value]) -> Column:
    """Parse `collapse=FIELD` or `FIELD:N` into a getter of the first N characters. Raises BadRequest on any other
    form.
    """
    name, colon, count = text.partition(":")
    name = ALIASES.get(name, name)
    if name not in values or (colon and not (count.isascii() and count.isdigit())):
        raise BadRequest(f"collapse must be FIELD or FIELD:N, got {text[:60]!r}", action=f"use {', '.join(values)}")
    value, most = values[name], int(count[:6]) if colon else None
    return lambda row: value(row)[:most]


def _fresh(collapses: list[Column]) -> Test:
    """Return a stateful test: True if a row differs from the row before it in a collapsed field."""
    before: list[str] | None = None

    def fresh(row: Row) -> bool:
        nonlocal before
        this = [column(row) for column in collapses]
        is_fresh = not collapses or this != before
        before = this
        return is_fresh

    return fresh


def _line(values: dict[str, Value]) -> Value:
    return lambda row: " ".join(values[name](row) or "-" for name in FIELDS)


def _text(found: _Found) -> Reply:
    lines = [" ".join(line) for line in found.lines]
    if found.resume:
        lines += ["", quote_plus(found.resume)]
    return plain(200, "".join(f"{line}\n" for line in lines), _marks(found))


def _json(found: _Found) -> Reply:
    rows: list[list[str]] = [found.names, *found.lines] if found.lines else []
    if found.resume:
        rows += [[], [quote_plus(found.resume)]]
    body = b"[" + b",\n ".join(orjson.dumps(row) for row in rows) + b"]\n"
    return reply(200, body, "application/json", _marks(found))


def _marks(found: _Found) -> Headers:
    return [(b"X-Webemu-Truncated", b"%d lines" % MAX_ROWS)] if found.is_cut else []
