"""Content of a crawl that is not ingested yet: sampled from its files, or assumed to be that of Common Crawl."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow.compute as pc
import pyarrow.parquet as pq

from webemu.emulator.errors import SourceError
from webemu.index.catalog import Catalog
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.planning.model import Content
from webemu.ingest.pool import run_jobs
from webemu.ingest.readers.gzip_members import find_next_member
from webemu.ingest.readers.plain_records import find_next_record
from webemu.ingest.sources import Source
from webemu.ingest.worker import Job

SAMPLES, SAMPLE_BYTES = 16, 2 << 20
"""Places of the sources that are read, and bytes at each."""
COMMON_CRAWL_FILE: Content = {
    "pages": 19_700,
    "captures": 19_700,
    "links": 19_700 * 82,
    "html_bytes": 19_700 * 187_000,
    "text_bytes": 19_700 * 15_000,
    "archive_bytes": 1_000_000_000,
}
"""Content of one WARC file of Common Crawl: pages and HTML of the first ten files of CC-MAIN-2026-12 (open-html's
statistics), text from the size of WET files (13% of the WARC files), links from 800 pages of real archives.
"""
_COUNTS = """
SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM captures), (SELECT count(*) FROM links),
       (SELECT sum(payload_bytes) FROM captures), (SELECT sum(strlen(text)) FROM pages),
       (SELECT sum(bytes) FROM sources)
