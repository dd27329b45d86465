"""The peer Lucene, through the Anserini in pyserini, called as pyserini calls it (`requirements-lucene.txt`).

pyserini's own `LuceneSearcher` cannot be imported without torch and faiss; it only forwards the calls made here.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.peers.passages import Found, passage, rows


class Lucene:
    """Anserini's searcher with BM25. `folder` holds the index, built from the corpus if it is missing."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        if not (folder / "index").exists():
            _build(corpus, folder)
        # Java calls from several threads crash the server (SIGSEGV, pyjnius 1.9), so one thread makes them all.
        self._in_thread = ThreadPoolExecutor(1)
        self._searcher: Any = self._in_thread.submit(_opened, folder / "index").result()

    def search(self, queries: list[str], count: int) -> Found:
        """Return the best `count` passages for each query."""
        return self._in_thread.submit(self._found, queries, count).result()

    def _found(self, queries: list[str], count: int) -> Found:
        return [[_found(hit) for hit in self._searcher.search(query, count)] for query in queries]


def _opened(folder: Path) -> Any:
    """Start Java and return Anserini's searcher."""
    from pyserini.pyclass import autoclass  # starts Java

    searcher = autoclass("io.anserini.search.SimpleSearcher")(str(folder))
    searcher.set_bm25(0.9, 0.4)
    return searcher


def _found(hit: Any) -> tuple[dict[str, str], float]:
    """Return the passage and the score of a Java hit."""
    stored: dict[str, str] = json.loads(hit.lucene_document.get("raw"))["shown"]
    return stored, float(hit.score)


def _build(corpus: Path, folder: Path) -> None:
    """Build the index from the corpus with Anserini's command."""
    import pyserini

    made, jars = folder / "corpus", Path(pyserini.__file__).parent / "resources/jars"
    made.mkdir(parents=True, exist_ok=True)
    with (made / "pages.jsonl").open("w", encoding="utf-8") as file:
        for row in rows(corpus):
            line = {"id": row["id"], "contents": f"{row['title']}\n{row['text']}", "shown": passage(row)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    jar = next(jars.glob("anserini-*-fatjar.jar"))
    command = ["java", "-cp", str(jar), "io.anserini.index.IndexCollection", "-collection", "JsonCollection"]
    command += ["-generator", "DefaultLuceneDocumentGenerator", "-threads", "1", "-storeRaw", "-optimize"]
    subprocess.run([*command, "-input", str(made), "-index", str(folder / "made")], check=True, capture_output=True)
    shutil.rmtree(made)
    (folder / "made").rename(folder / "index")
