"""Folds texts to what a reader sees in them, so that a text and its disguises compare equal. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""Characters that are not shown: Default_Ignorable_Code_Point of Unicode, derived in DerivedCoreProperties.txt."""
_COMBINING = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_OTHER_DIGIT = re.compile(r"(?![0-9])\d")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_NOT_WORD = re.compile(r"[\W_]+")
_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_SIGNS_AS_SPACES = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
_LOOKALIKES = str.maketrans(
    "авекмнорстухіјѕԁһԛԝӏαβεζηικμνορτυχıɡɑłøđ",
    "abekmhopctyxijsdhqwlabezhikmnoptyxigalod",
)
"""Small letters of other scripts that look Latin, in either case: a part of the confusables of Unicode TR 39. Both
sides of a comparison are folded, so that texts in those scripts still match themselves.
"""


def drop_invisible(text: str) -> str:
    """Return a text without characters that are not shown, such as soft hyphens and zero-width spaces."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def fold_words(text: str) -> str:
    """Return the words of a text with single spaces: without case, accents, punctuation and invisible characters, in
    one form of letters and digits (NFKD, Latin lookalikes, European digits).
    """
    return b" ".join(_fold_characters(text).translate(_SIGNS_AS_SPACES).split()).decode("utf-8", "surrogatepass")


def fold(text: str) -> str:
    """Return the letters and digits of a text alone, as `fold_words` does but without spaces."""
    return _fold_characters(text).translate(None, _SIGNS).decode("utf-8", "surrogatepass")


def _fold_characters(text: str) -> bytes:
    """Return a text in UTF-8 with ASCII signs as they were; bytes are translated many times as fast as characters."""
    folded = text if text.isascii() else _NOT_ASCII.sub(lambda match: _fold_run(match[0]), text)
    return folded.lower().encode("utf-8", "surrogatepass")


@lru_cache(maxsize=4096)
def _fold_run(text: str) -> str:
    """Return a run of characters beyond ASCII as `fold_words` compares it, with a space for its signs."""
    text = _COMBINING.sub("", unicodedata.normalize("NFKD", _INVISIBLE.sub("", text))).casefold()
    text = _OTHER_DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0])), text.translate(_LOOKALIKES))
    return _NOT_WORD.sub(" ", text)
