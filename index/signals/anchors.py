"""Link texts: what other pages call a page, each text weighted by votes.

Collected once from the whole catalog before shards are built, into a Parquet file with the key of the catalog's pages
(ordered by source_id, warc_record_offset, weight, text). A text has one vote per linking domain, however many of its
pages use it; inside the page's own domain it weighs more, the more pages use it. A text that one domain gives to many
targets (next, previous, contents) says little about each, so its vote is divided by the number of targets.

The texts of a source's pages are counted over the sources of its class of size and of larger ones
(`webemu.index.source_classes`), as if there were no others. So a file of three pages changes no page of a file of
thousands, whose shard would be built anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import duckdb

from webemu.index.earlier_results import MIN_SHARE, EarlierResult
from webemu.index.query_rows import quote_path, stream_rows
from webemu.index.signals.earlier_anchors import TABLES, register_sources, select_changed, select_members
from webemu.index.source_classes import group_by_class

MAX_TEXTS_PER_PAGE = 12
"""Texts of a page that are kept, the heaviest ones."""
MAX_TEXT_CHARACTERS = 80
"""Characters of a text that are kept."""
MAX_TARGETS = 20
"""Targets of one domain above which a text is navigation and left out."""
NOFOLLOW_VOTE = 0.5
"""Vote of a domain whose links with this text are all marked nofollow."""
MAX_ROWS_PER_ROUND = 4_000_000
"""Captures or links above which a statement is run in rounds: DuckDB cannot spill all of its memory to disk."""
FULL_VOTE_PAGES = 100
"""Linking pages from which a text of the page's own domain weighs as much as another domain's vote."""

LinkTexts = list[tuple[str, float]]
"""(text, weight) of the links to one page, heaviest first."""

_LOOSE = r"""
CREATE OR REPLACE TEMP MACRO anchor_loose(url) AS regexp_replace(regexp_replace(regexp_replace(
  lower(url), '^https?://(www\d{0,3}\.)?', ''),
  '/(index|default)\.(html?|xhtml|shtml|php\d?|aspx?|jsp|cgi)$', ''), '/+$', '')
"""
# Hashes stand for texts, targets and domains: the same few are in millions of links, and comparing them as strings is
# most of the work. MD5, since DuckDB's hash() is the same for "marisa n. dellano" and "marisa r. dellaro".
_TEXTS = """
CREATE OR REPLACE TEMP TABLE anchor_texts AS
WITH anchors AS (SELECT DISTINCT anchor FROM {links}),
     texts AS (SELECT anchor, trim(left(anchor, {max_text})) AS text FROM anchors
               WHERE regexp_matches(anchor, '\\pL'))
SELECT anchor, md5_number_lower(lower(text)) AS word, text, row_number() OVER (ORDER BY text) AS number FROM texts
"""
# Separate statements, in rounds: DuckDB cannot spill the memory of all joins and groups of a single one to disk.
_LINKS = """
INSERT INTO anchor_links
WITH given AS (SELECT * FROM {links} WHERE hash(source_id, warc_record_offset) % {rounds} = {round}),
     linking AS (SELECT source_id, warc_record_offset, md5_number_lower(url) AS page,
                        md5_number_lower(url_host_registered_domain) AS domain
                 FROM captures c WHERE url_host_registered_domain IS NOT NULL AND NOT ({leave_out})
                   AND hash(source_id, warc_record_offset) % {rounds} = {round})
SELECT page, domain, a.target, word, number, contains(lower(l.rel), 'nofollow') AS nofollow
FROM given l JOIN linking USING (source_id, warc_record_offset)
JOIN anchor_texts t ON t.anchor = l.anchor JOIN anchor_asked a ON a.link = l.target
"""
_WANTED_TARGETS = """
CREATE OR REPLACE TEMP TABLE anchor_asked AS
WITH linked AS (SELECT DISTINCT target AS link FROM {links}),
     asked AS (SELECT link, split_part(link, '#', 1) AS url FROM linked),
     moved AS (SELECT url, min(fetch_redirect) AS url_after FROM captures
               WHERE fetch_redirect IS NOT NULL GROUP BY url)
SELECT link, md5_number_lower(url) AS target, md5_number_lower(url_after) AS target_after,
       md5_number_lower(anchor_loose(coalesce(url_after, url))) AS key
