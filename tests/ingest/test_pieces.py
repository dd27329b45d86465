"""Large sources in pieces: the same catalog and snapshot as in one, wherever the cuts fall and whatever is there."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.ingest import flawed
from webemu.index.catalog import Catalog
from webemu.index.schema import TABLES
from webemu.ingest.pieces import split_source
from webemu.ingest.readers import RecordCrossesPiece, read_records
from webemu.ingest.records import Record
from webemu.ingest.run import Report, run
from webemu.ingest.sources import Source
from webemu.ingest.worker import Job
from webemu.worlds import generate

pytestmark = pytest.mark.slow

ONE_PIECE = 1 << 40


def ingested(path: Path, folder: Path, piece: int, snapshot: bool) -> tuple[Report, dict[str, list[tuple[Any, ...]]]]:
    report = run([Source(path, path.name)], folder, 2, snapshot=snapshot, quiet=True, piece_bytes=piece)
    with Catalog(folder, read_only=True) as catalog:
        return report, {name: catalog.db.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in TABLES}


def same(path: Path, folder: Path, piece: int, snapshot: bool = False) -> dict[str, list[tuple[Any, ...]]]:
    """The catalog, after making sure that it is the same in pieces and in one."""
    (single, rows), (parts, other_rows) = (
        ingested(path, folder / str(size), size, snapshot) for size in (ONE_PIECE, piece)
    )
    assert not single.failed
    assert not parts.failed
    assert other_rows == rows
    assert parts.snapshot == single.snapshot
    assert (parts.pages, parts.captures, parts.drops) == (single.pages, single.captures, single.drops)
    return rows


def job(path: Path) -> Job:
    return Job(1, path.name, str(path), None, "warc", path.stat().st_size)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    generate(folder, seed=5, pages=400)
    return max(folder.rglob("*.warc.gz"), key=lambda file: file.stat().st_size)


def test_pieces_give_what_the_whole_gives(web: Path, tmp_path: Path) -> None:
    size = web.stat().st_size // 7
    assert len(split_source(job(web), web, size)) in (6, 7, 8)
    rows = same(web, tmp_path, size, snapshot=True)
    assert rows["sources"][0][list(TABLES["sources"].names).index("bytes")] == web.stat().st_size


def test_pieces_lie_side_by_side_and_begin_with_another_url(web: Path) -> None:
    urls = {one.offset: one.get("WARC-Target-URI") for one in read_records(web) if isinstance(one, Record)}
    for size in (1 << 12, 1 << 14, 1 << 16):
        pieces = split_source(job(web), web, size)
        assert len(pieces) > 2
        assert [pieces[0].start, pieces[-1].end] == [0, web.stat().st_size]
        assert all(one.end == other.start for one, other in pairwise(pieces))
        offsets = list(urls)
        for piece in pieces[1:]:
            place = offsets.index(piece.start)
            assert urls[piece.start] != urls[offsets[place - 1]]
        assert sum(len([*read_records(web, start=one.start, end=one.end)]) for one in pieces) == len(
            [*read_records(web)]
        )


def test_records_of_one_answer_stay_together(tmp_path: Path) -> None:
    path = tmp_path / "joined.warc.gz"
    about = b'charset-detected: UTF-8\r\nlanguages-cld2: {"languages": [{"code": "de", "code-iso-639-3": "deu"}]}\r\n'
    fields = (("Content-Type", "application/warc-fields"),)
    records = []
    for number, page in enumerate(pages("a", 40)):
        url, record_id = f"http://a{number}.example/", re.search(rb"WARC-Record-ID: (\S+)", page)
        assert record_id
        belongs = (("WARC-Concurrent-To", record_id[1].decode()),)
        records += [
            flawed.record(b"POST / HTTP/1.1\r\n\r\n", "request", url, headers=belongs),
            page,
            flawed.record(about, "metadata", url, headers=(*belongs, *fields)),
        ]
    path.write_bytes(flawed.packed(*records))
    assert len(split_source(job(path), path, 1 << 10)) > 5
    names = list(TABLES["captures"].names)
    methods = {
        (row[names.index("request_method")], row[names.index("content_languages")])
        for row in same(path, tmp_path, 1 << 10)["captures"]
    }
    assert methods == {("POST", "deu")}


def test_a_small_source_is_one_piece(web: Path) -> None:
    assert split_source(job(web), web) == [job(web)]
    assert len(split_source(job(web), web, int(web.stat().st_size / 1.4))) == 1


def crawl(name: str, *records: bytes) -> bytes:
    info = flawed.record(b"isPartOf: " + name.encode() + b"\r\n", "warcinfo", "http://info.example/")
    return info + b"".join(records)


def pages(name: str, count: int, size: int = 2000) -> list[bytes]:
    return [
        flawed.response(f"http://{name}{number}.example/", b"<p>%d %b</p>" % (number, b"word " * (size // 5)))
        for number in range(count)
    ]


def test_a_file_of_several_crawls_is_read_in_one(tmp_path: Path) -> None:
    path = tmp_path / "two.warc"
    path.write_bytes(crawl("FIRST", *pages("a", 20)) + crawl("SECOND", *pages("b", 20)))
    assert len(split_source(job(path), path, 1 << 13)) > 4
    rows = same(path, tmp_path, 1 << 13)
    crawls = [row[list(TABLES["captures"].names).index("crawl")] for row in rows["captures"]]
    assert {name: crawls.count(name) for name in set(crawls)} == {"FIRST": 20, "SECOND": 20}


def test_a_cut_inside_a_payload_is_none(tmp_path: Path) -> None:
    """A WARC file inside of a record looks like records, and is none of the file's."""
    inside = b"".join(pages("inside", 30))
    path = tmp_path / "nested.warc"
    path.write_bytes(
        b"".join([*pages("a", 3), flawed.record(inside, "resource", "http://n.example/w"), *pages("b", 3)])
    )
    pieces = split_source(job(path), path, 1 << 14)
    assert len(pieces) > 1
    with pytest.raises(RecordCrossesPiece):
        list(read_records(path, start=0, end=pieces[0].end))
    rows = same(path, tmp_path, 1 << 14)
    assert len(rows["captures"]) == 7


def test_damage_is_counted_alike(tmp_path: Path) -> None:
    members = [flawed.packed(one) for one in pages("a", 60)]
    members[20] = members[20][:60] + b"\0" * 40 + members[20][100:]
    members[40] = b"junk" * 100
    path = tmp_path / "damaged.warc.gz"
    path.write_bytes(b"".join(members))
    assert len(split_source(job(path), path, 1 << 10)) > 2
    rows = same(path, tmp_path, 1 << 10)
    assert {row[1] for row in rows["drops"]} >= {"damaged-gzip", "junk-between-records"}


def test_one_copy_of_rows_is_read_by_many(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    lines = [
        f'{{"id": "{number}", "contents": "\\"Title {number}\\"\\n{"text " * 50}{number}"}}' for number in range(200)
    ]
    path.write_text("\n".join(lines))
    assert len(same(path, tmp_path, 1 << 12)["pages"]) == 200
