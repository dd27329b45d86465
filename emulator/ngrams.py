"""Normalises texts for leak checks, and hashes runs of 13 words.

Thirteen words are the usual measure of contamination (GPT-3, Brown et al. 2020, appendix C).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b

from webemu.emulator.folding import drop_invisible

NGRAM_WORDS = 13
"""Words in a run."""
_WORD = re.compile(r"\w+")


def normalize_text(text: str) -> str:
    """Return a text case-folded, in NFKC, without invisible characters, with single spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", drop_invisible(text))
    return " ".join(text.casefold().split())


def hash_ngrams(text: str) -> Iterator[str]:
    """Yield the hash of every run of 13 words: 16 hex digits of blake2b over the words with single spaces."""
    words = _WORD.findall(normalize_text(text))
    for start in range(len(words) - NGRAM_WORDS + 1):
        run = " ".join(words[start : start + NGRAM_WORDS])
        yield blake2b(run.encode("utf-8", "replace"), digest_size=8).hexdigest()
