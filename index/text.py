"""The Tantivy side: fields, writing one shard's segments, and uniting shards into one index by hard links.

Segments of several folders that are united under one `meta.json` score exactly as one index of all documents, since
BM25's statistics are summed over segments. A served folder never has a writer.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import tantivy

from webemu.emulator.errors import SnapshotError
from webemu.emulator.urls import host_of
from webemu.index.analysis import TOKENIZER_NAME, extract_terms, index_analyzer
from webemu.index.rank import Weights

_REBUILD = "rebuild it: webemu snapshots remove ID, then webemu snapshots build"
HEAP_BYTES = 256 << 20
"""Memory of a Tantivy writer, in bytes."""
MAX_WRITER_CHARACTERS = 1 << 29
"""Characters of text that one writer is given: after eight flushes (several times as much) it merges out of order."""
MAX_HOST_CHARACTERS = 253
"""Longest DNS name in characters; a longer host gets one key, since its parent domains would be many and long."""
MAX_ANCHORS = 12
"""Link texts of a page that are indexed, at most."""
MAX_REMOVALS = 20
"""Attempts to remove a folder into which a thread of Tantivy writes."""
REMOVAL_PAUSE_SECONDS = 0.05
"""Seconds between these attempts."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
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


def build_schema() -> tantivy.Schema:
    """Return the fields: `all` (title, text, and texts of links), `own` (title and text), `title` and `url` hold
    analyzed words, `key` prefixed conditions, `id` the number in the shard.
    """
    builder = tantivy.SchemaBuilder()
    for name in ("all", "own", "title", "url"):
        builder.add_text_field(name, tokenizer_name=TOKENIZER_NAME, index_option="position")
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("id", fast=True)
    return builder.build()


_SUBTYPES = {"text/plain": "txt", "application/xhtml+xml": "html", "text/xml": "xml"}


def condition_keys(entry: IndexEntry) -> list[str]:
    """Return the conditions that a page meets: `h:` host and parents, `t:` file types, `m:` month, `l:` language."""
    name = host_of(entry.url)
    labels = name.split(".") if len(name) <= MAX_HOST_CHARACTERS else [name]
    prefixed_keys = ["h:" + ".".join(labels[i:]) for i in range(len(labels))]
    types = {_SUBTYPES.get(entry.mime, entry.mime.partition("/")[2].rpartition("+")[2])}
    file_name = entry.url.partition("?")[0].rpartition("/")[2]
    if "." in file_name and len(extension := file_name.rpartition(".")[2]) <= 5:
        types.add(extension.lower())
    prefixed_keys += [f"t:{name}" for name in sorted(types) if name]
    prefixed_keys.append(f"m:{entry.day[:7]}")
    if entry.language:
        prefixed_keys.append(f"l:{entry.language}")
    return prefixed_keys


def _analyze_field(text: str, language: str = "") -> str:
    """Return the terms of a text as a field takes them, so that each page is analyzed in its own language."""
    return " ".join(extract_terms(text, language))


def write_index(folder: Path, entries: Iterable[IndexEntry], weights: Weights = Weights()) -> int:
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
    unite_indexes(parts, folder)
    _remove_index_folder(work)
    return sum(counts)


def _remove_index_folder(folder: Path) -> None:
    """Remove a folder with indexes, again if a file has come meanwhile: when `meta.json` changes, Tantivy opens its
    lock file anew from a thread of its own, which may begin only after the index is closed.
    """
    for _ in range(MAX_REMOVALS - 1):
        try:
            shutil.rmtree(folder)
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            time.sleep(REMOVAL_PAUSE_SECONDS)
    shutil.rmtree(folder)


def _write_part(folder: Path, numbered: Iterator[tuple[int, IndexEntry]], weights: Weights) -> int:
    """Index entries up to `MAX_WRITER_CHARACTERS` of text; return how many."""
    folder.mkdir(parents=True)
    index = tantivy.Index(build_schema(), path=str(folder))
    index.register_tokenizer(TOKENIZER_NAME, index_analyzer())
    writer = index.writer(HEAP_BYTES, num_threads=1)
    count = chars = 0
    for number, entry in numbered:
        writer.add_document(_build_document(number, entry, weights))
        count += 1
        chars += len(entry.terms)
        if chars >= MAX_WRITER_CHARACTERS:
            break
    writer.commit()
    writer.wait_merging_threads()
    return count


def _build_document(number: int, entry: IndexEntry, weights: Weights) -> tantivy.Document:
    document = tantivy.Document()
    title = _analyze_field(entry.title, entry.language)
    for field in ("all", "own"):
        for _ in range(weights.title):  # repetition is the weight: BM25 counts term frequency
            document.add_text(field, title)
    for text, weight in entry.anchors[:MAX_ANCHORS]:
        link_terms = _analyze_field(text, entry.language)
        for _ in range(min(weights.anchors, ceil(weight))):
            document.add_text("all", link_terms)
    document.add_text("all", entry.terms)
    document.add_text("own", entry.terms)
    document.add_text("title", title)
    document.add_text("url", _analyze_field(entry.url.partition("://")[2]))
    for key in condition_keys(entry):
        document.add_text("key", key)
    document.add_unsigned("id", number)
    return document


def unite_indexes(shards: list[Path], folder: Path) -> list[int]:
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
        with _writable_view(folder) as writable_folder:
            index = tantivy.Index.open(str(writable_folder))
    except Exception as error:
        raise SnapshotError("the index cannot be opened", action=_REBUILD, location=f"{folder}: {error}") from error
    index.register_tokenizer(TOKENIZER_NAME, index_analyzer())
    return index


@contextmanager
def _writable_view(folder: Path) -> Iterator[Path]:
    """Yield the folder, or links to its files if it is read-only: Tantivy opens an index with a lock file beside it."""
    if os.access(folder, os.W_OK):
        yield folder
        return
    linked_folder = Path(tempfile.mkdtemp(prefix="webemu-"))
    try:
        for path in folder.resolve().iterdir():
            if path.suffix != ".lock":
                (linked_folder / path.name).symlink_to(path)
        yield linked_folder
    finally:
        _remove_index_folder(linked_folder)


def compute_segment_bases(
    folder: Path, searcher: tantivy.Searcher, segments: list[int], shard_bases: list[int]
) -> list[int]:
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
            location=str(folder),
        )
    bases: list[int] = []
    for number, (size, owner) in enumerate(zip(sizes, owners, strict=True)):
        ends = [tantivy.DocAddress(number, 0), tantivy.DocAddress(number, size - 1)]
        first, last = (int(value or 0) for value in searcher.fast_field_values("id", ends))
        if last - first != size - 1:
            raise SnapshotError(
                f"segment {number} of the index does not match the manifest (damaged or rebuilt index)",
                action=_REBUILD,
                location=str(folder),
            )
        bases.append(owner + first)
    return bases
