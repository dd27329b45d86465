"""Completes page titles for users who are still typing. Each shard has the titles of its searchable pages:

    titles.bin/.idx  folded words, newline, title as shown; from the shortest to the longest
    places.bin       every offset at which a word of a title begins (u64: character << 32 | title), in text order;
                     then, in the same order, the first eight bytes of the text at each (u64, big end first)
    minima.bin       the smallest of each 32 of these places (u64)

A title is shown without the name of its site: the ending after a bar or dash that many titles of the shard share.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from heapq import merge, nsmallest
from pathlib import Path
from typing import NamedTuple

from webemu.index.blobs import Blobs, BlobWriter, map_file

FOLDER = "titles"
"""Name of the folder in that of a shard."""
MAX_TITLE_CHARACTERS = 100
"""Longest title that completes anything, in characters."""
MAX_PREFIX_CHARACTERS = 48
"""Characters by which titles are ordered."""
MAX_WORD_STARTS = 12
"""Words of a title, from its beginning, at which a completion may start."""
MIN_SHARED_ENDINGS = 3
"""Titles that have to share an ending for it to be the name of a site."""
_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ENDING = re.compile(r"(.*\S)\s+[-–—|·•»:]{1,2}\s+(\S.*)")
_SPACED = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else ord(" ") for byte in range(256))
"""Table of bytes in which all but ASCII letters and digits are spaces."""
_KEY_BYTES = 8
"""Bytes at the beginning of a text that are compared as a number."""
_BLOCK = 32
"""Places of which one minimum is kept."""
_AFTER_WORD = "!"
"""Sorts after the space that ends a word and before every letter and digit."""
_LAST_CHARACTER = "\U0010ffff"


def fold_words(text: str) -> str:
    """Return the words of a text in lower case without accents, separated by one space."""
    if text.isascii() and "'" not in text:  # the same three times faster
        return " ".join(text.lower().encode().translate(_SPACED).decode().split())
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(_WORDS.findall(text.replace("’", "'").casefold()))


class Completion(NamedTuple):
    """A title that completes what was typed. The best of several is the smallest."""

    is_partial: bool
    """True if what was typed ends within a word of the title."""
    offset: int
    """Characters of the folded title before what was typed."""
    length: int
    """Characters of the folded title."""
    words: str
    """The folded title: titles that differ in signs or letter case alone are one."""
    title: str


def select_best(completions: Iterable[Completion], limit: int) -> list[Completion]:
    """Return the best completions in order, one of each title: whole words before parts of words, early in the title,
    then short.
    """
    best: dict[str, Completion] = {}
    for completion in sorted(completions):
        best.setdefault(completion.words, completion)
    return list(best.values())[:limit]


def write_titles(folder: Path, titles: Collection[str]) -> None:
    """Write the files of a new folder. Equal titles in any order give equal files."""
    folder.mkdir()
    titles_by_words: dict[str, str] = {}
    for title in _strip_site_names(sorted({title.encode("utf-8", "replace").decode() for title in titles})):
        titles_by_words.setdefault(fold_words(title), title)
    titles_by_words.pop("", None)
    ranked = sorted(sorted(titles_by_words.items()), key=lambda entry: len(entry[0]))
    with BlobWriter(folder / "titles") as blobs:
        for name, title in ranked:
            blobs.add(f"{name}\n{title}".encode())
    names = [name for name, _ in ranked]
    places, keys = array("Q"), array("Q")
    for group in _group_places(names):
        ordered_places = sorted(sorted(group), key=partial(_text_at, names))  # by text, then by place
        places.extend(ordered_places)
        keys.extend(_to_key(_text_at(names, place)) for place in ordered_places)
    minima = array("Q", (min(places[start : start + _BLOCK]) for start in range(0, len(places), _BLOCK)))
    (folder / "places.bin").write_bytes(places.tobytes() + keys.tobytes())
    (folder / "minima.bin").write_bytes(minima.tobytes())


def _strip_site_names(titles: Sequence[str]) -> Iterator[str]:
    """Yield the titles without the names of their sites, except long ones."""
    spaced_titles = [" ".join(title.split()) for title in titles if len(title) < 1000]
    stems, starts = array("i"), array("i")  # ends of titles without a possible site name, and where that begins
    for title in spaced_titles:
        match = _ENDING.fullmatch(title)
        stems.append(match.end(1) if match else 0)
        starts.append(match.start(2) if match else 0)
    endings = Counter(title[start:] for title, start in zip(spaced_titles, starts, strict=True) if start)
    for title, stem, start in zip(spaced_titles, stems, starts, strict=True):
        visible_title = title[:stem] if start and endings[title[start:]] >= MIN_SHARED_ENDINGS else title
        if len(visible_title) <= MAX_TITLE_CHARACTERS:
            yield visible_title


def _group_places(names: Sequence[str]) -> Iterator[array[int]]:
    """Yield places grouped by their first three characters, in order: sorting needs one group in memory at a time."""
    groups: defaultdict[str, array[int]] = defaultdict(partial(array, "Q"))
    for number, name in enumerate(names):
        offset = 0
        for _ in range(MAX_WORD_STARTS):
            groups[name[offset : offset + 3]].append(offset << 32 | number)
            offset = name.find(" ", offset) + 1
            if not offset:
                break
    for beginning in sorted(groups):
        yield groups.pop(beginning)


def _text_at(names: Sequence[str], word_place: int) -> str:
    """Return the text at a place."""
    offset = word_place >> 32
    return names[word_place & 0xFFFFFFFF][offset : offset + MAX_PREFIX_CHARACTERS]


def _to_key(text: str) -> int:
    """Return a number that is ordered as the text, as far as its first bytes go."""
    return int.from_bytes(_encode(text[:_KEY_BYTES])[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0"))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # what is typed may hold half a surrogate pair


class Titles:
    """Memory-mapped reader of one folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._titles = Blobs(folder / "titles")
        numbers = map_file(folder / "places.bin").cast("Q")
        self._places, self._keys = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
        self._minima = map_file(folder / "minima.bin").cast("Q")

    def stream_completions(self, folded_prefix: str, is_partial: bool, limit: int) -> Iterator[Completion]:
        """Yield titles with words that begin like this, the best first, at most `limit` of them; a title is yielded for
        each of its words. With `is_partial` the prefix ends within a word of theirs, else with it.
        """
        start = self._find_place(folded_prefix + _AFTER_WORD if is_partial else folded_prefix)
        end = self._find_end(folded_prefix) if is_partial else self._find_place(folded_prefix + _AFTER_WORD)
        # A place begins with the character offset and ends with the title's rank by length: their order is that of
        # completions, which are read only as far as they are asked for.
        for place in self._smallest_places(start, end, limit):
            yield self._completion(place, is_partial)

    def _smallest_places(self, start: int, end: int, limit: int) -> list[int]:
        """Return the smallest places of a range in order, at most `limit`."""
        first_block, end_block = -(-start // _BLOCK), end // _BLOCK
        if not 0 < limit < end_block - first_block:
            return nsmallest(limit, self._places[start:end])
        minima = self._minima[first_block:end_block]
        cutoff = nsmallest(limit, minima)[-1]  # as many blocks have a place that is not larger
        candidates = [*self._places[start : first_block * _BLOCK], *self._places[end_block * _BLOCK : end]]
        for block, minimum in enumerate(minima, first_block):
            if minimum <= cutoff:
                candidates += self._places[block * _BLOCK : (block + 1) * _BLOCK]
        return nsmallest(limit, candidates)

    def _completion(self, word_place: int, is_partial: bool) -> Completion:
        words, title = self._title(word_place & 0xFFFFFFFF)
        return Completion(is_partial, word_place >> 32, len(words), words, title)

    def _find_place(self, text: str) -> int:
        """Return the index of the first place whose text is not before this one."""
        key = _to_key(text)
        first = bisect_left(self._keys, key)
        if len(_encode(text)) < _KEY_BYTES:
            return first
        return bisect_left(self._places, text, first, bisect_right(self._keys, key, first), key=self._text_at)

    def _find_end(self, prefix: str) -> int:
        """Return the index of the first place behind those whose texts begin with the prefix."""
        prefix_bytes = _encode(prefix)
        if len(prefix_bytes) < _KEY_BYTES:  # no text has a byte 255
            return bisect_right(self._keys, int.from_bytes(prefix_bytes.ljust(_KEY_BYTES, b"\xff")))
        return self._find_place(prefix + _LAST_CHARACTER)

    def _text_at(self, word_place: int) -> str:
        offset = word_place >> 32
        return self._title(word_place & 0xFFFFFFFF)[0][offset : offset + MAX_PREFIX_CHARACTERS]

    def _title(self, number: int) -> tuple[str, str]:
        """Return (folded words, title) by number."""
        words, _, title = bytes(self._titles[number]).decode().partition("\n")
        return words, title


def complete(shards: Sequence[Titles], prefix: str, limit: int) -> list[Completion]:
    """Return the best completions of all shards, at most `limit`, one of each title."""
    folded_prefix = fold_words(prefix)[:MAX_PREFIX_CHARACTERS]
    best: dict[str, Completion] = {}
    for is_partial in (False,) if prefix[-1:].isspace() else (False, True):
        streams = (titles.stream_completions(folded_prefix, is_partial, 2 * limit) for titles in shards)
        for completion in merge(*streams) if folded_prefix else ():
            if len(best) == limit:
                break
            best.setdefault(completion.words, completion)
    return list(best.values())
