"""Link texts: what other pages call a page, each text weighted by votes.

Collected once from the whole catalog before shards are built, into a Parquet file with the key of the catalog's pages
(ordered by source_id, warc_record_offset, weight, text). A text has one vote per linking domain, however many of its
pages use it; inside the page's own domain it weighs more, the more pages use it. A text that one domain gives to many
targets (next, previous, contents) says little about each, so its vote is divided by the number of targets.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

MAX_TEXTS_PER_PAGE = 12
"""Texts of a page that are kept, the heaviest ones."""
MAX_TEXT_CHARACTERS = 80
"""Characters of a text that are kept."""
MAX_TARGETS = 20
"""Targets of one domain above which a text is navigation and left out."""
NOFOLLOW_VOTE = 0.5
"""Vote of a domain whose links with this text are all marked nofollow."""
MAX_LINKS_PER_ROUND = 2_000_000
"""Links above which votes are counted in several rounds: DuckDB cannot spill all of a round's memory to disk."""
FULL_VOTE_PAGES = 100
"""Linking pages from which a text of the page's own domain weighs as much as another domain's vote."""

LinkTexts = list[tuple[str, float]]
"""(text, weight) of the links to one page, heaviest first."""

_LOOSE = r"""
CREATE OR REPLACE TEMP MACRO anchor_loose(url) AS regexp_replace(regexp_replace(regexp_replace(
  lower(url), '^https?://(www\d{0,3}\.)?', ''),
  '/(index|default)\.(html?|xhtml|shtml|php\d?|aspx?|jsp|cgi)$', ''), '/+$', '')
"""
_LINKS = """
CREATE OR REPLACE TEMP TABLE anchor_links AS
SELECT c.url, c.url_host_registered_domain AS domain, split_part(l.target, '#', 1) AS target,
       trim(left(l.anchor, {max_text})) AS text, contains(lower(l.rel), 'nofollow') AS nofollow
FROM links l JOIN captures c USING (source_id, warc_record_offset)
WHERE regexp_matches(l.anchor, '\\pL') AND NOT ({leave_out})
"""
# Separate statements: DuckDB cannot spill the memory of all joins and groups of a single one to disk.
_PLACES = """
CREATE OR REPLACE TEMP TABLE anchor_places AS
SELECT url, min(url_host_registered_domain) AS domain
FROM pages JOIN captures USING (source_id, warc_record_offset, url) WHERE searchable GROUP BY url
"""
_NEARBY = """
CREATE OR REPLACE TEMP TABLE anchor_nearby AS
SELECT anchor_loose(url) AS key, min(url) AS url FROM anchor_places GROUP BY ALL
"""
_WANTED_TARGETS = """
CREATE OR REPLACE TEMP TABLE anchor_asked AS
WITH asked AS (SELECT DISTINCT target FROM anchor_links),
     moved AS (SELECT url, min(fetch_redirect) AS url_after FROM captures
               WHERE fetch_redirect IS NOT NULL GROUP BY url)
SELECT target, url_after FROM asked LEFT JOIN moved ON moved.url = target
"""
_TARGETS = """
CREATE OR REPLACE TEMP TABLE anchor_targets AS
WITH found AS (SELECT target, coalesce(exact.url, after.url, nearby.url) AS url
               FROM anchor_asked LEFT JOIN anchor_places exact ON exact.url = target
               LEFT JOIN anchor_places after ON after.url = url_after
               LEFT JOIN anchor_nearby nearby ON key = anchor_loose(coalesce(url_after, target)))
SELECT target, url, domain FROM found JOIN anchor_places USING (url)
"""
_SPREAD = """
CREATE OR REPLACE TEMP TABLE anchor_spread AS
SELECT domain, lower(text) AS word, count(DISTINCT hash(target)) AS targets
FROM anchor_links GROUP BY ALL HAVING targets <= {max_targets}
"""
_EMPTY = "CREATE OR REPLACE TEMP TABLE anchor_votes (url VARCHAR, text VARCHAR, weight FLOAT)"
_VOTES = """
INSERT INTO anchor_votes
WITH votes AS (SELECT t.url, l.domain, lower(text) AS word, min(text) AS text, l.domain = t.domain AS own,
                      count(DISTINCT hash(l.url)) AS pages, bool_and(nofollow) AS nofollow
               FROM anchor_links l JOIN anchor_targets t USING (target)
               WHERE l.url <> t.url AND hash(t.url) % {parts} = {part} GROUP BY ALL),
     -- In millionths, since a sum of fractions depends on its order.
     counted AS (SELECT url, text, own, round(1e6 / targets * CASE WHEN nofollow THEN {nofollow} ELSE 1 END
                        * CASE WHEN own THEN least(1, ln(1 + pages) / ln(1 + {own_pages})) ELSE 1 END)::BIGINT AS worth,
                        word
                 FROM votes JOIN anchor_spread USING (domain, word)),
     summed AS (SELECT url, min(text) AS text, coalesce(sum(worth) FILTER (NOT own), 0) / 1e6 AS foreign_worth,
                       coalesce(sum(worth) FILTER (own), 0) / 1e6 AS own_worth
                FROM counted GROUP BY url, word)
SELECT url, text, round(log2(1 + foreign_worth) + own_worth, 3)::FLOAT AS weight FROM summed
QUALIFY row_number() OVER (PARTITION BY url ORDER BY weight DESC, text) <= {per_page}
"""
_WRITE = """
COPY (SELECT source_id, warc_record_offset, v.text, weight FROM anchor_votes v JOIN pages USING (url)
      WHERE searchable AND weight > 0 ORDER BY source_id, warc_record_offset, weight DESC, v.text)
TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 20000)
"""


