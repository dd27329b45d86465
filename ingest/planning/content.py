"""Content of a crawl that is not ingested yet: sampled from its files, or assumed to be that of Common Crawl."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from webemu.emulator.errors import SourceError
from webemu.index.catalog import Catalog
from webemu.ingest.extract.kind import HTML
from webemu.ingest.pieces import UNDIVIDED
from webemu.ingest.planning.model import CONTENT_FIELDS, Content
from webemu.ingest.planning.postings import MAX_TEXTS, PageText, estimate_postings_share
from webemu.ingest.planning.samples import Sample, cut_samples
from webemu.ingest.pool import run_jobs
from webemu.ingest.sources import Source
from webemu.ingest.worker import Job

COMMON_CRAWL_FILE: Content = {
    "pages": 19_700,
    "html_pages": 19_700,
    "text_pages": 0,
    "captures": 19_700,
    "links": 19_700 * 82,
    "html_bytes": 19_700 * 187_000,
    "text_bytes": 19_700 * 15_000,
    "postings": 19_700 * 0.67,
    "archive_bytes": 1_000_000_000,
    "copy_bytes": 0,
}
"""Content of one WARC file of Common Crawl: pages and HTML of the first ten files of CC-MAIN-2026-12 (open-html's
statistics), text from the size of WET files (13% of the WARC files), links and postings from some 800 and 700 pages of
real archives.
"""
_COUNTS = f"""
SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM captures), (SELECT count(*) FROM links),
       (SELECT sum(payload_bytes) FROM captures), (SELECT sum(strlen(text)) FROM pages),
       (SELECT sum(bytes) FROM sources),
       (SELECT count(*) FROM pages JOIN captures USING (source_id, warc_record_offset)
        WHERE content_mime_detected IN {tuple(sorted(HTML))})
