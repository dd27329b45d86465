"""Collections that are merged, moved and collected answer as one that was ingested in one go."""

import shutil
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from webemu.emulator.errors import BadRequest, SourceError
from webemu.emulator.types import Query
from webemu.index.keeping.collect import collect, plan_collection
from webemu.index.keeping.merge import merge_collection
from webemu.index.keeping.own import move_sources, own_payloads
from webemu.index.keeping.relocate import _MARK, copy_tree, relocate
from webemu.index.manifest import current_id, set_current
from webemu.index.open import open_world
from webemu.index.removal.rules import parse_rule
from webemu.index.removal.take import remove
from webemu.index.verify import verify_snapshot

WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."


def page(host: str, number: int = 0) -> CaptureSpec:
    return CaptureSpec(f"https://{host}.example/{number}", html(f"{host} {number}", WORDS, f"{host}word"))


def faults_of(collection: Path) -> list[str]:
    faults: list[str] = []
    verify_snapshot(collection, current_id(collection) or "", faults.append)
    return faults


def test_a_merge_is_an_ingest_of_both(tmp_path: Path) -> None:
    first, second, both = (write(tmp_path / f"{name}.warc.gz", [page(name)]) for name in ("one", "two", "both"))
    ingest(tmp_path / "a", first, both)
    ingest(tmp_path / "b", second, both)
    report = merge_collection(tmp_path / "a", tmp_path / "b")
    assert (report.added, report.already_in, report.kept_out) == (1, 1, 0)
    assert build_snapshot(tmp_path / "a") == ingest(tmp_path / "c", first, second, both).snapshot


def test_what_either_removed_stays_out_of_a_merge(tmp_path: Path) -> None:
    ingest(tmp_path / "a", write(tmp_path / "one.warc.gz", [page("one"), page("shared")]))
    ingest(tmp_path / "b", write(tmp_path / "two.warc.gz", [page("two"), page("shared", 1)]))
    remove(tmp_path / "a", [parse_rule("host", "two.example", "a", "2024-01-01")])
    remove(tmp_path / "b", [parse_rule("host", "shared.example", "b", "2024-01-01")])
    merge_collection(tmp_path / "a", tmp_path / "b")
    build_snapshot(tmp_path / "a")
    world = open_world(tmp_path / "a")
    assert [hit.url for hit in world.search(Query("harbour boats")).hits] == ["https://one.example/0"]


def test_owned_payloads_outlive_their_files(tmp_path: Path) -> None:
    collection, path = tmp_path / "c", write(tmp_path / "one.warc.gz", [page("one")])
    snapshot = ingest(collection, path).snapshot
    assert own_payloads(collection) == 1
    path.unlink()
    assert own_payloads(collection) == 0
    assert faults_of(collection) == []
    assert build_snapshot(collection) == snapshot
    merge_collection(tmp_path / "d", collection)
    build_snapshot(tmp_path / "d")
    shutil.rmtree(collection)
    assert faults_of(tmp_path / "d") == []


def test_a_file_that_changed_is_not_owned(tmp_path: Path) -> None:
    path = write(tmp_path / "one.warc.gz", [page("one")])
    ingest(tmp_path / "c", path)
    path.write_bytes(b"other")
    with pytest.raises(SourceError, match="not the file"):
        own_payloads(tmp_path / "c")


def test_moved_sources_are_followed(tmp_path: Path) -> None:
    collection, path = tmp_path / "c", write(tmp_path / "old" / "one.warc.gz", [page("one")])
    ingest(collection, path)
    with pytest.raises(SourceError, match="does not exist"):
        move_sources(collection, str(tmp_path / "old"), str(tmp_path / "new"))
    (tmp_path / "old").rename(tmp_path / "new")
    assert move_sources(collection, str(tmp_path / "old"), str(tmp_path / "new")) == 1
    assert faults_of(collection) == []


def test_an_interrupted_move_to_another_disk_is_ended(tmp_path: Path) -> None:
    collection, target = tmp_path / "c", tmp_path / "disk" / "d"
    ingest(collection, write(tmp_path / "one.warc.gz", [page("one")]))
    copy_tree(collection, target)
    with pytest.raises(BadRequest, match="exists"):
        relocate(collection, target)
    (target / _MARK).write_text(str(collection.resolve()))
    relocate(collection, target)
    assert not collection.exists()
    assert faults_of(target) == []
    relocate(target, tmp_path / "back")
    assert faults_of(tmp_path / "back") == []


def test_a_copy_keeps_hard_links(tmp_path: Path) -> None:
    ingest(tmp_path / "c", write(tmp_path / "one.warc.gz", [page("one")]))
    copy_tree(tmp_path / "c", tmp_path / "d")
    links = [sorted(path.stat().st_nlink for path in (tmp_path / name).rglob("*") if path.is_file()) for name in "cd"]
    assert links[0] == links[1]
    assert max(links[0]) > 1


def test_collecting_keeps_what_is_served_and_what_came_after_it(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    snapshots = [
        ingest(collection, write(tmp_path / f"{name}.warc.gz", [page(name)])).snapshot for name in ("one", "two", "six")
    ]
    assert plan_collection(collection, 1, None).snapshots == tuple(reversed(snapshots[:2]))
    assert plan_collection(collection, None, 3600).snapshots == ()
    set_current(collection, snapshots[1])
    assert collect(collection, plan_collection(collection, 1, None)) > 0
    assert sorted(path.name for path in (collection / "snapshots").iterdir()) == sorted(snapshots[1:])
    assert faults_of(collection) == []
