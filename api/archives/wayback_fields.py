"""Fields of the Wayback Machine's CDX lines.

A revisit shows as `warc/revisit` with the status `-`, as in the original service; `resolveRevisits` shows the values
of its original instead.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from webemu.api.archives.crawls import crawls_of
from webemu.api.archives.filters import Value
from webemu.api.archives.listing import Row
from webemu.emulator.types import Capture
from webemu.emulator.world import World

FIELDS = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
"""Fields of a line unless `fl` says otherwise, in order."""
TIMEMAP = [*FIELDS[:6], "redirect", "robotflags", "length", "offset", "filename"]
"""Fields of a `/web/timemap/json` line."""
ALIASES = {"url": "original", "mime": "mimetype", "status": "statuscode"}
"""Other names that clients use for fields."""
REVISIT = "warc/revisit"
"""Media type of a revisit record in CDX lines."""
Column = Callable[[Row], str]
"""Returns one cell of a row."""


def values_of(world: World) -> dict[str, Value]:
    """Return the getter of every field by its name."""
    crawls = crawls_of(world)
    return {
        "urlkey": lambda row: word(row.key),
        "timestamp": lambda row: row.stamp,
        "original": lambda row: word(row.capture.url),
        "mimetype": lambda row: REVISIT if row.capture.kind == "revisit" else _mime(row.capture),
        "statuscode": lambda row: "-" if row.capture.kind == "revisit" else _status(row.capture),
        "digest": lambda row: word(row.capture.digest.removeprefix("sha1:")) or "-",
        "length": lambda row: str(row.capture.record[2]),
        "redirect": lambda row: word(row.capture.redirect) or "-",
        # The crawl does not record robots flags.
        "robotflags": lambda row: "-",
        "offset": lambda row: str(row.capture.record[1]),
        "filename": lambda row: word(crawls.filename(row.capture)),
    }


def resolved(name: str, value: Value) -> Column:
    """Return a column that shows the original's media type and status for a revisit; other fields keep their getter."""
    of_original = {"mimetype": _mime, "statuscode": _status}.get(name)
    return (lambda row: of_original(row.capture)) if of_original else value


def originals(world: World) -> list[Column]:
    """Return the columns `orig.length`, `orig.offset` and `orig.filename`: the record a revisit repeats, or `-`."""
    names = crawls_of(world).names

    def is_found(row: Row) -> bool:
        """True if the row is a revisit whose original record is in the snapshot."""
        return row.capture.kind == "revisit" and bool(row.capture.length)

    return [
        lambda row: str(row.capture.length) if is_found(row) else "-",
        lambda row: str(row.capture.offset) if is_found(row) else "-",
        lambda row: word(names.get(row.capture.file, "")) if is_found(row) else "-",
    ]


def _mime(capture: Capture) -> str:
    return word(declared(capture))


def declared(capture: Capture) -> str:
    """Return the media type that the server declared; for records that no server sent, the detected one. `unk` if
    unknown.
    """
    return capture.declared or ("" if capture.kind == "response" else capture.mime) or "unk"


def _status(capture: Capture) -> str:
    return str(capture.status) if capture.status else "-"


def word(text: str) -> str:
    """Return the text as one word of a CDX line: blanks and control characters, which would break the line, are
    escaped.
    """
    if " " not in text and text.isprintable():
        return text
    return "".join(c if c.isprintable() and c != " " else quote(c, safe="", errors="replace") for c in text)
