"""Dumps of texts: passages and pages of JSON lines and Parquet become captures that are found, opened and counted."""

import gzip
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.errors import SourceError
from webemu.emulator.types import PageRequest, Query
from webemu.index.catalog import Catalog
from webemu.index.open import open_world
from webemu.ingest.dump import host_for_file, read_row
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.rows import Row, parse_lines
from webemu.ingest.run import Report
from webemu.ingest.sources import expand_sources
from webemu.ingest.unpack import PLAIN

WIKI = [
    {"id": "0", "contents": '"Evan Morris"\nEvan Morris was a lawyer of Aldmere.\nHe built the "opera".'},
    {"id": "1", "contents": '"Opera; of/ä"\nThe lighthouse burnt down in 1901.'},
]
FINEWEB = pa.schema(
    [
        ("text", pa.string()),
        ("id", pa.string()),
        ("dump", pa.string()),
        ("url", pa.string()),
        ("date", pa.string()),
        ("file_path", pa.string()),
        ("language", pa.string()),
        ("language_score", pa.float64()),
        ("token_count", pa.int64()),
    ]
)
PAGES = [
    ("The chalk cliffs.\nThey are white.", "CC-MAIN-2013-20", "http://cliffs.example/a b", "2013-05-18T10:42:00Z"),
    ("The quays.\nThey are of oak.", "CC-MAIN-2013-20", "https://quays.example/?q=1#top", "2013-05-19T10:42:00Z"),
    ("The mills.\nThey are of brick.", "CC-MAIN-2014-10", "https://mills.example/", "2014-03-01T00:00:00Z"),
]


def lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(path: Path, rows: int = 1) -> Path:
    values = [
        {"text": text, "id": f"<urn:uuid:{n}>", "dump": dump, "url": url, "date": date, "language": "en"}
        for n, (text, dump, url, date) in enumerate(PAGES * rows)
    ]
    pq.write_table(pa.Table.from_pylist(values, FINEWEB), path, row_group_size=2)
    return path


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "wiki-18.jsonl": bytes,
    "wiki-18.jsonl.gz": gzip.compress,
    "wiki-18.jsonl.zst": lambda data: zstandard.compress(data[:50]) + zstandard.compress(data[50:]),
    "wiki-18.ndjson.gz": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
}


@pytest.mark.parametrize("name", PACKED)
def test_passages_are_found_and_opened(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PACKED[name](lines(WIKI)))
    report = ingest(tmp_path / "c", tmp_path / name)
    assert (report.captures, report.pages, report.drops, report.failed) == (2, 2, {}, [])
    (tmp_path / name).unlink()
    world = open_world(tmp_path / "c")
    [hit] = world.search(Query("lawyer")).hits
    assert (hit.url, hit.title) == ("https://wiki-18.invalid/0", "Evan Morris")
    page = world.fetch(PageRequest(hit.url))
    assert page.content == 'Evan Morris was a lawyer of Aldmere.\nHe built the "opera".'
    assert world.passage_of(hit) == page.content
    assert [one.title for one in world.search(Query("lighthouse")).hits] == ["Opera; of/ä"]
    capture, payload = world.payload(PageRequest(hit.url))
    assert (capture.kind, capture.status, payload.body.decode()) == ("conversion", 200, page.content)
    assert payload.headers == ((b"Content-Type", b"text/plain; charset=utf-8"),)


def test_pages_keep_their_urls_dates_and_crawls(tmp_path: Path) -> None:
    report = ingest(tmp_path / "c", parquet(tmp_path / "000_00000.parquet"))
    assert (report.captures, report.pages, report.drops) == (3, 3, {})
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        rows = catalog.db.execute("SELECT url, fetch_time, crawl, fetch_status FROM captures ORDER BY url").fetchall()
    assert rows == [
        ("http://cliffs.example/a%20b", datetime(2013, 5, 18, 10, 42), "CC-MAIN-2013-20", 200),
        ("https://mills.example/", datetime(2014, 3, 1), "CC-MAIN-2014-10", 200),
        ("https://quays.example/?q=1", datetime(2013, 5, 19, 10, 42), "CC-MAIN-2013-20", 200),
    ]
    [hit] = open_world(tmp_path / "c").search(Query("oak")).hits
    assert (hit.title, hit.date) == ("The quays.", "2013-05-19")


