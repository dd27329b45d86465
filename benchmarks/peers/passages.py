"""What the peers' servers share: the corpus line by line, and what is shown of a page. Needs nothing of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

SHOWN = 600
"""Characters of a page that are its passage: about as many as webemu shows."""
Found = list[list[tuple[dict[str, str], float]]]
"""For each query the passages found, with their scores, the best first."""


class Engine(Protocol):
    """One search engine over a corpus."""

    def search(self, queries: list[str], count: int) -> Found: ...


def rows(corpus: Path) -> Iterator[dict[str, str]]:
    """`id`, `url`, `title`, `text` of each page."""
    with corpus.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def passage(row: dict[str, str]) -> dict[str, str]:
    """As Search-R1's server shows a document."""
    text = row["text"][:SHOWN]
    return {"id": row["id"], "title": row["title"], "text": text, "contents": f'"{row["title"]}"\n{text}'}
