"""Common Crawl's index of one crawl, `/<crawl>-index`: pywb's CDX server API, as index.commoncrawl.org runs it.

Lines are JSON (`output=json`), CDXJ, or bare fields (`output=text`). All values are strings; unknown ones are left
out. `filename`, `offset` and `length` lead to the WARC record. Revisits show status 304: Common Crawl writes revisit
records for 304 responses only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice

from webemu.api.archives import filters
from webemu.api.archives.crawls import CrawlFiles, find_crawls
from webemu.api.archives.filters import FieldGetter
from webemu.api.archives.listing import CapturePredicate, CdxRow, block_starts
from webemu.api.archives.parameters import Pairs, all_values, choice_value, first_value, is_on
from webemu.api.archives.responses import make_response
from webemu.api.archives.selection import (
    MAX_ROWS,
    CdxQuery,
    count_pages,
    list_captures,
    parse_query,
    row_filter,
    scan_limit,
    sort_rows,
)
from webemu.api.archives.wayback_fields import REVISIT, declared_media_type, escape_word
from webemu.api.http.request import Request
from webemu.api.http.response import Headers, Response
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World

PATH = re.compile(r"/(CC-MAIN-[\d-]+)-index")
"""Path of a crawl's index; its group is the crawl id."""
_ALIASES = {"original": "url", "mimetype": "mime", "statuscode": "status"}
_MIMES = {"json": "text/x-ndjson", "cdxj": "text/x-cdxj", "text": "text/plain; charset=utf-8"}


def answer(world: World, request: Request) -> Response | None:
    """Answer an index query; None if the path is not an index. A bad parameter is answered with a JSON message and
    400.
    """
    if (path := PATH.fullmatch(request.path)) is None:
        return None
    try:
        return _answer_query(world, path[1], request.parameters)
    except BadRequest as error:
        return _message_response(400, f"{error.message}. {error.action}".strip())


def _message_response(status: int, text: str) -> Response:
    return make_response(status, json.dumps({"message": text}) + "\n", "application/json")


def _answer_query(world: World, crawl: str, pairs: Pairs) -> Response:
    query, crawls = parse_query(pairs), find_crawls(world)
    is_included = _in_crawl(crawls, crawl)
    if is_on(pairs, "showNumPages"):
        block_count = len(block_starts(world, query.scope, is_included, crawl))
        page_counts = {
            "pages": count_pages(block_count, query.page_size),
            "pageSize": query.page_size,
            "blocks": block_count,
        }
        return make_response(200, json.dumps(page_counts) + "\n", "application/json")
    output = choice_value(pairs, "output", ("cdxj", "json", "text"))
    getters = _field_getters(crawls)
    names = filters.select_fields(first_value(pairs, "fl", "fields"), getters, list(getters), _ALIASES)
    matched_rows, is_truncated = _find_rows(world, query, pairs, getters, is_included, crawl)
    if not matched_rows:
        return _message_response(404, f"No Captures found for: {query.scope.url}")
    lines = (_format_line(row, names, getters, output) for row in matched_rows)
    truncation_headers: Headers = [(b"X-Webemu-Truncated", b"%d lines" % MAX_ROWS)] if is_truncated else []
    return make_response(200, "".join(f"{line}\n" for line in lines), _MIMES[output], truncation_headers)


def _in_crawl(crawls: CrawlFiles, crawl: str) -> CapturePredicate:
    """Return a test for captures of one crawl."""
    return lambda capture: crawls.crawl_of(capture) == crawl


def _find_rows(
    world: World,
    query: CdxQuery,
    pairs: Pairs,
    getters: Mapping[str, FieldGetter],
    is_included: CapturePredicate,
    crawl: str,
) -> tuple[list[CdxRow], bool]:
    """Return the matching rows, and True if the limit on lines cut them off."""

    def cdxj_line(row: CdxRow) -> str:
        return _format_line(row, list(getters), getters, "cdxj")

    tests = [filters.pywb_filter(text, getters, cdxj_line, _ALIASES) for text in all_values(pairs, "filter")]
    passes = row_filter(query, tests)
    source: Iterator[CdxRow] = filter(passes, list_captures(world, query, is_included, crawl))
    limit = query.limit if query.limit > 0 else MAX_ROWS
    matched_rows = list(
        islice(sort_rows(source, query, scan_limit(query, False)), query.offset, query.offset + limit + 1)
    )
    return matched_rows[:limit], len(matched_rows) > limit and limit == MAX_ROWS


def _format_line(row: CdxRow, names: list[str], getters: Mapping[str, FieldGetter], output: str) -> str:
    """Return one line of output; CDXJ puts the key and timestamp before the JSON object."""
    texts = {name: getters[name](row) for name in names}
    if output == "text":
        return " ".join(escape_word(text) or "-" for text in texts.values())
    if output == "json":
        return json.dumps({name: text for name, text in texts.items() if text})
    fields = {name: text for name, text in texts.items() if text and name not in ("urlkey", "timestamp")}
    return f"{escape_word(row.key)} {row.timestamp} {json.dumps(fields)}"


def _field_getters(crawls: CrawlFiles) -> dict[str, FieldGetter]:
    """Return the getter of every field, in the order of Common Crawl's lines."""
    return {
        "urlkey": lambda row: row.key,
        "timestamp": lambda row: row.timestamp,
        "url": lambda row: row.capture.url,
        "mime": lambda row: REVISIT if _is_revisit(row.capture) else declared_media_type(row.capture),
        "mime-detected": lambda row: REVISIT if _is_revisit(row.capture) else row.capture.mime,
        "status": lambda row: "304" if _is_revisit(row.capture) else str(row.capture.status or ""),
        "digest": lambda row: row.capture.digest.removeprefix("sha1:"),
        "length": lambda row: str(row.capture.record[2]),
        "offset": lambda row: str(row.capture.record[1]),
        "filename": lambda row: crawls.filename_of(row.capture),
        "languages": lambda row: row.capture.languages,
        "encoding": lambda row: _encoding_name(row.capture.charset),
        "redirect": lambda row: row.capture.redirect,
        "truncated": lambda row: row.capture.truncated,
    }


def _is_revisit(capture: Capture) -> bool:
    return capture.kind == "revisit"


def _encoding_name(charset: str) -> str:
    """Return a charset name as Common Crawl spells it: UTF-8, ISO-8859-1, but windows-1252."""
    return charset if charset.startswith("windows") else charset.upper()
