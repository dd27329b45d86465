"""The peer Lucene, through the Anserini in pyserini, called as pyserini calls it (`requirements-lucene.txt`).

pyserini's own `LuceneSearcher` cannot be imported without torch and faiss; it only forwards the calls made here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from benchmarks.peers.passages import RankedPassages, build_passage, read_rows


class JavaDocument(Protocol):
    """Lucene's stored document."""

    def get(self, name: str) -> str:
        """Return the text of a stored field."""


class JavaHit(Protocol):
    """Anserini's hit."""

    lucene_document: JavaDocument
    score: float


class JavaSearcher(Protocol):
    """Anserini's `SimpleSearcher`."""

    def set_bm25(self, k1: float, b: float) -> None:
        """Rank by BM25 with these parameters."""

    def search(self, query: str, count: int) -> list[JavaHit]:
        """Return the best hits."""


class Lucene:
    """Anserini's searcher with BM25. `folder` holds the index, built from the corpus if it is missing."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        if not (folder / "index").exists():
            _build_index(corpus, folder)
        # Java calls from several threads crash the server (SIGSEGV, pyjnius 1.9), so one thread makes them all.
        self._executor = ThreadPoolExecutor(1)
        self._searcher = self._executor.submit(_open_searcher, folder / "index").result()

    def search(self, queries: list[str], count: int) -> RankedPassages:
        """Return the best `count` passages for each query."""
        return self._executor.submit(self._search, queries, count).result()

    def _search(self, queries: list[str], count: int) -> RankedPassages:
        return [[_convert_hit(hit) for hit in self._searcher.search(query, count)] for query in queries]


def _open_searcher(folder: Path) -> JavaSearcher:
    """Start Java and return Anserini's searcher."""
    from pyserini.pyclass import autoclass  # starts Java

    searcher: JavaSearcher = autoclass("io.anserini.search.SimpleSearcher")(str(folder))
    searcher.set_bm25(0.9, 0.4)
    return searcher


def _convert_hit(hit: JavaHit) -> tuple[dict[str, str], float]:
    """Return the passage and the score of a Java hit."""
    stored: dict[str, str] = json.loads(hit.lucene_document.get("raw"))["shown"]
    return stored, float(hit.score)


def _build_index(corpus: Path, folder: Path) -> None:
    """Build the index from the corpus with Anserini's command."""
    import pyserini

    corpus_folder, jars = folder / "corpus", Path(pyserini.__file__).parent / "resources/jars"
    corpus_folder.mkdir(parents=True, exist_ok=True)
    with (corpus_folder / "pages.jsonl").open("w", encoding="utf-8") as file:
        for row in read_rows(corpus):
            line = {"id": row["id"], "contents": f"{row['title']}\n{row['text']}", "shown": build_passage(row)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    jar = next(jars.glob("anserini-*-fatjar.jar"))
    command = ["java", "-cp", str(jar), "io.anserini.index.IndexCollection", "-collection", "JsonCollection"]
    command += ["-generator", "DefaultLuceneDocumentGenerator", "-threads", "1", "-storeRaw", "-optimize"]
    subprocess.run(
        [*command, "-input", str(corpus_folder), "-index", str(folder / "made")], check=True, capture_output=True
    )
    shutil.rmtree(corpus_folder)
    (folder / "made").rename(folder / "index")
