"""Layout of the counts of a page: how often it has each of its terms.

A search that reads the postings of the rare words alone does not know what the frequent ones add to a page's score.
That is read here, page by page, for the few hundred best pages. One blob a page, little endian:

    u32         length of the field `all`, in terms
    u32 x terms sorted; the upper 24 bits are of a term's hash, the lower 8 its count: exact below 128, then the first
                five binary digits, of 32,767 at most

A score is BM25 as Tantivy computes it (Lucene's lengths of 8 bits, k1 = 1.2, b = .75). This is the plain reader and
writer; `_reading.c` does the same where it was compiled. Both return the same floats to the last bit.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from zlib import crc32

from webemu.emulator.ports import ScoredDoc

EXACT_COUNTS = 128
"""Counts below this are stored as they are."""
MAX_COUNT = 32_767
"""Highest count that is told from lower ones."""
K1, B = 1.2, 0.75
"""Parameters of BM25 in Tantivy."""
WeightedHashes = Sequence[tuple[int, float]]
"""Terms that are looked for: 24 bits of each one's hash, and its weight (how often the query has it, times its idf)."""
CountFiles = Sequence[tuple[memoryview, memoryview]]
"""The two files of each shard, as `webemu.index.blobs` writes them: blobs, and their offsets."""


def hash_counted_term(term: str) -> int:
    """Return the hash of a term in 24 bits. A page has another term of the same hash in a case of 100,000."""
    return crc32(term.encode()) >> 8


def encode_counts(terms: str) -> bytes:
    """Return the blob of a page, given the terms of its field `all`, separated by spaces."""
    counts: Counter[int] = Counter()
    length = 0
    for term, count in Counter(terms.split(" ")).items():
        if term:
            counts[hash_counted_term(term)] += count
            length += count
    entries = array("I", [length, *sorted(term << 8 | _encode_count(count) for term, count in counts.items())])
    return entries.tobytes()


def complete_scores(
    files: CountFiles, bases: Sequence[int], ranked: Sequence[ScoredDoc], terms: WeightedHashes, average: float
) -> list[ScoredDoc]:
    """Return pages with the scores that they have by further terms too, best first, then by dense id.

    - files: counts of each shard
    - bases: first dense id of each shard
    - ranked: (score, dense id) by other terms
    - terms: further terms
    - average: mean length of the field `all`

    Raises ValueError if a blob is damaged, and IndexError if there is no such page.
    """
    completed: list[ScoredDoc] = []
    words = [(blobs[: len(blobs) // 4 * 4].cast("I"), offsets.cast("Q")) for blobs, offsets in files]
    weighted_keys = [(term, term << 8, weight * (K1 + 1.0)) for term, weight in terms]
    for score, doc in ranked:
        shard = len(bases) - 1
        while shard and bases[shard] > doc:
            shard -= 1
        entries, offsets = words[shard]
        number = doc - bases[shard]
        if not 0 <= number < len(offsets) - 1:
            raise IndexError(f"no page has the dense id {doc}")
        start, end = offsets[number], offsets[number + 1]
        if start & 3 or end & 3 or not start + 4 <= end <= 4 * len(entries):
            raise ValueError("damaged term counts")
        start, end = start // 4, end // 4
        norm = K1 * (1.0 - B + B * quantize_length(entries[start]) / average)
        for term, key, weight in weighted_keys:
            place = bisect_left(entries, key, start + 1, end)
            if place < end and (entry := entries[place]) >> 8 == term:
                count = _decode_count(entry & 255)
                score += weight * count / (count + norm)
        completed.append((score, doc))
    return sorted(completed, key=lambda hit: (-hit[0], hit[1]))


def _encode_count(count: int) -> int:
    if count < EXACT_COUNTS:
        return count
    count = min(count, MAX_COUNT)
    shift = count.bit_length() - 5
    return 80 + 16 * shift + (count >> shift & 15)


def _decode_count(code: int) -> float:
    """Return the count of a code, the middle of those that share it."""
    return code if code < EXACT_COUNTS else ((code & 15) + 16.5) * (1 << (code - 80) // 16) - 0.5


def quantize_length(length: int) -> int:
    """Return the length that Tantivy stores of a field in 8 bits: the first four binary digits of what exceeds 24."""
    excess = length - 24
    if excess < 16:
        return length
    shift = excess.bit_length() - 4
    return 24 + (excess >> shift << shift)
