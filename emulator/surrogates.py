"""Halves of characters (lone surrogates), which Python's texts can hold and no UTF-8 can.

They come from JSON escapes such as `\\ud800`, and from bytes that a client sent. This module needs no other package,
since error messages pass through it.
"""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def is_whole(text: str) -> bool:
    """True if the text has no half of a character, and so can be written in UTF-8."""
    return text.isascii() or not _HALF.search(text)


def mended(text: str) -> str:
    """Return the text with a question mark for each half of a character."""
    return text if is_whole(text) else _HALF.sub("?", text)
