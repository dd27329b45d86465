"""Features of a page's text for ranking: a signature that near-duplicates share, and measures of quality.

Only the beginning of a text is measured, so that a page costs little whatever its length. The measures are those of
Gopher (Rae et al. 2021, table A1), as datatrove's GopherQualityFilter and GopherRepetitionFilter compute them. They
are judged where they are used (`webemu.index.signals.quality`). Nothing is dropped here.
"""

from __future__ import annotations

from typing import NamedTuple

from rensa import RMinHash

SEED = 1
"""Seed of the MinHash permutations. Changing it makes all stored signatures incomparable."""
LANES = 128
"""Bytes of a signature: the low byte of each of this many MinHashes (b-bit minwise hashing, Li and König 2010)."""
SHINGLE = 5
"""Words that are hashed together; twice as many characters in scripts that do not space words."""
MIN_WORDS = 50
"""Words that a text must have for a signature: the differences between shorter texts may be all they say."""
HEAD = 3000
"""Characters at the beginning of a text that are measured."""
_STOP_WORDS = frozenset(("the", "be", "to", "of", "and", "that", "have", "with"))
_BULLETS = tuple(f"\n{mark} " for mark in "•-*–")
_ELLIPSES = ("...\n", "…\n")


class QualityFeatures(NamedTuple):
    """Ranking features of a text. Names and order are those of columns of the table `pages`."""

    signature: bytes | None
    """MinHash signature of `LANES` bytes; None if the text is short."""
    word_length: float | None
    """Mean number of characters in a word; None if words are not spaced, or there are none."""
    alphabetic: float | None
    """Share of words that contain a letter; None if words are not spaced, or there are none."""
    symbols: float
    """Number signs and ellipses per word."""
    stop_words: int
    """Number of Gopher's eight English stop words that occur."""
    bullets: float
    """Share of lines that begin with a bullet."""
    ellipses: float
    """Share of lines that end with an ellipsis."""
    repeated: float
    """Share of lines that repeat an earlier one."""


def measure_quality(text: str, word_count: int) -> QualityFeatures:
    """Measure a text; `word_count` is the word count from `webemu.ingest.extract.html.count_words`."""
    head = text[:HEAD]
    lower_words = head.lower().replace(" | ", " ").split()  # extraction separates table cells with bars
    lines = head.split("\n")
    head_word_count, line_count, distinct_lines = (
        max(1, len(lower_words)),
        max(1, len(lines) - lines.count("")),
        len(set(lines) - {""}),
    )
    letters = "".join(lower_words)
    # `words` counts ideographs too, `count` only blanks: the two differ much where words are not spaced.
    is_spaced = word_count * len(head) < 2 * head_word_count * len(text)
    padded_head = f"\n{head}\n"
    return QualityFeatures(
        signature=_minhash_signature(lower_words if is_spaced else list(letters), is_spaced)
        if word_count >= MIN_WORDS
        else None,
        word_length=len(letters) / head_word_count if is_spaced else None,
        alphabetic=_count_words_with_letters(lower_words) / head_word_count if is_spaced else None,
        symbols=(head.count("#") + head.count("...") + head.count("…")) / head_word_count,
        stop_words=len(_STOP_WORDS.intersection(lower_words)),
        bullets=sum(map(padded_head.count, _BULLETS)) / line_count,
        ellipses=sum(map(padded_head.count, _ELLIPSES)) / line_count,
        repeated=1 - distinct_lines / line_count if distinct_lines else 0.0,
    )


def _count_words_with_letters(words: list[str]) -> int:
    """Return the number of words that contain a letter."""
    mixed = [word for word in words if not word.isalpha()]
    return len(words) - len(mixed) + sum([word.upper() != word or any(map(str.isalpha, word)) for word in mixed])


def _minhash_signature(units: list[str], is_spaced: bool) -> bytes:
    """Return the MinHash signature of words, or of characters if words are not spaced."""
    size, glue = (SHINGLE, " ") if is_spaced else (2 * SHINGLE, "")
    hashes = RMinHash(LANES, SEED)
    hashes.update(list(map(glue.join, zip(*(units[start:] for start in range(size)), strict=False))))
    # The low byte of each hash suffices to compare signatures.
    return bytes([number & 255 for number in hashes.digest()])
