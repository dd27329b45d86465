"""A collection from WARC files to answers: what is found, fetched, resolved, switched and repeated."""

import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from webemu.emulator.errors import NotCaptured, PayloadError, SnapshotError, ViewUnavailable
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index import shard
from webemu.index.manifest import read_manifest, set_current
from webemu.index.open import current_id, open_world
from webemu.index.verify import verify_snapshot

FILLER = "The council met on Tuesday and spoke about roads, bridges and the price of bread in the valley. " * 3
JAPANESE = "日本の首都は東京都です。人口は千四百万人です。" * 5


def first_crawl() -> list[CaptureSpec]:
    return [
        CaptureSpec("https://www.velmora.org/", html("Velmora", "Velmora is a town on the river Tash.", FILLER), 2),
        CaptureSpec("https://www.velmora.org/mayor", html("Mayor of Velmora", "The mayor is Ada Brenn.", FILLER), 2),
        CaptureSpec("https://tash.net/river", html("River Tash", "The river Tash flows past Velmora.", FILLER), 3),
        CaptureSpec("https://mirror.net/river", html("River Tash", "The river Tash flows past Velmora.", FILLER), 3),
        CaptureSpec("https://tash.net/guide.pdf", b"%PDF-1.4 broken", 3, mime="application/pdf"),
        CaptureSpec("https://tash.net/logo.png", b"\x89PNG\r\n\x1a\n0000", 3, mime="image/png"),
        CaptureSpec("https://jp.net/tokyo", html("東京", JAPANESE), 4),
        CaptureSpec("http://velmora.org/", "", 2, "301 Moved", headers=(("Location", "https://www.velmora.org/"),)),
        CaptureSpec("https://tash.net/gone", html("Gone", "This page is gone."), 3, "404 Not Found"),
        CaptureSpec("https://tash.net/notes.txt", FILLER + "notes about lighthouses", 3, mime="text/plain"),
        CaptureSpec(
            "dns:tash.net", "20240101120000\ntash.net. 300 IN A 1.2.3.4\n", 3, kind="resource", mime="text/dns"
        ),
    ]


def second_crawl() -> list[CaptureSpec]:
    return [
        CaptureSpec("https://www.velmora.org/mayor", html("Mayor of Velmora", "The mayor is Odo Pell.", FILLER), 20),
        CaptureSpec(
            "https://tash.net/river",
            "",
            21,
            kind="revisit",
            warc={
                "WARC-Refers-To-Target-URI": "https://tash.net/river",
                "WARC-Refers-To-Date": "2024-01-03T12:00:00Z",
                "WARC-Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
            },
        ),
        CaptureSpec("https://lost.net/x", "", 22, kind="revisit", warc={"WARC-Payload-Digest": "sha1:NOWHERE"}),
    ]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("warcs")
    return write(folder / "first.warc.gz", first_crawl()), write(folder / "second.warc.gz", second_crawl())


@pytest.fixture(scope="module")
def folder(files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collection") / "c"
    ingest(folder, *files)
    return folder


@pytest.fixture(scope="module")
def web(folder: Path) -> World:
    return open_world(folder)


def urls_of_hits(web: World, text: str, **options: object) -> list[str]:
    return [hit.url for hit in web.search(Query(text, **options)).hits]  # type: ignore[arg-type]


def test_the_page_that_says_it_comes_first_and_shows_it(web: World) -> None:
    hit = web.search(Query("who is the mayor of velmora")).hits[0]
    assert hit.url == "https://www.velmora.org/mayor"
    assert "Odo Pell" in hit.snippet
    assert hit.date == "2024-01-20"


def test_exact_duplicates_are_shown_once_by_url(web: World) -> None:
    assert [url for url in urls_of_hits(web, "river tash") if url.endswith("/river")] == ["https://mirror.net/river"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("東京都", "https://jp.net/tokyo"),
        ('"flows past Velmora"', "https://mirror.net/river"),
        ("river -mayor site:tash.net", "https://tash.net/river"),
        ("site:velmora.org town", "https://www.velmora.org/"),
        ("intitle:mayor", "https://www.velmora.org/mayor"),
        ("inurl:notes", "https://tash.net/notes.txt"),
        ("lighthouses filetype:txt", "https://tash.net/notes.txt"),
        ("roads after:2024-01-15", "https://www.velmora.org/mayor"),
    ],
)
def test_every_operator_finds_its_page(web: World, query: str, expected: str) -> None:
    assert urls_of_hits(web, query)[:1] == [expected]


@pytest.mark.parametrize(
    "query", ["", "zzzz", "mayor filetype:pdf", 'intext:"Velmora past flows"', "site:nowhere.org", "?!"]
)
def test_no_result_is_an_empty_answer(web: World, query: str) -> None:
    assert urls_of_hits(web, query) == []


