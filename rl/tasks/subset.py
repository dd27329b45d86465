"""A collection cut out of another: given pages with all that was captured of them, and distractors beside them.

Records are copied as they rest, byte for byte, each a gzip member of its own, so the new collection answers for these
URLs as the old one does. It is made by `webemu ingest`, like any other.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from webemu.emulator.errors import BadRequest, EmulatorError, NotCaptured, PayloadError
from webemu.emulator.types import Capture, PageRequest, Query
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.files import WarcFilePool
from webemu.index.open import open_world

FILE = "subset.warc.gz"
"""In the new collection's folder, which reads its payloads there."""
DEEP = 50
"""Results of a question that may become distractors."""
Span = tuple[str, int, int]
"""File, offset and length of a record."""
_PAGES = "SELECT DISTINCT url FROM pages WHERE searchable ORDER BY md5(concat(?, chr(31), url))"


@dataclass(frozen=True, slots=True)
class Cut:
    """What went into a subset."""

    gold: tuple[str, ...]
    missing: tuple[str, ...]
    """Gold URLs that the collection does not hold."""
    hard: int
    """Distractors from the results of questions; the others were drawn."""
    drawn: int
    records: int


def subset(
    source: Path, target: Path, gold: Sequence[str], questions: Sequence[str], distractors: int, seed: int
) -> Cut:
    """Cut `target` out of `source`, two collections' folders; half of the distractors are results of the questions, as
    far as these go. Raises BadRequest where there is nothing to cut or no room for it."""
    if target.exists():
        raise BadRequest(f"{target} is there already", action="give --to another name, or remove that folder")
    world, files = open_world(source), WarcFilePool(source)
    held, missing = _divided(gold, world)
    if not held:
        raise BadRequest(
            f"none of {len(gold):,} URLs is in {source}", action="see `webemu tasks audit` for what is missing"
        )
    taken = {capture.url for url in held for capture in _trail(url, world)}
    hard = _fresh(_results(questions, world), taken, distractors // 2)
    drawn = _fresh(_pages(source, seed), taken, distractors - len(hard))
    spans = _spans([*held, *hard, *drawn], world)
    _write(target / FILE, spans, files)
    _ingest(target)
    return Cut(tuple(held), tuple(missing), len(hard), len(drawn), len(spans))


def _divided(gold: Iterable[str], world: World) -> tuple[list[str], list[str]]:
    """URLs that have a capture, and those that have none."""
    held: list[str] = []
    missing: list[str] = []
    for url in dict.fromkeys(gold):
        (held if world.captures(url) else missing).append(url)
    return held, missing


def _trail(url: str, world: World) -> list[Capture]:
    """All captures of a URL, and of where it leads."""
    captures = world.captures(url)
    try:
        end = world.locate(PageRequest(url)).url
    except NotCaptured:
        return captures
    return captures if any(one.url == end for one in captures) else [*captures, *world.captures(end)]


def _fresh(found: Iterable[str], taken: set[str], count: int) -> list[str]:
    """The first of these URLs that are not taken yet; they are taken then."""
    fresh: list[str] = []
    for url in found:
        if len(fresh) == count:
            break
        if url not in taken:
            taken.add(url)
            fresh.append(url)
    return fresh


def _results(questions: Sequence[str], world: World) -> Iterator[str]:
    """The first result of each question, then the second of each, and so on."""
    each = [[hit.url for hit in world.search(Query(question, size=DEEP)).hits] for question in questions]
    return (url for row in zip_longest(*each) for url in row if url)


def _pages(source: Path, seed: int) -> Iterator[str]:
    """Pages that search can find, in an order that the seed decides."""
    with Catalog(source, read_only=True) as catalog:
        cursor = catalog.db.execute(_PAGES, [str(seed)])
        while rows := cursor.fetchmany(1000):
            yield from (row[0] for row in rows)


def _spans(chosen: Iterable[str], world: World) -> list[Span]:
    """Records of all captures, and of those that a revisit repeats; each once, as they rest."""
    captures = chain.from_iterable(_trail(url, world) for url in chosen)
    spans = {span for one in captures for span in (one.record, (one.file, one.offset, one.length)) if span[2]}
    return sorted(spans)


def _write(path: Path, spans: Iterable[Span], files: WarcFilePool) -> None:
    path.parent.mkdir(parents=True)
    with path.open("wb") as out:
        for file, offset, length in spans:
            try:
                record = files.read(file, offset, length)
            except OSError as error:
                raise PayloadError(
                    f"{file} cannot be read: {error.strerror}",
                    action="put the WARC file back where it was ingested from",
                ) from error
            out.write(record if record.startswith(b"\x1f\x8b") else gzip.compress(record, mtime=0))


def _ingest(target: Path) -> None:
    place = ["--root", str(target.parent), "--collection", target.name]
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "ingest", str(target / FILE), *place, "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise EmulatorError(
            f"the subset could not be ingested: {(done.stderr or done.stdout).strip()[:500]}",
            action=f"its records are in {target / FILE}",
        )
