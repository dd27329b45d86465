"""Finds the pages whose link texts further sources change: those of the last build are true of all others.

Further sources change the texts of a page in three ways: they link to it, they change which page a link leads to (the
page or a redirect to it is new), or one of their domains gives a text to more targets, which divides its vote.
`select_changed` finds all such pages, or more, with the links that their texts are counted from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from webemu.index.signals.linked_hosts import RAW_HOST_SQL

NAME = "link_texts"
"""Name of the kept result (`webemu.index.earlier_results`)."""

_RAW_HOST = RAW_HOST_SQL.format(url="url")
# URLs of one loose form are of one host, so that the form, which is dear, is made of the URLs of few hosts only. Hosts
# that cannot be told are `*`, which is always looked at.
_HOSTS = r"""
CREATE OR REPLACE TEMP MACRO anchor_raw_host(url) AS {raw_host};
CREATE OR REPLACE TEMP MACRO anchor_plain_host(raw) AS
  CASE WHEN regexp_matches(raw, ':$|^(?i:www\d{{0,3}}\.)?$') THEN '*'
       ELSE regexp_replace(lower(raw), '^www\d{{0,3}}\.', '') END;
CREATE OR REPLACE TEMP MACRO anchor_word(anchor) AS lower(trim(left(anchor, {max_text})));
CREATE OR REPLACE TEMP MACRO anchor_url(target) AS split_part(target, '#', 1);
CREATE OR REPLACE TEMP TABLE anchor_raw_hosts AS
SELECT raw, anchor_plain_host(raw) AS host
FROM (SELECT DISTINCT target AS raw FROM linked_hosts WHERE host IS NOT NULL);
"""
_ADDED = """
CREATE OR REPLACE TEMP TABLE anchor_keys AS
SELECT DISTINCT anchor_loose(url) AS key FROM captures WHERE source_id NOT IN (FROM anchor_earlier);
CREATE OR REPLACE TEMP TABLE anchor_linking AS
SELECT source_id, warc_record_offset, url_host_registered_domain AS domain FROM captures c
WHERE NOT ({leave_out}) AND url_host_registered_domain IN (
  SELECT url_host_registered_domain FROM captures WHERE source_id NOT IN (FROM anchor_earlier));
CREATE OR REPLACE TEMP TABLE anchor_given AS
SELECT domain, anchor_word(anchor) AS word, target, source_id NOT IN (FROM anchor_earlier) AS is_added
FROM links JOIN anchor_linking USING (source_id, warc_record_offset);
"""
# A text that had too many targets before has too many now: it counts as little as before.
_NEWLY_GIVEN = """
CREATE OR REPLACE TEMP TABLE anchor_changed AS
SELECT DISTINCT target FROM anchor_given JOIN (
  SELECT domain, word FROM anchor_given GROUP BY ALL
  HAVING bool_or(is_added) AND count(DISTINCT target) FILTER (NOT is_added) <= {max_targets}) USING (domain, word);
"""
_TARGETS_OF_KEYS = """
CREATE OR REPLACE TEMP TABLE anchor_moving AS
SELECT DISTINCT url FROM captures
WHERE fetch_redirect IS NOT NULL AND anchor_loose(fetch_redirect) IN (SELECT key FROM anchor_keys);
CREATE OR REPLACE TEMP TABLE anchor_hosts AS
SELECT '*' AS host UNION SELECT split_part(key, '/', 1) FROM anchor_keys
UNION SELECT anchor_plain_host(anchor_raw_host(url)) FROM anchor_moving;
CREATE OR REPLACE TEMP TABLE anchor_wanted AS
SELECT raw FROM anchor_raw_hosts WHERE host IN (SELECT host FROM anchor_hosts);
CREATE OR REPLACE TEMP TABLE anchor_near AS
SELECT DISTINCT target, anchor_url(target) AS url FROM links
WHERE source_id IN (SELECT source_id FROM linked_hosts WHERE target IN (SELECT raw FROM anchor_wanted))
  AND anchor_raw_host(anchor_url(target)) IN (SELECT raw FROM anchor_wanted);
INSERT INTO anchor_changed SELECT target FROM anchor_near
WHERE (anchor_loose(url) IN (SELECT key FROM anchor_keys) OR url IN (SELECT url FROM anchor_moving))
  AND target NOT IN (SELECT target FROM anchor_changed);
