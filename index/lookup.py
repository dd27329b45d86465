"""URL lookup in LMDB: four levels of URL keys to captures, all URLs in SURT order, and the hosts of the crawl.

Keys are one letter and a 16-byte hash: `e` exact URL, `c` canonical, `s` SURT, `l` loose (if that drops anything), `h`
host, `r` a key of recorded exchanges (`webemu.emulator.exchange_keys`), whose value is a list of pairs of URL and
capture. An `e` value is the URL and its captures in time order. Values of `c`, `s` and `l` are the `e` hashes of the
URLs that share the key, those of `h` are empty. Keys of the letter `m` say which URLs of a host were last captured as a
404, in order: the hash of the host, the URL (cut), its `e` hash. The order of all URLs is in keys of the letter `u`,
the last one: the SURT and the `e` hash. If a SURT is too long for a key, the value holds it all.

No value depends on which other sources there are: a capture names its source by id, and its page by the place within
the source (`SourceDocs`). So the lookup of more sources is that of fewer with what the new ones change
(`webemu.index.lookup_writer`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import groupby, takewhile
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import lmdb
import orjson

from webemu.emulator import urls
from webemu.emulator.types import Capture

FILE = "pages.lmdb"
"""Name of the lookup file in a snapshot folder."""

FIELDS = (
    "time",
    "status",
    "mime",
    "charset",
    "digest",
    "redirect",
    "truncated",
    "kind",
    "source",
    "offset",
    "length",
    "place",
    "declared",
    "languages",
)
"""Order of a capture's stored values. A page's `place` counts the pages of its source, searchable ones first, from 0.

It is -1 without a page, and less if the page is in another partition (`webemu.index.partitions.partition`).
"""
STATUS = FIELDS.index("status")
_SOURCE, _PLACE, _HEAD = FIELDS.index("source"), FIELDS.index("place"), len(FIELDS)
MAX_SURT = 490
"""Bytes of a SURT that a key holds; an LMDB key has at most 511."""
MAX_URL = 470
"""Bytes of a URL that a key holds beside the hash of its host."""


class SourceDocs(NamedTuple):
    """The file of a source, and the dense ids of its pages: runs of places that have consecutive ids."""

    file: str
    places: tuple[int, ...]
    """First place of each run, in order."""
    docs: tuple[int, ...]
    """Dense id of each run's first place."""

    def locate(self, place: int) -> int:
        """Return the dense id of the page at a place; what is below 0 stays."""
        if place < 0:
            return place
        run = bisect_right(self.places, place) - 1
        return self.docs[run] + place - self.places[run]


def lookup_key(level: str, text: str) -> bytes:
    """Return the LMDB key of a text at a level, which is one letter."""
    return level.encode() + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def order_key(surt: bytes) -> bytes:
    """Return the key of a SURT in the URL order, cut to what LMDB has room for."""
    return b"u" + surt[:MAX_SURT]


_OPEN: WeakValueDictionary[tuple[int, int], lmdb.Environment] = WeakValueDictionary()
"""Open environments by device and inode: a snapshot with vectors has another one's files under other names."""
_OPENING = Lock()


def _open(path: Path) -> lmdb.Environment:
    """Return the environment of a file: LMDB allows one per process and file, and an old snapshot may still be open."""
    stat = path.stat()
    file = stat.st_dev, stat.st_ino
    with _OPENING:
        env = _OPEN.get(file)
        if env is None:
            # No lock file: the file never changes, and its folder may be read-only.
            env = lmdb.open(str(path), subdir=False, readonly=True, lock=False, readahead=False, max_spare_txns=64)
            _OPEN[file] = env
        return env


