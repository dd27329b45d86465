"""Finds duplicates: pages with equal text, and near-duplicates on different domains.

Similar pages of one site are one template with different facts; on different sites they are copies, such as syndicated
news. So a near-duplicate is a page of another registrable domain with a similar text (MinHash signatures made at
ingest, bands of 8, Broder 1997 and Leskovec, Rajaraman and Ullman, "Mining of Massive Datasets", chapter 3), if one of
the two has no word that the other lacks: a page with anything of its own is no duplicate.

Each cluster has a leader, and every member was compared with the leader itself, so that similarity does not drift.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from operator import eq
from pathlib import Path

import duckdb
import pyarrow as pa

from webemu.index.arrow_arrays import integer_array
from webemu.index.earlier_results import MIN_SHARE, EarlierResult
from webemu.index.page_columns import column_values
from webemu.index.query_rows import quote_path, stream_rows

MIN_SIMILARITY = 0.8
"""Smallest Jaccard similarity of the shingles of two duplicates, estimated from their signatures."""
MIN_LENGTH_RATIO = 0.7
"""Smallest ratio of the word counts of two duplicates, the shorter to the longer."""
BANDS, ROWS = 16, 8
"""Bands of a signature, and bytes of a band: pairs share a band with a chance of 95% at similarity 0.8, 6% at 0.5."""
MAX_BAND_TEXTS = 50
"""Texts that may share a band; a band of more is a template."""
NAME = "near_bands"
"""Name of the bands that are kept for the next build (`webemu.index.earlier_results`)."""
_WORDS = re.compile(r"\w+")

_BAND = f"array_slice(signature, {ROWS} * band + 1, {ROWS} * band + {ROWS})"
# Which texts share a band changes only for the bands of texts that further sources have.
_CHANGED = f"""
CREATE OR REPLACE TEMP TABLE near_changed AS
SELECT DISTINCT text_hash FROM pages
WHERE searchable AND signature IS NOT NULL AND source_id NOT IN (SELECT unnest($sources::BIGINT[]));
CREATE OR REPLACE TEMP TABLE near_changed_band AS
SELECT DISTINCT band, {_BAND} AS value FROM pages, range({BANDS}) bands(band)
WHERE searchable AND signature IS NOT NULL AND text_hash IN (FROM near_changed);
CREATE OR REPLACE TEMP TABLE near_candidate AS
SELECT DISTINCT text_hash FROM pages, range({BANDS}) bands(band)
WHERE searchable AND signature IS NOT NULL AND hash({_BAND}, band) IN (SELECT hash(value, band) FROM near_changed_band);
"""
_SIGNED = """
CREATE OR REPLACE TEMP TABLE near_text AS
SELECT text_hash, min(signature) AS signature, min(url_host_registered_domain) AS domain
FROM pages JOIN captures USING (source_id, warc_record_offset)
WHERE searchable AND signature IS NOT NULL AND {is_candidate} GROUP BY text_hash
"""
# Grouping the bands themselves takes five times as long at a million pages. DuckDB's hash() is the same for some that
# differ, so it only leaves out those that no other text can have; the rest are compared.
_BANDED = f"""
CREATE OR REPLACE TEMP TABLE near_band AS
WITH hashes AS (SELECT hash({_BAND}, band) AS hash FROM near_text, range({BANDS}) bands(band)),
     repeated AS (SELECT hash FROM hashes GROUP BY hash HAVING count(*) > 1),
     bands AS MATERIALIZED (
       SELECT text_hash, domain, band, {_BAND} AS value
       FROM near_text, range({BANDS}) bands(band) WHERE hash({_BAND}, band) IN (SELECT hash FROM repeated)),
     shared AS (SELECT band, value FROM bands GROUP BY ALL
                HAVING count(*) BETWEEN 2 AND {MAX_BAND_TEXTS} AND min(domain) <> max(domain))
SELECT text_hash, domain, band, value FROM bands SEMI JOIN shared USING (band, value)
"""
_UNCHANGED = """
DELETE FROM near_band WHERE (band, value) NOT IN (SELECT (band, value) FROM near_changed_band);
INSERT INTO near_band
SELECT text_hash, domain, band, value FROM read_parquet('{path}') ANTI JOIN near_changed_band USING (band, value)
"""
_SHARE = """
SELECT coalesce(sum(pages) FILTER (source_id IN (SELECT unnest($sources::BIGINT[]))), 0) >= {min_share} * sum(pages)
FROM sources
"""
_KEEP = "COPY (FROM near_band ORDER BY ALL) TO '{path}' (FORMAT parquet)"
_PAIRS = f"""
WITH pairs AS (SELECT DISTINCT a.text_hash AS one, b.text_hash AS other
               FROM near_band a JOIN near_band b USING (band, value)
               WHERE a.text_hash < b.text_hash AND a.domain <> b.domain),
     texts AS (SELECT text_hash, min(signature) AS signature, min(words) AS words FROM pages
               WHERE searchable AND text_hash IN (SELECT text_hash FROM near_band) GROUP BY text_hash)
SELECT one, other, a.signature, b.signature
FROM pairs JOIN texts a ON a.text_hash = one JOIN texts b ON b.text_hash = other
WHERE least(a.words, b.words) >= {MIN_LENGTH_RATIO} * greatest(a.words, b.words) ORDER BY one, other
"""
# By row, since DuckDB would unpack the texts of all pages to look at their hashes.
_TEXTS = """
WITH chosen AS (SELECT text_hash, min(rowid) AS row FROM pages
                WHERE searchable AND text_hash IN (SELECT one FROM alike UNION SELECT other FROM alike)
                GROUP BY text_hash),
     texts AS MATERIALIZED (SELECT text_hash, text FROM pages WHERE rowid IN (SELECT row FROM chosen))
