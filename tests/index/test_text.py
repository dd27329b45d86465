"""Writing a shard's index: in parts, with several segments, and what looks pages up in them."""

import errno
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import tantivy

from webemu.emulator.errors import SnapshotError
from webemu.emulator.query import parse_query
from webemu.index import text
from webemu.index.analysis import TOKENIZER_NAME, index_analyzer
from webemu.index.engine import RankEngine
from webemu.index.index_reader import IndexFiles
from webemu.index.rank import FLAT_BM25
from webemu.index.text import IndexEntry, compute_segment_bases, open_index, write_index

RANDOM = Random(3)
TEXTS = [" ".join(f"w{RANDOM.randrange(10**7)}" for _ in range(200)) for _ in range(800)]
ENTRIES = [
    IndexEntry(f"http://s{n}.example/", f"Page {n}", words, "text/html", "en", "2024-01-01")
    for n, words in enumerate(TEXTS)
]


def engine(folder: Path) -> RankEngine:
    index = open_index(folder)
    searcher = index.searcher()
    bases = compute_segment_bases(folder, searcher, [searcher.num_segments], [0])
    nothing: Any = None
    return RankEngine(IndexFiles(index, bases, [], [], nothing, nothing), FLAT_BM25)


def ranking(engine: RankEngine, query: str) -> list[tuple[float, int]]:
    plan = engine.plan(parse_query(query))
    assert plan.query is not None
    hits = engine.reader.search(plan.query, 20)
    return sorted((round(score, 4), engine.reader.bases[place.segment_ord] + place.doc) for score, place in hits)


def test_parts_are_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_index(tmp_path / "one", ENTRIES) == len(ENTRIES)
    monkeypatch.setattr(text, "MAX_WRITER_CHARACTERS", 100_000)
    assert write_index(tmp_path / "many", ENTRIES) == len(ENTRIES)
    single, many = engine(tmp_path / "one"), engine(tmp_path / "many")
    assert len(many.reader.bases) > 8 > len(single.reader.bases)
    for number in (0, 399, 799):
        query = " ".join(ENTRIES[number].terms.split()[:3])
        assert ranking(single, query) == ranking(many, query)
        assert ranking(single, query)[-1][1] == number
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many", "one"]


def test_an_empty_shard_is_an_index_too(tmp_path: Path) -> None:
    assert write_index(tmp_path / "none", []) == 0
    assert engine(tmp_path / "none").documents == 0


@pytest.mark.parametrize("late_files", [1, 3])
def test_a_lock_file_that_comes_while_parts_are_removed_is_removed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_files: int
) -> None:
    remove, names = os.rmdir, []

    def remove_late(path: str, *, dir_fd: int | None = None) -> None:
        if len(names) < late_files:
            names.append(path)
            os.close(os.open(f"{path}/.tantivy-meta.lock", os.O_CREAT | os.O_WRONLY, dir_fd=dir_fd))
        remove(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", remove_late)
    assert write_index(tmp_path / "shard", ENTRIES) == len(ENTRIES)
    assert len(names) == late_files
    assert [path.name for path in tmp_path.iterdir()] == ["shard"]


def test_a_folder_of_parts_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "REMOVAL_PAUSE_SECONDS", 0.0)

    def refuse(path: str, *, dir_fd: int | None = None) -> None:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    monkeypatch.setattr(os, "rmdir", refuse)
    with pytest.raises(OSError, match="not empty"):
        write_index(tmp_path / "shard", ENTRIES)


@pytest.mark.parametrize("late_files", [0, 1])
def test_a_read_only_folder_is_opened_by_links_that_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late_files: int
) -> None:
    write_index(tmp_path / "shard", ENTRIES)
    (tmp_path / "links").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "links"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    remove, names = os.rmdir, []

    def remove_late(path: Path, *, dir_fd: int | None = None) -> None:
        if len(names) < late_files:
            names.append(path)
            (Path(path) / ".tantivy-meta.lock").touch()
        remove(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", remove_late)
    assert open_index(tmp_path / "shard").searcher().num_docs == len(ENTRIES)
    assert len(names) == late_files
    assert list((tmp_path / "links").iterdir()) == []


def test_pages_are_looked_up_in_segments_of_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "HEAP_BYTES", 16_000_000)
    write_index(tmp_path / "c", ENTRIES)
    several = engine(tmp_path / "c")
    assert several.reader.bases != sorted(several.reader.bases), "the library orders segments by their size"
    for number in range(0, len(ENTRIES), 37):
        plan = several.plan(parse_query(f'"Page {number}"'))
        assert plan.matches(number)
        assert not plan.matches((number + 1) % len(ENTRIES))


def test_an_index_without_own_words_is_not_searched_as_of_a_day(tmp_path: Path) -> None:
    builder = tantivy.SchemaBuilder()
    for name in ("all", "title", "url"):
        builder.add_text_field(name, tokenizer_name=TOKENIZER_NAME, index_option="position")
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("id", fast=True)
    (tmp_path / "former").mkdir()
    index = tantivy.Index(builder.build(), path=str(tmp_path / "former"))
    index.register_tokenizer(TOKENIZER_NAME, index_analyzer())
    writer = index.writer(15_000_000, num_threads=1)
    document = tantivy.Document()
    document.add_text("all", "river port")
    document.add_text("key", "l:en")
    document.add_unsigned("id", 0)
    writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    former = engine(tmp_path / "former")
    assert former.plan(parse_query("river")).matches(0)
    with pytest.raises(SnapshotError, match="as of a day"):
        former.plan(replace(parse_query("river"), is_dated=True))
