"""Result records: all a result shows, ready to paste, and a query-biased snippet in a few integer operations.

One record per searchable page, by dense id. Layout, little endian:

    u16 terms, u16 passages, u16 url bytes, u16 title bytes, i32 day number
    u16 x terms      sorted 16-bit hashes of the analyzer's terms
    u64 x terms      per term, in which passages it occurs (bit i: passage i)
    u32 x passages+1 offsets into the passage text
    url, title, passage text: JSON string bodies (escaped UTF-8, no quotes)

The best passage holds the rarest query term, and among those the next rarest, and so on; the first one wins a tie.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from zlib import crc32

import orjson

from emulator.dates import day_text
from emulator.types import Hit
from index.analysis import analyzer, spaced

_HEAD = struct.Struct("<HHHHi")
READ_CHARS = 16_384
"""Passages are cut from this much of a page."""
MAX_PASSAGES = 64
PASSAGE_CHARS = 260
MAX_TITLE = 300


class _Hashes(dict[str, int]):
    """16-bit hashes of terms; the same few words make most of all text, so they are kept."""

    def __missing__(self, term: str) -> int:
        if len(self) > 1 << 20:
            self.clear()
        value = self[term] = crc32(term.encode()) & 0xFFFF
        return value


_HASHES = _Hashes()
_ENDS = (". ", "! ", "? ", "。", "！", "？", "; ", ": ")


def term_hash(term: str) -> int:
    """16-bit hash of a term."""
    return _HASHES[term]


def passages(text: str) -> list[str]:
    """Cut a text into passages of at most `PASSAGE_CHARS`, in their later half at a line, sentence or word end."""
    found: list[str] = []
    text = text[:READ_CHARS]
    start, size = 0, len(text)
    while start < size and len(found) < MAX_PASSAGES:
        end = start + PASSAGE_CHARS
        if end < size:
            half = start + PASSAGE_CHARS // 2
            cut = text.rfind("\n", half, end) + 1 or max(text.rfind(mark, half, end) for mark in _ENDS) + 1
            end = cut or text.rfind(" ", half, end) + 1 or end
        if passage := " ".join(text[start:end].split()):
            found.append(passage)
        start = end
    return found


def _body(text: str) -> bytes:
    return orjson.dumps(text)[1:-1]


def encode(url: str, title: str, day: int, text: str) -> bytes:
    """The record of one page."""
    parts = passages(text)
    analyze = analyzer().analyze
    masks: defaultdict[int, int] = defaultdict(int)
    for number, part in enumerate(parts):
        bit = 1 << number
        for key in map(_HASHES.__getitem__, set(analyze(spaced(part)))):
            masks[key] |= bit
    hashes = sorted(masks)
    bodies = [_body(part) for part in parts]
    offsets = array("I", [0])
    for body in bodies:
        offsets.append(offsets[-1] + len(body))
    url_body, title_body = _body(url), _body(title[:MAX_TITLE])
    return b"".join(
        (
            _HEAD.pack(len(hashes), len(bodies), len(url_body), len(title_body), day),
            array("H", hashes).tobytes(),
            array("Q", [masks[key] for key in hashes]).tobytes(),
            offsets.tobytes(),
            url_body,
            title_body,
            *bodies,
        )
    )


def hit(record: memoryview, doc: int, score: float, hashes: Sequence[int]) -> Hit:
    """The result of one record; `hashes` are the query's term hashes, rarest first."""
    terms, count, url_bytes, title_bytes, day = _HEAD.unpack_from(record)
    at = 12 + 10 * terms
    url_at = at + 4 * (count + 1)
    title_at = url_at + url_bytes
    text_at = title_at + title_bytes
    start, end = 0, 0
    if count:
        mask = _passages_with(record, terms, hashes)
        number = (mask & -mask).bit_length() - 1 if mask else 0
        start, end = struct.unpack_from("<II", record, at + 4 * number)
    return Hit(
        doc,
        score,
        bytes(record[url_at:title_at]),
        bytes(record[title_at:text_at]),
        bytes(record[text_at + start : text_at + end]),
        day_text(day),
    )


def _passages_with(record: memoryview, terms: int, hashes: Sequence[int]) -> int:
    known = record[12 : 12 + 2 * terms].cast("H")
    masks = record[12 + 2 * terms : 12 + 10 * terms].cast("Q")
    best = 0
    for wanted in hashes:
        place = bisect_left(known, wanted)
        if place < terms and known[place] == wanted:
            mask = masks[place]
            best = (best & mask or best) if best else mask
    return best