def test_unsuccessful_pages_are_not_found_but_can_be_read(web: World) -> None:
    assert urls_of_hits(web, '"This page is gone"', is_strict=True) == []
    page = web.fetch(PageRequest("https://tash.net/gone"))
    assert (page.capture.status, page.title) == (404, "Gone")


def test_as_of_finds_and_opens_the_version_of_that_day(web: World) -> None:
    day = datetime(2024, 1, 10, tzinfo=UTC)
    hit = web.search(Query("mayor of velmora", as_of=day)).hits[0]
    assert "Ada Brenn" in hit.snippet
    assert "Ada Brenn" in web.fetch(PageRequest(hit.url, at_time=day)).content
    assert "Odo Pell" in web.fetch(PageRequest(hit.url)).content
    assert urls_of_hits(web, "mayor", as_of=datetime(2023, 1, 1, tzinfo=UTC)) == []


def test_a_revisit_has_its_own_date_and_the_body_it_repeats(web: World) -> None:
    at = datetime(2024, 1, 21, tzinfo=UTC)
    capture, payload = web.payload(PageRequest("https://tash.net/river", "raw", at_time=at))
    assert (capture.kind, capture.status) == ("revisit", 200)
    assert b"flows past Velmora" in payload.body
    assert "flows past" in web.fetch(PageRequest("https://tash.net/river", at_time=at)).content


def test_a_revisit_of_nothing_in_the_crawl_says_so(web: World) -> None:
    with pytest.raises(PayloadError, match="not in the crawl"):
        web.payload(PageRequest("https://lost.net/x", "raw"))


def test_redirects_are_followed_and_told(web: World) -> None:
    page = web.fetch(PageRequest("velmora.org"))
    assert (page.capture.url, page.redirects) == ("https://www.velmora.org/", ("http://velmora.org/",))
    capture, _ = web.payload(PageRequest("http://velmora.org/", "raw", follow=False))
    assert capture.status == 301


def test_a_picture_is_bytes_and_has_no_text(web: World) -> None:
    assert web.payload(PageRequest("https://tash.net/logo.png", "raw"))[1].body == b"\x89PNG\r\n\x1a\n0000"
    with pytest.raises(ViewUnavailable):
        web.fetch(PageRequest("https://tash.net/logo.png"))


def test_names_that_are_no_web_pages_are_kept_but_not_served(web: World, folder: Path) -> None:
    with pytest.raises(NotCaptured):
        web.fetch(PageRequest("dns:tash.net"))


def test_views(web: World) -> None:
    url = "https://www.velmora.org/mayor"
    assert "<title>Mayor of Velmora</title>" in web.fetch(PageRequest(url, "html")).content
    assert "The mayor is Odo Pell." in web.fetch(PageRequest(url, "markdown")).content
    assert "The mayor is Odo Pell." in web.fetch(PageRequest(url, "links")).content


def test_find_counts_all_and_shows_some(web: World) -> None:
    page, total, matches = web.find(PageRequest("https://www.velmora.org/mayor"), "COUNCIL", 2)
    assert (total, len(matches)) == (3, 2)
    assert page.content[matches[1].start :].lower().startswith("council")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(codec=None), max_size=300))
def test_no_query_raises(web: World, text: str) -> None:
    assert web.search(Query(text)).snapshot == web.snapshot


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=200))
def test_no_url_raises_but_by_name(web: World, url: str) -> None:
    with pytest.raises((NotCaptured, ViewUnavailable)):
        web.fetch(PageRequest("x" + url))


def answers(web: World) -> list[object]:
    queries = ("river", "mayor of velmora", "the", "site:tash.net", "東京", "council roads")
    return [[(h.url, h.title, h.snippet, h.score) for h in web.search(Query(q)).hits] for q in queries]


def test_the_same_dumps_in_any_order_give_the_same_snapshot(
    files: tuple[Path, Path], folder: Path, tmp_path: Path
) -> None:
    ingest(tmp_path / "c", files[1])
    ingest(tmp_path / "c", files[0])
    assert current_id(tmp_path / "c") == current_id(folder)
    assert answers(open_world(tmp_path / "c")) == answers(open_world(folder))


