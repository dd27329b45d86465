"""What is measured of a page's text for ranking: a signature that near-duplicates share, and marks of quality.

Of its beginning, so that a page costs little whatever its length. The marks are those of Gopher (Rae et al. 2021,
table A1), as datatrove's GopherQualityFilter and GopherRepetitionFilter compute them; what they make of a page is
decided where they are used (`webemu.index.signals.quality`). Nothing is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

from rensa import RMinHash

SEED = 1
LANES = 128
"""Bytes of a signature: the low bytes of so many MinHashes (b-bit minwise hashing, Li and König 2010)."""
SHINGLE = 5
"""Words that are hashed together; so many times two characters where words are not spaced."""
MIN_WORDS = 50
"""Shorter texts have no signature: what they differ in may be all they say."""
HEAD = 3000
"""Characters of a text that are measured."""
_STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))
_BULLETS = tuple(f"\n{mark} " for mark in "•-*–")
_ELLIPSES = ("...\n", "…\n")


class Measures(NamedTuple):
    """Columns of `pages`."""

    signature: bytes | None
    word_length: float | None
    """Mean characters of a word; None where words are not spaced, or there are none."""
    alphabetic: float | None
    """Share of words with a letter; None as above."""
    symbols: float
    """Number signs and ellipses per word."""
    stop_words: int
    """How many of Gopher's eight English stop words occur."""
    bullets: float
    """Share of lines that begin with a bullet."""
    ellipses: float
    """Share of lines that end with an ellipsis."""
    repeated: float
    """Share of lines that stood before."""


def measured(text: str, words: int) -> Measures:
    """Measure a text that `webemu.ingest.extract.html.words` counted so many words of."""
    head = text[:HEAD]
    lower = head.lower().replace(" | ", " ").split()  # how extraction parts cells
    lines = head.split("\n")
    count, rows, kinds = max(1, len(lower)), max(1, len(lines) - lines.count("")), len(set(lines) - {""})
    letters = "".join(lower)
    spaced = words * len(head) < 2 * count * len(text)
    ended = f"\n{head}\n"
    return Measures(
        signature=_signature(lower if spaced else list(letters), spaced) if words >= MIN_WORDS else None,
        word_length=len(letters) / count if spaced else None,
        alphabetic=_lettered(lower) / count if spaced else None,
        symbols=(head.count("#") + head.count("...") + head.count("…")) / count,
        stop_words=len(_STOP_WORDS.intersection(lower)),
        bullets=sum(map(ended.count, _BULLETS)) / rows,
        ellipses=sum(map(ended.count, _ELLIPSES)) / rows,
        repeated=1 - kinds / rows if kinds else 0.0,
    )


def _lettered(words: list[str]) -> int:
    """How many words have a letter."""
    mixed = [word for word in words if not word.isalpha()]
    return len(words) - len(mixed) + sum([word.upper() != word or any(map(str.isalpha, word)) for word in mixed])


def _signature(units: list[str], spaced: bool) -> bytes:
    size, glue = (SHINGLE, " ") if spaced else (2 * SHINGLE, "")
    hashes = RMinHash(LANES, SEED)
    hashes.update(list(map(glue.join, zip(*(units[start:] for start in range(size)), strict=False))))
    return bytes([number & 255 for number in hashes.digest()])
