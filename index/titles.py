"""Completes page titles for users who are still typing.

    titles.bin/.idx  folded words, newline, title as shown; from the shortest to the longest
    places.bin       every offset at which a word of a title begins (u64: character << 32 | title), in text order

A title is shown without the name of its site: the ending after a bar or dash that many titles share.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from heapq import nsmallest
from pathlib import Path

from webemu.index.blobs import Blobs, BlobWriter, map_file

FOLDER = "titles"
MAX_TITLES = 1_000_000
"""Titles of a snapshot that are kept, the shortest ones."""
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


def write_titles(folder: Path, titles: Sequence[str]) -> None:
    """Write the files of a new folder from the distinct titles of a snapshot. Equal titles give equal files."""
    folder.mkdir()
    titles_by_words: dict[str, str] = {}
    for title in _strip_site_names(titles):
        titles_by_words.setdefault(fold_words(title), title)
    titles_by_words.pop("", None)
    ranked = sorted(sorted(titles_by_words.items()), key=lambda entry: len(entry[0]))[:MAX_TITLES]
    with BlobWriter(folder / "titles") as blobs:
        for name, title in ranked:
            blobs.add(f"{name}\n{title}".encode("utf-8", "replace"))
    names = [name for name, _ in ranked]
    with (folder / "places.bin").open("wb") as file:
        for group in _group_places(names):
            ordered_places = sorted(sorted(group), key=partial(_text_at, names))  # by text, then by place
            file.write(array("Q", ordered_places).tobytes())


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


class Titles:
    """Memory-mapped reader. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._titles = Blobs(folder / "titles")
        self._places = map_file(folder / "places.bin").cast("Q")

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Return titles with words that begin like this: whole words before partial ones, early in the title, then
        short.
        """
        folded_prefix = fold_words(prefix)[:MAX_PREFIX_CHARACTERS]
        if not folded_prefix or not len(self._places):
            return []
        # Places from `start` to `whole` continue with a complete word, those up to `end` with a part of one.
        start, word_end = self._find_place(folded_prefix), self._find_place(folded_prefix + _AFTER_WORD)
        end = word_end if prefix[-1:].isspace() else self._find_place(folded_prefix + _LAST_CHARACTER)
        title_numbers: dict[int, None] = {}
        for first, last in ((start, word_end), (word_end, end)):
            if len(title_numbers) < limit:
                # A place begins with the character offset, so the smallest ones are earliest in their titles.
                best = nsmallest(limit * 2, self._places[first:last])
                title_numbers |= dict.fromkeys(word_place & 0xFFFFFFFF for word_place in best)
        return [self._title(number)[1] for number in list(title_numbers)[:limit]]

    def _find_place(self, text: str) -> int:
        """Return the index of the first place whose text is not before this one."""
        return bisect_left(self._places, text, key=self._text_at)

    def _text_at(self, word_place: int) -> str:
        offset = word_place >> 32
        return self._title(word_place & 0xFFFFFFFF)[0][offset : offset + MAX_PREFIX_CHARACTERS]

    def _title(self, number: int) -> tuple[str, str]:
        """Return (folded words, title) by number."""
        name, _, title = bytes(self._titles[number]).decode().partition("\n")
        return name, title
