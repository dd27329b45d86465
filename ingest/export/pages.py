"""Writes the texts of chosen pages: Parquet and JSON lines with FineWeb's columns, a BEIR corpus, passages.

Of what the format does not know, nothing is invented: FineWeb's `language_score` and `token_count` stay empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.index.catalog import Catalog

PASSAGE_WORDS = 100
"""Words of a passage, as in Wikipedia's passages of DPR and Search-R1."""
_BATCH_ROWS = 1000
SCHEMA = pa.schema(
    [
        ("text", pa.large_string()),
        ("id", pa.string()),
        ("dump", pa.string()),
        ("url", pa.string()),
        ("date", pa.string()),
        ("file_path", pa.string()),
        ("language", pa.string()),
        ("language_score", pa.float64()),
        ("token_count", pa.int64()),
        ("title", pa.string()),
        ("published", pa.date32()),
        ("headings", pa.string()),
        ("description", pa.string()),
        ("searchable", pa.bool_()),
        ("link_density", pa.float32()),
        ("links", pa.list_(pa.struct([("target", pa.string()), ("anchor", pa.string()), ("rel", pa.string())]))),
    ]
)
"""Columns of FineWeb; then what else is known of a page, with its links, which rank other pages. `searchable` is false
for error pages, sitemaps and pages that ask not to be indexed.
"""
_ROWS = """
SELECT text, coalesce(warc_record_id, '') AS id, coalesce(crawl, '') AS dump, p.url,
       replace(strftime(fetch_time, '%Y-%m-%dT%H:%M:%S.%fZ'), '.000000Z', 'Z') AS date,
       coalesce(warc_filename, '') AS file_path,
       coalesce(language, '') AS language, NULL::DOUBLE AS language_score, NULL::BIGINT AS token_count,
       coalesce(title, '') AS title, published, headings, description, searchable, link_density,
       coalesce(page_links, []) AS links
FROM chosen JOIN pages p USING (source_id, warc_record_offset) JOIN captures USING (source_id, warc_record_offset)
LEFT JOIN ({links}) USING (source_id, warc_record_offset)
WHERE text <> '' {latest} ORDER BY source_id, warc_record_offset
"""
_LINKS = """
SELECT source_id, warc_record_offset,
       list({'target': target, 'anchor': anchor, 'rel': rel} ORDER BY links.rowid) AS page_links
FROM links JOIN chosen USING (source_id, warc_record_offset) GROUP BY ALL
"""
"""Links of the chosen pages, in their order."""
_LATEST = """
AND searchable
QUALIFY row_number() OVER (PARTITION BY p.url ORDER BY fetch_time DESC, source_id DESC, warc_record_offset DESC) = 1
"""
"""Condition of formats that have no time: the latest capture of each URL."""
PageRow = dict[str, object]


def iter_pages(catalog: Catalog, *, is_latest: bool) -> Iterator[PageRow]:
    """Yield the chosen pages by column name; with `is_latest` only the latest of each URL that search finds."""
    rows = catalog.db.sql(_ROWS.format(links=_LINKS, latest=_LATEST if is_latest else "")).to_arrow_reader(_BATCH_ROWS)
    for batch in rows:
        yield from batch.to_pylist()


def write_parquet(path: Path, pages: Iterator[PageRow]) -> int:
    """Write pages to a Parquet file; return their number."""
    count = 0
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        while rows := list(islice(pages, _BATCH_ROWS)):
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
            count += len(rows)
    return count


def write_lines(file: IO[str], rows: Iterator[PageRow]) -> int:
    """Write rows as lines of JSON; return their number."""
    count = 0
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")  # default: dates
        count += 1
    return count


def to_beir(pages: Iterator[PageRow]) -> Iterator[PageRow]:
    """Yield pages as documents of a BEIR corpus; the id is the URL."""
    for page in pages:
        metadata = {"url": page["url"], "date": page["date"]}
        yield {"_id": page["url"], "title": page["title"], "text": page["text"], "metadata": metadata}


def to_passages(pages: Iterator[PageRow]) -> Iterator[PageRow]:
    """Yield passages of `PASSAGE_WORDS` words, with the title in quotes on the first line, as in wiki-18."""
    number = 0
    for page in pages:
        words = str(page["text"]).split()
        for start in range(0, len(words), PASSAGE_WORDS):
            text = " ".join(words[start : start + PASSAGE_WORDS])
            contents = f'"{page["title"] or page["url"]}"\n{text}'
            yield {"id": str(number), "contents": contents, "url": page["url"]}
            number += 1


Conversion = Callable[[Iterator[PageRow]], Iterator[PageRow]]
CONVERSIONS: dict[str, Conversion] = {"jsonl": lambda pages: pages, "beir": to_beir, "passages": to_passages}
"""Conversions of pages to the rows of formats of lines, by name."""
