"""Dates of records: whatever WARC-Date says, the capture is kept, and is served under the best time there is."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.crawls import ingest
from tests.ingest import flawed
from tests.ingest.test_pieces import same
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.open import open_world
from webemu.ingest.times import UNKNOWN, determine_capture_time, parse_warc_time

NOON = datetime(2024, 11, 30, 12)
SENT = datetime(2024, 11, 29, 8, 30)
HTTP_DATE = "Fri, 29 Nov 2024 08:30:00 GMT"
SOUND = {
    "2024-11-30T12:00:00Z": NOON,
    "2024-11-30t12:00:00z": NOON,
    " 2024-11-30T12:00:00Z\t": NOON,
    "2024-11-30 12:00:00 UTC": NOON,
    "2024-11-30T12:00:00": NOON,
    "2024-11-30T07:00:00-0500": NOON,
    "2024-11-30T17:30:00+05:30": NOON,
    "2024-11-30T13:00:00+01": NOON,
    "20241130120000": NOON,
    "20241130120000123": NOON.replace(microsecond=123_000),
    "20241130T120000Z": NOON,
    "2024-11-30T12:00:00.5Z": NOON.replace(microsecond=500_000),
    "2024-11-30T12:00:00,123456789Z": NOON.replace(microsecond=123_456),
    "2024-11-30T12:00:00." + "1" * 5000 + "Z": NOON.replace(microsecond=111_111),
    "2024-11-30T12:00Z": NOON,
    "2024-11-30T12": NOON,
    "2024-11-30": datetime(2024, 11, 30),
    "2024-11": datetime(2024, 11, 1),
    "2024": datetime(2024, 1, 1),
    "2016-12-31T23:59:60Z": datetime(2017, 1, 1),
    "2024-11-30T24:00:00Z": datetime(2024, 12, 1),
    "9999-12-31T23:59:59Z": datetime(9999, 12, 31, 23, 59, 59),
    "0001-01-01T00:00:00Z": datetime(1, 1, 1),
}
OTHERWISE = {
    "2008-10-294T05:21:46-0700": datetime(2008, 10, 20, 12, 21, 46),
    "2009-03-65T08:43:19-0800": datetime(2009, 3, 6, 16, 43, 19),
    "Sat, 30 Nov 2024 12:00:00 GMT": NOON,
    "Saturday, 30-Nov-24 12:00:00 GMT": NOON,
    "Sat Nov 30 12:00:00 2024": NOON,
}
UNREADABLE = (
    "2008-10-100T05:21:46-0700", "2008-02-294T05:21:46-0700", "2024-11-30T12:00:00+25:00", "2024-11-30T12:00:00+12:99",
    "2024-11-30T12:00:61Z", "2024-11-30T12:60:00Z", "2024-11-30T24:00:01Z", "2024-13-30T12:00:00Z", "2023-02-29",
    "0000-11-30T12:00:00Z", "0001-01-01T00:00:00+10:00", "9999-12-31T23:59:59-10:00", "9999-12-31T23:59:60Z",
    "1" * 5000, "soon",
    "\u0662\u0660\u0662\u0664-11-30T12:00:00Z", "2024-11-30T12:00:00Z junk", "-", "+", "2024-11-30T12:00:00+", "Z",
)  # fmt: skip


@pytest.mark.parametrize("text", SOUND)
def test_an_iso_time_of_any_dress_is_read(text: str) -> None:
    assert determine_capture_time(text, HTTP_DATE, None) == (SOUND[text], None)


@pytest.mark.parametrize("text", OTHERWISE)
def test_a_time_that_is_written_otherwise_is_read_and_counted(text: str) -> None:
    assert determine_capture_time(text, HTTP_DATE, None) == (OTHERWISE[text], "bad-date")


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_is_no_time_has_that_of_the_answer(text: str) -> None:
    assert parse_warc_time(text) is None
    assert determine_capture_time(text, HTTP_DATE, NOON) == (SENT, "bad-date")


@pytest.mark.parametrize("http_date", ["", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 99 Nov 2024", "1" * 5000])
def test_without_the_time_of_the_answer_the_day_or_that_of_the_crawl_is_taken(http_date: str) -> None:
    assert determine_capture_time("2024-11-30T12:00:00+25:00", http_date, SENT) == (datetime(2024, 11, 30), "bad-date")
    assert determine_capture_time("soon", http_date, NOON) == (NOON, "bad-date")
    assert determine_capture_time("soon", http_date, None) == (UNKNOWN, "bad-date")
    assert determine_capture_time(None, http_date, NOON) == (NOON, "no-date")
    assert determine_capture_time(" ", http_date, None) == (UNKNOWN, "no-date")


BODY = b"<title>Boats</title><p>Boats and nets of the harbour town, in enough words to be a page of its own.</p>"
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n%s\r\n"


def dated(url: str, stated: str | None, http_date: str = "") -> bytes:
    """A response whose WARC-Date is what is stated, in its bytes."""
    http = HTTP % (f"Date: {http_date}\r\n".encode() if http_date else b"")
    line = b"" if stated is None else b"WARC-Date: %s\r\n" % stated.encode()
    return flawed.response(url, BODY, http).replace(b"WARC-Date: 2024-11-30T12:00:00Z\r\n", line)


def times(folder: Path) -> dict[str, datetime]:
    with Catalog(folder, read_only=True) as catalog:
        return dict(catalog.db.execute("SELECT url, fetch_time FROM captures").fetchall())


def serves(world: World, url: str) -> bool:
    """True if a page is there in every view, as it was recorded."""
    views = [world.fetch(PageRequest(url, view)).content for view in ("text", "html", "markdown", "links")]
    return all("Boats and nets" in view for view in views) and world.payload(PageRequest(url, "raw"))[1].body == BODY


def test_no_capture_is_lost_for_its_date(tmp_path: Path) -> None:
    texts = [*SOUND, *OTHERWISE, *UNREADABLE, None, ""]
    urls = [f"http://a.example/{number}" for number in range(len(texts))]
    path = tmp_path / "dates.warc"
    path.write_bytes(b"".join(dated(url, text, HTTP_DATE) for url, text in zip(urls, texts, strict=True)))
    report = ingest(tmp_path / "c", path)
    assert report.drops == {"bad-date": len(OTHERWISE) + len(UNREADABLE), "no-date": 2}
    assert (report.captures, report.pages) == (len(texts), len(texts))
    expected = [*SOUND.values(), *OTHERWISE.values(), *[SENT] * (len(UNREADABLE) + 2)]
    assert times(tmp_path / "c") == dict(zip(urls, expected, strict=True))
    world = open_world(tmp_path / "c")
    assert [url for url in urls if not serves(world, url)] == []
    assert world.search(Query("harbour", size=100)).hits


def test_a_warcinfo_record_dates_what_follows_it(tmp_path: Path) -> None:
    info = flawed.record(b"software: x\r\n", "warcinfo", "", headers=(("Content-Type", "application/warc-fields"),))
    info = info.replace(b"WARC-Target-URI: \r\n", b"")
    later = info.replace(b"2024-11-30T12:00:00Z", b"2008-10-294T05:21:46-0700")
    records = [dated("http://a.example/0", "soon"), info, dated("http://a.example/1", None), later]
    path = tmp_path / "info.warc"
    path.write_bytes(b"".join([*records, dated("http://a.example/2", "soon"), dated("http://a.example/3", "2024")]))
    ingest(tmp_path / "c", path)
    expected_times = [UNKNOWN, NOON, OTHERWISE["2008-10-294T05:21:46-0700"], datetime(2024, 1, 1)]
    assert times(tmp_path / "c") == {f"http://a.example/{number}": time for number, time in enumerate(expected_times)}


@pytest.mark.slow
def test_pieces_of_a_file_have_the_time_of_its_crawl(tmp_path: Path) -> None:
    def crawl(day: str, first: int) -> bytes:
        info = flawed.record(b"software: x\r\n", "warcinfo", "", headers=(("Content-Type", "application/warc-fields"),))
        pages = [dated(f"http://a.example/{number}", "soon") for number in range(first, first + 20)]
        return info.replace(b"2024-11-30T12:00:00Z", day.encode()) + b"".join(pages)

    for name, data in (("one", crawl("2024", 0)), ("two", crawl("2024", 0) + crawl("2020", 20))):
        path = tmp_path / f"{name}.warc"
        path.write_bytes(data)
        rows = same(path, tmp_path / name, len(data) // 5)
        assert len(rows["captures"]) == (20 if name == "one" else 40)


@pytest.mark.parametrize("stated", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", None])
def test_dates_that_a_page_declares_are_read_whenever_it_was_captured(tmp_path: Path, stated: str | None) -> None:
    path = tmp_path / "late.warc"
    meta = b'<meta property="article:published_time" content="2020-02-02">'
    path.write_bytes(dated("http://a.example/", stated).replace(BODY, meta + BODY[: -len(meta)]))
    report = ingest(tmp_path / "c", path)
    assert (report.captures, report.pages) == (1, 1)
    assert report.drops == ({} if stated else {"no-date": 1})
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        [(day,)] = catalog.db.execute("SELECT published FROM pages").fetchall()
    assert str(day) == ("None" if stated == "0001-01-01T00:00:00Z" else "2020-02-02")


@pytest.mark.parametrize(
    "languages",
    ["[" * 100_000, '{"languages": ' + "[" * 100_000, '{"languages": [{"code": "\\ud800", "code-iso-639-3": "eng"}]}',
     '{"languages": [{"code": ' + "1" * 5000 + ', "code-iso-639-3": "eng"}]}', '{"languages": 1e999}', "NaN"],
    ids=range(6),
)  # fmt: skip
def test_what_a_metadata_record_says_of_a_page_cannot_lose_it(tmp_path: Path, languages: str) -> None:
    url = "http://a.example/"
    fields = (("Content-Type", "application/warc-fields"), ("WARC-Refers-To", "<urn:uuid:1>"))
    metadata = flawed.record(f"languages-cld2: {languages}\r\n".encode(), "metadata", url, headers=fields)
    page = dated(url, "2024").replace(b"WARC-Type", b"WARC-Record-ID: <urn:uuid:1>\r\nWARC-Type", 1)
    path = tmp_path / "metadata.warc"
    path.write_bytes(page + metadata)
    report = ingest(tmp_path / "c", path, snapshot=False)
    assert (report.captures, report.pages, report.failed, report.drops) == (1, 1, [], {})