"""
_WARC_FORMATS = frozenset({"warc", "warc.gz"})


def read_content(catalog: Catalog) -> Content:
    """Return the content of a collection."""
    pages, captures, links, html_bytes, text_bytes, archive_bytes = catalog.db.execute(_COUNTS).fetchall()[0]
    return {
        "pages": float(pages),
        "captures": float(captures),
        "links": float(links),
        "html_bytes": float(html_bytes or 0),
        "text_bytes": float(text_bytes or 0),
        "archive_bytes": float(archive_bytes or 0),
    }


def estimate_content(
    sources: Sequence[Source], workers: int, on_progress: Callable[[int, int], None]
) -> tuple[Content, int]:
    """Return the content of sources, and how many pages of them were read for it.

    Small sources are read whole, of larger ones `SAMPLES` places; each source that is not here counts as a WARC file of
    Common Crawl. `on_progress` is called with the samples that were read and all of them. Raises SourceError if no
    source can be sampled.
    """
    local = [source.path for source in sources if source.url is None]
    absent_content = scale(COMMON_CRAWL_FILE, len(sources) - len(local))
    if not local:
        return absent_content, 0
    total_bytes = sum(path.stat().st_size for path in local)
    with tempfile.TemporaryDirectory(prefix="webemu-plan-") as folder:
        samples = _cut_samples(local, total_bytes, Path(folder))
        sampled_content = _ingest_samples(samples, Path(folder), workers, on_progress)
    if not sampled_content["archive_bytes"]:
        raise SourceError(
            "none of the sources can be sampled: they are large and no WARC files, or nothing in them can be read",
            action="give the number of --pages, and a similar collection with --like",
        )
    local_content = scale(sampled_content, total_bytes / sampled_content["archive_bytes"])
    return _add(local_content, absent_content), int(sampled_content["pages"])


def scale(content: Content, factor: float) -> Content:
    """Return the content times a factor."""
    return _combine(content, factor, content, 0)


def content_of_records(records: int, record_bytes: float) -> Content:
    """Return the content of records of Common Crawl, of which only the number and the compressed size are known."""
    content = scale(COMMON_CRAWL_FILE, record_bytes / COMMON_CRAWL_FILE["archive_bytes"])
    links = COMMON_CRAWL_FILE["links"] / COMMON_CRAWL_FILE["pages"] * records
    return {**content, "pages": float(records), "captures": float(records), "links": links}


def _add(content: Content, added: Content) -> Content:
    return _combine(content, 1, added, 1)


def _combine(content: Content, factor: float, added: Content, added_factor: float) -> Content:
    """Return the sum of two contents, each times its factor."""
    return {
        "pages": factor * content["pages"] + added_factor * added["pages"],
        "captures": factor * content["captures"] + added_factor * added["captures"],
        "links": factor * content["links"] + added_factor * added["links"],
        "html_bytes": factor * content["html_bytes"] + added_factor * added["html_bytes"],
        "text_bytes": factor * content["text_bytes"] + added_factor * added["text_bytes"],
        "archive_bytes": factor * content["archive_bytes"] + added_factor * added["archive_bytes"],
    }


def _cut_samples(paths: Sequence[Path], total_bytes: int, folder: Path) -> list[Path]:
    """Copy the samples to a folder, and return their paths; sources of few bytes are samples themselves."""
    if total_bytes <= 2 * SAMPLES * SAMPLE_BYTES:
        return list(paths)
    samples = list[Path]()
    positions = iter([total_bytes * (2 * number + 1) // (2 * SAMPLES) for number in range(SAMPLES)])
    position, passed = next(positions, None), 0
    for path in paths:
        size = path.stat().st_size
        while position is not None and position < passed + size:
            sample = _cut_sample(
                path, position - passed, folder / f"sample-{len(samples)}{''.join(path.suffixes[-2:])}"
            )
            samples += [sample] if sample else []
            position = next(positions, None)
        passed += size
    return samples


def _cut_sample(path: Path, offset: int, sample: Path) -> Path | None:
    """Copy whole records of a WARC file, from the first one behind an offset; a small file of another format is a
    sample itself. Returns None if nothing can be taken of the file.
    """
    container_format, size = detect_format(path), path.stat().st_size
    if container_format is None or container_format.name not in _WARC_FORMATS or size <= SAMPLE_BYTES:
        return path if container_format and size <= SAMPLES * SAMPLE_BYTES else None
    with path.open("rb") as file:
        start = _find_record(file, max(0, min(offset, size - 2 * SAMPLE_BYTES)), size)
        end = _find_record(file, min(size, start + SAMPLE_BYTES), size)
        file.seek(start)
        sample.write_bytes(file.read(end - start))
    return sample if end > start else None


def _find_record(file: BinaryIO, offset: int, size: int) -> int:
    """Return the offset of the first record from an offset on, or the end of the file."""
    if not offset or offset >= size:
        return min(offset, size)
    is_gzip = os.pread(file.fileno(), 2, 0) == b"\x1f\x8b"
    return (find_next_member if is_gzip else find_next_record)(file.fileno(), offset, size)


def _ingest_samples(
    samples: Sequence[Path], folder: Path, workers: int, on_progress: Callable[[int, int], None]
) -> Content:
    """Return the content of all samples, read as `webemu ingest` reads them."""
    jobs = [
        Job(number, path.name, str(path.resolve()), None, "", path.stat().st_size)
        for number, path in enumerate(samples)
    ]
    content = scale(COMMON_CRAWL_FILE, 0)
    on_progress(0, len(jobs))
    results = run_jobs(jobs, folder, workers, lambda running: None, max((job.bytes for job in jobs), default=0) + 1)
    for number, result in enumerate(results, 1):
        if result.staging_folder is not None:
            content = _add(content, _count_staged(result.staging_folder, result.job.bytes))
        on_progress(number, len(jobs))
    return content


def _count_staged(folder: Path, archive_bytes: float) -> Content:
    """Return the content of a staging folder."""
    texts = pq.read_table(folder / "pages.parquet", columns=["text"]).column("text")
    payload_bytes = pq.read_table(folder / "captures.parquet", columns=["payload_bytes"]).column("payload_bytes")
    return {
        "pages": float(len(texts)),
        "captures": float(len(payload_bytes)),
        "links": float(pq.read_metadata(folder / "links.parquet").num_rows),
        "html_bytes": float(pc.sum(payload_bytes).as_py() or 0),
        "text_bytes": float(pc.sum(pc.binary_length(texts)).as_py() or 0),
        "archive_bytes": float(archive_bytes),
    }