"""
_CHANGED_KEYS = """
CREATE OR REPLACE TEMP TABLE anchor_keys AS
WITH changed AS (SELECT DISTINCT anchor_url(target) AS url FROM anchor_changed)
SELECT anchor_loose(url) AS key FROM changed
UNION
SELECT anchor_loose(fetch_redirect) FROM captures
WHERE fetch_redirect IS NOT NULL AND url IN (SELECT url FROM changed);
"""
_KEYS_OF_MEMBERS = """
CREATE OR REPLACE TEMP TABLE anchor_keys AS
SELECT DISTINCT anchor_loose(url) AS key FROM pages WHERE searchable AND source_id IN (FROM anchor_members);
"""
# All pages of a key: which of them a link leads to depends on the others.
_PAGES_OF_KEYS = """
CREATE OR REPLACE TEMP TABLE anchor_hosts AS SELECT '*' AS host UNION SELECT split_part(key, '/', 1) FROM anchor_keys;
CREATE OR REPLACE TEMP TABLE anchor_page_hosts AS
SELECT raw FROM (SELECT DISTINCT anchor_raw_host(url) AS raw FROM pages)
WHERE anchor_plain_host(raw) IN (SELECT host FROM anchor_hosts);
CREATE OR REPLACE TEMP TABLE anchor_recounted AS
SELECT DISTINCT url FROM pages
WHERE searchable AND anchor_raw_host(url) IN (SELECT raw FROM anchor_page_hosts)
  AND anchor_loose(url) IN (SELECT key FROM anchor_keys);
CREATE OR REPLACE TEMP TABLE anchor_keys AS SELECT DISTINCT anchor_loose(url) AS key FROM anchor_recounted;
CREATE OR REPLACE TEMP TABLE anchor_changed (target VARCHAR);
"""
_NEEDED = """
CREATE OR REPLACE TEMP TABLE anchor_wanted AS
SELECT DISTINCT anchor_raw_host(anchor_url(target)) AS raw FROM anchor_changed;
CREATE OR REPLACE TEMP TABLE anchor_needed AS SELECT * FROM links
WHERE source_id IN (SELECT source_id FROM linked_hosts WHERE target IN (SELECT raw FROM anchor_wanted))
  AND target IN (SELECT target FROM anchor_changed);
CREATE OR REPLACE TEMP TABLE anchor_given AS
SELECT DISTINCT url_host_registered_domain AS domain, anchor_word(anchor) AS word
FROM anchor_needed JOIN captures c USING (source_id, warc_record_offset)
WHERE url_host_registered_domain IS NOT NULL AND NOT ({leave_out});
CREATE OR REPLACE TEMP TABLE anchor_linking AS
SELECT source_id, warc_record_offset, url_host_registered_domain AS domain FROM captures c
WHERE NOT ({leave_out}) AND url_host_registered_domain IN (SELECT domain FROM anchor_given);
INSERT INTO anchor_needed
SELECT l.source_id, l.warc_record_offset, target, anchor, rel
FROM links l JOIN anchor_linking g USING (source_id, warc_record_offset)
WHERE target NOT IN (SELECT target FROM anchor_changed)
  AND (domain, anchor_word(anchor)) IN (SELECT (domain, word) FROM anchor_given);
"""
TABLES = (
    *("earlier", "members", "raw_hosts", "hosts", "keys", "linking"),
    *("given", "changed", "moving", "wanted", "near", "page_hosts", "recounted", "needed"),
)
"""Temporary tables of a count, without their prefix."""


def register_sources(db: duckdb.DuckDBPyConnection, name: str, sources: Sequence[int]) -> None:
    """Create a temporary table of source ids."""
    db.execute(f"CREATE OR REPLACE TEMP TABLE {name} (source_id BIGINT)")
    db.execute(f"INSERT INTO {name} SELECT unnest($1::BIGINT[])", [list(sources)])


def select_changed(db: duckdb.DuckDBPyConnection, values: Mapping[str, object]) -> None:
    """Create the temporary tables anchor_recounted(url), the pages whose link texts further sources may change, and
    anchor_needed, the rows of `links` that their texts are counted from.

    - values: `max_text`, `max_targets` and `leave_out` of `webemu.index.signals.anchors`, which defines anchor_loose

    The table anchor_earlier has the sources that were there before. The links of all sources must be listed
    (`webemu.index.signals.linked_hosts`).
    """
    steps = _HOSTS + _ADDED + _NEWLY_GIVEN + _TARGETS_OF_KEYS + _CHANGED_KEYS
    db.execute((steps + _PAGES_OF_KEYS + _TARGETS_OF_KEYS + _NEEDED).format(**values, raw_host=_RAW_HOST))


def select_members(db: duckdb.DuckDBPyConnection, values: Mapping[str, object]) -> None:
    """Create the same tables, with all pages of the sources in anchor_members."""
    steps = _HOSTS + _KEYS_OF_MEMBERS + _PAGES_OF_KEYS + _TARGETS_OF_KEYS + _NEEDED
    db.execute(steps.format(**values, raw_host=_RAW_HOST))
