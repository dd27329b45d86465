"""What can be asked of a collection, for load: spans of its titles, its URLs, or what its traces say was asked.

    python -m webemu.index.load_samples COLLECTION_FOLDER QUERIES PAGES SEED [traces]

prints one JSON object: `snapshot`, `documents`, `queries`, `pages` ([URL, a word of the title]), and `files`, all that
serving the snapshot reads. The same seed gives the same, in the same order.
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
from webemu.index.traces import read_traces

SHORTEST, LONGEST = 2, 6
"""Words of a query."""
ROUNDS = 8
"""Spans of one title at most."""


def spans(titles: list[str], count: int, seed: str) -> list[str]:
    """So many different runs of 2 to 6 words of titles, in their order; fewer if there are no more."""
    found: dict[str, None] = {}
    chosen = Random(seed)
    for _ in range(ROUNDS):
        for title in titles:
            words = [word for word in title.split() if any(map(str.isalnum, word))]
            size = chosen.randint(SHORTEST, LONGEST)
            start = chosen.randrange(max(1, len(words) - size + 1))
            if len(words) >= SHORTEST:
                found[" ".join(words[start : start + size])] = None
            if len(found) == count:
                return list(found)
    return list(found)


def generated(folder: Path, queries: int, pages: int, seed: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Queries made of titles, and (URL, word of the title) of pages, at most so many of each."""
    with Catalog(folder, read_only=True) as catalog:
        titles = catalog.db.execute(
            "SELECT DISTINCT title FROM pages WHERE searchable AND title IS NOT NULL ORDER BY md5(title || ?), title"
            " LIMIT ?",
            [seed, queries],
        ).fetchall()
        rows = catalog.db.execute(
            "SELECT DISTINCT url, title FROM pages WHERE searchable ORDER BY md5(url || ?), url LIMIT ?", [seed, pages]
        ).fetchall()
    return spans([row[0] for row in titles], queries, seed), [(url, _word(title or "")) for url, title in rows]


def _word(title: str) -> str:
    """Its longest word: one that the page is likely to say."""
    return max(title.split(), key=len, default="the")


def traced(folder: Path) -> tuple[list[str], list[tuple[str, str]]]:
    """What sessions searched for and opened: the first steps of all, then the second."""
    rows = sorted(read_traces(folder / "traces")[0], key=lambda row: (row.step, row.session))
    opened = [(row.url, "the") for row in rows if row.kind == "open" and row.url]
    return [row.query for row in rows if row.kind == "search" and row.query], opened


def files(folder: Path, manifest: Manifest) -> Iterator[Path]:
    """All that serving the snapshot may read."""
    places = [folder / "snapshots" / manifest.id, *(folder / "shards" / shard for shard in manifest.shards)]
    for place in places:
        yield from (path for path in sorted(place.rglob("*")) if path.is_file())
    yield from (path for path in (folder / name for name in manifest.files) if path.is_file())


def main(folder: Path, queries: int, pages: int, seed: str, source: str = "titles") -> None:
    snapshot = current_id(folder)
    if snapshot is None:
        raise SnapshotError(f"{folder} has no snapshot yet", action="webemu ingest SOURCE... --collection NAME")
    manifest = read_manifest(folder / "snapshots" / snapshot)
    asked, opened = traced(folder) if source == "traces" else generated(folder, queries, pages, seed)
    told = {"snapshot": snapshot, "documents": manifest.documents, "queries": asked, "pages": opened}
    print(json.dumps(told | {"files": [str(path) for path in files(folder, manifest)]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
