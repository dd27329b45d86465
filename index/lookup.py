"""URL lookup in LMDB: four levels of URL keys to captures, all URLs in SURT order, and the hosts of the crawl.

Keys are one letter and a 16-byte hash: `e` exact URL, `c` canonical, `s` SURT, `l` loose (if that drops anything), `h`
host, `m` a host's 404 page, `r` a key of recorded exchanges (`webemu.emulator.exchange_keys`), whose value is a list of
pairs of URL and capture. An `e` value is the URL and its captures in time order. Values of `c`, `s` and `l` are the
`e` hashes of the URLs that share the key; an `m` value is the hash of a URL of the host that answered 404. The order
is in keys of the letter `u`, the last one: the SURT and the `e` hash. If a SURT is too long for a key, the value holds
it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import groupby, islice, takewhile
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import lmdb
import orjson

from webemu.emulator import urls
from webemu.emulator.types import Capture
from webemu.index.sorter import BATCH_PAIRS, PairSorter

FILE = "pages.lmdb"
"""Name of the lookup file in a snapshot folder."""
Row = tuple[object, ...]

FIELDS = (
    "time",
    "status",
    "mime",
    "charset",
    "digest",
    "redirect",
    "truncated",
    "kind",
    "file",
    "offset",
    "length",
    "doc",
    "declared",
    "languages",
)
"""Order of a capture's stored values; `file` is an index into the manifest's files."""
_STATUS, _FILE, _HEAD = FIELDS.index("status"), FIELDS.index("file"), len(FIELDS)
MAX_SURT = 490
"""Bytes of a SURT that a key holds; an LMDB key has at most 511."""


def lookup_key(level: str, text: str) -> bytes:
    """Return the LMDB key of a text at a level, which is one letter."""
    return level.encode() + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def write_lookup(
    path: Path,
    rows: Iterable[Row],
    surts: Iterable[tuple[str, list[str]]],
    exchanges: Iterable[Row],
    pairs: PairSorter,
) -> tuple[int, int]:
    """Write the lookup file; return the number of distinct URLs and of hosts.

    - rows: (url, head, *FIELDS), ordered by URL and time. `head` is None, or [file, offset, length] of the record whose
      HTTP head goes with the payload (revisits)
    - surts: (SURT, URLs that have it), in order
    - exchanges: (key, url, *FIELDS) of recorded exchanges, ordered by key and time
    - pairs: an empty sorter, which decides the order on disk
    """
    hosts: dict[str, int] = {}
    hosts_with_error_page: set[str] = set()
    count = 0
    for url, group in groupby(rows, key=itemgetter(0)):
        # The head comes last and only if there is one: most captures are no revisits.
        captures = [[*row[2:], row[1]] if row[1] else list(row[2:]) for row in group]
        exact = lookup_key("e", url)
        pairs.add(exact, orjson.dumps([url, captures]))
        pairs.add(lookup_key("c", urls.canonical_key(url)), exact[1:])  # without the letter: 16 bytes per URL
        if (stripped_url := urls.strip_idle_parameters(url)) != url:
            pairs.add(lookup_key("l", urls.surt_key(stripped_url)), exact[1:])
        name = urls.host_of(url)
        hosts[name] = hosts.get(name, 0) + len(captures)
        if captures[-1][_STATUS] == 404 and name not in hosts_with_error_page:
            hosts_with_error_page.add(name)
            pairs.add(lookup_key("m", name), exact[1:])
        count += 1
    for surt, members in surts:
        hashes = [lookup_key("e", member)[1:] for member in sorted(members)]
        pairs.add(lookup_key("s", surt), b"".join(hashes))
        surt_bytes = surt.encode("utf-8", "surrogatepass")
        for url_hash in hashes:
            pairs.add(_order_key(surt_bytes) + b"\0" + url_hash, surt_bytes if len(surt_bytes) > MAX_SURT else b"")
    for key, same_key in groupby(exchanges, key=itemgetter(0)):
        recorded = [[url, capture_fields] for _, url, *capture_fields in same_key]
        pairs.add(lookup_key("r", str(key)), orjson.dumps(recorded))
        for url, _ in recorded:
            hosts.setdefault(urls.host_of(str(url)), 0)
    for name, captures_of in hosts.items():
        pairs.add(lookup_key("h", name), str(captures_of).encode())
    _write_pairs(path, pairs, pairs.map_size)
    return count, len(hosts)


def _write_pairs(path: Path, pairs: Iterable[tuple[bytes, bytes]], size: int) -> None:
    """Write pairs to LMDB in key order, so that pages are full; LMDB holds one batch in memory."""
    merged_pairs = ((name, b"".join(value for _, value in group)) for name, group in groupby(pairs, key=itemgetter(0)))
    with lmdb.open(str(path), subdir=False, map_size=size, lock=False, sync=False) as env:
        while batch := list(islice(merged_pairs, BATCH_PAIRS)):
            with env.begin(write=True) as txn:
                for name, value in batch:
                    txn.put(name, value, append=True)
        env.sync(True)


def _order_key(surt: bytes) -> bytes:
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

    def __init__(self, path: Path, files: list[str]) -> None:
        """Open the file. `files` are the paths that captures refer to by number."""
        self._env = _open(path)
        self._files = files

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
            positions = cursor.iternext() if cursor.set_range(_order_key(start)) else iter(())
            # A key is the letter, the SURT, a NUL and the hash; the value has the SURT if it was too long.
            entries = ((value or name[1:-17], name[-16:]) for name, value in positions)
            candidate_entries = takewhile(lambda entry: _order_key(entry[0]) <= _order_key(stop), entries)
            # Beyond MAX_SURT bytes LMDB does not order the keys, so entries of one cut key are sorted here.
            ordered_entries = (
                entry
                for _, same in groupby(candidate_entries, key=lambda entry: _order_key(entry[0]))
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
        """Return the captures of a URL that the host answered with 404; empty if the crawl met none."""
        return self._captures_of_group(lookup_key("m", host))

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
        row[_FILE] = self._files[row[_FILE]]
        if len(row) > _HEAD:
            file, offset, length = row[_HEAD]
            row[_HEAD] = (self._files[file], offset, length)
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
