"""Keeps what a build found out about all sources, so that the next one finds out only what further sources change.

A result lies beside the catalog, as `NAME.parquet`. It is used only if it is intact, was made by the same code, and all
its sources are there with the same content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from webemu.index.digests import find_damage, hash_file

MIN_SHARE = 0.75
"""Share of all pages that a result must have counted to be built upon: else counting all costs less."""


class EarlierResult(NamedTuple):
    """A result of when there were fewer sources, or as many."""

    path: Path
    sources: frozenset[int]
    hashes: Mapping[int, int]
    """Hash of what it says of each source; of none if they were not kept."""


def keep_result(
    collection: Path,
    name: str,
    path: Path,
    builder: str,
    contents: Mapping[int, int],
    hashes: Mapping[int, int] | None = None,
) -> None:
    """Move a file to where the next build finds it by this name.

    - builder: hash of the code that made it
    - contents: `content_hash` of the catalog by source
    - hashes: hash of what the file says of each source
    """
    values = {
        "builder": builder,
        "hash": f"{hash_file(path):016x}",
        "sources": list(contents.items()),
        "hashes": list((hashes or {}).items()),
    }
    description = path.with_suffix(".json")
    description.write_text(json.dumps(values))
    path.replace(_file_of(collection, name))  # killed in between, the two do not match, and all is counted anew
    description.replace(_file_of(collection, name).with_suffix(".json"))


def find_earlier_result(collection: Path, name: str, builder: str, contents: Mapping[int, int]) -> EarlierResult | None:
    """Return the kept result if it is intact and of some of these sources; the arguments are as above."""
    file = _file_of(collection, name)
    try:
        values = json.loads(file.with_suffix(".json").read_text())
        sources = {int(source): int(content) for source, content in values["sources"]}
        hashes = {int(source): int(value) for source, value in values["hashes"]}
        is_usable = values["builder"] == builder and not find_damage(collection, {file.name: str(values["hash"])})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not sources or not is_usable or any(contents.get(source) != content for source, content in sources.items()):
        return None
    return EarlierResult(file, frozenset(sources), hashes)


def delete_obsolete_result(collection: Path, name: str, builder: str, contents: Mapping[int, int]) -> None:
    """Delete a kept result that no build can use: it may tell of captures that were removed since."""
    if find_earlier_result(collection, name, builder, contents) is None:
        for suffix in (".parquet", ".json"):
            _file_of(collection, name).with_suffix(suffix).unlink(missing_ok=True)


def _file_of(collection: Path, name: str) -> Path:
    return collection / f"{name}.parquet"
