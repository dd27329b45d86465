"""Normalises texts for leak checks, and hashes runs of 13 words.

Thirteen words are the usual measure of contamination (GPT-3, Brown et al. 2020, appendix C).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from hashlib import blake2b

WORDS = 13
"""Words in a run."""
_WORD = re.compile(r"\w+")


def plain(text: str) -> str:
    """Return a text case-folded, in NFKC, with single spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def ngrams(text: str) -> Iterator[str]:
    """Yield the hash of every run of 13 words: 16 hex digits of blake2b over the words with single spaces."""
    words = _WORD.findall(plain(text))
    for start in range(len(words) - WORDS + 1):
        run = " ".join(words[start : start + WORDS])
        yield blake2b(run.encode("utf-8", "replace"), digest_size=8).hexdigest()
