"""Fields of the Wayback Machine's CDX lines.

A revisit shows as `warc/revisit` with the status `-`, as in the original service; `resolveRevisits` shows the values
of its original instead.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from webemu.api.archives.crawls import find_crawls
from webemu.api.archives.filters import FieldGetter
from webemu.api.archives.listing import CdxRow
from webemu.emulator.types import Capture
from webemu.emulator.world import World

FIELDS = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
"""Fields of a line unless `fl` says otherwise, in order."""
TIMEMAP_FIELDS = [*FIELDS[:6], "redirect", "robotflags", "length", "offset", "filename"]
"""Fields of a `/web/timemap/json` line."""
ALIASES = {"url": "original", "mime": "mimetype", "status": "statuscode"}
"""Other names that clients use for fields."""
REVISIT = "warc/revisit"
"""Media type of a revisit record in CDX lines."""
Column = Callable[[CdxRow], str]
"""Returns one cell of a row."""


def field_getters(world: World) -> dict[str, FieldGetter]:
    """Return the getter of every field by its name."""
    crawls = find_crawls(world)
    return {
        "urlkey": lambda row: escape_word(row.key),
        "timestamp": lambda row: row.timestamp,
        "original": lambda row: escape_word(row.capture.url),
        "mimetype": lambda row: REVISIT if row.capture.kind == "revisit" else _media_type_word(row.capture),
        "statuscode": lambda row: "-" if row.capture.kind == "revisit" else _status_word(row.capture),
        "digest": lambda row: escape_word(row.capture.digest.removeprefix("sha1:")) or "-",
        "length": lambda row: str(row.capture.record[2]),
        "redirect": lambda row: escape_word(row.capture.redirect) or "-",
        # The crawl does not record robots flags.
        "robotflags": lambda row: "-",
        "offset": lambda row: str(row.capture.record[1]),
        "filename": lambda row: escape_word(crawls.filename_of(row.capture)),
    }


def resolve_revisit(name: str, getter: FieldGetter) -> Column:
    """Return a column that shows the original's media type and status for a revisit; other fields keep their getter."""
    original_getter = {"mimetype": _media_type_word, "statuscode": _status_word}.get(name)
    return (lambda row: original_getter(row.capture)) if original_getter else getter


def original_columns(world: World) -> list[Column]:
    """Return the columns `orig.length`, `orig.offset` and `orig.filename`: the record a revisit repeats, or `-`."""
    name_by_path = find_crawls(world).name_by_path

    def has_original(row: CdxRow) -> bool:
        """True if the row is a revisit whose original record is in the snapshot."""
        return row.capture.kind == "revisit" and bool(row.capture.length)

    return [
        lambda row: str(row.capture.length) if has_original(row) else "-",
        lambda row: str(row.capture.offset) if has_original(row) else "-",
        lambda row: escape_word(name_by_path.get(row.capture.file, "")) if has_original(row) else "-",
    ]


def _media_type_word(capture: Capture) -> str:
    return escape_word(declared_media_type(capture))


def declared_media_type(capture: Capture) -> str:
    """Return the media type that the server declared; for records that no server sent, the detected one. `unk` if
    unknown.
    """
    return capture.declared or ("" if capture.kind == "response" else capture.mime) or "unk"


def _status_word(capture: Capture) -> str:
    return str(capture.status) if capture.status else "-"


def escape_word(text: str) -> str:
    """Return the text as one word of a CDX line: blanks and control characters, which would break the line, are
    escaped.
    """
    if " " not in text and text.isprintable():
        return text
    return "".join(c if c.isprintable() and c != " " else quote(c, safe="", errors="replace") for c in text)
