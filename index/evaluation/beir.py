"""Turns a public collection in BEIR's layout into a crawl of its own, to evaluate search on it.

The layout is corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv. Each document becomes a captured HTML page
on a host of its own, and is ingested like any crawl.
"""

from __future__ import annotations

import gzip
import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from webemu.emulator import urls
from webemu.emulator.errors import BadRequest, SourceError
from webemu.index.evaluation.judged import JudgedQuery, Judgments, read_judgments, read_queries

COLLECTION = "beir"
"""Name of the temporary collection."""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
_PAGE = "<!doctype html><title>{title}</title><body><article><p>{text}</p></article>"


def document_url(name: str) -> str:
    """Return the URL of the page made from the document with this id."""
    host = re.sub(r"[^a-z0-9]", "-", name.lower())[:60]
    return urls.normalize(f"http://d{host}.com/{quote(name, safe='')}")


def read_judged(folder: Path) -> tuple[tuple[JudgedQuery, ...], Judgments]:
    """Return the queries and judgments of a BEIR folder. Raises BadRequest if it has no qrels."""
    names = [folder / "qrels.tsv", folder / "qrels" / "test.tsv"]
    qrels = next((path for path in names if path.exists()), None)
    if qrels is None:
        raise BadRequest(
            f"{folder} has no qrels.tsv and no qrels/test.tsv", action="give a folder that is laid out like BEIR's"
        )
    return read_queries(folder / "queries.jsonl"), read_judgments(qrels, document_url)


def ingest_corpus(folder: Path, work: Path) -> Path:
    """Ingest the corpus as a collection below `work`; return its folder. Raises SourceError.

    `webemu ingest` is run as a command, since `index` must not import `ingest_corpus`.
    """
    crawl = work / "corpus.warc.gz"
    write_crawl(folder, crawl)
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "ingest", str(crawl), "--root", str(work)]
    process = subprocess.run(
        [*command, "--collection", COLLECTION, "--quiet"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if process.returncode:
        raise SourceError(f"{folder} could not be ingested: {(process.stderr or process.stdout).strip()[-500:]}")
    return work / COLLECTION


def write_crawl(folder: Path, crawl: Path) -> None:
    """Write the corpus as a WARC file. Raises SourceError if it cannot be read."""
    with crawl.open("wb") as file:
        for document in _read_documents(folder / "corpus.jsonl"):
            file.write(gzip.compress(_warc_record(document), mtime=0))


def _read_documents(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (id, title, text) of each document. Raises SourceError."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for line in lines:
                row = json.loads(line)
                yield str(row["_id"]), row.get("title") or "", row["text"] or ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{path}: {error!r}", action="a corpus has a JSON object with `_id`, `title` and `text` on each line"
        ) from error


def _warc_record(document: tuple[str, str, str]) -> bytes:
    """Return the WARC record of a document."""
    name, title, text = document
    page = _PAGE.format(title=html.escape(title.replace("_", " ")), text=html.escape(text))
    block = _HEAD + page.encode("utf-8", "replace")
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {document_url(name)}\r\nWARC-Date: "
        "2024-01-01T00:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"
