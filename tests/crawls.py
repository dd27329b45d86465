"""Small crawls for tests: WARC files written record by record with warcio, and collections made of them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tests.in_process import in_process
from webemu.index import snapshot as snapshots
from webemu.ingest.run import Report, run
from webemu.ingest.sources import expand_sources


@dataclass(frozen=True)
class CaptureSpec:
    """One record of a crawl."""

    url: str
    body: str | bytes = ""
    day: int = 1
    status: str = "200 OK"
    kind: str = "response"
    mime: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    warc: dict[str, str] = field(default_factory=dict)

    @property
    def date(self) -> str:
        return f"2024-01-{self.day:02d}T12:00:00Z"


def html(title: str, *paragraphs: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body><main>" + "".join(
        f"<p>{text}</p>" for text in paragraphs
    )


def write(path: Path, records: Sequence[CaptureSpec]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for record in records:
            body = record.body.encode() if isinstance(record.body, str) else record.body
            headers = [("Content-Type", record.mime), *record.headers]
            head = StatusAndHeaders(record.status, headers, protocol="HTTP/1.1")
            is_http = record.kind in ("response", "revisit")
            writer.write_record(
                writer.create_warc_record(
                    record.url,
                    record.kind,
                    payload=io.BytesIO(body),
                    http_headers=head if is_http else None,
                    warc_headers_dict={"WARC-Date": record.date, **record.warc},
                    warc_content_type="" if is_http else record.mime,
                )
            )
    return path


def ingest(folder: Path, *paths: Path, snapshot: bool = True) -> Report:
    """Ingest the files into the collection at `folder` in this process, quietly, and return the report."""
    with in_process():
        return ingest_with_workers(folder, *paths, snapshot=snapshot)


def ingest_with_workers(folder: Path, *paths: Path, snapshot: bool = True) -> Report:
    """Do the same as `webemu ingest` does it, in a worker process, for tests in which a record may end its process."""
    return run(expand_sources([str(path) for path in paths]).sources, folder, 1, snapshot=snapshot, quiet=True)


def build_snapshot(collection: Path, **options: Any) -> str:
    """Build the snapshot of a collection in this process and return its id."""
    with in_process():
        return snapshots.build_snapshot(collection, **options)