SELECT one, other, a.text, b.text FROM alike JOIN texts a ON a.text_hash = one JOIN texts b ON b.text_hash = other
ORDER BY one, other
"""
MEMBERS = """
WITH clustered AS (SELECT coalesce(leader, text_hash) AS cluster, source_id, warc_record_offset
                   FROM pages LEFT JOIN led_by USING (text_hash) WHERE searchable),
     repeated AS (SELECT cluster FROM clustered GROUP BY cluster HAVING count(*) > 1)
SELECT cluster, doc::UINTEGER AS doc
FROM clustered SEMI JOIN repeated USING (cluster) JOIN doc_of USING (source_id, warc_record_offset)
ORDER BY cluster, doc
"""
"""Query of the rows for `write_members`. It needs the temporary tables of `resolve.sql` and of `write_leaders`."""


def write_leaders(
    db: duckdb.DuckDBPyConnection, earlier: EarlierResult | None = None, keep: Path | None = None
) -> None:
    """Fill the temporary table led_by(text_hash, leader) with the texts that nearly duplicate another, their leader.

    - earlier: the bands of some of the sources, as they were kept
    - keep: file to write the bands of all sources to
    """
    fill_bands(db, earlier)
    if keep is not None:
        db.execute(_KEEP.format(path=quote_path(keep)))
    pairs = [
        (first, second)
        for first, second, a, b in stream_rows(db, _PAIRS, 1000)
        if estimate_similarity(a, b) >= MIN_SIMILARITY
    ]
    db.execute("DROP TABLE near_band")
    _create_pairs(db, "alike", ("one", "other"), pairs)
    leaders = assign_cluster_leaders(
        [(first, second) for first, second, a, b in stream_rows(db, _TEXTS, 1000) if is_word_subset(a, b)]
    )
    _create_pairs(db, "led_by", ("text_hash", "leader"), list(leaders.items()))
    db.execute("DROP TABLE alike")


def fill_bands(db: duckdb.DuckDBPyConnection, earlier: EarlierResult | None = None) -> None:
    """Fill the temporary table near_band(text_hash, domain, band, value): bands that texts of two domains share.

    `earlier` are the bands of some of the sources.
    """
    sources = list(earlier.sources) if earlier else []
    if earlier and db.execute(_SHARE.format(min_share=MIN_SHARE), {"sources": sources}).fetchall() == [(True,)]:
        changed, *candidates = _CHANGED.split(";")
        db.execute(changed, {"sources": sources})
        for statement in candidates[:-1]:
            db.execute(statement)
        db.execute(_SIGNED.format(is_candidate="text_hash IN (FROM near_candidate)"))
        db.execute(_BANDED)
        db.execute(_UNCHANGED.format(path=quote_path(earlier.path)))
        db.execute("DROP TABLE near_changed; DROP TABLE near_changed_band; DROP TABLE near_candidate")
    else:
        db.execute(_SIGNED.format(is_candidate="true"))
        db.execute(_BANDED)
    db.execute("DROP TABLE near_text")


def _create_pairs(
    db: duckdb.DuckDBPyConnection, name: str, columns: tuple[str, str], rows: list[tuple[int, int]]
) -> None:
    """Create a temporary table of pairs of integers."""
    values = (integer_array([row[column] for row in rows]) for column in range(2))
    db.register("pairs_read", pa.table(dict(zip(columns, values, strict=True))))
    db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM pairs_read")
    db.unregister("pairs_read")


def estimate_similarity(first: bytes, second: bytes) -> float:
    """Return the Jaccard similarity of two signatures, corrected for bytes that are equal by chance."""
    equal: float = sum(map(eq, first, second)) / len(first)
    return (equal - 1 / 256) / (1 - 1 / 256)


def is_word_subset(first: str, second: str) -> bool:
    """True if one of two texts has no word that the other lacks."""
    a, b = set(_WORDS.findall(first.lower())), set(_WORDS.findall(second.lower()))
    return a <= b or b <= a


def assign_cluster_leaders(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the leader of each text that has one. Texts with the most similar texts lead those that have no leader
    yet.
    """
    similar_texts: dict[int, list[int]] = {}
    for text_hash, other in pairs:
        similar_texts.setdefault(text_hash, []).append(other)
        similar_texts.setdefault(other, []).append(text_hash)
    leader: dict[int, int] = {}
    # Most similar texts first; the number breaks ties, so that every build has the same leaders.
    for text_hash in sorted(similar_texts, key=lambda number: (-len(similar_texts[number]), number)):
        if text_hash not in leader:
            for other in similar_texts[text_hash]:
                leader.setdefault(other, text_hash)
    return leader


def write_members(folder: Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Write rows of the query `MEMBERS` to a new folder."""
    folder.mkdir()
    clusters, starts, docs = array("q"), array("I"), array("I")
    for batch in batches:
        for place, cluster in enumerate(column_values(batch["cluster"], "q"), len(docs)):
            if not clusters or clusters[-1] != cluster:
                clusters.append(int(cluster))
                starts.append(place)
        docs.frombytes(column_values(batch["doc"], "I").tobytes())
    starts.append(len(docs))
    for name, column in (("clusters", clusters), ("starts", starts), ("docs", docs)):
        (folder / f"{name}.bin").write_bytes(column.tobytes())
