"""No ingested record, however large, and no number of them stops a snapshot from being built."""

from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from webemu.emulator.errors import NotCaptured
from webemu.emulator.types import PageRequest, Query
from webemu.index import records, unindexable
from webemu.index.catalog import Catalog
from webemu.index.open import open_world
from webemu.index.schema import MAX_URL_BYTES, is_url_too_large
from webemu.index.text import IndexEntry, condition_keys
from webemu.ingest import capture
from webemu.ingest.worker import Job, ingest_job

HOST = "http://long.example/"
LARGEST = HOST + "u" * (MAX_URL_BYTES - len(HOST))
TOO_LARGE = LARGEST + "u"
QUOTED = HOST + '"' * (MAX_URL_BYTES // 2)
"""Not over the limit as it is recorded, but as JSON."""
PLAIN = CaptureSpec("http://plain.example/", html("Plain", "A plain page that tells of lighthouses."))


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with Catalog(folder, read_only=True) as catalog:
        return catalog.db.execute(sql).fetchall()


def test_a_url_that_a_record_has_no_room_for_is_a_drop(tmp_path: Path) -> None:
    captures = [
        CaptureSpec(LARGEST, html("Largest", "lighthouses"), 2),
        CaptureSpec(TOO_LARGE, html("Too large", "lighthouses"), 3),
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", [*captures, PLAIN]))
    assert rows(tmp_path / "c", "SELECT url FROM captures ORDER BY url") == [(LARGEST,), (PLAIN.url,)]
    drops = rows(tmp_path / "c", "SELECT reason, records, first_offset > 0, length(first_url) FROM drops")
    assert drops == [("url-too-large", 1, True, 1000)]
    web = open_world(tmp_path / "c")
    assert {hit.url for hit in web.search(Query("lighthouses")).hits} == {LARGEST, PLAIN.url}
    assert web.fetch(PageRequest(LARGEST)).title == "Largest"
    with pytest.raises(NotCaptured):
        web.fetch(PageRequest(TOO_LARGE))


def test_the_limit_is_that_of_a_record() -> None:
    text = records.analyze_text("Some text")
    for url in (LARGEST, HOST + "é" * 32_757):
        assert not is_url_too_large(url)
        assert records.read_hit(memoryview(records.encode_record(url, "", 0, text)), 0, 0.0, ()).url == url
    for url in (TOO_LARGE, QUOTED, HOST + "\x01" * 11_000):
        assert is_url_too_large(url)


def test_what_an_older_version_took_in_becomes_a_drop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "c"
    link = html("Links", f'<a href="{PLAIN.url}">plain lighthouses</a>')
    captures = [CaptureSpec(TOO_LARGE, link, 2), PLAIN, CaptureSpec(TOO_LARGE + "v", link, 3)]
    monkeypatch.setattr(capture, "is_url_too_large", lambda _: False)
    monkeypatch.setattr(unindexable, "is_url_too_large", lambda _: False)
    staging = folder / "staging" / "7"
    path = str(write(tmp_path / "a.warc.gz", captures))
    ingest_job(Job(7, "a.warc.gz", path, None, "warc.gz", 1), folder, staging, lambda _: None)
    with Catalog(folder) as catalog:
        catalog.import_staging(staging)
    monkeypatch.undo()
    assert rows(folder, "SELECT captures, pages FROM sources") == [(3, 3)]
    snapshot = build_snapshot(folder)
    assert rows(folder, "SELECT url FROM captures") == [(PLAIN.url,)]
    assert rows(folder, "SELECT captures, pages FROM sources") == [(1, 1)]
    assert rows(folder, "SELECT count(*) FROM links") == [(0,)]
    [(reason, records_, size, first, url)] = rows(folder, "SELECT * EXCLUDE source_id FROM drops")
    assert (reason, records_, first, url) == ("url-too-large", 2, 0, TOO_LARGE[:1000])
    assert isinstance(size, int)
    assert size > 0
    assert [hit.url for hit in open_world(folder).search(Query("lighthouses")).hits] == [PLAIN.url]
    assert build_snapshot(folder) == snapshot


@pytest.mark.slow
def test_the_lookup_has_room_for_whatever_redirects_say(tmp_path: Path) -> None:
    location = "/" + "é" * 150_000
    captures = [
        CaptureSpec(f"http://moved.example/{n}", "", 1, "301 Moved", headers=(("Location", location),))
        for n in range(100)
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", [*captures, PLAIN]))
    web = open_world(tmp_path / "c")
    assert web.fetch(PageRequest(PLAIN.url)).title == "Plain"
    assert len(web.locate(PageRequest("http://moved.example/7", follow=False)).redirect) > 900_000


def test_a_host_of_many_labels_gives_few_keys() -> None:
    entry = IndexEntry(f"http://{'a.' * 30_000}example/", "", "", "text/html", "en", "2024-01-01")
    assert sum(map(len, condition_keys(entry))) < 100_000
    entry = IndexEntry(f"http://{'a.' * 120}example/", "", "", "text/html", "en", "2024-01-01")
    assert {"h:example", "h:a.example"} < set(condition_keys(entry))


def test_a_build_may_take_more_memory_of_a_catalog_of_many_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", [PLAIN]), snapshot=False)
    raised: list[Path] = []
    limit = "SELECT current_setting('memory_limit')"
    for captures, build_limit in ((10_000_000, "953.6 MiB"), (40_000_000, "3.7 GiB")):
        with Catalog(tmp_path / "c") as catalog:
            assert catalog.db.execute(limit).fetchall() == [("488.2 MiB",)]
            catalog.db.execute(f"UPDATE sources SET captures = {captures}")
        with Catalog(tmp_path / "c", read_only=True) as catalog:
            assert catalog.db.execute(limit).fetchall() == [("953.6 MiB",)]
            catalog.raise_memory_limit()
            assert catalog.db.execute(limit).fetchall() == [(build_limit,)]
    monkeypatch.setattr(Catalog, "raise_memory_limit", lambda catalog: raised.append(catalog.folder))
    build_snapshot(tmp_path / "c")
    assert raised == [tmp_path / "c"] * 2  # to count the catalog, and to compose the snapshot; not in a shard
