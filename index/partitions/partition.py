"""Which part of a collection a URL is in: by a hash of the URL, so that all captures of one URL lie together."""

from __future__ import annotations

from hashlib import md5
from typing import NamedTuple

ELSEWHERE = """
CREATE TEMP TABLE doc_elsewhere AS
WITH numbered AS (SELECT p.source_id, warc_record_offset, shard, {number} AS part, row_number() OVER (
                    PARTITION BY {number}, shard ORDER BY searchable DESC, p.source_id, warc_record_offset) - 1 AS place
                  FROM pages p JOIN shard_of s ON s.source_id = p.source_id
                    AND p.warc_record_offset >= first AND p.warc_record_offset < last),
     sizes AS (SELECT part, shard, count(*) AS size FROM numbered GROUP BY ALL),
     bases AS (SELECT part, shard, sum(size) OVER (PARTITION BY part ORDER BY shard) - size AS base FROM sizes)
SELECT source_id, warc_record_offset, -2 - ((base + place) * {of} + part)::BIGINT AS doc
FROM numbered JOIN bases USING (part, shard)
WHERE part <> {here} AND (source_id, warc_record_offset) IN (SELECT (source_id, warc_record_offset) FROM served)
"""
"""Pages of other parts that captures of this one repeat, and their dense ids there, as `elsewhere` reads them.

Expects the temporary tables of `resolve.sql`. Every part has the same shards, each with other pages.
"""


class Part(NamedTuple):
    """One of so many parts."""

    number: int = 0
    of: int = 1

    def sql(self, column: str) -> str:
        """Whether a column's URL is in it, as an expression of DuckDB."""
        return f"({_number(column, self.of)} = {self.number})" if self.of > 1 else "true"

    def elsewhere_sql(self) -> str:
        """Statement that fills the temporary table doc_elsewhere(source_id, warc_record_offset, doc)."""
        if self.of == 1:
            return "CREATE TEMP TABLE doc_elsewhere (source_id BIGINT, warc_record_offset BIGINT, doc BIGINT)"
        return ELSEWHERE.format(number=_number("p.url", self.of), of=self.of, here=self.number)


WHOLE = Part()


def _number(column: str, parts: int) -> str:
    return f"('0x' || left(md5({column}), 8))::UINTEGER % {parts}"


def elsewhere(doc: int, parts: int) -> tuple[int, int] | None:
    """(part, dense id there) of a capture's dense id that is of another part, else None."""
    if doc >= -1:
        return None
    place, part = divmod(-2 - doc, parts)
    return part, place


def part_of(url: str, parts: int) -> int:
    """The number of the part that a URL is in."""
    digest = md5(url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) % parts