class Lookup:
    """Reader of the lookup file. Thread-safe: each call is its own transaction, and the file never changes."""

    def __init__(self, path: Path, sources: Mapping[int, SourceDocs]) -> None:
        """Open the file. `sources` are those of the snapshot by id (`webemu.index.manifest`)."""
        self._env = _open(path)
        self._sources = sources

    def _read_value(self, name: bytes) -> bytes | None:
        with self._env.begin() as txn:
            value: bytes | None = txn.get(name)
            return value

    def exact(self, url: str) -> list[Capture]:
        """Return the captures of exactly this URL, oldest first; empty if there are none."""
        value = self._read_value(lookup_key("e", url))
        return list(self._parse_captures(value)) if value else []

    def canonical(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same canonical form."""
        return self._captures_of_group(lookup_key("c", urls.canonical_key(url)))

    def surt(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same SURT key."""
        return self._captures_of_group(lookup_key("s", urls.surt_key(url)))

    def by_loose_key(self, url: str) -> list[Capture]:
        """Return the captures of all URLs with the same loosened SURT key (`webemu.emulator.urls.loose_key`)."""
        surt_key = urls.loose_key(url)
        return self._captures_of_group(lookup_key("s", surt_key)) + self._captures_of_group(lookup_key("l", surt_key))

    def listing(self, first: str, last: str) -> Iterator[tuple[str, list[Capture]]]:
        """Yield (SURT, captures of all URLs that have it, in time order) from SURT `first` to before `last`, in byte
        order.
        """
        start, stop = first.encode("utf-8", "surrogatepass"), last.encode("utf-8", "surrogatepass")
        with self._env.begin() as txn:
            cursor = txn.cursor()
            positions = cursor.iternext() if cursor.set_range(order_key(start)) else iter(())
            # A key is the letter, the SURT, a NUL and the hash; the value has the SURT if it was too long.
            entries = ((value or name[1:-17], name[-16:]) for name, value in positions)
            candidate_entries = takewhile(lambda entry: order_key(entry[0]) <= order_key(stop), entries)
            # Beyond MAX_SURT bytes LMDB does not order the keys, so entries of one cut key are sorted here.
            ordered_entries = (
                entry
                for _, same in groupby(candidate_entries, key=lambda entry: order_key(entry[0]))
                for entry in sorted(same)
            )
            entries_in_range = (entry for entry in ordered_entries if start <= entry[0] < stop)
            for surt, group in groupby(entries_in_range, key=lambda entry: entry[0]):
                captures = [
                    capture for _, exact in group for capture in self._parse_captures(txn.get(b"e" + exact) or b"")
                ]
                yield (
                    surt.decode("utf-8", "surrogatepass"),
                    sorted(captures, key=lambda capture: (capture.time, capture.url)),
                )

    def knows_host(self, host: str) -> bool:
        """True if the crawl has a capture of this host."""
        return self._read_value(lookup_key("h", host)) is not None

    def error_page_of(self, host: str) -> list[Capture]:
        """Return the captures of the first URL that the host answered with 404; empty if the crawl met none."""
        prefix = lookup_key("m", host)
        with self._env.begin() as txn:
            cursor = txn.cursor()
            if not cursor.set_range(prefix) or not cursor.key().startswith(prefix):
                return []
            return list(self._parse_captures(txn.get(b"e" + cursor.key()[-16:]) or b""))

    def _captures_of_group(self, name: bytes) -> list[Capture]:
        members = self._read_value(name) or b""
        values = (self._read_value(b"e" + members[i : i + 16]) for i in range(0, len(members), 16))
        return [capture for value in values if value for capture in self._parse_captures(value)]

    def _parse_captures(self, value: bytes) -> Iterator[Capture]:
        url, rows = orjson.loads(value)
        for row in rows:
            yield self._parse_row(url, row)

    def _parse_row(self, url: str, row: list[Any]) -> Capture:
        """Return a capture of a URL from its stored values, which are changed."""
        source = self._sources[row[_SOURCE]]
        row[_SOURCE], row[_PLACE] = source.file, source.locate(row[_PLACE])
        if len(row) > _HEAD:
            source_id, offset, length = row[_HEAD]
            row[_HEAD] = (self._sources[source_id].file, offset, length)
        return Capture(url, *row)

    def recorded_exchanges(self, key: str) -> list[Capture]:
        """Return the responses that were recorded for requests of a key, in the order of the recording."""
        value = self._read_value(lookup_key("r", key))
        return [self._parse_row(url, row) for url, row in orjson.loads(value)] if value else []

    def iter_urls(self) -> Iterator[str]:
        """Yield every exact URL, in the order of the file (by hash)."""
        with self._env.begin() as txn:
            for name, value in txn.cursor():
                if name[:1] == b"e":
                    yield orjson.loads(value)[0]
