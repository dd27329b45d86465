"""Fields of the Wayback Machine's CDX lines.

A revisit is `warc/revisit` with the status `-`, as there; `resolveRevisits` puts what its original has.
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
TIMEMAP = [*FIELDS[:6], "redirect", "robotflags", "length", "offset", "filename"]
"""Those of `/web/timemap/json`."""
ALIASES = {"url": "original", "mime": "mimetype", "status": "statuscode"}
REVISIT = "warc/revisit"
Column = Callable[[Row], str]


def values_of(world: World) -> dict[str, Value]:
    """Every field by its name."""
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
        "robotflags": lambda row: "-",
        "offset": lambda row: str(row.capture.record[1]),
        "filename": lambda row: word(crawls.filename(row.capture)),
    }


def resolved(name: str, value: Value) -> Column:
    """For a revisit what its original has."""
    of_original = {"mimetype": _mime, "statuscode": _status}.get(name)
    return (lambda row: of_original(row.capture)) if of_original else value


def originals(world: World) -> list[Column]:
    """Where the original of a revisit rests."""
    names = crawls_of(world).names

    def is_found(row: Row) -> bool:
        return row.capture.kind == "revisit" and bool(row.capture.length)

    return [
        lambda row: str(row.capture.length) if is_found(row) else "-",
        lambda row: str(row.capture.offset) if is_found(row) else "-",
        lambda row: word(names.get(row.capture.file, "")) if is_found(row) else "-",
    ]


def _mime(capture: Capture) -> str:
    return word(declared(capture))


def declared(capture: Capture) -> str:
    """The media type that the server named; what no server sent has the one that was found."""
    return capture.declared or ("" if capture.kind == "response" else capture.mime) or "unk"


def _status(capture: Capture) -> str:
    return str(capture.status) if capture.status else "-"


def word(text: str) -> str:
    """One word of a line: a blank or an end of line in it would break the format."""
    if " " not in text and text.isprintable():
        return text
    return "".join(c if c.isprintable() and c != " " else quote(c, safe="", errors="replace") for c in text)
