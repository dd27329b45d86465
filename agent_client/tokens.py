"""Finds the character offset at which the first n tokens of a text end, exactly or approximately.

Nothing is downloaded: tiktoken is used if it is installed and has its vocabulary in its cache. Pass
`approximate_token_offset` to a browser whose text must not depend on what is installed. The approximation follows
o200k: a word is one token plus one for every six letters after its fourth (bytes, if it is not ASCII), and three
digits or four punctuation marks are one token. It is within a tenth for English pages, within half for other scripts.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from functools import cache
from hashlib import sha1
from pathlib import Path

TokenOffset = Callable[[str, int], int]
"""Returns the length, in characters, of the first `count` tokens of a text; the length of the text if it has no more.
"""

_VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
_MAX_TOKEN_CHARS = 128
"""Maximum length of a token, in characters."""
_PIECE = re.compile(r" ?[^\W\d_]+|\d{1,3}| ?[^\w\s]{1,4}\n?|_|\s+")


def approximate_token_offset(text: str, count: int) -> int:
    """Return the approximate character offset at which the first `count` tokens end."""
    used = 0
    for piece in _PIECE.finditer(text, 0, (count + 1) * _MAX_TOKEN_CHARS):
        used += _count_tokens(piece[0])
        if used >= count:
            return piece.end()
    return len(text)


def _count_tokens(piece: str) -> int:
    """Return the approximate number of tokens of a word, number or sign."""
    word = piece.strip()
    return 1 + max(0, len(word.encode("utf-8", "replace")) - 4) // 6 if word[:1].isalpha() else 1


@cache
def default_token_offset() -> TokenOffset:
    """Return the exact function for o200k_base, which gpt-oss uses; the approximate one if its vocabulary is not
    cached.
    """
    if not _is_cached():
        return approximate_token_offset
    try:
        import tiktoken  # optional, and heavy
    except ImportError:
        return approximate_token_offset
    encoding = tiktoken.get_encoding("o200k_base")

    def exact_token_offset(text: str, count: int) -> int:
        # Encode only as much text as the tokens can span; special tokens in a page are ordinary text.
        token_ids = encoding.encode(text[: (count + 1) * _MAX_TOKEN_CHARS], disallowed_special=())
        # Decoded token by token, as gpt-oss counts: each byte of a split character counts as one character.
        return (
            sum(len(encoding.decode([token])) for token in token_ids[:count]) if len(token_ids) > count else len(text)
        )

    return exact_token_offset


def _is_cached() -> bool:
    """True if tiktoken has the vocabulary in its cache."""
    cache_folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(tempfile.gettempdir(), "data-gym-cache") if cache_folder is None else Path(cache_folder)
    return cache_folder != "" and (folder / sha1(_VOCABULARY.encode()).hexdigest()).exists()
