"""Prints samples of a collection to replay as load: queries made of page titles or taken from traces, and page URLs.

    python -m webemu.index.load_samples COLLECTION_FOLDER QUERIES PAGES SEED [traces]

The output is one JSON object: `snapshot`, `documents`, `queries`, `pages` ([URL, a word of the title]), and
`list_files`, all that serving the snapshot reads. Equal seeds give equal samples, in equal order.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from webemu.emulator.errors import SnapshotError
from webemu.index.catalog import Catalog
from webemu.index.manifest import Manifest, current_id, read_manifest
from webemu.index.trace_files import read_traces

MIN_QUERY_WORDS, MAX_QUERY_WORDS = 2, 6
"""Fewest and most words of a query."""
MAX_SPANS_PER_TITLE = 8
"""Queries made of one title, at most."""


def sample_title_spans(titles: list[str], count: int, seed: str) -> list[str]:
    """Return `count` distinct runs of 2 to 6 words of titles, in the order made; fewer if there are no more."""
    distinct_spans: dict[str, None] = {}  # a dict keeps the order in which spans were made
    random = Random(seed)
    # Several passes over the titles: each gives at most one span of a title, so that long titles do not dominate.
    for _ in range(MAX_SPANS_PER_TITLE):
        for title in titles:
            words = [word for word in title.split() if any(map(str.isalnum, word))]
            size = random.randint(MIN_QUERY_WORDS, MAX_QUERY_WORDS)
            start = random.randrange(max(1, len(words) - size + 1))
            if len(words) >= MIN_QUERY_WORDS:
                distinct_spans[" ".join(words[start : start + size])] = None
            if len(distinct_spans) == count:
                return list(distinct_spans)
    return list(distinct_spans)


def sample_queries(folder: Path, queries: int, pages: int, seed: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return up to `queries` queries made of titles, and (URL, word of the title) of up to `pages` pages."""
    with Catalog(folder, read_only=True) as catalog:
        titles = catalog.db.execute(
            "SELECT DISTINCT title FROM pages WHERE searchable AND title IS NOT NULL ORDER BY md5(title || ?), title"
            " LIMIT ?",
            [seed, queries],
        ).fetchall()
        rows = catalog.db.execute(
            "SELECT DISTINCT url, title FROM pages WHERE searchable ORDER BY md5(url || ?), url LIMIT ?", [seed, pages]
        ).fetchall()
    return sample_title_spans([row[0] for row in titles], queries, seed), [
        (url, _longest_word(title or "")) for url, title in rows
    ]


def _longest_word(title: str) -> str:
    """Return the longest word of a title, which the page probably contains."""
    return max(title.split(), key=len, default="the")


def read_traced_queries(folder: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the queries and (URL, word) pairs that traced sessions sent: all first steps, then all second ones, and
    so on.
    """
    rows = sorted(read_traces(folder / "traces")[0], key=lambda row: (row.step, row.session))
    opened = [(row.url, "the") for row in rows if row.kind == "open" and row.url]
    return [row.query for row in rows if row.kind == "search" and row.query], opened


def list_files(folder: Path, manifest: Manifest) -> Iterator[Path]:
    """Yield every file that serving the snapshot may read."""
    places = [folder / "snapshots" / manifest.id, *(folder / "shards" / shard for shard in manifest.shards)]
    for folder_or_file in places:
        yield from (path for path in sorted(folder_or_file.rglob("*")) if path.is_file())
    yield from (path for path in (folder / name for name in manifest.files) if path.is_file())


def main(folder: Path, queries: int, pages: int, seed: str, source: str = "titles") -> None:
    """Print the samples as JSON. Raises SnapshotError if the collection has no snapshot."""
    snapshot = current_id(folder)
    if snapshot is None:
        raise SnapshotError(f"{folder} has no snapshot yet", action="webemu ingest SOURCE... --collection NAME")
    manifest = read_manifest(folder / "snapshots" / snapshot)
    query_texts, opened = (
        read_traced_queries(folder) if source == "traces" else sample_queries(folder, queries, pages, seed)
    )
    report = {"snapshot": snapshot, "documents": manifest.documents, "queries": query_texts, "pages": opened}
    print(json.dumps(report | {"files": [str(path) for path in list_files(folder, manifest)]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
