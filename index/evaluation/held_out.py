"""Which links are kept from the index, so that their words can be asked as queries that it was not told."""

from __future__ import annotations

from hashlib import md5

ONE_IN = 5


def held_out(source_url: str) -> bool:
    """Whether the links of this page are held out: one page in five, by a hash of its URL."""
    digest = md5(source_url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) % ONE_IN == 0


def held_out_sql(column: str) -> str:
    """The same of a column, as an expression of DuckDB."""
    return f"(('0x' || left(md5({column}), 8))::UINTEGER % {ONE_IN} = 0)"
