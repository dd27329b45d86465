"""The peer SQLite FTS5: an inverted index inside a database, ranked by its BM25. It needs no installation."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

from benchmarks.peers.passages import RankedPassages, build_passage, read_rows

_WORD = re.compile(r"\w+")
_PAGE = "SELECT id, title, text, contents FROM passages WHERE rowid = ?"


class Fts5:
    """Index with one connection per thread. `folder` holds the database, built from the corpus if it is missing."""

    def __init__(self, corpus: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "pages.sqlite"
        if not self._path.exists():
            _build_database(corpus, self._path)
        self._thread_local = threading.local()

    def _connect(self) -> sqlite3.Connection:
        """Return the connection of this thread."""
        if not hasattr(self._thread_local, "database"):
            self._thread_local.database = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)
            self._thread_local.database.execute("PRAGMA mmap_size = 8000000000")
        database: sqlite3.Connection = self._thread_local.database
        return database

    def search(self, queries: list[str], count: int) -> RankedPassages:
        """Return the best `count` passages for each query."""
        return [self._search_one(query, count) for query in queries]

    def _search_one(self, query: str, count: int) -> list[tuple[dict[str, str], float]]:
        """Return the best passages for one query with their scores."""
        match_query = " OR ".join(f'"{word}"' for word in _WORD.findall(query))
        if not match_query:
            return []
        sql = "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        pages = self._connect().execute(sql, (match_query, count)).fetchall()
        return [(self._read_passage(page), -rank) for page, rank in pages]

    def _read_passage(self, page: int) -> dict[str, str]:
        row = self._connect().execute(_PAGE, (page,)).fetchone()
        return dict(zip(("id", "title", "text", "contents"), row, strict=True))


def _build_database(corpus: Path, path: Path) -> None:
    """Build the database from the corpus."""
    temporary = path.with_suffix(".part")
    temporary.unlink(missing_ok=True)
    database = sqlite3.connect(temporary)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("CREATE TABLE passages (id, title, text, contents)")
    database.execute("CREATE VIRTUAL TABLE words USING fts5(title, text, content='', tokenize='porter unicode61')")
    for number, row in enumerate(read_rows(corpus), 1):
        page_passage = build_passage(row)
        values = (number, *(page_passage[name] for name in ("id", "title", "text", "contents")))
        database.execute("INSERT INTO passages (rowid, id, title, text, contents) VALUES (?, ?, ?, ?, ?)", values)
        database.execute("INSERT INTO words (rowid, title, text) VALUES (?, ?, ?)", (number, row["title"], row["text"]))
    database.execute("INSERT INTO words (words) VALUES ('optimize')")
    database.commit()
    database.close()
    temporary.rename(path)
