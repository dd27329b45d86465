"""Sources that the user names become single files with the names that the catalog will use."""

import gzip
import os
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, ingest, write
from tests.ingest import flawed
from webemu.emulator.cli import app
from webemu.emulator.errors import SourceError
from webemu.index.digests import hash_file
from webemu.ingest.sources import SourceList, expand_sources

CRAWL = "crawl-data/CC-MAIN-2024-51/segments/1733.1/warc"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.warc.gz", "a.warc", "deep/er/c.arc.gz", "deep/d.wacz", "deep/e.WARC.WET.GZ", "f.wat", "g.warc.zst"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(flawed.sound_plain())
    for name in ("notes.txt", "deep/index.cdxj", "h.warc.gz.part", "i.gz"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def names(source_list: SourceList) -> list[str]:
    return [source.name for source in source_list.sources]


def test_a_folder_is_read_through_in_order(tree: Path) -> None:
    source_list = expand_sources([str(tree)])
    assert names(source_list) == [
        "a.warc",
        "b.warc.gz",
        "f.wat",
        "g.warc.zst",
        "deep/d.wacz",
        "deep/e.WARC.WET.GZ",
        "deep/er/c.arc.gz",
    ]
    assert source_list.sources[-1].path == tree / "deep/er/c.arc.gz"
    assert source_list.ignored_count == 4


def test_globs_are_named_from_where_they_begin_to_vary(tree: Path) -> None:
    assert names(expand_sources([f"{tree}/**/*.arc.gz"])) == ["deep/er/c.arc.gz"]
    assert names(expand_sources([f"{tree}/deep/*.wacz"])) == ["d.wacz"]
    source_list = expand_sources([f"{tree}/*"])
    assert (names(source_list), source_list.ignored_count) == (["a.warc", "b.warc.gz", "f.wat", "g.warc.zst"], 3)


def test_globs_for_dumps_inside_a_folder_are_advised(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("a.jsonl.gz", "b.jsonl.gz", "c.parquet", "d.jpeg"):
        (tmp_path / "texts" / name).write_bytes(b"")
    source_list = expand_sources([str(tmp_path)])
    assert (source_list.sources, source_list.ignored_count) == ([], 4)
    globs = [f"{tmp_path}/texts/*.jsonl.gz", f"{tmp_path}/texts/*.parquet"]
    assert list(source_list.dump_globs) == globs
    assert len(expand_sources(globs).sources) == 3
    error = CliRunner().invoke(app, ["ingest", str(tmp_path), "--root", str(tmp_path)]).exception
    assert isinstance(error, SourceError)
    assert all(glob in str(error.action) for glob in globs)


def test_globs_may_be_relative(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert names(expand_sources(["*.warc"])) == ["a.warc"]
    assert names(expand_sources(["**/*.wacz"])) == ["deep/d.wacz"]


def test_a_file_name_with_brackets_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].warc").write_bytes(flawed.sound_plain())
    assert names(expand_sources([str(tmp_path / "a[1].warc")])) == ["a[1].warc"]


def test_a_file_is_taken_once_and_by_its_first_name(tree: Path) -> None:
    source_list = expand_sources([str(tree / "deep"), str(tree), str(tree / "a.warc"), f"{tree}/*.warc"])
    assert names(source_list).count("a.warc") == 1
    assert names(source_list)[:2] == ["d.wacz", "e.WARC.WET.GZ"]
    assert len(names(source_list)) == 7


def test_an_odd_name_is_taken_if_the_bytes_are_an_archive(tmp_path: Path) -> None:
    (tmp_path / "odd.bin").write_bytes(flawed.sound_gzip())
    assert names(expand_sources([str(tmp_path / "odd.bin")])) == ["odd.bin"]


@pytest.mark.parametrize("name", ["notes.txt", "missing.warc.gz", "missing/*.warc", "nothing-*.warc"])
def test_what_cannot_be_taken_says_what_to_do(name: str, tree: Path) -> None:
    with pytest.raises(SourceError) as refused:
        expand_sources([str(tree / name)])
    assert refused.value.action
    assert name in refused.value.message


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """Two of three files of a crawl, where Common Crawl has them, with their list."""
    for number in (0, 1):
        path = tmp_path / CRAWL / f"{number}.warc.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(flawed.packed(flawed.response(f"http://{number}.example/")))
    lines = "".join(f"{CRAWL}/{number}.warc.gz\n" for number in range(3))
    (tmp_path / "crawl-data/CC-MAIN-2024-51/warc.paths.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/warc.paths").write_text(lines.replace("\n", "\r\n") + "\n")
    return tmp_path


def test_a_list_names_files_below_a_root(mirror: Path) -> None:
    source_list = expand_sources([str(mirror / "elsewhere/warc.paths")], root=mirror)
    assert names(source_list) == [f"{CRAWL}/0.warc.gz", f"{CRAWL}/1.warc.gz"]
    assert source_list.sources[0].path == mirror / CRAWL / "0.warc.gz"
    assert source_list.missing_lines == [f"{CRAWL}/2.warc.gz"]


def test_a_list_inside_its_mirror_needs_no_root(mirror: Path) -> None:
    source_list = expand_sources([str(mirror / "crawl-data/CC-MAIN-2024-51/warc.paths.gz")])
    assert (len(source_list.sources), len(source_list.missing_lines)) == (2, 1)


def test_what_a_root_has_not_comes_from_the_base_url(mirror: Path) -> None:
    source_list = expand_sources([str(mirror / "elsewhere/warc.paths")], root=mirror, base_url="https://data.example")
    assert [source.url for source in source_list.sources] == [None, None, f"https://data.example/{CRAWL}/2.warc.gz"]
    source_list = expand_sources([str(mirror / "elsewhere/warc.paths")], base_url="https://data.example/cc/")
    assert source_list.sources[0].url == f"https://data.example/cc/{CRAWL}/0.warc.gz"
    assert names(source_list)[0] == f"{CRAWL}/0.warc.gz"


def test_a_list_without_a_place_is_refused(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mirror / "elsewhere")
    (mirror / "elsewhere/other.paths").write_text("nowhere/x.warc.gz\n")
    with pytest.raises(SourceError, match="not known") as refused:
        expand_sources(["other.paths"])
    assert "--paths-root" in refused.value.action
    with pytest.raises(SourceError, match="none of its 1 files exists"):
        expand_sources(["other.paths"], root=mirror)


@pytest.mark.parametrize("line", ["../../etc/passwd", "a/../../b.warc.gz", "s3://commoncrawl/../x"])
def test_a_list_cannot_lead_out_of_its_folder(line: str, tmp_path: Path) -> None:
    (tmp_path / "x.paths").write_text(line + "\n")
    for base_url in (None, "https://data.example/"):
        with pytest.raises(SourceError, match="leads out"):
            expand_sources([str(tmp_path / "x.paths")], root=tmp_path, base_url=base_url)


def test_lists_of_other_spellings(tmp_path: Path) -> None:
    lines = "s3://commoncrawl/crawl-data/a.warc.gz\n/crawl-data/b.warc.gz\nhttps://other.example/c.warc.gz\n\n"
    (tmp_path / "x.paths").write_text(lines)
    source_list = expand_sources([str(tmp_path / "x.paths")], base_url="https://data.example/")
    assert [source.url for source in source_list.sources] == [
        "https://data.example/crawl-data/a.warc.gz",
        "https://data.example/crawl-data/b.warc.gz",
        "https://other.example/c.warc.gz",
    ]
    (tmp_path / "x.paths.gz").write_bytes(b"\x1f\x8b\x08 damaged")
    with pytest.raises(SourceError, match="not a list"):
        expand_sources([str(tmp_path / "x.paths.gz")], base_url="https://data.example/")


def test_urls_of_files_keep_apart(tmp_path: Path) -> None:
    urls = [
        "https://u:p@a.example:8443/d/x.warc.gz",
        "http://b.example/d/x.warc.gz",
        "http://b.example/d/x.warc.gz?v=2",
    ]
    source_list = expand_sources([*urls, urls[0]])
    assert [source.url for source in source_list.sources] == urls
    assert names(source_list)[:2] == ["a.example_8443/d/x.warc.gz", "b.example/d/x.warc.gz"]
    assert len(set(names(source_list))) == 3
    with pytest.raises(SourceError, match="leads out"):
        expand_sources(["http://a.example/../../x.warc.gz"])


def test_a_fingerprint_is_of_the_content_alone(tmp_path: Path) -> None:
    content = random.Random(7).randbytes((1 << 22) + 5)
    prints = []
    for name, data in (("a", content), ("b", content), ("c", content[:-1] + b"\0"), ("d", content + b"\0")):
        (tmp_path / name).write_bytes(data)
        prints.append(hash_file(tmp_path / name))
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    assert all(0 <= number < 1 << 63 for number in prints)


def test_a_folder_that_cannot_be_read_is_an_error(tree: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads every folder")
    (tree / "deep").chmod(0)
    try:
        with pytest.raises(SourceError, match="cannot be read"):
            expand_sources([str(tree)])
    finally:
        (tree / "deep").chmod(0o700)


def test_what_is_no_file_is_no_archive_whatever_its_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.warc.gz")
    (tmp_path / "a.warc").write_bytes(b"WARC/1.0\r\n")
    assert [source.path.name for source in expand_sources([str(tmp_path)]).sources] == ["a.warc"]


def test_a_path_that_is_no_text_is_named_and_harms_no_other(tmp_path: Path) -> None:
    """A catalog holds text: such a file could not be found again."""
    good = write(tmp_path / "good.warc.gz", [CaptureSpec("http://a.example/", html("Good", "Words."))])
    odd = Path(os.fsdecode(bytes(tmp_path / "odd-") + b"\xff\xfe.warc.gz"))
    odd.write_bytes(good.read_bytes() + b"\n")
    report = ingest(tmp_path / "c", odd, good)
    assert report.captures == 1
    [(_, why)] = report.failed
    assert "not UTF-8" in why
