"""Tells what ingest makes of each record of a file, and why: `webemu doctor FILE`.

The file is read as by `webemu ingest`, by a worker process of its own into a temporary folder; no collection changes.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from webemu.emulator.errors import EmulatorError
from webemu.index.digests import hash_file
from webemu.ingest.pieces import UNDIVIDED
from webemu.ingest.pool import run_jobs
from webemu.ingest.sources import expand_sources
from webemu.ingest.worker import RECORD_LIST, Job

EXPLANATIONS = {
    "bad-content-length": "its Content-Length is missing, not a number, or stated twice differently",
    "bad-date": "its WARC-Date is not a time that can be; another time was taken",
    "bad-head": "its head does not end before the next record begins",
    "bad-json": "a line is not a JSON object",
    "bad-url": "its URL cannot be read, so that no search finds it",
    "content-length-mismatch": "its block is shorter or longer than its head says",
    "damaged-cassette": "the file is no cassette of vcrpy or VCR that can be parsed, or it ends early",
    "damaged-gzip": "a gzip member does not inflate to its end",
    "damaged-har": "the file is no JSON of the shape that HAR has",
    "damaged-lz4": "an LZ4 frame is damaged",
    "damaged-parquet": "a row group of the Parquet file is damaged",
    "damaged-zip": "a member of the zip file is damaged",
    "damaged-zstd": "a Zstandard frame is damaged",
    "digest-mismatch": "its payload does not have the digest that its head states, so that it is not served",
    "empty-file": "the file has no bytes",
    "empty-member": "a gzip member holds nothing",
    "extractor-crashed": "its text could not be extracted; the payload is kept",
    "junk-between-records": "these bytes belong to no record",
    "markup-too-deep": "its tags are nested too deeply; the text ends there",
    "no-body": "the file does not hold its body",
    "no-date": "it has no WARC-Date; another time was taken",
    "no-http-head": "its block does not begin with an HTTP head; it has no status",
    "no-response": "there was no response: it was blocked or broken off",
    "no-target-uri": "it has no WARC-Target-URI that could be asked for",
    "no-text": "there is no text in it",
    "not-a-record": "a gzip member holds something else than a WARC record",
    "not-modified": "the response (304) only says that an earlier one holds",
    "other-method": "its method (HEAD, OPTIONS, …) gets no content",
    "oversized-archive": "the unpacked archive would be too large",
    "oversized-head": "its head is larger than 1 MiB",
    "oversized-record": "it is larger than 64 MiB",
    "payload-too-large": "its decoded payload is larger than 64 MiB",
    "pdf-too-large": "the PDF is too large to be read",
    "pdf-too-long": "the PDF has too many pages; the text ends there",
    "pdf-truncated": "the PDF was cut when it was captured",
    "pdf-unreadable": "the PDF cannot be read",
    "record-crashed": "reading it failed",
    "records-share-member": "a gzip member holds several records",
    "tag-too-large": "a tag is too large; the text ends there",
    "text-too-large": "its text is too long and was cut",
    "truncated-gzip": "the file ends inside a gzip member",
    "truncated-lz4": "the file ends inside an LZ4 frame",
    "truncated-record": "the file ends inside the record; what is left of the payload is kept",
    "truncated-zip": "the zip file ends early",
    "truncated-zstd": "the file ends inside a Zstandard frame",
    "unknown-service": "the line names no call, and its answer is that of no known service",
    "unreadable-source": "the file is of no format that can be ingested",
    "url-too-large": "its URL is longer than a result can show",
}
"""Meaning of each reason of a drop, as the end of a sentence about the record."""
_TYPE_PREFIX = "record-type-"


class RecordReport(NamedTuple):
    """Account of one record of a file, or of one range of bytes that was passed over."""

    offset: int
    """Offset in the file that is read: the file itself, or the copy with one member a record."""
    type: str
    """WARC-Type in lower case; empty for bytes that are no record."""
    url: str
    outcome: str
    """One of `page` (has text), `capture` (is served, but not searched), `joined` (belongs to another record),
    `read` (tells about the file) and `dropped`.
    """
    detail: str
    """Status, media type, words, language."""
    reasons: tuple[str, ...]
    """Reasons of losses; a capture or page may have some as well."""

    def explain(self) -> str:
        """Return the detail and the explanation of each reason, as one line."""
        texts = [f"{reason}: {explain_reason(reason)}" for reason in self.reasons]
        return "; ".join(filter(None, (self.detail, *texts)))


def explain_reason(reason: str) -> str:
    """Return what a reason of a drop means."""
    if reason.startswith(_TYPE_PREFIX):
        return f"records of the type {reason.removeprefix(_TYPE_PREFIX)} are not served"
    return EXPLANATIONS.get(reason, "see ingest/README.md")


def inspect_file(argument: str) -> Iterator[RecordReport]:
    """Yield what ingest makes of every record of the files that an argument of `webemu ingest` names.

    Raises SourceError if it names none, and EmulatorError if a file cannot be read.
    """
    for source in expand_sources([argument]).sources:
        if source.url:
            raise EmulatorError(f"{source.url} is not a file", action="download it, and name the file")
        path = source.path.resolve()
        job = Job(hash_file(path), source.name, str(path), None, "", path.stat().st_size, lists_records=True)
        with tempfile.TemporaryDirectory() as folder:
            for result in run_jobs([job], Path(folder), 1, lambda running: None, UNDIVIDED):
                if result.staging_folder is None:
                    raise EmulatorError(f"{path} could not be read: {result.error}", location=str(path))
                yield from _read_reports(result.staging_folder)


def _read_reports(staging: Path) -> Iterator[RecordReport]:
    """Yield the reports of a staging folder with a list of records, by offset."""
    captures = _read_rows(staging / "captures.parquet")
    pages = _read_rows(staging / "pages.parquet")
    types: dict[int, tuple[str, str]] = {}
    reasons: defaultdict[int, list[str]] = defaultdict(list)
    urls: dict[int, str] = {}
    with (staging / RECORD_LIST).open() as lines:
        for row in map(json.loads, lines):
            if "type" in row:
                types[row["offset"]] = (row["type"], row["url"])
            else:
                reasons[row["offset"]].append(row["reason"])
                urls.setdefault(row["offset"], row["url"])
    for offset in sorted(types.keys() | reasons.keys()):
        record_type, url = types.get(offset, ("", urls.get(offset, "")))
        capture, page, why = captures.get(offset), pages.get(offset), tuple(reasons[offset])
        if capture is not None:
            outcome = "capture" if page is None else "page"
            detail = _describe_capture(capture, page)
        else:
            outcome, detail = "dropped" if why else _outcome_without_capture(record_type), ""
        yield RecordReport(offset, record_type, url, outcome, detail, why)


def _outcome_without_capture(record_type: str) -> str:
    return "joined" if record_type in ("request", "metadata") else "read"


def _describe_capture(capture: dict[str, Any], page: dict[str, Any] | None) -> str:
    """Return status, media type, target of a redirect, words and language of a capture."""
    status, media_type = capture["fetch_status"], capture["content_mime_detected"] or capture["content_mime_type"]
    parts = [" ".join(filter(None, (str(status) if status else "", media_type)))]
    if capture["fetch_redirect"]:
        parts.append(f"redirects to {capture['fetch_redirect']}")
    if page is not None:
        parts.append(f"{page['words']:,} words")
        parts.append(page["language"] or "")
        parts.append("" if page["searchable"] else "not searched")
    return ", ".join(filter(None, parts))


def _read_rows(path: Path) -> dict[int, dict[str, Any]]:
    """Return the rows of a table by the offset of their record, without the texts."""
    schema = pq.read_schema(path)
    columns = [name for name in schema.names if name not in ("text", "headings", "description")]
    return {row["warc_record_offset"]: row for row in pq.read_table(path, columns=columns).to_pylist()}