FROM asked LEFT JOIN moved USING (url)
"""
_PLACES = """
INSERT INTO anchor_places
WITH places AS (SELECT url, min(url_host_registered_domain) AS domain
                FROM pages JOIN captures USING (source_id, warc_record_offset, url)
                WHERE searchable AND {is_counted} AND hash(url) % {rounds} = {round} GROUP BY url)
SELECT md5_number_lower(url), url, md5_number_lower(anchor_loose(url)), md5_number_lower(domain) FROM places
"""
_EXACT = """
INSERT INTO anchor_matches
SELECT DISTINCT target, page, 1 FROM anchor_asked JOIN anchor_places ON page = target
WHERE target % {rounds} = {round} AND page % {rounds} = {round}
"""
_AFTER_REDIRECT = """
INSERT INTO anchor_matches
SELECT DISTINCT target, page, 2 FROM anchor_asked JOIN anchor_places ON page = target_after
WHERE target_after % {rounds} = {round} AND page % {rounds} = {round}
"""
_NEARBY = """
INSERT INTO anchor_matches
WITH nearby AS (SELECT key, md5_number_lower(min(url)) AS page FROM anchor_places
                WHERE key % {rounds} = {round} GROUP BY key)
SELECT DISTINCT target, page, 3 FROM anchor_asked JOIN nearby USING (key) WHERE key % {rounds} = {round}
"""
_TARGETS = """
INSERT INTO anchor_targets
WITH best AS (SELECT target, arg_min(page, preference) AS page FROM anchor_matches
              WHERE target % {rounds} = {round} GROUP BY target)
SELECT target, page, domain FROM best JOIN anchor_places USING (page) WHERE domain IS NOT NULL
"""
_SPREAD = """
INSERT INTO anchor_spread
WITH given AS (SELECT DISTINCT domain, word, target FROM anchor_links WHERE domain % {rounds} = {round})
SELECT domain, word, count(*) AS targets FROM given GROUP BY ALL HAVING targets <= {max_targets}
"""
_FILLED_TABLES = {
    "links": "page UBIGINT, domain UBIGINT, target UBIGINT, word UBIGINT, number BIGINT, nofollow BOOLEAN",
    "places": "page UBIGINT, url VARCHAR, key UBIGINT, domain UBIGINT",
    "matches": "target UBIGINT, page UBIGINT, preference TINYINT",
    "targets": "target UBIGINT, page UBIGINT, domain UBIGINT",
    "spread": "domain UBIGINT, word UBIGINT, targets BIGINT",
    "votes": "page UBIGINT, number BIGINT, weight FLOAT",
}
"""Columns of the temporary tables that are filled in rounds, which have the prefix anchor_."""
_VOTES = """
INSERT INTO anchor_votes
WITH linking AS (SELECT t.page, l.domain, word, l.page AS linking_page, l.domain = t.domain AS own, targets,
                        min(number) AS number, bool_and(nofollow) AS nofollow
                 FROM anchor_links l JOIN anchor_spread USING (domain, word) JOIN anchor_targets t USING (target)
                 WHERE l.page <> t.page AND t.page % {rounds} = {round} GROUP BY ALL),
     votes AS (SELECT page, domain, word, own, targets, min(number) AS number, count(*) AS pages,
                      bool_and(nofollow) AS nofollow
               FROM linking GROUP BY ALL),
     -- In millionths, since a sum of fractions depends on its order.
     counted AS (SELECT page, word, number, own, round(1e6 / targets * CASE WHEN nofollow THEN {nofollow} ELSE 1 END
                        * CASE WHEN own THEN least(1, ln(1 + pages) / ln(1 + {own_pages})) ELSE 1 END)::BIGINT AS worth
                 FROM votes),
     summed AS (SELECT page, min(number) AS number, coalesce(sum(worth) FILTER (NOT own), 0) / 1e6 AS foreign_worth,
                       coalesce(sum(worth) FILTER (own), 0) / 1e6 AS own_worth
                FROM counted GROUP BY page, word)
