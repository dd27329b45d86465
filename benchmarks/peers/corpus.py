"""Export of a collection's pages as JSON Lines, for engines that know no web: `id`, `url`, `title`, `text`.

python -m benchmarks.peers.corpus COLLECTION_FOLDER FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tqdm import tqdm

from webemu.index.catalog import Catalog

MAX_CHARACTERS = 20_000
"""Characters of a page that peers index. Fewer would make them faster."""


def write_pages(collection: Path, path: Path, max_characters: int = MAX_CHARACTERS) -> None:
    """Write every searchable page once, cut to `max_characters`."""
    temporary = path.with_suffix(".part")
    count = 0
    with Catalog(collection, read_only=True) as catalog, temporary.open("w", encoding="utf-8") as file:
        total = catalog.db.execute("SELECT count(*) FROM pages WHERE searchable").fetchall()[0][0]
        rows = catalog.db.execute("SELECT url, title, text FROM pages WHERE searchable ORDER BY url")
        with tqdm(total=total, desc="pages for the peers", unit=" pages") as bar:
            while batch := rows.fetchmany(1000):
                for url, title, text in batch:
                    row = {"id": str(count), "url": url, "title": title or "", "text": (text or "")[:max_characters]}
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                    count += 1
                bar.update(len(batch))
    temporary.rename(path)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]), Path(sys.argv[2]))
