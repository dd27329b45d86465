"""Hosts that the pages of each source link to, kept in the catalog, so that a further file costs no look at all links.

A row is of a source with a certain content, so that a source which was read again or lost captures is listed anew.
"""

from __future__ import annotations

import duckdb

RAW_HOST_SQL = """CASE WHEN starts_with({url}, 'http://') OR starts_with({url}, 'https://')
       THEN split_part({url}, '/', 3) ELSE '*' END"""
"""SQL expression of the host in a URL as it is written, with its port; `*` if the scheme is another one."""
_TABLE = """
CREATE TABLE IF NOT EXISTS linked_hosts (source_id BIGINT, content_hash BIGINT, host VARCHAR, target VARCHAR)
"""
_MISSING = """
SELECT source_id, content_hash FROM sources EXCEPT SELECT source_id, content_hash FROM linked_hosts WHERE host IS NULL
"""
_OBSOLETE = "(source_id, content_hash) NOT IN (SELECT (source_id, content_hash) FROM sources)"
_FILL = f"""
CREATE OR REPLACE TEMP TABLE linked_hosts_missing AS {_MISSING};
DELETE FROM linked_hosts WHERE {_OBSOLETE};
INSERT INTO linked_hosts
SELECT DISTINCT source_id, content_hash, url_host_name, {RAW_HOST_SQL.format(url="split_part(target, '#', 1)")}
FROM linked_hosts_missing JOIN links USING (source_id) JOIN captures USING (source_id, warc_record_offset);
INSERT INTO linked_hosts SELECT source_id, content_hash, NULL, NULL FROM linked_hosts_missing;
DROP TABLE linked_hosts_missing;
"""


def are_listed(db: duckdb.DuckDBPyConnection) -> bool:
    """True if the hosts are listed of all sources of a catalog, and of no others."""
    if not _has_list(db):
        return False
    return not db.execute(f"({_MISSING}) UNION ALL SELECT 0, 0 FROM linked_hosts WHERE {_OBSOLETE} LIMIT 1").fetchall()


def forget_changed_sources(db: duckdb.DuckDBPyConnection) -> None:
    """Delete the rows of sources that are gone or have another content, such as fewer captures."""
    if _has_list(db):
        db.execute(f"DELETE FROM linked_hosts WHERE {_OBSOLETE}")


def _has_list(db: duckdb.DuckDBPyConnection) -> bool:
    return bool(db.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'linked_hosts'").fetchall())


def list_linked_hosts(db: duckdb.DuckDBPyConnection) -> None:
    """List in the table `linked_hosts` the hosts that the pages of each new source link to.

    Its rows are the source, its `content_hash`, the host of the page, and the host of the link as written
    (`RAW_HOST_SQL`); and one with neither host for each source that was read.
    """
    db.execute(_TABLE)
    db.execute("BEGIN TRANSACTION")
    try:
        db.execute(_FILL)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
