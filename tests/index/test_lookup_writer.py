"""A lookup that is copied and patched holds what one that is written whole does."""

import hashlib
import json
from base64 import b32encode
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import lmdb
import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from tests.seeds import few_of
from webemu.emulator.errors import EmulatorError, SnapshotError
from webemu.emulator.types import PageRequest
from webemu.index import lookup_writer
from webemu.index.cut import cut_snapshot
from webemu.index.lookup import FILE, MAX_SURT
from webemu.index.manifest import FORMAT, current_id, read_manifest
from webemu.index.open import open_snapshot, open_world
from webemu.index.removal.rules import Rule, Rules, write_rules
from webemu.index.removal.stale import find_stale, list_manifests
from webemu.index.sorter import PairSorter
from webemu.recorder.archive import Archive, RecordedRequest, ResponseCopy

HOSTS = ("a.example", "www.a.example", "b.example", "c.example")
PATHS = ("/", "/index.html", "/x", "/x?utm_source=n", "/x?b=1&a=2", "/x?a=2&b=1", "/" + "l" * MAX_SURT, "/gone")
BODIES = [html(f"Page {n}", f"What page {n} says about boats, bridges and bread. " * 9) for n in range(6)]


def sha1(body: str) -> str:
    return f"sha1:{b32encode(hashlib.sha1(body.encode(), usedforsecurity=False).digest()).decode()}"


def make_files(random: Random, count: int) -> list[list[CaptureSpec]]:
    """Return the records of files that repeat and contradict each other; revisits name records of any file."""

    def draw_url() -> str:
        path = random.choice(PATHS) if random.random() < 0.3 else f"/page/{random.randint(1, 30)}"
        return f"{random.choice(('http', 'https'))}://{random.choice(HOSTS)}{path}"

    originals = [
        CaptureSpec(
            draw_url(),
            random.choice(BODIES),
            random.randint(1, 28),
            warc={"WARC-Record-ID": f"<urn:uuid:00000000-0000-4000-8000-{number:012d}>"},
        )
        for number in range(count * 5)
    ]
    later_captures = []
    for _ in range(count * 5):
        url, day, original = draw_url(), random.randint(1, 28), random.choice(originals)
        match random.randint(0, 6):
            case 0:
                later_captures.append(CaptureSpec(url, html("Gone", "Nothing"), day, "404 Not Found"))
            case 1:
                later_captures.append(CaptureSpec(url, "", day, "301 Moved", headers=(("Location", original.url),)))
            case 2:
                named = {"WARC-Refers-To-Target-URI": original.url, "WARC-Refers-To-Date": original.date}
                later_captures.append(CaptureSpec(url, "", day, kind="revisit", warc=named))
            case 3:
                named = {"WARC-Refers-To": original.warc["WARC-Record-ID"]}
                later_captures.append(CaptureSpec(url, "", day, kind="revisit", warc=named))
            case 4:
                digest = {"WARC-Payload-Digest": sha1(str(original.body))}
                later_captures.append(CaptureSpec(url, "", day, kind="revisit", warc=digest))
            case 5:
                later_captures.append(CaptureSpec(original.url, "", day, "304 Not Modified", kind="revisit"))
            case 6:
                request = {"WARC-Concurrent-To": original.warc["WARC-Record-ID"]}
                message = "POST / HTTP/1.1\r\n\r\n"
                kind = "application/http; msgtype=request"
                later_captures.append(CaptureSpec(original.url, message, day, kind="request", mime=kind, warc=request))
    files: list[list[CaptureSpec]] = [[] for _ in range(count)]
    for capture in originals + later_captures:
        random.choice(files).append(capture)
    return files


def write_recording(path: Path, answer: bytes, second: int) -> None:
    archive = Archive(path)
    copy = ResponseCopy(200, b"OK", [(b"Content-Type", b"text/plain")], "h2")
    copy.add(answer)
    moment = datetime(2024, 3, 1, 12, 0, second, tzinfo=UTC)
    archive.write(RecordedRequest("POST", "https://api.example/search", [], b"q=boats", moment), copy)
    copy.close()
    archive.close()


