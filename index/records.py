"""Result records: everything that a search result shows, ready to paste, with masks for a query-biased snippet.

One record per searchable page, by dense id. Layout, little endian:

    u16 terms, u16 passages, u16 url bytes, u16 title bytes, u16 title terms, u16 origin, i32 day number
    u16 x terms      sorted 16-bit hashes of the analyzer's terms
    u64 x terms      per term, in which passages it occurs (bit i: passage i)
    u32 x passages+1 offsets into the passage text
    url, title, passage text: JSON string bodies (escaped UTF-8, no quotes)
    u16 x title terms

`origin` holds the page's language, each of its two letters in 5 bits (a is 1; 0 is unknown), and in its highest bit
whether the day is the page's own publication date.

The best passage holds the rarest query term, and among those the next rarest, and so on; the first one wins a tie.
This module writes records; `webemu.index.record_reader` and `_reading.c` read them.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple
from zlib import crc32

import orjson

from webemu.emulator.dates import format_day
from webemu.emulator.types import Hit
from webemu.index.analysis import extract_terms as analyze
from webemu.index.record_reader import HEAD as _HEAD
from webemu.index.record_reader import MAX_PASSAGES

READER = "compiled"
"""Name of the record reader in use: `compiled`, or `python`, which is slower."""
try:
    from webemu.index._reading import match_features, result_fields
except ImportError:  # no compiler where it was installed
    from webemu.index.record_reader import match_features, result_fields

    READER = "python"

__all__ = [
    "READER",
    "analyze_text",
    "encode_record",
    "hash_term",
    "match_features",
    "read_hit",
    "read_texts",
    "split_passages",
]

_HEAD_BYTES = _HEAD.size
_ORIGIN_OFFSET = 10
"""Byte offset of `origin` in the head."""
MAX_READ_CHARACTERS = 16_384
"""Characters at the beginning of a page that passages are cut from."""
PASSAGE_CHARACTERS = 260
"""Longest passage in characters."""
CELL_BORDER = " | "
"""Text between two cells of a row of a table."""
MAX_TITLE_CHARACTERS = 300
"""Characters of a title that a record holds."""


class _TermHashes(dict[str, int]):
    """Cache of 16-bit term hashes: few distinct words make most of all text."""

    def __missing__(self, term: str) -> int:
        if len(self) > 1 << 20:
            self.clear()
        value = self[term] = (
            crc32(term.encode()) & 0xFFFF
        )  # a collision may change a snippet or a score, never which pages match
        return value


_HASHES = _TermHashes()
_WORD_BREAKS = frozenset(" \t\r\n.!?;:。！？")
"""Characters after which no word continues."""
_TAMIL = re.compile("[\u0b80-\u0bff]")
"""Tamil letters: a text that has one is tokenized differently as a whole (`webemu.index.analysis`)."""
_SENTENCE_ENDS = (". ", "! ", "? ", "。", "！", "？", "; ", ": ")
"""Sentence ends at which a passage may be cut."""


def describe_reader() -> str:
    """Return one line for people: which record reader runs, and how to get the faster one."""
    if READER == "compiled":
        return READER
    return f"{READER}: searches take about a third longer; install a C compiler (cc), then install webemu again"


def hash_term(term: str) -> int:
    """Return the 16-bit hash of a term."""
    return _HASHES[term]


def split_passages(text: str) -> list[str]:
    """Return a text cut into passages of at most `PASSAGE_CHARACTERS`, each at a line, sentence or word end in its
    second half.
    """
    return [passage for passage, _ in _iter_passages(text)]


def _iter_passages(text: str) -> Iterator[tuple[str, int]]:
    """Yield each passage and the offset in the text at which it ends."""
    text = text[:MAX_READ_CHARACTERS]
    start, size, count = 0, len(text), 0
    while start < size and count < MAX_PASSAGES:
        end = start + PASSAGE_CHARACTERS
        if end < size:
            half = start + PASSAGE_CHARACTERS // 2
            cut = text.rfind("\n", half, end) + 1 or max(text.rfind(mark, half, end) for mark in _SENTENCE_ENDS) + 1
            end = cut or text.rfind(" ", half, end) + 1 or end
        if passage := _flatten_lines(text[start:end]):  # blank stretches make no passage
            count += 1
            yield passage, min(end, size)
        start = end


def _flatten_lines(text: str) -> str:
    """Return a text on one line. Rows of a table are kept apart, and a row of two cells becomes `label: value`."""
    if CELL_BORDER not in text:
        return " ".join(text.split())
    parts: list[str] = []
    was_row = False
    for line in filter(None, (" ".join(line.split()) for line in text.split("\n"))):
        cells = line.split(CELL_BORDER)
        parts += ["; " if was_row else " "] if parts else []
        parts.append(": ".join(cells) if len(cells) == 2 and cells[0][-1].isalnum() else line)
        was_row = len(cells) > 1
    passage = "".join(parts)
    return passage if len(passage) <= PASSAGE_CHARACTERS else " ".join(text.split())


class AnalyzedText(NamedTuple):
    """A text as analyzed terms, for its record and for the index."""

    passages: list[str]
    """The text cut into passages."""
    terms: list[list[str]]
    """Terms of each passage."""
    all_terms: str
    """Terms of the entire text, separated by spaces."""


def analyze_text(text: str, language: str = "") -> AnalyzedText:
    """Return a text cut into passages and analyzed.

    Passages are analyzed once and joined where every cut lies between words; else the text is analyzed again as a
    whole.
    """
    passage_texts, passage_terms, end, is_clean = [], [], 0, not _TAMIL.search(text)
    for passage, end in _iter_passages(text):
        passage_texts.append(passage)
        passage_terms.append(analyze(passage, language))
        is_clean = is_clean and (end == len(text) or text[end].isspace() or text[end - 1] in _WORD_BREAKS)
    if not is_clean:
        return AnalyzedText(passage_texts, passage_terms, " ".join(analyze(text, language)))
    remaining_terms = analyze(text[end:], language) if end < len(text) else []
    return AnalyzedText(passage_texts, passage_terms, " ".join(chain(*passage_terms, remaining_terms)))


def _json_body(text: str) -> bytes:
    """Return the body of a JSON string: escaped, without its quotes."""
    return orjson.dumps(text)[1:-1]


def _encode_origin(language: str, is_published: bool) -> int:
    """Return the `origin` of a record. A language whose code has not two letters is stored as unknown."""
    code = language.partition("-")[0].lower()
    first, second = (ord(letter) - 96 for letter in code) if re.fullmatch("[a-z]{2}", code) else (0, 0)
    return first | second << 5 | is_published << 15


def _decode_language(origin: int) -> str:
    """Return the language code of an `origin`; empty if unknown."""
    return chr(96 + (origin & 31)) + chr(96 + (origin >> 5 & 31)) if origin & 1023 else ""


def encode_record(
    url: str, title: str, day: int, text: AnalyzedText, language: str = "", is_published: bool = False
) -> bytes:
    """Return the record of one page. `is_published` is True if `day` is the publication date that the page states."""
    parts = text.passages
    masks: defaultdict[int, int] = defaultdict(int)
    for number, passage_terms in enumerate(text.terms):
        bit = 1 << number
        for key in map(_HASHES.__getitem__, set(passage_terms)):
            masks[key] |= bit
    hashes = sorted(masks)
    origin = _encode_origin(language, is_published)
    bodies = [_json_body(part) for part in parts]
    offsets = array("I", [0])
    for body in bodies:
        offsets.append(offsets[-1] + len(body))
    url_body, title_body = _json_body(url), _json_body(title[:MAX_TITLE_CHARACTERS])
    # Title terms come last, so that the offsets before them need not know how many there are.
    title_hashes = list(dict.fromkeys(map(_HASHES.__getitem__, analyze(title[:MAX_TITLE_CHARACTERS], language))))
    return b"".join(
        (
            _HEAD.pack(len(hashes), len(bodies), len(url_body), len(title_body), len(title_hashes), origin, day),
            array("H", hashes).tobytes(),
            array("Q", [masks[key] for key in hashes]).tobytes(),
            offsets.tobytes(),
            url_body,
            title_body,
            *bodies,
            array("H", title_hashes).tobytes(),
        )
    )


def read_hit(record: memoryview, doc: int, score: float, hashes: Sequence[int], passage_mask: int = 0) -> Hit:
    """Return the search result of one record. `hashes` are the query's term hashes, rarest first.

    `passage_mask` has a bit for each passage that the snippet is chosen from; 0 allows all.
    """
    url, title, snippet, day = result_fields(record, hashes, passage_mask)
    origin = record[_ORIGIN_OFFSET] | record[_ORIGIN_OFFSET + 1] << 8
    return Hit(doc, score, url, title, snippet, format_day(day), _decode_language(origin), origin >> 15 == 1)


def is_published(record: memoryview) -> bool:
    """Return True if the day of a record is the publication date that its page states."""
    return record[_ORIGIN_OFFSET + 1] >> 7 == 1


def read_texts(record: memoryview) -> tuple[str, str, list[str]]:
    """Return (url, title, passages) of one record."""
    terms, count, url_bytes, title_bytes, *_ = _HEAD.unpack_from(record)
    tables_offset = _HEAD_BYTES + 10 * terms
    offsets = struct.unpack_from(f"<{count + 1}I", record, tables_offset)
    url_at = tables_offset + 4 * (count + 1)
    title_at = url_at + url_bytes
    body = record[title_at + title_bytes :]
    parts = [_decode_text(body[start:end]) for start, end in pairwise(offsets)]
    return _decode_text(record[url_at:title_at]), _decode_text(record[title_at : title_at + title_bytes]), parts


def _decode_text(body: memoryview) -> str:
    text: str = orjson.loads(b'"' + bytes(body) + b'"')
    return text
