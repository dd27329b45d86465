"""Ranking on public collections, through the real ingest, index and query path, scored with ir_measures.

WEBEMU_SHARED=DIR python -m benchmarks.ranking [NAME...]     (DIR/data/ir/NAME/{corpus,queries}.jsonl, qrels.tsv)

Each document becomes a captured HTML page of a host of its own in a WARC file, is ingested, indexed and searched as any
page; the engine's ranking is scored to depth 1,000, before the display rules (two of a domain, no duplicates).
"""

from __future__ import annotations

import html
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ir_measures
from ir_measures import AP, R, nDCG
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from emulator.query import parse
from index.catalog import Catalog
from index.open import open_world
from ingest.run import run
from ingest.sources import expand

MEASURES = [AP, nDCG @ 10, R @ 100]
NAMES = ("cranfield", "vaswani", "xquad_en", "xquad_de")


def jsonl(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write_warc(path: Path, documents: Iterator[dict[str, str]]) -> None:
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for document in documents:
            title = html.escape(document["title"].replace("_", " "))
            page = (
                f"<!doctype html><title>{title}</title><body><article><p>{html.escape(document['text'])}</p></article>"
            )
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            name = re.sub(r"[^a-z0-9]", "-", document["_id"].lower())
            headers = {"WARC-Date": "2024-01-01T00:00:00Z"}
            body = io.BytesIO(page.encode())
            uri = f"http://d{name}.com/{document['_id']}"
            writer.write_record(
                writer.create_warc_record(uri, "response", payload=body, http_headers=head, warc_headers_dict=headers)
            )


def evaluate(folder: Path, work: Path) -> dict[str, float]:
    """Scores of one collection."""
    write_warc(work / "corpus.warc.gz", jsonl(folder / "corpus.jsonl"))
    run(expand([str(work / "corpus.warc.gz")], None, None).sources, work / "c", 1, quiet=True)
    engine = open_world(work / "c")._finder
    with Catalog(work / "c", read_only=True) as catalog:
        urls = catalog.db.execute("SELECT url FROM pages WHERE searchable ORDER BY warc_record_offset").fetchall()
    ids = [url.rpartition("/")[2] for (url,) in urls]
    judged = [
        line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines() if not line.startswith("qid")
    ]
    found = [
        ir_measures.ScoredDoc(query["_id"], ids[doc], score)
        for query in jsonl(folder / "queries.jsonl")
        for score, doc in engine.top(engine.plan(parse(query["text"])), 1000)[0]
    ]
    qrels = [ir_measures.Qrel(query, document, int(grade)) for query, document, grade in judged]
    return {str(measure): value for measure, value in ir_measures.calc_aggregate(MEASURES, qrels, found).items()}


def main(names: list[str]) -> None:
    root = os.environ.get("WEBEMU_SHARED")
    if not root:
        raise SystemExit("WEBEMU_SHARED is not set: it names the folder that holds data/ir")
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as work:
            scores = evaluate(Path(root) / "data" / "ir" / name, Path(work))
        print(f"{name:<10} " + "   ".join(f"{measure} {scores[str(measure)]:.4f}" for measure in MEASURES), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