def test_the_same_dump_gives_the_same_snapshot_and_is_read_once(tmp_path: Path) -> None:
    first = ingest(tmp_path / "a", parquet(tmp_path / "x.parquet", 300))
    again = ingest(tmp_path / "a", tmp_path / "x.parquet")
    other = ingest(tmp_path / "b", tmp_path / "x.parquet")
    assert (first.added, again.added, again.already_ingested) == (1, 0, 1)
    assert first.snapshot == again.snapshot == other.snapshot
    [a], [b] = (list((tmp_path / one / "warc").iterdir()) for one in ("a", "b"))
    assert a.read_bytes() == b.read_bytes()


def dropped(folder: Path, data: bytes, name: str = "x.jsonl") -> Report:
    (folder / name).write_bytes(data)
    return ingest(folder / "c", folder / name, snapshot=False)


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    rows = [*WIKI, {"id": "2"}, {"text": " \n"}, {"text": 3}, {"text": "a", "url": "ftp://x.example/", "date": "soon"}]
    report = dropped(tmp_path, lines(rows) + b"{\n[1]\n\n\xff\n" + lines([{"text": "NaN", "score": float("nan")}]))
    assert (report.captures, report.drops) == (4, {"bad-json": 3, "no-text": 3, "bad-url": 1, "bad-date": 1})
    with Catalog(tmp_path / "c", read_only=True) as catalog:
        urls = {url for (url,) in catalog.db.execute("SELECT url FROM captures").fetchall()}
    assert urls == {f"https://x.invalid/{name}" for name in ("0", "1", "5", "9")}


def test_a_run_counts_the_drops_of_the_sources_that_it_added(tmp_path: Path) -> None:
    first = dropped(tmp_path, lines([*WIKI, {"id": "2"}]) + b"{\n" * 2, "first.jsonl")
    again = ingest(tmp_path / "c", tmp_path / "first.jsonl", snapshot=False)
    another = dropped(tmp_path, lines([{"id": "3"}]), "another.jsonl")
    assert (list(first.drops.items()), again.drops) == ([("bad-json", 2), ("no-text", 1)], {})
    assert another.drops == {"no-text": 1}


def test_damage_costs_what_follows_it_and_no_more(tmp_path: Path) -> None:
    packed = gzip.compress(lines(WIKI)) + b"\x1f\x8b\x08junk"
    report = dropped(tmp_path, packed, "x.jsonl.gz")
    assert (report.captures, report.drops) == (2, {"damaged-gzip": 1})


def test_a_cut_parquet_file_is_named(tmp_path: Path) -> None:
    sound = parquet(tmp_path / "whole.parquet").read_bytes()
    report = dropped(tmp_path, sound[:-20], "cut.parquet")
    assert (report.captures, report.drops) == (0, {"damaged-parquet": 1})


