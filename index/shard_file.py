"""The file `shard.json` of a shard, which says what the shard holds. `webemu.index.shard` builds shards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

Span = tuple[int, int, int]
"""(source id, first offset, end offset): the pages of a source whose records begin in that range."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The content of `shard.json`."""

    id: str
    spans: tuple[Span, ...]
    documents: int
    """Searchable pages: local ids 0 to documents - 1."""
    pages: int
    """All pages with a text view; the unsearchable ones come last."""
    hashes: dict[str, str]
    """Hashes of its files by path."""


def load_shard(folder: Path) -> Shard:
    """Return the content of `shard.json`. Raises OSError, ValueError or KeyError if it cannot be read."""
    values = json.loads((folder / "shard.json").read_text())
    spans = tuple([(source, start, end) for source, start, end in values["spans"]])
    return Shard(values["id"], spans, values["documents"], values["pages"], values["hashes"])


def shard_exists(root: Path, name: str) -> bool:
    """True if a shard is there and complete: the file that says so is written last."""
    return (root / name / "shard.json").exists()
