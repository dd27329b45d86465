"""Text extraction on real article pages whose text is known, compared with trafilatura on the same pages.

WEBEMU_SHARED=DIR python -m benchmarks.extraction     (DIR/data/warc/_gold/realpages.tsv, DIR/data/warc/_derived)

A text is its bag of words, without case: precision is the share of its words that the known text has too, recall the
share of the known text's words that it has. Means over pages. webemu does more per page (title, links, dates,
language), and keeps what the known texts leave out but questions are asked about: bylines, dates, captions, comments.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean

import trafilatura
from selectolax.lexbor import LexborHTMLParser
from warcio.archiveiterator import ArchiveIterator

from benchmarks.views import bag_of_words
from webemu.ingest.extract import extract_html, sniff_charset

PAGES = "_derived/ccstyle_realpages_share.warc.gz"
"""Archive of the pages, below the folder of archives."""
Extractor = Callable[[str, str], str]
"""Function from a decoded page and its URL to its text."""


def extract_with_webemu(html: str, url: str) -> str:
    """Extract with webemu."""
    return extract_html(html, url).text


def extract_with_trafilatura(html: str, url: str) -> str:
    """Extract with trafilatura."""
    return trafilatura.extract(html, url=url, include_comments=False) or ""


def extract_with_trafilatura_recall(html: str, url: str) -> str:
    """Extract with trafilatura's option for recall."""
    return trafilatura.extract(html, url=url, include_comments=False, favor_recall=True) or ""


EXTRACTORS: dict[str, Extractor] = {
    "webemu": extract_with_webemu,
    "trafilatura": extract_with_trafilatura,
    "trafilatura favor_recall": extract_with_trafilatura_recall,
}


def read_gold_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (URL, known text). Pages without one are left out, and so are those with a remark in capitals instead."""
    with (folder / "realpages.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            path = folder / row[3].removeprefix("tests/testdata/")
            if not row[3] or not path.exists():
                continue
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".html":
                text = LexborHTMLParser(text).text(separator=" ")
            if text.strip() and not text.isupper():
                yield row[0], text


def read_pages(archive: Path) -> Iterator[tuple[str, str]]:
    """Yield (URL, decoded body) of all responses."""
    with archive.open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                content_type = record.http_headers.get_header("Content-Type") or ""
                body = record.content_stream().read()
                charset = sniff_charset(body, content_type.lower().partition("charset=")[2] or None)
                yield record.rec_headers.get_header("WARC-Target-URI"), body.decode(charset, "replace")


def score_text(text: str, gold: str) -> tuple[float, float, float]:
    """Return (precision, recall, F1)."""
    text_words, gold_words = bag_of_words(text), bag_of_words(gold)
    common = (text_words & gold_words).total()
    if not common:
        return 0.0, 0.0, 0.0
    precision, recall = common / text_words.total(), common / gold_words.total()
    return precision, recall, 2 * precision * recall / (precision + recall)


def main() -> None:
    """Score each extractor and print its means and rate."""
    root = os.environ.get("WEBEMU_SHARED")
    if not root:
        raise SystemExit("WEBEMU_SHARED is not set; set it to the folder that holds data/warc")
    archives = Path(root) / "data" / "warc"
    gold_texts = dict(read_gold_texts(archives / "_gold"))
    documents = [(url, html) for url, html in dict(read_pages(archives / PAGES)).items() if url in gold_texts]
    print(f"{len(documents)} pages, {sum(len(html) for _, html in documents) / 1e6:.1f} million characters")
    for name, extractor in EXTRACTORS.items():
        started = time.process_time()
        texts = [extractor(html, url) for url, html in documents]
        rate = len(documents) / (time.process_time() - started)
        scores = [score_text(text, gold_texts[url]) for text, (url, _) in zip(texts, documents, strict=True)]
        figures = zip(("precision", "recall", "F1"), zip(*scores, strict=True), strict=True)
        means = "   ".join(f"{measure} {mean(values):.3f}" for measure, values in figures)
        print(f"{name:<25}{means}   {rate:,.0f} pages/s of one core", flush=True)


if __name__ == "__main__":
    main()
