"""Code that the peers' servers share: reading the corpus, and the passage of a page. Imports nothing of webemu."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

PASSAGE_CHARACTERS = 600
"""Characters of a page in its passage: about as many as webemu shows."""
RankedPassages = list[list[tuple[dict[str, str], float]]]
"""Passages with their scores for each query, the best first."""


class Engine(Protocol):
    """A search engine over a corpus."""

    def search(self, queries: list[str], count: int) -> RankedPassages:
        """Return the best `count` passages for each query."""
        ...


def read_rows(corpus: Path) -> Iterator[dict[str, str]]:
    """Yield `id`, `url`, `title` and `text` of each page."""
    with corpus.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def build_passage(row: dict[str, str]) -> dict[str, str]:
    """Return a page in the form in which Search-R1's server returns documents."""
    text = row["text"][:PASSAGE_CHARACTERS]
    return {"id": row["id"], "title": row["title"], "text": text, "contents": f'"{row["title"]}"\n{text}'}
