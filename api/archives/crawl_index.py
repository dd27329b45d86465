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
from webemu.api.archives.crawls import Crawls, crawls_of
from webemu.api.archives.filters import Value
from webemu.api.archives.listing import Belongs, Row, blocks
from webemu.api.archives.parameters import Pairs, choice, is_on, many, one
from webemu.api.archives.responses import reply
from webemu.api.archives.selection import MAX_ROWS, Selection, listed, ordered, pages, passing, reach, selection
from webemu.api.archives.wayback_fields import REVISIT, declared, word
from webemu.api.http.request import Request
from webemu.api.services.origin import Headers, Reply
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture
from webemu.emulator.world import World

PATH = re.compile(r"/(CC-MAIN-[\d-]+)-index")
"""Path of a crawl's index; its group is the crawl id."""
_ALIASES = {"original": "url", "mimetype": "mime", "statuscode": "status"}
_MIMES = {"json": "text/x-ndjson", "cdxj": "text/x-cdxj", "text": "text/plain; charset=utf-8"}


def answer(world: World, request: Request) -> Reply | None:
    """Answer an index query; None if the path is not an index. A bad parameter is answered with a JSON message and
    400.
    """
    if (path := PATH.fullmatch(request.path)) is None:
        return None
    try:
        return _answer(world, path[1], request.parameters)
    except BadRequest as error:
        return _message(400, f"{error.message}. {error.action}".strip())


def _message(status: int, text: str) -> Reply:
    return reply(status, json.dumps({"message": text}) + "\n", "application/json")


def _answer(world: World, crawl: str, pairs: Pairs) -> Reply:
    asked, crawls = selection(pairs), crawls_of(world)
    belongs = _belonging(crawls, crawl)
    if is_on(pairs, "showNumPages"):
        count = len(blocks(world, asked.scope, belongs, crawl))
        told = {"pages": pages(count, asked.size), "pageSize": asked.size, "blocks": count}
        return reply(200, json.dumps(told) + "\n", "application/json")
    output = choice(pairs, "output", ("cdxj", "json", "text"))
    values = _values(crawls)
    names = filters.fields(one(pairs, "fl", "fields"), values, list(values), _ALIASES)
    found, is_cut = _find(world, asked, pairs, values, belongs, crawl)
    if not found:
        return _message(404, f"No Captures found for: {asked.scope.url}")
    lines = (_line(row, names, values, output) for row in found)
    marks: Headers = [(b"X-Webemu-Truncated", b"%d lines" % MAX_ROWS)] if is_cut else []
    return reply(200, "".join(f"{line}\n" for line in lines), _MIMES[output], marks)


def _belonging(crawls: Crawls, crawl: str) -> Belongs:
    """Return a test for captures of one crawl."""
    return lambda capture: crawls.crawl(capture) == crawl


def _find(
    world: World, asked: Selection, pairs: Pairs, values: Mapping[str, Value], belongs: Belongs, crawl: str
) -> tuple[list[Row], bool]:
    """Return the matching rows, and True if the limit on lines cut them off."""

    def whole(row: Row) -> str:
        return _line(row, list(values), values, "cdxj")

    tests = [filters.pywb(text, values, whole, _ALIASES) for text in many(pairs, "filter")]
    passes = passing(asked, tests)
    source: Iterator[Row] = filter(passes, listed(world, asked, belongs, crawl))
    most = asked.limit if asked.limit > 0 else MAX_ROWS
    found = list(islice(ordered(source, asked, reach(asked, False)), asked.offset, asked.offset + most + 1))
    return found[:most], len(found) > most and most == MAX_ROWS


def _line(row: Row, names: list[str], values: Mapping[str, Value], output: str) -> str:
    """Return one line of output; CDXJ puts the key and timestamp before the JSON object."""
    texts = {name: values[name](row) for name in names}
    if output == "text":
        return " ".join(word(text) or "-" for text in texts.values())
    if output == "json":
        return json.dumps({name: text for name, text in texts.items() if text})
    fields = {name: text for name, text in texts.items() if text and name not in ("urlkey", "timestamp")}
    return f"{word(row.key)} {row.stamp} {json.dumps(fields)}"


def _values(crawls: Crawls) -> dict[str, Value]:
    """Return the getter of every field, in the order of Common Crawl's lines."""
    return {
        "urlkey": lambda row: row.key,
        "timestamp": lambda row: row.stamp,
        "url": lambda row: row.capture.url,
        "mime": lambda row: REVISIT if _repeats(row.capture) else declared(row.capture),
        "mime-detected": lambda row: REVISIT if _repeats(row.capture) else row.capture.mime,
        "status": lambda row: "304" if _repeats(row.capture) else str(row.capture.status or ""),
        "digest": lambda row: row.capture.digest.removeprefix("sha1:"),
        "length": lambda row: str(row.capture.record[2]),
        "offset": lambda row: str(row.capture.record[1]),
        "filename": lambda row: crawls.filename(row.capture),
        "languages": lambda row: row.capture.languages,
        "encoding": lambda row: _encoding(row.capture.charset),
        "redirect": lambda row: row.capture.redirect,
        "truncated": lambda row: row.capture.truncated,
    }


def _repeats(capture: Capture) -> bool:
    return capture.kind == "revisit"


def _encoding(charset: str) -> str:
    """Return a charset name as Common Crawl spells it: UTF-8, ISO-8859-1, but windows-1252."""
    return charset if charset.startswith("windows") else charset.upper()