def test_the_same_file_twice_changes_nothing(files: tuple[Path, Path], folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "another-name.warc.gz"
    shutil.copy(files[0], copy)
    before = current_id(folder)
    report = ingest(folder, files[1], copy)
    assert (report.added, report.already_ingested) == (0, 2)
    assert current_id(folder) == before


def test_switching_back_gives_the_old_answers(files: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "c", files[0])
    old, before = current_id(tmp_path / "c"), answers(open_world(tmp_path / "c"))
    ingest(tmp_path / "c", files[1])
    assert answers(open_world(tmp_path / "c")) != before
    set_current(tmp_path / "c", old or "")
    assert answers(open_world(tmp_path / "c")) == before
    with pytest.raises(SnapshotError):
        set_current(tmp_path / "c", "nonesuch")


def test_layout_does_not_change_answers(
    files: tuple[Path, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shards of one source each answer as one shard of both: scores are global, ties go by URL."""
    ingest(tmp_path / "c", *files, snapshot=False)
    monkeypatch.setattr(shard, "group_sources", lambda pages: [(source,) for source in sorted(pages)])
    build_snapshot(tmp_path / "c")
    assert answers(open_world(tmp_path / "c")) == answers(open_world(folder))


def test_parts_of_a_source_answer_as_the_whole(
    files: tuple[Path, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(tmp_path / "c", *files, snapshot=False)
    monkeypatch.setattr(shard, "group_sources", lambda pages: [(source,) for source in sorted(pages)])
    monkeypatch.setattr(shard, "split_oversized", partial(shard.split_oversized, limit=2))
    manifest = read_manifest(tmp_path / "c" / "snapshots" / build_snapshot(tmp_path / "c"))
    assert len(manifest.shards) > 4
    assert answers(open_world(tmp_path / "c")) == answers(open_world(folder))
    faults: list[str] = []
    assert verify_snapshot(tmp_path / "c", manifest.id, faults.append)["views"] == manifest.pages
    assert not faults


def test_a_snapshot_is_verified_and_damage_is_told(files: tuple[Path, Path], tmp_path: Path) -> None:
    warc = tmp_path / "crawl.warc.gz"
    shutil.copy(files[0], warc)
    ingest(tmp_path / "c", warc)
    faults: list[str] = []
    figures = verify_snapshot(tmp_path / "c", current_id(tmp_path / "c") or "", faults.append)
    assert faults == []
    assert figures["payloads"] == 10
    warc.write_bytes(warc.read_bytes()[:2000])
    verify_snapshot(tmp_path / "c", current_id(tmp_path / "c") or "", faults.append)
    assert faults


def every_file(folder: Path) -> list[Path]:
    snapshot = folder / "snapshots" / (current_id(folder) or "")
    own_files = [path for path in snapshot.rglob("*") if path.is_file()]
    shards = [path for path in (folder / "shards").rglob("*") if path.is_file() and path.stat().st_nlink == 1]
    return own_files + shards


def test_a_flipped_byte_in_any_file_is_told(files: tuple[Path, Path], tmp_path: Path) -> None:
    ingest(tmp_path / "c", files[0])
    for path in every_file(tmp_path / "c"):
        content = path.read_bytes()
        if not content:
            continue
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        faults: list[str] = []
        try:
            verify_snapshot(tmp_path / "c", current_id(tmp_path / "c") or "", faults.append)
        finally:
            path.write_bytes(content)
        assert faults, path


def test_another_file_of_the_same_name_is_not_read_for_the_first(tmp_path: Path) -> None:
    warc = write(tmp_path / "x.warc.gz", [CaptureSpec("http://aaa.example/", html("A", "first"))])
    ingest(tmp_path / "c", warc)
    write(warc, [CaptureSpec("http://bbb.example/", html("B", "other"))])
    ingest(tmp_path / "c", warc)
    web = open_world(tmp_path / "c")
    assert b"other" in web.payload(PageRequest("http://bbb.example/", "raw"))[1].body
    with pytest.raises(PayloadError, match="another record"):
        web.payload(PageRequest("http://aaa.example/", "raw"))
    faults: list[str] = []
    verify_snapshot(tmp_path / "c", current_id(tmp_path / "c") or "", faults.append)
    assert faults


def test_a_moved_file_is_found_again(tmp_path: Path) -> None:
    warc = write(tmp_path / "x.warc.gz", [CaptureSpec("http://aaa.example/", html("A", "first"))])
    ingest(tmp_path / "c", warc)
    before = current_id(tmp_path / "c")
    ingest(tmp_path / "c", warc.rename(tmp_path / "y.warc.gz"))
    assert current_id(tmp_path / "c") == before
    assert b"first" in open_world(tmp_path / "c").payload(PageRequest("http://aaa.example/", "raw"))[1].body


def test_a_file_of_ftp_is_opened_and_a_urn_is_not_taken_for_its_page(tmp_path: Path) -> None:
    warc = write(
        tmp_path / "x.warc.gz",
        [
            CaptureSpec("ftp://files.example/README", "read me", kind="resource", mime="text/plain"),
            CaptureSpec("https://files.example/page", html("A", "first")),
        ],
    )
    ingest(tmp_path / "c", warc)
    web = open_world(tmp_path / "c")
    assert web.payload(PageRequest("ftp://files.example/README", "raw"))[1].body == b"read me"
    with pytest.raises(NotCaptured):
        web.fetch(PageRequest("urn:pageinfo:https://files.example/page"))