_CONTENTS = """
SELECT source_id, bit_xor(md5_number_lower(concat_ws(chr(10), warc_record_offset, weight, text)))
FROM read_parquet('{path}') GROUP BY source_id
"""


def gather_anchors(db: duckdb.DuckDBPyConnection, path: Path, leave_out: str = "false") -> dict[int, int]:
    """Write the link texts of every searchable page to a Parquet file; return a hash per source.

    `leave_out` is an SQL condition on `c.url`, the linking page: links of pages that meet it do not count.
    """
    values = {
        "leave_out": leave_out,
        "path": str(path).replace("'", "''"),
        "max_text": MAX_TEXT_CHARACTERS,
        "max_targets": MAX_TARGETS,
        "nofollow": NOFOLLOW_VOTE,
        "own_pages": FULL_VOTE_PAGES,
        "per_page": MAX_TEXTS_PER_PAGE,
    }
    db.execute(
        "SET preserve_insertion_order = false"
    )  # every query sorts what it returns; insertion order costs memory
    db.execute(_LOOSE)
    for statement in (_LINKS, _PLACES, _NEARBY, _WANTED_TARGETS, _TARGETS, _SPREAD, _EMPTY):
        db.execute(statement.format(**values))
    links: int = db.execute("SELECT count(*) FROM anchor_links").fetchall()[0][0]
    parts = 1 + links // MAX_LINKS_PER_ROUND
    for part in range(parts):
        db.execute(_VOTES.format(**values, parts=parts, part=part))
    db.execute(_WRITE.format(**values))
    for table in ("links", "places", "nearby", "asked", "targets", "spread", "votes"):
        db.execute(f"DROP TABLE anchor_{table}")
    return dict(db.execute(_CONTENTS.format(**values)).fetchall())


def read_anchors(path: Path, source: int, start: int, end: int) -> Iterator[tuple[int, LinkTexts]]:
    """Yield (warc_record_offset, link texts) of the pages of a source, by offset, from `start` to before `end`."""
    part = [("source_id", "=", source), ("warc_record_offset", ">=", start), ("warc_record_offset", "<", end)]
    table = pq.read_table(path, columns=["warc_record_offset", "text", "weight"], filters=part)
    columns = (table[name].to_pylist() for name in table.column_names)
    for offset, rows in groupby(zip(*columns, strict=True), key=itemgetter(0)):
        yield offset, [(text, weight) for _, text, weight in rows]
