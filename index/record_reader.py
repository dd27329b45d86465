"""Reading result records (laid out in `webemu.index.records`) in Python; `_reading.c` does the same where it was compiled.

Both give the same floats to the last bit: sums go in order, and nothing is fused.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt

HEAD = struct.Struct("<HHHHHHi")


Terms = Sequence[tuple[tuple[int, ...], float]]
Pairs = Sequence[tuple[bytes, ...]]


def agreements(records: Sequence[memoryview], terms: Terms, pairs: Pairs) -> list[tuple[float, float, float]]:
    """(title, passage, order) of `webemu.index.rank` that each page has of a query.

    `terms`: of each word, the rarest first, the hashes of all that it may be, and how rare it is. `pairs`: of words
    side by side, each as it may be written, ASCII in lower case; found where no letter or digit of ASCII is before it.
    """
    return [_agreement(record, terms, pairs) for record in records]


def _agreement(record: memoryview, terms: Terms, pairs: Pairs) -> tuple[float, float, float]:
    count, parts, url_bytes, title_bytes, named, _, _ = HEAD.unpack_from(record)
    known, masks = _tables(record, count)
    title = set(record[len(record) - 2 * named :].cast("H")) if named else set()
    best, total, together, entitled, shared = 0, 0.0, 0.0, 0.0, 0
    for hashes, rareness in terms:
        total += rareness
        if not title.isdisjoint(hashes):
            entitled += rareness
            shared += 1
        mask = 0
        for wanted in hashes:
            place = bisect_left(known, wanted)
            if place < count and known[place] == wanted:
                mask |= masks[place]
        both = best & mask if best else mask
        if both:
            best, together = both, together + rareness
    order = 0.0
    if pairs and best:
        at, number = HEAD.size + 10 * count, (best & -best).bit_length() - 1
        start, end = (_offset(record, at, place) for place in (max(0, number - 1), min(parts, number + 2)))
        text_at = at + 4 * (parts + 1) + url_bytes + title_bytes
        said = bytes(record[text_at + start : text_at + end]).lower()
        order = sum(any(_holds(said, form) for form in pair) for pair in pairs) / len(pairs)
    if not total:
        return 0.0, 0.0, order
    return sqrt(entitled / total * min(1.0, shared / named)) if shared else 0.0, together / total, order


def _holds(said: bytes, form: bytes) -> bool:
    at = said.find(form)
    while at > 0 and said[at - 1 : at].isalnum():
        at = said.find(form, at + 1)
    return at >= 0


def shown(record: memoryview, hashes: Sequence[int], within: int) -> tuple[bytes, bytes, bytes, int]:
    """(url, title, passage, day number) of a page: the passage that holds the rarest of the term hashes, and among
    those the next rarest, and so on; the first one wins a tie. `within`: the passages (a bit each) that it is looked
    for in; 0 is all."""
    count, parts, url_bytes, title_bytes, _, _, day = HEAD.unpack_from(record)
    at = HEAD.size + 10 * count
    url_at = at + 4 * (parts + 1)
    title_at = url_at + url_bytes
    text_at = title_at + title_bytes
    start, end = 0, 0
    if parts:
        known, masks = _tables(record, count)
        best = within
        for wanted in hashes:
            place = bisect_left(known, wanted)
            if place < count and known[place] == wanted:
                mask = masks[place]
                best = (best & mask or best) if best else mask
        number = (best & -best).bit_length() - 1 if best else 0
        start, end = _offset(record, at, number), _offset(record, at, number + 1)
    return (
        bytes(record[url_at:title_at]),
        bytes(record[title_at:text_at]),
        bytes(record[text_at + start : text_at + end]),
        day,
    )


def _tables(record: memoryview, count: int) -> tuple[memoryview, memoryview]:
    return record[HEAD.size : HEAD.size + 2 * count].cast("H"), record[
        HEAD.size + 2 * count : HEAD.size + 10 * count
    ].cast("Q")


def _offset(record: memoryview, at: int, place: int) -> int:
    offset: int = struct.unpack_from("<I", record, at + 4 * place)[0]
    return offset