def test_a_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.ingest.rows.MAX_BLOCK", 200)
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines([{"text": "x" * 3_000_000}, {"text": "after"}]))
    long, after = parse_lines(PLAIN.iter_content(path))
    assert getattr(long, "reason", "") == "oversized-record"
    assert isinstance(after, Row)
    assert after.value == {"text": "after"}
    assert after.offset == getattr(long, "bytes", 0)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (lines(WIKI), "jsonl"),
        (b"\xef\xbb\xbf" + lines(WIKI), "jsonl"),
        (b'{"text": "' + b"x" * 100_000 + b'"}\n', "jsonl"),
        (gzip.compress(b'{"text": "' + b"x" * 100_000 + b'"}\n'), "jsonl.gz"),
        (zstandard.compress(lines(WIKI)), "jsonl.zst"),
        (b'{\n  "a": 1\n}\n', "unknown"),
        (b"[1, 2]\n", "unknown"),
        (b"{" + b"x" * 100_000, "unknown"),
    ],
)
def test_a_dump_is_known_by_its_bytes(data: bytes, kind: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    detected = detect_format(tmp_path / "x")
    assert (detected.name if detected else "unknown") == kind


def test_dumps_are_named_or_meant_by_a_glob_and_not_picked_from_folders(tmp_path: Path) -> None:
    folder = tmp_path / "web"
    write(folder / "a.warc.gz", [CaptureSpec("https://a.example/", html("A"))])
    (folder / "tasks.jsonl").write_bytes(lines(WIKI))
    assert [one.name for one in expand_sources([str(folder)]).sources] == ["a.warc.gz"]
    assert [one.name for one in expand_sources([str(folder / "*.jsonl")]).sources] == ["tasks.jsonl"]
    assert [one.name for one in expand_sources([str(folder / "tasks.jsonl")]).sources] == ["tasks.jsonl"]
    (folder / "notes.json").write_text('{\n "a": 1\n}')
    with pytest.raises(SourceError):
        expand_sources([str(folder / "notes.json")])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"text": "a", "metadata": {"url": "https://a.example/", "date": "2020-01-02"}},
            "https://a.example/ 2020-01-02 ",
        ),
        (
            {"text": "a", "timestamp": "2019-04-25T12:57:54Z", "url": "https://c4.example"},
            "https://c4.example/ 2019-04-25 ",
        ),
        ({"text": "a", "timestamp": 1_600_000_000_000, "_id": 7}, "https://x.invalid/7 2020-09-13 "),
        ({"text": "a", "created": datetime(2021, 2, 3), "title": "T\r\nX: y"}, "https://x.invalid/3 2021-02-03 T X: y"),
        ({"contents": "Plain\nbody", "url": "https://a.example/\r\nX: y"}, "https://a.example/X:%20y 1970-01-01 Plain"),
        ({"contents": "one line", "id": "a/b ä"}, "https://x.invalid/a%2Fb%20%C3%A4 1970-01-01 "),
        ({"text": "\ud800", "url": "https://"}, "https://x.invalid/3 1970-01-01 "),
    ],
)
def test_a_row_says_it_in_many_ways(row: dict[str, Any], expected: str) -> None:
    text = read_row(Row(0, row), 3, "x.invalid")
    assert f"{text.url} {text.time:%Y-%m-%d} {text.title}" == expected


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("wiki-18.jsonl.gz", "wiki-18.invalid"),
        ("000_00000.parquet", "000-00000.invalid"),
        ("c4-train.00000-of-01024.json.gz", "c4-train-00000-of-01024.invalid"),
        ("Wörter!.jsonl", "w-rter.invalid"),
        ("….jsonl", "dump.invalid"),
        ("x" * 99 + ".jsonl", "x" * 63 + ".invalid"),
    ],
)
def test_a_file_gives_its_pages_a_host(name: str, host: str) -> None:
    assert host_for_file(name) == host


def test_a_date_beyond_all_years_harms_no_other_row(tmp_path: Path) -> None:
    microseconds = [0, 2**62, -(2**62), 1_700_000_000_000_000]
    for name, kind in (("utc", pa.timestamp("us")), ("far-east", pa.timestamp("us", "Asia/Tokyo"))):
        urls = [f"http://{name}.example/{n}" for n in range(4)]
        values = {"url": urls, "text": ["The mills.\nThey are of brick."] * 4, "date": pa.array(microseconds, kind)}
        pq.write_table(pa.table(values), tmp_path / f"{name}.parquet")
    days = {
        "url": ["http://days.example/"],
        "text": ["The quays are of oak."],
        "date": pa.array([2**31 - 1], pa.date32()),
    }
    pq.write_table(pa.table(days), tmp_path / "days.parquet")
    stated = ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", 1e300]
    lines_of = [{"url": f"http://lines.example/{n}", "text": "Cliffs.", "date": date} for n, date in enumerate(stated)]
    (tmp_path / "lines.jsonl").write_bytes(lines([{"url": "http://lines.example/", "text": "Cliffs."}, *lines_of]))
    report = ingest(tmp_path / "c", *sorted(tmp_path.glob("*.parquet")), tmp_path / "lines.jsonl")
    assert (report.captures, report.failed, report.drops) == (13, [], {"bad-date": 8})


def test_a_date_that_no_clock_shows_is_counted(tmp_path: Path) -> None:
    rows = [{"text": "a", "date": text} for text in ("9999-12-31T23:59:59-10:00", "2016-12-31T23:59:60Z", "+25:00")]
    report = dropped(tmp_path, lines(rows))
    assert (report.captures, report.drops) == (3, {"bad-date": 2})
    late = pa.array([253_402_300_799], pa.timestamp("s", tz="-10:00"))  # 9999-12-31T23:59:59Z
    early = pa.array([-62_135_596_800], pa.timestamp("s", tz="+10:00"))  # 0001-01-01T00:00:00Z
    for name, column in (("late", late), ("early", early)):
        pq.write_table(pa.table({"text": ["a"], "date": column}), tmp_path / f"{name}.parquet")
        assert ingest(tmp_path / name, tmp_path / f"{name}.parquet", snapshot=False).captures == 1
