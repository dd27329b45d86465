"""Result records: all a result shows, ready to paste, and a query-biased snippet in a few integer operations.

One record per searchable page, by dense id. Layout, little endian:

    u16 terms, u16 passages, u16 url bytes, u16 title bytes, u16 title terms, u16 origin, i32 day number
    u16 x terms      sorted 16-bit hashes of the analyzer's terms
    u64 x terms      per term, in which passages it occurs (bit i: passage i)
    u32 x passages+1 offsets into the passage text
    url, title, passage text: JSON string bodies (escaped UTF-8, no quotes)
    u16 x title terms

`origin` holds the page's language, each of its two letters in 5 bits (a is 1; 0 is unknown), and in its highest bit
whether the day is the one on which the page says that it was published.

The best passage holds the rarest query term, and among those the next rarest, and so on; the first one wins a tie.
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

from webemu.emulator.dates import day_text
from webemu.emulator.types import Hit
from webemu.index.analysis import terms as analyze
from webemu.index.record_reader import HEAD as _HEAD

READER = "compiled"
"""Name of the reader of records that runs: `compiled`, or `python`, which is slower."""
try:
    from webemu.index._reading import agreements, shown
except ImportError:  # no compiler where it was installed
    from webemu.index.record_reader import agreements, shown

    READER = "python"

__all__ = ["READER", "agreements", "encode", "hit", "passages", "said", "term_hash", "texts"]

_START = _HEAD.size
_ORIGIN = 10
"""Offset of `origin` in the head."""
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
_APART = frozenset(" \t\r\n.!?;:。！？")
"""No word goes on after these."""
_WOVEN = re.compile("[\u0b80-\u0bff]")
"""Tamil: with it, all of a text is cut into words in another way (`webemu.index.analysis`)."""
_ENDS = (". ", "! ", "? ", "。", "！", "？", "; ", ": ")


def reader_line() -> str:
    """Return which reader of records runs, and what to do about the slower one, in a line for people."""
    if READER == "compiled":
        return READER
    return f"{READER}: searches take about a third longer; install a C compiler (cc), then install webemu again"


def term_hash(term: str) -> int:
    """16-bit hash of a term."""
    return _HASHES[term]


def passages(text: str) -> list[str]:
    """Cut a text into passages of at most `PASSAGE_CHARS`, in their later half at a line, sentence or word end."""
    return [passage for passage, _ in _passages(text)]


def _passages(text: str) -> Iterator[tuple[str, int]]:
    """Each passage, and where in the text it ends."""
    text = text[:READ_CHARS]
    start, size, count = 0, len(text), 0
    while start < size and count < MAX_PASSAGES:
        end = start + PASSAGE_CHARS
        if end < size:
            half = start + PASSAGE_CHARS // 2
            cut = text.rfind("\n", half, end) + 1 or max(text.rfind(mark, half, end) for mark in _ENDS) + 1
            end = cut or text.rfind(" ", half, end) + 1 or end
        if passage := " ".join(text[start:end].split()):
            count += 1
            yield passage, min(end, size)
        start = end


class Said(NamedTuple):
    """A text as terms, for its record and for the index."""

    passages: list[str]
    terms: list[list[str]]
    """Of each passage."""
    all: str
    """Those of the text, with a space between."""


def said(text: str, language: str = "") -> Said:
    """A text analyzed once where its passages are cut between words, else its whole anew."""
    parts, found, end, is_clean = [], [], 0, not _WOVEN.search(text)
    for passage, end in _passages(text):
        parts.append(passage)
        found.append(analyze(passage, language))
        is_clean = is_clean and (end == len(text) or text[end].isspace() or text[end - 1] in _APART)
    if not is_clean:
        return Said(parts, found, " ".join(analyze(text, language)))
    rest = analyze(text[end:], language) if end < len(text) else []
    return Said(parts, found, " ".join(chain(*found, rest)))


def _body(text: str) -> bytes:
    return orjson.dumps(text)[1:-1]


def _origin(language: str, is_published: bool) -> int:
    """Return the `origin` of a record; a language whose code has not two letters is unknown."""
    code = language.partition("-")[0].lower()
    first, second = (ord(letter) - 96 for letter in code) if re.fullmatch("[a-z]{2}", code) else (0, 0)
    return first | second << 5 | is_published << 15


def _language(origin: int) -> str:
    return chr(96 + (origin & 31)) + chr(96 + (origin >> 5 & 31)) if origin & 1023 else ""


def encode(url: str, title: str, day: int, text: Said, language: str = "", is_published: bool = False) -> bytes:
    """The record of one page; `is_published`: True if `day` is the day on which the page says it was published."""
    parts = text.passages
    masks: defaultdict[int, int] = defaultdict(int)
    for number, found in enumerate(text.terms):
        bit = 1 << number
        for key in map(_HASHES.__getitem__, set(found)):
            masks[key] |= bit
    hashes = sorted(masks)
    origin = _origin(language, is_published)
    bodies = [_body(part) for part in parts]
    offsets = array("I", [0])
    for body in bodies:
        offsets.append(offsets[-1] + len(body))
    url_body, title_body = _body(url), _body(title[:MAX_TITLE])
    named = list(dict.fromkeys(map(_HASHES.__getitem__, analyze(title[:MAX_TITLE], language))))
    return b"".join(
        (
            _HEAD.pack(len(hashes), len(bodies), len(url_body), len(title_body), len(named), origin, day),
            array("H", hashes).tobytes(),
            array("Q", [masks[key] for key in hashes]).tobytes(),
            offsets.tobytes(),
            url_body,
            title_body,
            *bodies,
            array("H", named).tobytes(),
        )
    )


def hit(record: memoryview, doc: int, score: float, hashes: Sequence[int], within: int = 0) -> Hit:
    """The result of one record; `hashes` are the query's term hashes, rarest first.

    `within`: the passages (a bit each) that the best one is looked for in; 0 is all.
    """
    url, title, snippet, day = shown(record, hashes, within)
    origin = record[_ORIGIN] | record[_ORIGIN + 1] << 8
    return Hit(doc, score, url, title, snippet, day_text(day), _language(origin), origin >> 15 == 1)


def texts(record: memoryview) -> tuple[str, str, list[str]]:
    """(url, title, passages) of one record."""
    terms, count, url_bytes, title_bytes, *_ = _HEAD.unpack_from(record)
    at = _START + 10 * terms
    offsets = struct.unpack_from(f"<{count + 1}I", record, at)
    url_at = at + 4 * (count + 1)
    title_at = url_at + url_bytes
    body = record[title_at + title_bytes :]
    parts = [_text(body[start:end]) for start, end in pairwise(offsets)]
    return _text(record[url_at:title_at]), _text(record[title_at : title_at + title_bytes]), parts


def _text(body: memoryview) -> str:
    text: str = orjson.loads(b'"' + bytes(body) + b'"')
    return text
