"""Handles lone surrogates: halves of characters that a Python string can hold and UTF-8 cannot.

They come from JSON escapes such as `\\ud800` and from malformed bytes of clients. This module imports no other
package, since error messages pass through it.
"""

from __future__ import annotations

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def is_utf8_encodable(text: str) -> bool:
    """True if the text can be encoded in UTF-8."""
    return text.isascii() or not _SURROGATE.search(text)


def replace_surrogates(text: str) -> str:
    """Return the text with a question mark for each lone surrogate."""
    return text if is_utf8_encodable(text) else _SURROGATE.sub("?", text)
