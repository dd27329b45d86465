"""The Tantivy side: fields, writing one shard's segments, and uniting shards into one index by hard links.

Segments of several folders that are united under one `meta.json` score exactly as one index of all documents, since
BM25's statistics are summed over segments. A served folder never has a writer.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import tantivy

from webemu.emulator.errors import SnapshotError
from webemu.emulator.urls import host
from webemu.index.analysis import NAME, index_analyzer, terms
from webemu.index.rank import Weights

_REBUILD = "rebuild it: webemu snapshots remove ID, then webemu snapshots build"
HEAP_BYTES = 256 << 20
"""Memory of a Tantivy writer, in bytes."""
PART_CHARS = 1 << 30
"""Characters of text that one writer is given: after eight flushes (several times as much) it merges out of order."""
MAX_HOST = 253
"""Longest DNS name in characters; a longer host gets one key, since its parent domains would be many and long."""
MOST_ANCHORS = 12
"""Link texts of a page that are indexed, at most."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The content of one page that is indexed."""

    url: str
    title: str
    terms: str
    """Terms of its text, separated by spaces (`webemu.index.records.analyze_text`)."""
    mime: str
    language: str
    day: str
    """Date of the page as YYYY-MM-DD."""
    anchors: tuple[tuple[str, float], ...] = ()
    """Texts of links that lead to the page, each with its weight."""


def schema() -> tantivy.Schema:
    """Return the fields: `all`, `title`, `url` hold analyzed words, `key` prefixed conditions, `id` the number in the
    shard.
    """
    builder = tantivy.SchemaBuilder()
    for name in ("all", "title", "url"):
        builder.add_text_field(name, tokenizer_name=NAME, index_option="position")
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("id", fast=True)
    return builder.build()


_SUBTYPES = {"text/plain": "txt", "application/xhtml+xml": "html", "text/xml": "xml"}


def keys(entry: Entry) -> list[str]:
    """Return the conditions that a page meets: `h:` host and parents, `t:` file types, `m:` month, `l:` language."""
    name = host(entry.url)
    labels = name.split(".") if len(name) <= MAX_HOST else [name]
    found = ["h:" + ".".join(labels[i:]) for i in range(len(labels))]
    types = {_SUBTYPES.get(entry.mime, entry.mime.partition("/")[2].rpartition("+")[2])}
    last = entry.url.partition("?")[0].rpartition("/")[2]
    if "." in last and len(extension := last.rpartition(".")[2]) <= 5:
        types.add(extension.lower())
    found += [f"t:{name}" for name in sorted(types) if name]
    found.append(f"m:{entry.day[:7]}")
    if entry.language:
        found.append(f"l:{entry.language}")
    return found


def _analyzed(text: str, language: str = "") -> str:
    """Return the terms of a text as a field takes them, so that each page is analyzed in its own language."""
    return " ".join(terms(text, language))


def write_index(folder: Path, entries: Iterable[Entry], weights: Weights = Weights()) -> int:
    """Index the entries in one thread, numbered from 0 in their order; return how many there were.

    Title and link texts are repeated in the ranking field according to their weight, which costs a query nothing.
    """
    numbered = enumerate(entries)
    work = folder.with_name(f"{folder.name}.parts")
    parts: list[Path] = []
    counts: list[int] = []
    # One writer per part: a single one would merge segments, and document order would be lost.
    while not counts or counts[-1]:
        parts.append(work / str(len(parts)))
        counts.append(_write_part(parts[-1], numbered, weights))
    unite(parts, folder)
    shutil.rmtree(work)
    return sum(counts)


def _write_part(folder: Path, numbered: Iterator[tuple[int, Entry]], weights: Weights) -> int:
    """Index entries up to `MAX_WRITER_CHARACTERS` of text; return how many."""
    folder.mkdir(parents=True)
    index = tantivy.Index(schema(), path=str(folder))
    index.register_tokenizer(NAME, index_analyzer())
    writer = index.writer(HEAP_BYTES, num_threads=1)
    count = chars = 0
    for number, entry in numbered:
        writer.add_document(_document(number, entry, weights))
        count += 1
        chars += len(entry.terms)
        if chars >= PART_CHARS:
            break
    writer.commit()
    writer.wait_merging_threads()
    return count


