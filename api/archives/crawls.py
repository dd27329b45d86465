"""The WARC files of a snapshot as Common Crawl would have them: each of a crawl, under a path that names it.

What does not say of which crawl it is belongs to one whose id is made of the week of its last capture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from weakref import WeakKeyDictionary

from webemu.emulator.types import Archive, Capture
from webemu.emulator.world import World

_ID = re.compile(r"CC-MAIN-\d{4}(?:-\d{2}|-\d{4})?")
_FOLDER = "crawl-data/"


@dataclass(frozen=True, slots=True)
class Crawls:
    """What is known of the files."""

    of: Mapping[str, str]
    """Crawl id by where a file rests."""
    names: Mapping[str, str]
    """Path in the bucket by where a file rests."""
    files: Mapping[str, Archive]
    """By path in the bucket."""
    spans: Mapping[str, tuple[int, int]]
    """First and last capture of each crawl, in seconds since the epoch; the newest crawl first."""

    def crawl(self, capture: Capture) -> str:
        return self.of.get(capture.record[0], "")

    def filename(self, capture: Capture) -> str:
        return self.names.get(capture.record[0], "")


_KNOWN: WeakKeyDictionary[World, Crawls] = WeakKeyDictionary()


def crawls_of(world: World) -> Crawls:
    """The crawls of a snapshot, found once."""
    if (known := _KNOWN.get(world.base)) is None:
        known = _KNOWN[world.base] = _crawls(world.archives())
    return known


def _crawls(archives: Sequence[Archive]) -> Crawls:
    nameless = [archive.last for archive in archives if not _ID.fullmatch(archive.crawl)]
    other = crawl_id(max(nameless, default=0))
    of = {one.path: one.crawl if _ID.fullmatch(one.crawl) else other for one in archives}
    names = {one.path: _name(one.name, of[one.path]) for one in archives}
    spans: dict[str, tuple[int, int]] = {}
    for one in archives:
        if one.last:
            first, last = spans.get(of[one.path], (one.first, one.last))
            spans[of[one.path]] = min(first, one.first), max(last, one.last)
    newest_first = dict(sorted(spans.items(), key=lambda item: (-item[1][1], item[0])))
    return Crawls(of, names, {names[one.path]: one for one in archives}, newest_first)


def _name(name: str, crawl: str) -> str:
    return name if name.startswith(_FOLDER) else f"{_FOLDER}{crawl}/{name.lstrip('/')}"


def crawl_id(seconds: int) -> str:
    """`CC-MAIN-YYYY-WW`, ISO week."""
    year, week, _ = datetime.fromtimestamp(seconds, UTC).isocalendar()
    return f"CC-MAIN-{year:04}-{week:02}"
