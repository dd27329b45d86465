"""Words of a text with their places, in one spelling: small Latin letters without accents.

Letters of other scripts stay as they are, so that look-alikes never become Latin letters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*(?:\+\+?(?![\w+])|#(?!\w))?|&")
_LETTERS = str.maketrans({
    "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "æ": "ae", "œ": "oe", "ß": "ss", "ı": "i",
})  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})


@dataclass(frozen=True, slots=True)
class Word:
    """Word of a text."""

    text: str
    """Word as it is written."""
    plain: str
    """Word in small letters without accents."""
    start: int
    end: int

    @property
    def is_capitalised(self) -> bool:
        """True if the word begins with a capital letter."""
        return self.text[:1].isupper()


def split_words(text: str) -> list[Word]:
    """Return the words of a text in order; an ampersand, and signs as in "C++" and "F#", belong to them."""
    return [Word(m[0], fold(m[0]), m.start(), m.end()) for m in _WORD.finditer(text)]


def fold(text: str) -> str:
    """Return the text in small letters, Latin ones without accents.

    fold("Łódź")  # "lodz"
    """
    text = text.casefold()
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text.translate(_LETTERS))
    return unicodedata.normalize("NFC", "".join(c for i, c in enumerate(parts) if not _is_accent(parts, i)))


def fold_umlauts(text: str) -> str:
    """Return the text folded, with umlauts as two letters: "Müller" becomes "mueller"."""
    return fold(text.casefold().translate(_UMLAUTS))


def _is_accent(parts: str, index: int) -> bool:
    """True for a mark after a Latin letter or after another mark."""
    if unicodedata.category(parts[index]) != "Mn":
        return False
    return index > 0 and (parts[index - 1].isascii() or unicodedata.category(parts[index - 1]) == "Mn")