SELECT page, number, round(log2(1 + foreign_worth) + own_worth, 3)::FLOAT AS weight FROM summed
QUALIFY row_number() OVER (PARTITION BY page ORDER BY weight DESC, number) <= {per_page}
"""
_VOTED = """
CREATE OR REPLACE TEMP TABLE anchor_voted AS
SELECT page, text, weight FROM anchor_votes JOIN anchor_texts USING (number) WHERE weight > 0
"""
_ROWS = """
INSERT INTO anchor_rows
WITH counted AS MATERIALIZED (SELECT source_id, warc_record_offset, url FROM pages
                              WHERE searchable AND {is_counted} AND source_id IN (FROM anchor_members))
SELECT source_id, warc_record_offset, text, weight FROM anchor_voted JOIN counted ON md5_number_lower(url) = page
"""
_EARLIER_ROWS = """
INSERT INTO anchor_rows
SELECT source_id, warc_record_offset, text, weight FROM read_parquet('{earlier_path}')
WHERE source_id IN (FROM anchor_members) AND source_id IN (FROM anchor_earlier) AND NOT ({is_recounted})
"""
_RECOUNTED_ROWS = """(source_id, warc_record_offset) IN (
  SELECT (source_id, warc_record_offset) FROM pages WHERE url IN (SELECT url FROM anchor_recounted))
"""
_WRITE = """
COPY (FROM anchor_rows ORDER BY source_id, warc_record_offset, weight DESC, text)
TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 20000)
"""


_RECOUNTED_SOURCES = """
INSERT INTO anchor_recounted_sources
SELECT DISTINCT source_id FROM pages WHERE url IN (SELECT url FROM anchor_recounted)
"""
_ALL_MEMBERS = "INSERT INTO anchor_recounted_sources FROM anchor_members"
_CONTENTS = """
SELECT source_id, bit_xor(md5_number_lower(concat_ws(chr(10), warc_record_offset, weight, text)))
FROM read_parquet('{path}') WHERE source_id IN (FROM anchor_recounted_sources) GROUP BY source_id
"""


# Not with pyarrow, which imports pandas where that is installed: a second for each worker.
_SPANS = """
CREATE TEMP TABLE spans AS
SELECT unnest($1::BIGINT[]) AS source_id, unnest($2::BIGINT[]) AS first, unnest($3::BIGINT[]) AS last
"""
_OF_SPANS = """
SELECT a.source_id, warc_record_offset, text, weight
FROM read_parquet('{path}') a JOIN spans s
  ON a.source_id = s.source_id AND warc_record_offset >= first AND warc_record_offset < last