def read_snapshot(collection: Path, snapshot: str = "") -> tuple[list[tuple[bytes, bytes]], list[int]]:
    """Return the pairs of a lookup, and the counts of its manifest; by default of the snapshot that is served."""
    folder = collection / "snapshots" / (snapshot or current_id(collection) or "")
    manifest = read_manifest(folder)
    with lmdb.open(str(folder / FILE), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        pairs = [(bytes(key), bytes(value)) for key, value in txn.cursor()]
    return pairs, [manifest.captures, manifest.urls, manifest.hosts, manifest.exchanges]


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return a list that gets the path of each lookup that is patched."""
    paths: list[Path] = []
    patch = lookup_writer._patch

    def spy(path: Path, earlier: Path, pairs: PairSorter, size: int) -> lookup_writer.LookupCounts:
        paths.append(earlier)
        return patch(path, earlier, pairs, size)

    monkeypatch.setattr(lookup_writer, "_patch", spy)
    return paths


@pytest.mark.parametrize("seed", few_of(8, 1))
def test_files_one_by_one_give_the_lookup_of_all_at_once(tmp_path: Path, patched: list[Path], seed: int) -> None:
    random = Random(seed)
    files = [write(tmp_path / f"{n}.warc.gz", captures) for n, captures in enumerate(make_files(random, 5))]
    write_recording(tmp_path / "tape.warc.gz", b"first", 1)
    write_recording(tmp_path / "earlier.warc.gz", b"second", 0)
    files[2:2] = [tmp_path / "tape.warc.gz", tmp_path / "earlier.warc.gz"]
    ingest(tmp_path / "whole", *files)
    assert not patched
    for file in files:
        ingest(tmp_path / "grown", file)
    assert len(patched) == len(files) - 1
    assert current_id(tmp_path / "grown") == current_id(tmp_path / "whole")
    assert read_snapshot(tmp_path / "grown") == read_snapshot(tmp_path / "whole")
    assert list_answers(tmp_path / "grown") == list_answers(tmp_path / "whole")


def list_answers(collection: Path) -> list[object]:
    """Return what a visit of every URL gives, and the 404 page of every host."""
    world = open_world(collection)
    answers: list[object] = [world.error_page_of(host) for host in HOSTS]
    for scheme in ("http", "https"):
        for host in HOSTS:
            for path in PATHS:
                try:
                    answers.append(world.fetch(PageRequest(f"{scheme}://{host}{path}")))
                except EmulatorError as error:
                    answers.append(str(error))
    return answers


def test_a_page_that_is_there_again_is_no_longer_the_404_page_of_its_host(tmp_path: Path, patched: list[Path]) -> None:
    error_captures = [CaptureSpec(f"https://a.example/{n}", html("Gone", "No"), 2, "404 Not Found") for n in (1, 2)]
    ingest(tmp_path / "c", write(tmp_path / "1.warc.gz", error_captures))
    ingest(tmp_path / "c", write(tmp_path / "2.warc.gz", [CaptureSpec("https://a.example/1", BODIES[0], 3)]))
    assert len(patched) == 1
    error_page = open_world(tmp_path / "c").error_page_of("a.example")
    assert error_page is not None
    assert error_page[0].url == "https://a.example/2"


def test_a_removal_is_not_undone_by_an_earlier_lookup(tmp_path: Path, patched: list[Path]) -> None:
    for number, host in enumerate(HOSTS):
        ingest(tmp_path / "c", write(tmp_path / f"{number}.warc.gz", [CaptureSpec(f"https://{host}/", BODIES[number])]))
    write_rules(tmp_path / "c", Rules((Rule("host", "b.example", "a wish", "2026-01-01T00:00:00Z"),)))
    patched.clear()
    build_snapshot(tmp_path / "c")
    [earlier] = patched  # that of the two files before the one with the removed page
    assert b"b.example" not in b"".join(value for _, value in read_snapshot(tmp_path / "c")[0])
    assert read_manifest(earlier.parent).captures == 2


def test_a_damaged_lookup_is_not_built_upon(tmp_path: Path, patched: list[Path]) -> None:
    random = Random(1)
    files = [write(tmp_path / f"{n}.warc.gz", captures) for n, captures in enumerate(make_files(random, 3))]
    for file in files[:2]:
        ingest(tmp_path / "c", file)
    [first] = patched
    damaged = tmp_path / "c" / "snapshots" / (current_id(tmp_path / "c") or "") / FILE
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    ingest(tmp_path / "c", files[2])
    assert patched == [first, first]
    ingest(tmp_path / "whole", *files)
    assert read_snapshot(tmp_path / "c") == read_snapshot(tmp_path / "whole")


def test_a_cut_has_nothing_of_later_captures(tmp_path: Path, patched: list[Path]) -> None:
    early = [CaptureSpec(f"https://a.example/{n}", BODIES[n], 1) for n in range(4)]
    mixed = [CaptureSpec("https://b.example/1", BODIES[1], 1), CaptureSpec("https://b.example/2", BODIES[2], 20)]
    ingest(tmp_path / "c", write(tmp_path / "early.warc.gz", early))
    ingest(tmp_path / "c", write(tmp_path / "mixed.warc.gz", mixed))
    patched.clear()
    snapshot = cut_snapshot(tmp_path / "c", datetime(2024, 1, 10, tzinfo=UTC))
    assert len(patched) == 1
    pairs, _ = read_snapshot(tmp_path / "c", snapshot)
    values = b"".join(value for _, value in pairs)
    assert b"https://b.example/1" in values
    assert b"https://b.example/2" not in values


def test_a_snapshot_of_an_older_format_is_listed_and_not_built_upon(tmp_path: Path, patched: list[Path]) -> None:
    captures = [CaptureSpec(f"https://a.example/{n}", BODIES[n]) for n in range(3)]
    ingest(tmp_path / "c", write(tmp_path / "1.warc.gz", captures))
    old = current_id(tmp_path / "c") or ""
    manifest = tmp_path / "c" / "snapshots" / old / "manifest.json"
    values = json.loads(manifest.read_text())
    for name in ("source_ids", "source_contents", "docs", "builder", "digest"):
        del values[name]
    manifest.write_text(json.dumps(values | {"format": 7}))
    ingest(tmp_path / "c", write(tmp_path / "2.warc.gz", [CaptureSpec("https://b.example/", BODIES[3])]))
    assert not patched
    assert sorted(one.format for one in list_manifests(tmp_path / "c")) == [7, FORMAT]
    rules = Rules((Rule("host", "elsewhere.example", "a wish", "2026-01-01T00:00:00Z"),))
    assert [one.id for one in find_stale(tmp_path / "c", rules)] == [old]  # nobody can tell what it holds
    with pytest.raises(SnapshotError, match="has format 7"):
        open_snapshot(tmp_path / "c", old)
