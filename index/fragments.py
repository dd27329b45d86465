"""Chooses the sentences of a page that a long snippet shows, in pure Python; `_reading.c` does the same where it was
compiled.

The sentences around the passage that was found are scored by the words of the query that they have, each weighed by its
rareness, and by what a question of its kind asks for. One run of sentences is chosen, or two that are apart where they
cover more. All sums are of whole numbers, so that both readers choose alike.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from webemu.index.record_reader import HEAD

AROUND = 4
"""Passages on each side of the one that was found, from which sentences are taken."""
LONGEST_ABBREVIATION = 4
"""Letters of the longest abbreviation that is told from the end of a sentence."""
ANY, YEAR, NUMBER, NAME = 0, 1, 2, 3
"""Kinds of things that a question asks for: anything, a year, a number, or a name."""
ELLIPSIS = " … ".encode()
"""Text between two fragments."""
COVER, DENSITY, KIND, LENGTH = 20, 10, 10, 2
"""Weights of a choice: words that it covers, words of its best sentence, words of its best sentence that has what is
asked for, and its length. The sum of all words' weights, once, is the price of a second fragment.
"""
_CJK = 0xE3
"""First byte of letters of scripts without spaces, whose words begin anywhere."""
_SENTENCE_END = re.compile(
    rb"""[.!?](?:[')\]]|\\"|\xe2\x80[\x99\x9d])*\ (?=[A-Z0-9(\[\\\xc3-\xff])|(?:\xe3\x80\x82|\xef\xbc[\x81\x9f])\ ?"""
)
_ABBREVIATION = re.compile(rb"(?<![A-Za-z\x80-\xff])(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Prof|Jr|Sr|vs|No)\Z")
_YEAR = re.compile(rb"(?<![0-9])[12][0-9]{3}(?![0-9])")
_NUMBER = re.compile(rb"[0-9]")
_NAME = re.compile(rb"(?<=[^A-Za-z0-9])[A-Z][a-z]")

Words: TypeAlias = Sequence[tuple[tuple[bytes, ...], int]]
"""Beginnings that each word of a query may have in a text, ASCII in lower case, and its weight; at most 32 words."""


class Segment(NamedTuple):
    """A sentence, or a passage's part of one that is too long."""

    start: int
    end: int
    """Offsets without spaces at the ends."""
    word_bits: int
    """Bit i: it has the i-th word."""
    weight: int
    """Weight of its words."""
    is_asked: bool
    """True if it has what the question asks for."""


def choose_fragments(record: memoryview, snippet: bytes, words: Words, kind: int, limit: int) -> bytes:
    """Return the sentences to show in place of a snippet, which is one of the record's passages: at most `limit`
    characters unless one passage has more. Anything else is returned as it is.

    All texts are JSON string bodies, whose escapes count as several characters.
    """
    passages = _read_passages(record)
    if snippet not in passages:
        return snippet
    number = passages.index(snippet)
    first = max(0, number - AROUND)
    text, starts = _join(passages[first : number + AROUND + 1])
    segments = [_measure(text, *ends, words, kind) for ends in _split(text, starts, limit)]
    if not segments:
        return snippet
    runs = _choose(text, segments, words, limit)
    if not any(segment.word_bits for segment in segments):
        runs = _begin_at(text, segments, starts[number - first], limit)
    return ELLIPSIS.join(text[segments[start].start : segments[end].end] for start, end in runs)


def _read_passages(record: memoryview) -> list[bytes]:
    """Return the passages of a record."""
    count, parts, url_bytes, title_bytes, *_ = HEAD.unpack_from(record)
    tables_offset = HEAD.size + 10 * count
    text_at = tables_offset + 4 * (parts + 1) + url_bytes + title_bytes
    offsets = struct.unpack_from(f"<{parts + 1}I", record, tables_offset)
    return [bytes(record[text_at + start : text_at + end]) for start, end in pairwise(offsets)]


def _join(passages: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """Return passages as one text, and the offset of each."""
    text, previous = b"", b""
    starts: list[int] = []
    for passage in passages:
        text += b" " if starts and not _belongs(previous, passage) else b""
        starts.append(len(text))
        text += passage
        previous = passage
    return text, starts


def _belongs(before: bytes, after: bytes) -> bool:
    """True if two passages belong together without a space: both sides are of a script that has none."""
    is_long = len(before) > 2 and len(after) > 2
    return is_long and _CJK <= before[-3] < 0xEA and _CJK <= after[0] < 0xEA


def _split(text: bytes, passage_starts: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of sentences; those of more than `limit` characters are split where passages begin."""
    for start, end in pairwise([0, *_find_sentences(text), len(text)]):
        borders = passage_starts if _count(text[start:end]) > limit else ()
        for first, last in pairwise([start, *(border for border in borders if start < border < end), end]):
            if text[first:last].strip(b" "):
                yield first, last


def _find_sentences(text: bytes) -> Iterator[int]:
    """Yield the offset of each sentence but the first. An initial or a title such as `Dr.` ends none."""
    for match in _SENTENCE_END.finditer(text):
        is_abbreviation = match[0].startswith(b".") and _ABBREVIATION.search(
            text[max(0, match.start() - LONGEST_ABBREVIATION - 1) : match.start()]
        )
        if not is_abbreviation and match.end() < len(text):
            yield match.end()


def _measure(text: bytes, start: int, end: int, words: Words, kind: int) -> Segment:
    """Return a segment with the words that it has, and whether it has what is asked for."""
    start += len(text[start:end]) - len(text[start:end].lstrip(b" "))
    end = start + len(text[start:end].rstrip(b" "))
    lower = text[start:end].lower()
    word_bits = sum(1 << number for number, (beginnings, _) in enumerate(words) if _has_word(lower, beginnings))
    return Segment(start, end, word_bits, _weigh(words, word_bits), _has_kind(text[start:end], lower, words, kind))


def _has_word(lower: bytes, beginnings: Sequence[bytes]) -> bool:
    """True if a text has a word that begins so."""
    return any(_find_word(lower, beginning) for beginning in beginnings if beginning)


def _find_word(lower: bytes, beginning: bytes) -> bool:
    offset = lower.find(beginning)
    while offset > 0 and beginning[0] < _CJK and lower[offset - 1 : offset].isalnum():
        offset = lower.find(beginning, offset + 1)
    return offset >= 0


def _has_kind(segment: bytes, lower: bytes, words: Words, kind: int) -> bool:
    """True if a segment has what a question of this kind asks for: a name is not of the query, nor the first word."""
    if kind == NAME:
        beginnings = [beginning for each, _ in words for beginning in each if beginning]
        return any(
            not any(lower.startswith(one, match.start()) for one in beginnings) for match in _NAME.finditer(segment)
        )
    return kind != ANY and (_YEAR if kind == YEAR else _NUMBER).search(segment) is not None


def _choose(text: bytes, segments: Sequence[Segment], words: Words, limit: int) -> list[tuple[int, int]]:
    """Return the best run of segments as the numbers of its first and last, or the two best."""
    total = max(1, sum(weight for _, weight in words))
    best, runs = -1, [(0, 0)]
    for start, end, size, score in _list_runs(text, segments, words, limit):
        if (score := score + LENGTH * total * size // limit) > best:
            best, runs = score, [(start, end)]
    anchor = max(range(len(segments)), key=lambda number: (_value(segments[number]), -number))
    for number in range(len(segments)):
        pair = sorted((anchor, number))
        size = sum(_count(text[segments[one].start : segments[one].end]) for one in pair) + 3
        if abs(number - anchor) > 1 and size <= limit:
            score = _score([segments[one] for one in pair], words) - total + LENGTH * total * size // limit
            if score > best:
                best, runs = score, [(pair[0], pair[0]), (pair[1], pair[1])]
    return runs


def _list_runs(
    text: bytes, segments: Sequence[Segment], words: Words, limit: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first, last, characters, score) of each run of segments that fits, and of each segment by itself."""
    for start in range(len(segments)):
        for end in range(start, len(segments)):
            size = _count(text[segments[start].start : segments[end].end])
            if size > limit and end > start:
                break
            yield start, end, size, _score(segments[start : end + 1], words)


def _score(parts: Sequence[Segment], words: Words) -> int:
    """Return what segments are worth together, without their length."""
    word_bits = 0
    for segment in parts:
        word_bits |= segment.word_bits
    density = max(segment.weight for segment in parts)
    kind_weight = max((segment.weight for segment in parts if segment.is_asked), default=0)
    return COVER * _weigh(words, word_bits) + DENSITY * density + KIND * kind_weight


def _value(segment: Segment) -> int:
    """Return what a segment is worth as the first of two."""
    return DENSITY * segment.weight + (KIND * segment.weight if segment.is_asked else 0)


def _weigh(words: Words, word_bits: int) -> int:
    """Return the weight of the words whose bits are set."""
    return sum(weight for number, (_, weight) in enumerate(words) if word_bits >> number & 1)


def _begin_at(text: bytes, segments: Sequence[Segment], offset: int, limit: int) -> list[tuple[int, int]]:
    """Return the run of segments that begins with the one at an offset of the text, or before it."""
    start = max((number for number, segment in enumerate(segments) if segment.start <= offset), default=0)
    end = start
    while end + 1 < len(segments) and _count(text[segments[start].start : segments[end + 1].end]) <= limit:
        end += 1
    return [(start, end)]


def _count(text: bytes) -> int:
    """Return the number of characters in UTF-8."""
    return sum((byte & 0xC0) != 0x80 for byte in text)
