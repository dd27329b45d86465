"""Copies gold pages with all their captures, and distractors, from one collection into a new one.

Records are copied byte for byte, each as a gzip member of its own, so the new collection answers for these URLs as the
old one does. `webemu ingest` builds it, as for any other collection.
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

WARC_NAME = "subset.warc.gz"
"""Name of the WARC file in the new collection's folder; payloads are read from it."""
RESULTS_PER_QUESTION = 50
"""Number of results of a question that may become distractors."""
RecordSpan = tuple[str, int, int]
"""File, offset and length of a record."""
_PAGES = "SELECT DISTINCT url FROM pages WHERE searchable ORDER BY md5(concat(?, chr(31), url))"


@dataclass(frozen=True, slots=True)
class SubsetReport:
    """Contents of a new subset."""

    gold_urls: tuple[str, ...]
    """Gold URLs that were copied."""
    missing_urls: tuple[str, ...]
    """Gold URLs that the collection does not have."""
    hard_distractors: int
    """Number of distractors from the results of the questions."""
    random_distractors: int
    """Number of distractors drawn at random."""
    record_count: int
    """Number of WARC records that were copied."""


def write_subset(
    source: Path, target: Path, gold: Sequence[str], questions: Sequence[str], distractors: int, seed: int
) -> SubsetReport:
    """Copy gold pages and distractors from the collection in `source` into a new one in `target`.

    Up to half of the distractors are results of the questions; the rest are drawn at random.

    Raises:
        BadRequest: `target` exists, or the source has none of the gold URLs.
    """
    if target.exists():
        raise BadRequest(f"{target} is there already", action="give --to another name, or remove this folder")
    world, files = open_world(source), WarcFilePool(source)
    # Checked before anything is written: a subset without gold pages is always a mistake.
    present_urls, missing_urls = _divide_urls(gold, world)
    if not present_urls:
        raise BadRequest(
            f"none of {len(gold):,} URLs is in {source}", action="run `webemu tasks audit` to see what is missing"
        )
    taken_urls = {capture.url for url in present_urls for capture in _captures_of(url, world)}
    hard_urls = _take_new(_search_results(questions, world), taken_urls, distractors // 2)
    random_urls = _take_new(_random_pages(source, seed), taken_urls, distractors - len(hard_urls))
    spans = _record_spans([*present_urls, *hard_urls, *random_urls], world)
    _copy_records(target / WARC_NAME, spans, files)
    _ingest(target)
    return SubsetReport(tuple(present_urls), tuple(missing_urls), len(hard_urls), len(random_urls), len(spans))


def _divide_urls(gold: Iterable[str], world: World) -> tuple[list[str], list[str]]:
    """Return the URLs that have a capture, and those that have none."""
    present: list[str] = []
    missing: list[str] = []
    for url in dict.fromkeys(gold):
        (present if world.captures(url) else missing).append(url)
    return present, missing


def _captures_of(url: str, world: World) -> list[Capture]:
    """Return all captures of a URL and of the page that it redirects to."""
    captures = world.captures(url)
    try:
        final_url = world.locate(PageRequest(url)).url
    except NotCaptured:
        return captures
    # The end of a redirect must be there too, or the gold page would lead nowhere.
    return captures if any(one.url == final_url for one in captures) else [*captures, *world.captures(final_url)]


def _take_new(urls: Iterable[str], taken_urls: set[str], count: int) -> list[str]:
    """Return the first `count` URLs that are not taken yet, and add them to `taken_urls`."""
    new_urls: list[str] = []
    for url in urls:
        if len(new_urls) == count:
            break
        if url not in taken_urls:
            taken_urls.add(url)
            new_urls.append(url)
    return new_urls


def _search_results(questions: Sequence[str], world: World) -> Iterator[str]:
    """Yield the first result of each question, then the second of each, and so on."""
    results_by_question = [
        [hit.url for hit in world.search(Query(question, size=RESULTS_PER_QUESTION)).hits] for question in questions
    ]
    return (url for row in zip_longest(*results_by_question) for url in row if url)


def _random_pages(source: Path, seed: int) -> Iterator[str]:
    """Yield the URLs that search can find, in an order that the seed decides."""
    with Catalog(source, read_only=True) as catalog:
        cursor = catalog.db.execute(_PAGES, [str(seed)])
        while rows := cursor.fetchmany(1000):
            yield from (row[0] for row in rows)


def _record_spans(urls: Iterable[str], world: World) -> list[RecordSpan]:
    """Return the records of all captures of these URLs and those that revisits refer to, sorted and each once."""
    captures = chain.from_iterable(_captures_of(url, world) for url in urls)
    # `record` is the own record of a capture; a revisit has its payload elsewhere, at `file` and `offset`.
    spans = {span for one in captures for span in (one.record, (one.file, one.offset, one.length)) if span[2]}
    return sorted(spans)


def _copy_records(path: Path, spans: Iterable[RecordSpan], files: WarcFilePool) -> None:
    """Copy the records into one WARC file. Raises PayloadError if a source file cannot be read."""
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
            # A WARC file that is not compressed record by record has its records compressed here.
            out.write(record if record.startswith(b"\x1f\x8b") else gzip.compress(record, mtime=0))


def _ingest(target: Path) -> None:
    """Build the collection with `webemu ingest` in a process of its own. Raises EmulatorError if that fails."""
    location_options = ["--root", str(target.parent), "--collection", target.name]
    # The public command, in a process of its own: the subset is built like any other collection.
    command = [
        sys.executable,
        "-P",
        "-m",
        "webemu.emulator.cli",
        "ingest",
        str(target / WARC_NAME),
        *location_options,
        "-q",
    ]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        raise EmulatorError(
            f"the subset could not be ingested: {(process.stderr or process.stdout).strip()[:500]}",
            action=f"its records are in {target / WARC_NAME}; run `webemu ingest` on that file",
        )
