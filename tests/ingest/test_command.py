"""`webemu ingest` as a user calls it: exit status, what is named, and what a full disk does."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.ingest import flawed
from tests.ingest.containers import CONTAINERS
from webemu.emulator.types import PageRequest
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id
from webemu.index.open import open_world
from webemu.worlds import generate

pytestmark = pytest.mark.slow


def ingest(root: Path, *sources: Path, largest_file: int | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webemu.emulator.cli", "ingest", *map(str, sources), "--root", str(root)]
    return subprocess.run(
        [*command, "--collection", "c", "--workers", "1", "-q"],
        capture_output=True, text=True, timeout=300,
        preexec_fn=largest_file and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))),
    )  # fmt: skip


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.warc.gz"
    path.write_bytes(flawed.packed(flawed.response(body=b"<p>" + b"word " * 300)))
    return path


BAD = {
    "text": (b"hello\n", "unreadable-source"),
    "empty": (b"", "empty-file"),
    "html in gzip": (flawed.packed(b"<html>"), "not-a-record"),
    "a few bytes": (flawed.sound_gzip()[:30], "truncated-record"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_archive_alone_fails_and_makes_no_snapshot(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.warc.gz"
    path.write_bytes(BAD[name][0])
    for _ in range(2):  # known by now, it is as bad as before
        done = ingest(tmp_path / "r", path)
        assert done.returncode == 1
        assert f"no record bad.warc.gz: {BAD[name][1]}\n" in done.stdout
        assert "next      name whole files of a format that is read: ARC, " in done.stdout
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "r/c/CURRENT").exists()
        assert not (tmp_path / "r/c/snapshots").exists()


def test_a_bad_archive_beside_a_good_one_is_named(good: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.warc.gz"
    bad.write_bytes(b"hello\n")
    done = ingest(tmp_path / "r", bad, good)
    assert done.returncode == 0
    assert "no record bad.warc.gz: unreadable-source\n" in done.stdout
    before = current_id(tmp_path / "r/c")
    assert ingest(tmp_path / "r", bad).returncode == 1
    assert current_id(tmp_path / "r/c") == before


def test_an_archive_without_captures_makes_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "info.warc"
    path.write_bytes(flawed.record(b"software: x\r\n", "warcinfo"))
    done = ingest(tmp_path / "r", path)
    assert done.returncode == 0
    assert "snapshot  none" in done.stdout
    assert not (tmp_path / "r/c/CURRENT").exists()


def test_a_damaged_wacz_is_counted_once_and_not_tried_again(tmp_path: Path) -> None:
    sound = CONTAINERS["wacz"].data
    path = tmp_path / "damaged.wacz"
    path.write_bytes(sound[:12_000] + flawed.noise(700) + sound[12_000:])
    first = ingest(tmp_path / "r", path)
    assert (first.returncode, "0 failed" in first.stdout) == (0, True)
    assert "damaged-zip" in first.stdout
    again = ingest(tmp_path / "r", path)
    assert (again.returncode, "0 added, 1 already in, 0 failed" in again.stdout) == (0, True)


CUT = ("warc", "warc.gz", "warc.gz in one member", "warc.zst in one frame", "arc", "arc.gz", "wacz")


@pytest.mark.parametrize("name", CUT)
def test_a_page_that_the_file_cuts_is_served_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    container = CONTAINERS[name]
    page = b"<p>" + b" ".join(b"word%d" % n for n in range(60_000)) + b"</p>"
    data = {
        "warc": flawed.response(body=page),
        "warc.gz": flawed.packed(flawed.BEFORE, flawed.response(body=page)),
        "warc.gz in one member": flawed.packed(flawed.BEFORE + flawed.response(body=page)),
    }.get(name)
    data = data or CONTAINERS_OF_PAGE[name](page)
    path = tmp_path / f"cut{'.wacz' if container.kind == 'wacz' else ''}"
    path.write_bytes(data[: len(data) * 3 // 4])
    done = ingest(tmp_path / "r", path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "truncated-record" in done.stdout
    with Catalog(tmp_path / "r/c", read_only=True) as catalog:
        sql = "SELECT content_truncated, payload_bytes FROM captures WHERE url = 'http://a.example/'"
        assert [(mark, 0 < size < len(page)) for mark, size in catalog.db.execute(sql).fetchall()] == [
            ("unspecified", True)
        ]
        (lost,) = catalog.db.execute("SELECT bytes FROM drops WHERE reason = 'truncated-record'").fetchone() or (0,)
    world = open_world(tmp_path / "r/c")
    _, payload = world.payload(PageRequest("http://a.example/", "raw"))
    assert page.startswith(payload.body)
    # Of a cut gzip member one library gives a byte more than the other.
    assert 0 <= len(page) - len(payload.body) - lost <= 4
    assert world.fetch(PageRequest("http://a.example/")).content.startswith("word0 word1 word2")


def _zst(page: bytes) -> bytes:
    return zstandard.compress(flawed.BEFORE + flawed.response(body=page))


def _arc(page: bytes) -> bytes:
    block = flawed.HTTP + page
    return flawed.arc() + b"http://a.example/ 1.2.3.4 20080430204825 text/html %d\n" % len(block) + block + b"\n"


def _arc_gz(page: bytes) -> bytes:
    return flawed.arc(gz=True) + flawed.packed(_arc(page)[len(flawed.arc()) :])


def _wacz(page: bytes) -> bytes:
    return flawed.wacz({"archive/a.warc.gz": flawed.packed(flawed.BEFORE, flawed.response(body=page))})


CONTAINERS_OF_PAGE = {"warc.zst in one frame": _zst, "arc": _arc, "arc.gz": _arc_gz, "wacz": _wacz}


def test_a_member_of_many_records_late_in_a_file_is_read(tmp_path: Path) -> None:
    """The beginning of a file does not tell what it holds further on: here two crawls were concatenated."""
    singles = [flawed.response(f"http://single{n}.example/") for n in range(80)]
    shared = [flawed.response(f"http://shared{n}.example/") for n in range(30)]
    path = tmp_path / "both.warc.gz"
    path.write_bytes(flawed.packed(*singles) + flawed.packed(b"".join(shared)))
    done = ingest(tmp_path / "r", path)
    assert (done.returncode, "captures  110\n" in done.stdout, "dropped" in done.stdout) == (0, True, False)


@pytest.mark.parametrize("line", [b"\r\n", b"\n"])
def test_one_member_whose_first_record_has_a_wrong_length_loses_that_only(line: bytes, tmp_path: Path) -> None:
    texts = [
        flawed.record(b"some text %d\n" % n, "conversion", f"http://{n}.example/", line=line, length=wrong)
        for n, wrong in enumerate([str(len(b"some text 0\n") + 5), *[None] * 8])
    ]
    path = tmp_path / "one.warc.wet.gz"
    path.write_bytes(flawed.packed(b"".join(texts)))
    done = ingest(tmp_path / "r", path)
    assert (done.returncode, "captures  8\n" in done.stdout) == (0, True)
    assert "dropped   1 content-length-mismatch\n" in done.stdout


@pytest.fixture
def web(tmp_path: Path) -> Path:
    generate(tmp_path / "web", seed=3, pages=120)
    return tmp_path / "web"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(folder)], capture_output=True).returncode:
        pytest.skip("a file system of a given size can be mounted by root only")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def check_shortage(done: subprocess.CompletedProcess[str], words: str) -> None:
    first, *more = done.stderr.splitlines()
    assert done.returncode == 1
    assert first.startswith("webemu: ")
    assert words in first
    assert [line[:5] for line in more] == ["  -> "]


def test_a_full_disk_is_one_sentence_and_costs_nothing(web: Path, small_disk: Path, tmp_path: Path) -> None:
    check_shortage(ingest(small_disk, web), "cannot be written: the disk is full")
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    assert ingest(small_disk, web).returncode == 0
    assert ingest(tmp_path / "r", web).returncode == 0
    assert current_id(small_disk / "c") == current_id(tmp_path / "r/c")


@pytest.mark.parametrize("largest", [2_000, 300_000])
def test_a_limit_on_files_is_one_sentence(largest: int, web: Path, tmp_path: Path) -> None:
    done = ingest(tmp_path / "r", web, largest_file=largest)
    check_shortage(done, "cannot be written: a file would be larger")
    assert ingest(tmp_path / "r", web).returncode == 0