def _document(number: int, entry: Entry, weights: Weights) -> tantivy.Document:
    document = tantivy.Document()
    title = _analyzed(entry.title, entry.language)
    for _ in range(weights.title):  # repetition is the weight: BM25 counts term frequency
        document.add_text("all", title)
    for text, weight in entry.anchors[:MOST_ANCHORS]:
        called = _analyzed(text, entry.language)
        for _ in range(min(weights.anchors, ceil(weight))):
            document.add_text("all", called)
    document.add_text("all", entry.terms)
    document.add_text("title", title)
    document.add_text("url", _analyzed(entry.url.partition("://")[2]))
    for key in keys(entry):
        document.add_text("key", key)
    document.add_unsigned("id", number)
    return document


def unite(shards: list[Path], folder: Path) -> list[int]:
    """Unite index folders into one by hard links and a merged `meta.json`; return the number of segments of each."""
    folder.mkdir(parents=True)
    merged: dict[str, object] = {}
    segments: list[object] = []
    counts: list[int] = []
    for shard in shards:
        meta = json.loads((shard / "meta.json").read_text())
        segments += meta["segments"]
        counts.append(len(meta["segments"]))
        merged = merged or meta
        for file in sorted(shard.iterdir()):
            if file.suffix != ".json" and file.suffix != ".lock":
                os.link(file, folder / file.name)
    merged["segments"] = segments
    (folder / "meta.json").write_text(json.dumps(merged))
    return counts


def open_index(folder: Path) -> tantivy.Index:
    """Open the index of a snapshot for searching. Raises SnapshotError if Tantivy cannot read it."""
    try:
        with _lockable(folder) as place:
            index = tantivy.Index.open(str(place))
    except Exception as error:
        raise SnapshotError("the index cannot be opened", action=_REBUILD, place=f"{folder}: {error}") from error
    index.register_tokenizer(NAME, index_analyzer())
    return index


@contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """Yield the folder, or links to its files if it is read-only: Tantivy opens an index with a lock file beside it."""
    if os.access(folder, os.W_OK):
        yield folder
        return
    # Tantivy's file watcher takes the lock again from its own thread, perhaps while the links are being removed.
    with tempfile.TemporaryDirectory(prefix="webemu-", ignore_cleanup_errors=True) as place:
        for path in folder.resolve().iterdir():
            if path.suffix != ".lock":
                (Path(place) / path.name).symlink_to(path)
        yield Path(place)


def segment_bases(folder: Path, searcher: tantivy.Searcher, segments: list[int], shard_bases: list[int]) -> list[int]:
    """Return the dense id of the first document of every segment.

    - segments: number of segments of each shard
    - shard_bases: first dense id of each shard

    Raises SnapshotError if the segments are not in the order in which they were united.
    """
    sizes = [segment["max_doc"] for segment in json.loads((folder / "meta.json").read_text())["segments"]]
    owners = [base for base, count in zip(shard_bases, segments, strict=True) for _ in range(count)]
    if not len(sizes) == len(owners) == searcher.num_segments:
        raise SnapshotError(
            f"the index has {searcher.num_segments} segments, the manifest says {len(owners)}",
            action=_REBUILD,
            place=str(folder),
        )
    bases: list[int] = []
    for number, (size, owner) in enumerate(zip(sizes, owners, strict=True)):
        ends = [tantivy.DocAddress(number, 0), tantivy.DocAddress(number, size - 1)]
        first, last = (int(value or 0) for value in searcher.fast_field_values("id", ends))
        if last - first != size - 1:
            raise SnapshotError(
                f"segment {number} of the index does not match the manifest (damaged or rebuilt index)",
                action=_REBUILD,
                place=str(folder),
            )
        bases.append(owner + first)
    return bases