"""
_SAMPLED_TEXTS = f"""
SELECT if(searchable, title, NULL), if(searchable, text, ''), language FROM pages
USING SAMPLE reservoir({MAX_TEXTS} ROWS) REPEATABLE (1)
"""


class Estimate(NamedTuple):
    """Content of sources, and what it was estimated from."""

    content: Content
    sampled_pages: int
    indivisible: Sequence[Path]
    """Large sources of which no part can be read by itself; they count as sources like the others."""
    unrecognized: Sequence[Path]
    """Sources of no known format, which count as ones without pages."""


def read_content(catalog: Catalog) -> Content:
    """Return the content of a collection."""
    counts = [float(count or 0) for count in catalog.db.execute(_COUNTS).fetchall()[0]]
    pages, captures, links, html_bytes, text_bytes, archive_bytes, html_pages = counts
    copies = [
        catalog.folder / copy
        for (copy,) in catalog.db.execute("SELECT copy FROM sources WHERE copy IS NOT NULL").fetchall()
    ]
    texts = [PageText(*row) for row in catalog.db.execute(_SAMPLED_TEXTS).fetchall()]
    return {
        "pages": pages,
        "html_pages": html_pages,
        "text_pages": pages - html_pages,
        "captures": captures,
        "links": links,
        "html_bytes": html_bytes,
        "text_bytes": text_bytes,
        "postings": pages * estimate_postings_share(texts),
        "archive_bytes": archive_bytes,
        "copy_bytes": float(sum(path.stat().st_size for path in copies if path.exists())),
    }


def estimate_content(sources: Sequence[Source], workers: int, on_progress: Callable[[int, int], None]) -> Estimate:
    """Return the content of sources, estimated from samples of those that are here.

    Each source that is not here counts as a WARC file of Common Crawl. `on_progress` is called with the samples that
    were read and all of them. Raises SourceError if no source can be sampled.
    """
    local = [source.path for source in sources if source.url is None]
    absent_content = scale(COMMON_CRAWL_FILE, len(sources) - len(local))
    if not local:
        return Estimate(absent_content, 0, (), ())
    total_bytes = sum(path.stat().st_size for path in local)
    if not total_bytes:
        raise SourceError(
            f"{local[0].name} is empty, and so are all other sources that are here", action="name whole files"
        )
    with tempfile.TemporaryDirectory(prefix="webemu-plan-") as folder:
        sampled = cut_samples(local, Path(folder))
        sampled_content, sampled_pages = _ingest_samples(sampled.samples, Path(folder), workers, on_progress)
    if not sampled.covered_bytes:
        raise SourceError(
            f"no part of {(sampled.indivisible or local)[0].name} can be read by itself, nor of the other sources",
            action="give the number of --pages, and a similar collection with --like",
        )
    local_content = scale(sampled_content, total_bytes / sampled.covered_bytes)
    local_content["archive_bytes"] = total_bytes
    return Estimate(_add(local_content, absent_content), sampled_pages, sampled.indivisible, sampled.unrecognized)


def scale(content: Content, factor: float) -> Content:
    """Return the content times a factor."""
    return _combine(content, factor, content, 0)


def content_of_records(records: int, record_bytes: float) -> Content:
    """Return the content of records of Common Crawl, of which only the number and the compressed size are known."""
    content = scale(COMMON_CRAWL_FILE, record_bytes / COMMON_CRAWL_FILE["archive_bytes"])
    by_page = scale(COMMON_CRAWL_FILE, records / COMMON_CRAWL_FILE["pages"])
    by_page["html_bytes"], by_page["text_bytes"] = content["html_bytes"], content["text_bytes"]
    by_page["archive_bytes"] = record_bytes
    return by_page


def _add(content: Content, added: Content) -> Content:
    return _combine(content, 1, added, 1)


def _combine(content: Content, factor: float, added: Content, added_factor: float) -> Content:
    """Return the sum of two contents, each times its factor."""
    values = {name: factor * content[name] + added_factor * added[name] for name in CONTENT_FIELDS}  # type: ignore[literal-required]
    return cast(Content, values)


def _ingest_samples(
    samples: Sequence[Sample], folder: Path, workers: int, on_progress: Callable[[int, int], None]
) -> tuple[Content, int]:
    """Return what the samples stand for, but for the bytes of the sources, and the number of pages that were read.

    They are read as `webemu ingest` reads them.
    """
    jobs = [
        Job(number, sample.path.name, str(sample.path.resolve()), None, "", sample.path.stat().st_size)
        for number, sample in enumerate(samples)
    ]
    content, read_pages = scale(COMMON_CRAWL_FILE, 0), 0.0
    texts: dict[int, tuple[float, list[PageText]]] = {}
    on_progress(0, len(jobs))
    for number, result in enumerate(run_jobs(jobs, folder, workers, lambda running: None, UNDIVIDED), 1):
        if result.staging_folder is not None:
            copy_bytes = (folder / result.job.copy).stat().st_size if result.job.copy else 0
            staged = _count_staged(result.staging_folder, copy_bytes)
            estimated = scale(staged, samples[result.job.source_id].factor)
            content, read_pages = _add(content, estimated), read_pages + staged["pages"]
            texts[result.job.source_id] = estimated["pages"], _read_texts(result.staging_folder)
        on_progress(number, len(jobs))
    content["postings"] = content["pages"] * estimate_postings_share(_choose_texts(texts, content["pages"]))
    return content, int(read_pages)


def _choose_texts(texts: Mapping[int, tuple[float, list[PageText]]], pages: float) -> list[PageText]:
    """Return up to `MAX_TEXTS` pages: of each sample as many as it stands for, which `texts` has beside its pages."""
    chosen_texts, passed_pages = list[PageText](), 0.0
    for _, (page_count, sample_texts) in sorted(texts.items()):
        before, passed_pages = passed_pages, passed_pages + page_count
        # Differences of rounded sums, so that many samples of a page each are not all rounded to nothing.
        count = round(MAX_TEXTS * passed_pages / max(pages, 1)) - round(MAX_TEXTS * before / max(pages, 1))
        chosen_texts += _take_evenly(sample_texts, count)
    return chosen_texts


def _take_evenly(texts: Sequence[PageText], count: int) -> Sequence[PageText]:
    """Return up to so many texts, at even distances."""
    step = max(-(-len(texts) // max(count, 1)), 1)
    return texts[::step][:count]


def _count_staged(folder: Path, copy_bytes: float) -> Content:
    """Return the content of a staging folder, but for its postings and the bytes of its source."""
    pages = pq.read_table(folder / "pages.parquet", columns=["warc_record_offset", "text"])
    captures = pq.read_table(
        folder / "captures.parquet", columns=["warc_record_offset", "payload_bytes", "content_mime_detected"]
    )
    is_html = pc.is_in(captures["content_mime_detected"], pa.array(sorted(HTML)))
    html_offsets = captures.filter(is_html)["warc_record_offset"]
    html_pages = pc.sum(pc.is_in(pages["warc_record_offset"], html_offsets.combine_chunks())).as_py() or 0
    return {
        "pages": float(len(pages)),
        "html_pages": float(html_pages),
        "text_pages": float(len(pages) - html_pages),
        "captures": float(len(captures)),
        "links": float(pq.read_metadata(folder / "links.parquet").num_rows),
        "html_bytes": float(pc.sum(captures["payload_bytes"]).as_py() or 0),
        "text_bytes": float(pc.sum(pc.binary_length(pages["text"])).as_py() or 0),
        "postings": 0.0,
        "archive_bytes": 0.0,
        "copy_bytes": copy_bytes,
    }


def _read_texts(folder: Path) -> list[PageText]:
    """Return up to `MAX_TEXTS` pages of a staging folder, at even distances."""
    rows = pq.read_table(folder / "pages.parquet", columns=["title", "text", "language", "searchable"])
    step = max(-(-len(rows) // MAX_TEXTS), 1)
    return [
        PageText(row["title"], row["text"], row["language"]) if row["searchable"] else PageText(None, "", None)
        for row in rows.take(pa.array(range(0, len(rows), step), pa.int64())).to_pylist()
    ]
