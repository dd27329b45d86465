"""Titles of pages for people who are still typing: completions of what they began.

    titles.bin/.idx  plain form, newline, title as shown; from the shortest to the longest
    places.bin       every place where a word of a title begins (u64: character << 32 | title), in the order of the text

A title is shown without the name of its site: what many titles end with after a bar or a dash.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from pathlib import Path

from webemu.index.blobs import Blobs, BlobWriter, map_file

FOLDER = "titles"
MAX_TITLES = 1_000_000
MAX_TITLE = 100
"""Longer ones complete nothing."""
MAX_PREFIX = 48
"""Characters by which titles are told apart."""
MAX_STARTS = 12
SHARED = 3
"""An ending of so many titles is the name of a site."""
_WORDS = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ENDING = re.compile(r"(.*\S)\s+[-–—|·•»:]{1,2}\s+(\S.*)")
_AFTER_WORD = "!"
"""Sorts after the space that ends a word and before every letter and digit."""
_LAST = "\U0010ffff"


def plain(text: str) -> str:
    """The words of a text, lower case without accents, one space between."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(_WORDS.findall(text.replace("’", "'").casefold()))


def write_titles(folder: Path, titles: Sequence[str]) -> None:
    """Write the files of a new folder from the distinct titles of a snapshot, in a fixed order."""
    folder.mkdir()
    named: dict[str, str] = {}
    for title in _without_sites(titles):
        named.setdefault(plain(title), title)
    named.pop("", None)
    ranked = sorted(named.items(), key=lambda entry: (len(entry[0]), entry[0]))[:MAX_TITLES]
    with BlobWriter(folder / "titles") as blobs:
        for name, title in ranked:
            blobs.add(f"{name}\n{title}".encode("utf-8", "replace"))
    names = [name for name, _ in ranked]
    with (folder / "places.bin").open("wb") as file:
        for group in _grouped(names):
            file.write(array("Q", sorted(group, key=lambda place: (_text(names, place), place))).tobytes())


def _without_sites(titles: Sequence[str]) -> Iterator[str]:
    endings = Counter(found[2] for _, found in _split(titles) if found)
    for title, found in _split(titles):
        shown = found[1] if found and endings[found[2]] >= SHARED else title
        if len(shown) <= MAX_TITLE:
            yield shown


def _split(titles: Sequence[str]) -> Iterator[tuple[str, re.Match[str] | None]]:
    for title in titles:
        if len(title) < 1000:
            spaced = " ".join(title.split())
            yield spaced, _ENDING.fullmatch(spaced)


def _grouped(names: Sequence[str]) -> Iterator[array[int]]:
    """Places by how their text begins, in order: sorted group by group, their texts are never in memory all at once."""
    groups: dict[str, array[int]] = {}
    for number, name in enumerate(names):
        for at in _starts(name):
            groups.setdefault(name[at : at + 3], array("Q")).append(at << 32 | number)
    for beginning in sorted(groups):
        yield groups.pop(beginning)


def _starts(name: str) -> Iterator[int]:
    """Where its words begin, the first few of them."""
    at = 0
    for _ in range(MAX_STARTS):
        yield at
        at = name.find(" ", at) + 1
        if not at:
            return


def _text(names: Sequence[str], place: int) -> str:
    at = place >> 32
    return names[place & 0xFFFFFFFF][at : at + MAX_PREFIX]


class Titles:
    """Read side, memory-mapped. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._titles = Blobs(folder / "titles")
        self._places = map_file(folder / "places.bin").cast("Q")

    def suggest(self, prefix: str, limit: int) -> list[str]:
        """Titles with words that begin so: a whole word before a part, early in the title before late, then short."""
        wanted = plain(prefix)[:MAX_PREFIX]
        if not wanted or not len(self._places):
            return []
        start, whole = self._place(wanted), self._place(wanted + _AFTER_WORD)
        end = whole if prefix[-1:].isspace() else self._place(wanted + _LAST)
        found: dict[int, None] = {}
        for first, last in ((start, whole), (whole, end)):
            if len(found) < limit:
                best = nsmallest(limit * 2, self._places[first:last])
                found |= dict.fromkeys(place & 0xFFFFFFFF for place in best)
        return [self._title(number)[1] for number in list(found)[:limit]]

    def _place(self, text: str) -> int:
        return bisect_left(self._places, text, key=self._text)

    def _text(self, place: int) -> str:
        at = place >> 32
        return self._title(place & 0xFFFFFFFF)[0][at : at + MAX_PREFIX]

    def _title(self, number: int) -> tuple[str, str]:
        name, _, title = bytes(self._titles[number]).decode().partition("\n")
        return name, title
