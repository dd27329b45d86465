"""WARC files of a snapshot grouped by crawl, under paths such as Common Crawl's bucket has.

Files that do not name their crawl belong to one whose id is made from the week of their last capture.
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
class CrawlFiles:
    """WARC files of a snapshot and the crawls they belong to."""

    crawl_by_path: Mapping[str, str]
    """Crawl id by the path of a file on disk."""
    name_by_path: Mapping[str, str]
    """Path in the bucket by the path of a file on disk."""
    archive_by_name: Mapping[str, Archive]
    """Files by their path in the bucket."""
    spans: Mapping[str, tuple[int, int]]
    """Times of the first and last capture of each crawl, in seconds since the epoch; the newest crawl first."""

    def crawl_of(self, capture: Capture) -> str:
        """Return the id of the crawl that made a capture; empty if its file is unknown."""
        return self.crawl_by_path.get(capture.record[0], "")

    def filename_of(self, capture: Capture) -> str:
        """Return the bucket path of the file that holds a capture; empty if it is unknown."""
        return self.name_by_path.get(capture.record[0], "")


_CACHE: WeakKeyDictionary[World, CrawlFiles] = WeakKeyDictionary()
"""Crawl files of every open snapshot."""


def find_crawls(world: World) -> CrawlFiles:
    """Return the crawls of a snapshot; computed once and cached while the snapshot is open."""
    if (crawls := _CACHE.get(world.shared_base)) is None:
        crawls = _CACHE[world.shared_base] = _group_by_crawl(world.archives())
    return crawls


def _group_by_crawl(archives: Sequence[Archive]) -> CrawlFiles:
    # All files without a crawl id share one, of the week in which the last of them began: in a session as of a day,
    # and in a snapshot that was cut, files may end earlier than they did.
    unlabelled_starts = [archive.first_time for archive in archives if not _ID.fullmatch(archive.crawl)]
    fallback_id = crawl_id(max(unlabelled_starts, default=0))
    crawl_by_path = {
        warc_file.path: warc_file.crawl if _ID.fullmatch(warc_file.crawl) else fallback_id for warc_file in archives
    }
    name_by_path = {
        warc_file.path: _bucket_path(warc_file.name, crawl_by_path[warc_file.path]) for warc_file in archives
    }
    spans: dict[str, tuple[int, int]] = {}
    for warc_file in archives:
        if warc_file.last_time >= 0:
            first, last = spans.get(crawl_by_path[warc_file.path], (warc_file.first_time, warc_file.last_time))
            spans[crawl_by_path[warc_file.path]] = min(first, warc_file.first_time), max(last, warc_file.last_time)
    newest_first = dict(sorted(spans.items(), key=lambda item: (-item[1][1], item[0])))
    return CrawlFiles(
        crawl_by_path, name_by_path, {name_by_path[warc_file.path]: warc_file for warc_file in archives}, newest_first
    )


def _bucket_path(name: str, crawl: str) -> str:
    return name if name.startswith(_FOLDER) else f"{_FOLDER}{crawl}/{name.lstrip('/')}"


def crawl_id(seconds: int) -> str:
    """Return the id `CC-MAIN-YYYY-WW` of the ISO week that a time (seconds since the epoch) falls into."""
    year, week, _ = datetime.fromtimestamp(seconds, UTC).isocalendar()
    return f"CC-MAIN-{year:04}-{week:02}"