ORDER BY a.source_id, warc_record_offset, weight DESC, text
"""


def gather_anchors(
    db: duckdb.DuckDBPyConnection, path: Path, leave_out: str = "false", earlier: EarlierResult | None = None
) -> dict[int, int]:
    """Write the link texts of every searchable page to a Parquet file; return a hash per source, 0 if it has none.

    The links of all sources must be listed (`webemu.index.signals.linked_hosts`).

    - leave_out: SQL condition on `c.url`, the linking page: links of pages that meet it do not count
    - earlier: link texts of some of the sources, counted with the same `leave_out`
    """
    values: dict[str, object] = {
        "leave_out": leave_out,
        "path": quote_path(path),
        "max_text": MAX_TEXT_CHARACTERS,
        "max_targets": MAX_TARGETS,
        "nofollow": NOFOLLOW_VOTE,
        "own_pages": FULL_VOTE_PAGES,
        "per_page": MAX_TEXTS_PER_PAGE,
        "earlier_path": quote_path(earlier.path) if earlier else "",
    }
    db.execute(
        "SET preserve_insertion_order = false"
    )  # every query sorts what it returns; insertion order costs memory
    db.execute(_LOOSE)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE anchor_rows"
        " (source_id BIGINT, warc_record_offset BIGINT, text VARCHAR, weight FLOAT)"
    )
    pages = dict(db.execute("SELECT source_id, coalesce(pages, 0) FROM sources").fetchall())
    hashes = earlier.hashes if earlier else {}
    register_sources(db, "anchor_recounted_sources", [source for source in pages if source not in hashes])
    classes = group_by_class(pages)
    for number, members in enumerate(classes):
        if any(pages[source] for source in members):
            larger = [source for sources in classes[number:] for source in sources]
            with _only_sources(db, larger if len(larger) < len(pages) else None):
                _count_class(db, members, {source: pages[source] for source in larger}, earlier, values)
    db.execute(_WRITE.format(**values))
    db.execute("DROP TABLE anchor_rows")
    counted = dict(db.execute(_CONTENTS.format(**values)).fetchall())
    recounted = {source for (source,) in db.execute("FROM anchor_recounted_sources").fetchall()}
    return {source: counted.get(source, 0) if source in recounted else hashes[source] for source in pages}


@contextmanager
def _only_sources(db: duckdb.DuckDBPyConnection, sources: Sequence[int] | None) -> Iterator[None]:
    """Let the tables of the catalog have rows of these sources only; None for all."""
    if sources is None:
        yield
        return
    register_sources(db, "anchor_within", sources)
    [(catalog,)] = db.execute("SELECT current_database()").fetchall()
    tables = ("captures", "pages", "links")
    for table in tables:
        rows = f'SELECT * FROM "{catalog}".main.{table} WHERE source_id IN (FROM anchor_within)'
        db.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS {rows}")
    try:
        yield
    finally:
        for table in tables:
            db.execute(f"DROP VIEW temp.{table}")


def _count_class(
    db: duckdb.DuckDBPyConnection,
    members: Sequence[int],
    pages: Mapping[int, int],
    earlier: EarlierResult | None,
    values: Mapping[str, object],
) -> None:
    """Add the link texts of the pages of one class to the temporary table anchor_rows.

    `pages` has the number of pages of each source of this class and larger ones, the only ones in the tables.
    """
    earlier_sources = [source for source in pages if earlier and source in earlier.sources]
    register_sources(db, "anchor_members", members)
    register_sources(db, "anchor_earlier", earlier_sources)
    if len(earlier_sources) == len(pages):
        db.execute(_EARLIER_ROWS.format(**values, is_recounted="false"))
        return
    restriction = {"links": "anchor_needed", "is_counted": "url IN (SELECT url FROM anchor_recounted)"}
    if sum(pages[source] for source in earlier_sources) >= MIN_SHARE * sum(pages.values()):
        select_changed(db, values)
        db.execute(_EARLIER_ROWS.format(**values, is_recounted=_RECOUNTED_ROWS))
        db.execute(_RECOUNTED_SOURCES)
    elif sum(pages[source] for source in members) < MIN_SHARE * sum(pages.values()):
        select_members(db, values)
        db.execute(_ALL_MEMBERS)
    else:
        restriction = {"links": "links", "is_counted": "true"}
        db.execute(_ALL_MEMBERS)
    for table, columns in _FILLED_TABLES.items():
        db.execute(f"CREATE OR REPLACE TEMP TABLE anchor_{table} ({columns})")
    for statement in (_TEXTS, _WANTED_TARGETS):
        db.execute(statement.format(**values, **restriction))
    row_counts = [
        db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for table in ("captures", restriction["links"])
    ]
    rounds = 1 + max(row_counts) // MAX_ROWS_PER_ROUND
    for statement in (_LINKS, _PLACES, _EXACT, _AFTER_REDIRECT, _NEARBY, _TARGETS, _SPREAD, _VOTES):
        for number in range(rounds):
            db.execute(statement.format(**values, **restriction, rounds=rounds, round=number))
    for statement in (_VOTED, _ROWS):
        db.execute(statement.format(**restriction))
    for table in ("texts", "asked", "voted", *_FILLED_TABLES, *TABLES):
        db.execute(f"DROP TABLE IF EXISTS anchor_{table}")


def read_anchors(path: Path, spans: Sequence[tuple[int, int, int]]) -> dict[tuple[int, int], LinkTexts]:
    """Return the link texts of pages by (source_id, warc_record_offset), as `gather_anchors` wrote them.

    `spans` are (source id, first offset, end offset) of the pages.
    """
    with duckdb.connect() as db:
        db.execute(_SPANS, [[span[part] for span in spans] for part in range(3)])
        rows = stream_rows(db, _OF_SPANS.format(path=quote_path(path)))
        return {
            page: [(text, weight) for *_, text, weight in of_page]
            for page, of_page in groupby(rows, key=itemgetter(0, 1))
        }
