"""Assigns URLs to partitions: by a hash of the URL, so that all captures of one URL are in one partition."""

from __future__ import annotations

from hashlib import md5
from typing import NamedTuple

REMOTE_DOCS_SQL = """
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
"""Query of pages in other partitions that captures of this one repeat, with ids that `locate_remote_doc` reads.

It needs the temporary tables of `resolve.sql`. Every partition has the same shards, each with other pages.
"""


class Partition(NamedTuple):
    """One of several partitions."""

    number: int = 0
    """Number of the partition, from 0."""
    total: int = 1
    """Number of partitions in all."""

    def membership_sql(self, column: str) -> str:
        """Return a DuckDB expression that is true if the URL in a column belongs to the partition."""
        return f"({_partition_number_sql(column, self.total)} = {self.number})" if self.total > 1 else "true"

    def remote_docs_sql(self) -> str:
        """Return the statement that fills the temporary table doc_elsewhere(source_id, warc_record_offset, doc)."""
        if self.total == 1:
            return "CREATE TEMP TABLE doc_elsewhere (source_id BIGINT, warc_record_offset BIGINT, doc BIGINT)"
        return REMOTE_DOCS_SQL.format(
            number=_partition_number_sql("p.url", self.total), of=self.total, here=self.number
        )


UNPARTITIONED = Partition()
"""The only partition of an index that is not partitioned."""


def _partition_number_sql(column: str, parts: int) -> str:
    return f"('0x' || left(md5({column}), 8))::UINTEGER % {parts}"


def locate_remote_doc(doc: int, parts: int) -> tuple[int, int] | None:
    """Return (partition, dense id there) for a capture whose page is in another partition, else None."""
    if doc >= -1:  # a page of this partition, or -1 for a capture without a page
        return None
    remote_doc, partition = divmod(-2 - doc, parts)
    return partition, remote_doc


def partition_of(url: str, parts: int) -> int:
    """Return the number of the partition that a URL belongs to."""
    digest = md5(url.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) % parts
