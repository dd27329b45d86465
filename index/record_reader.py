"""Reads result records (`webemu.index.records` has the layout) in pure Python; `_reading.c` does the same where it was
compiled.

Both return the same floats to the last bit: sums run in the same order, without fused operations.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt

HEAD = struct.Struct("<HHHHHHi")
"""Head of a record: six counts and the day number."""
Terms = Sequence[tuple[tuple[int, ...], float]]
"""Hashes of each query word's readings, and its rareness."""
Pairs = Sequence[tuple[bytes, ...]]
"""Neighbouring query words, each pair in its possible spellings."""


Features = tuple[float, float, float, int]
"""(title, passage, order, passages): what a record tells of the features of `webemu.index.rank`."""
MAX_PASSAGES = 64
"""Passages of a record at most: one bit each of a 64-bit mask."""


def match_features(records: Sequence[memoryview], terms: Terms, pairs: Pairs) -> list[Features]:
    """Return (title, passage, order, passages) for each record.

    `terms` holds the query's words. `pairs` holds neighbouring words, ASCII in lower case; a pair matches where no
    ASCII letter or digit precedes it.
    """
    return [_match_features(record, terms, pairs) for record in records]


def _match_features(record: memoryview, terms: Terms, pairs: Pairs) -> Features:
    count, parts, url_bytes, title_bytes, title_term_count, _, _ = HEAD.unpack_from(record)
    term_hashes, masks = _hash_tables(record, count)
    title = set(record[len(record) - 2 * title_term_count :].cast("H")) if title_term_count else set()
    total, title_weight, title_words = 0.0, 0.0, 0
    passages = min(parts, MAX_PASSAGES)
    all_passages = (1 << passages) - 1
    single, window = [0.0] * (passages or 1), [0.0] * (passages or 1)
    for hashes, rareness in terms:
        total += rareness
        if not title.isdisjoint(hashes):
            title_weight += rareness
            title_words += 1
        mask = 0
        for term_hash in hashes:
            index = bisect_left(term_hashes, term_hash)
            if index < count and term_hashes[index] == term_hash:
                mask |= masks[index]
        _add_to_bits(single, mask & all_passages, rareness)
        _add_to_bits(window, (mask | mask << 1 | mask >> 1) & all_passages, rareness)
    best_window = max(window)
    order = 0.0
    if pairs and best_window:
        number = window.index(best_window)
        tables_offset = HEAD.size + 10 * count
        start, end = (_offset(record, tables_offset, index) for index in (max(0, number - 1), min(parts, number + 2)))
        text_at = tables_offset + 4 * (parts + 1) + url_bytes + title_bytes
        passage_text = bytes(record[text_at + start : text_at + end]).lower()
        order = sum(any(_contains_word(passage_text, form) for form in pair) for pair in pairs) / len(pairs)
    if not total:
        return 0.0, 0.0, order, passages
    return (
        sqrt(title_weight / total * min(1.0, title_words / title_term_count)) if title_words else 0.0,
        (max(single) + best_window) / (2 * total),
        order,
        passages,
    )


def _add_to_bits(sums: list[float], mask: int, value: float) -> None:
    """Add a value to the sum of every passage in a mask."""
    while mask:
        sums[(mask & -mask).bit_length() - 1] += value
        mask &= mask - 1


def _contains_word(passage_text: bytes, spelling: bytes) -> bool:
    """True if the text has the form at a place that no ASCII letter or digit precedes."""
    offset = passage_text.find(spelling)
    while offset > 0 and passage_text[offset - 1 : offset].isalnum():
        offset = passage_text.find(spelling, offset + 1)
    return offset >= 0


def result_fields(record: memoryview, hashes: Sequence[int], passage_mask: int) -> tuple[bytes, bytes, bytes, int]:
    """Return (url, title, passage, day number) of a record, as bytes ready to paste into JSON.

    The passage is the one that holds the rarest of the term hashes, and among those the next rarest, and so on; the
    first one wins a tie. `passage_mask` has a bit for each passage to choose from; 0 allows all.
    """
    count, parts, url_bytes, title_bytes, _, _, day = HEAD.unpack_from(record)
    tables_offset = HEAD.size + 10 * count
    url_at = tables_offset + 4 * (parts + 1)
    title_at = url_at + url_bytes
    text_at = title_at + title_bytes
    start, end = 0, 0
    if parts:
        term_hashes, masks = _hash_tables(record, count)
        best = passage_mask
        for term_hash in hashes:
            index = bisect_left(term_hashes, term_hash)
            if index < count and term_hashes[index] == term_hash:
                mask = masks[index]
                best = (best & mask or best) if best else mask
        number = (best & -best).bit_length() - 1 if best else 0
        start, end = _offset(record, tables_offset, number), _offset(record, tables_offset, number + 1)
    return (
        bytes(record[url_at:title_at]),
        bytes(record[title_at:text_at]),
        bytes(record[text_at + start : text_at + end]),
        day,
    )


def _hash_tables(record: memoryview, count: int) -> tuple[memoryview, memoryview]:
    """Return the sorted term hashes of a record and the passage mask of each."""
    return record[HEAD.size : HEAD.size + 2 * count].cast("H"), record[
        HEAD.size + 2 * count : HEAD.size + 10 * count
    ].cast("Q")


def _offset(record: memoryview, tables_offset: int, passage: int) -> int:
    """Return the offset of a passage in the passage text; the offsets begin at byte `tables_offset` of the record."""
    offset: int = struct.unpack_from("<I", record, tables_offset + 4 * passage)[0]
    return offset
