"""Which part of a collection a URL is in: by a hash of the URL, so that all captures of one URL lie together."""

from __future__ import annotations

from hashlib import md5
from typing import NamedTuple


class Part(NamedTuple):
    """One of so many parts."""

    number: int = 0
    of: int = 1

    def sql(self, column: str) -> str:
        """Whether a column's URL is in it, as an expression of DuckDB."""
        return f"(('0x' || left(md5({column}), 8))::UINTEGER % {self.of} = {self.number})" if self.of > 1 else "true"


WHOLE = Part()


def part_of(url: str, parts: int) -> int:
    """The number of the part that a URL is in."""
    digest = md5(url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) % parts
