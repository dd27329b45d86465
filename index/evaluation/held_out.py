"""Chooses links that are left out of the index, so that their texts can be queries the index has not seen."""

from __future__ import annotations

from hashlib import md5

HELD_OUT_DIVISOR = 5
"""One page in this many is held out."""


def is_held_out(source_url: str) -> bool:
    """True if the links of this page are held out, decided by a hash of its URL."""
    digest = md5(source_url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) % HELD_OUT_DIVISOR == 0


def held_out_sql(column: str) -> str:
    """Return the same test of a column as a DuckDB expression."""
    return f"(('0x' || left(md5({column}), 8))::UINTEGER % {HELD_OUT_DIVISOR} = 0)"
