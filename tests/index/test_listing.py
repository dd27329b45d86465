"""All URLs in order, the WARC files behind them, and what may not wait."""

from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World
from webemu.index import files as files_module
from webemu.index import lookup_writer
from webemu.index.files import WarcFilePool
from webemu.index.lookup import MAX_SURT
from webemu.index.open import open_world

LONG = "https://long.example/" + "a" * MAX_SURT
URLS = [
    "https://www.example.com/",
    "https://example.com/a",
    "http://example.com/a",
    "https://example.com/a?b=1",
    "https://example.com:8443/port",
    "https://news.example.com/x",
    "https://example.community/",
    LONG + "1",
    LONG + "2",
]
AGAIN = CaptureSpec("https://example.com/a", html("Newer"), 9)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("listing")
    records = [CaptureSpec(url, html(url), 3) for url in URLS]
    original = {"WARC-Refers-To-Target-URI": URLS[1], "WARC-Refers-To-Date": "2024-01-09T12:00:00Z"}
    records.append(CaptureSpec("https://example.com/a", "", 12, kind="revisit", warc=original))
    write(folder / "one" / "crawl.warc.gz", records)
    write(folder / "two" / "crawl.warc.gz", [AGAIN])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup_writer, "BATCH_PAIRS", 5)  # written in many transactions
        ingest(folder / "c", folder / "one" / "crawl.warc.gz", folder / "two" / "crawl.warc.gz")
    return open_world(folder / "c")


def test_every_url_is_listed_in_the_order_of_its_surt(web: World) -> None:
    listed = list(web.listing("", "\U0010ffff"))
    surts = [surt for surt, _ in listed]
    assert surts == sorted(surts, key=str.encode)
    assert {capture.url for _, captures in listed for capture in captures} == set(URLS)
    assert [surt for surt in surts if surt.startswith("example,long)/")] == [
        f"example,long)/{'a' * MAX_SURT}{i}" for i in (1, 2)
    ]


def test_captures_of_one_key_come_in_the_order_of_time(web: World) -> None:
    captures = dict(web.listing("com,example)/a", "com,example)/b"))["com,example)/a"]
    assert [(capture.time, capture.url) for capture in captures] == sorted((c.time, c.url) for c in captures)
    assert [capture.kind for capture in captures] == ["response", "response", "response", "revisit"]
    assert len({capture.time for capture in captures}) == 3


def test_a_host_is_listed_without_its_neighbours(web: World) -> None:
    assert {capture.url for capture in web.host_listing("example.com")} == set(URLS[1:4])
    assert {capture.url for capture in web.host_listing("www.example.com")} == {URLS[0]}
    assert list(web.host_listing("example.org")) == []


def test_all_captures_of_a_url_are_of_the_strictest_key_that_has_any(web: World) -> None:
    assert [capture.kind for capture in web.captures("https://example.com/a")] == ["response", "response", "revisit"]
    assert {capture.url for capture in web.captures("https://example.com/a?utm_source=x")} == {URLS[1], URLS[2]}
    assert web.captures("https://example.org/") == []


def test_archives_have_names_of_their_own_and_give_back_their_records(web: World) -> None:
    archives = web.archives()
    assert sorted(archive.name for archive in archives) == ["2/crawl.warc.gz", "crawl.warc.gz"]
    at = {archive.path: archive for archive in archives}
    captures: list[Capture] = [capture for _, group in web.listing("", "\U0010ffff") for capture in group]
    for capture in captures:
        file, offset, length = capture.record
        content = Path(file).read_bytes()
        assert b"".join(web.bytes_of(at[file], offset, length)) == content[offset : offset + length]
        assert at[file].first_time <= capture.time <= at[file].last_time
    assert len({capture.record for capture in captures}) == len(captures)
    assert b"".join(web.bytes_of(archives[0], 10**9, 5)) == b""


def test_what_is_in_memory_needs_no_waiting(web: World) -> None:
    request = PageRequest(URLS[0], "raw")
    assert web.payload(request)[1] == web.payload(request, wait=False)[1]


def test_what_is_large_must_wait(tmp_path: Path) -> None:
    write(tmp_path / "a.warc.gz", [CaptureSpec("https://a.example/", "x" * (2 << 20))])
    ingest(tmp_path / "c", tmp_path / "a.warc.gz")
    web = open_world(tmp_path / "c")
    with pytest.raises(BlockingIOError):
        web.payload(PageRequest("https://a.example/", "raw"), wait=False)
    assert len(web.payload(PageRequest("https://a.example/", "raw"))[1].body) == 2 << 20


def test_files_are_closed_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_OPEN_FILES", 3)
    files = WarcFilePool(tmp_path)
    for number in range(20):
        (tmp_path / str(number)).write_bytes(b"%05d" % number)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in [*range(20), *range(20)]:
        assert files.read(str(number), 0, 99) == b"%05d" % number
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 3
    with pytest.raises(BlockingIOError):
        files.read("1", 0, 99, wait=False)
    with pytest.raises(FileNotFoundError):
        files.read("none", 0, 1)
