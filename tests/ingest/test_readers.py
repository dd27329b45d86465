"""Readers: every byte of a file is a record's or a named skip's, and no cut payload is ever handed out as whole."""

import csv
import gzip
import os
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest import flawed
from tests.shared import cases
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.readers import read_records
from webemu.ingest.readers.fastwarc_reader import read_fast
from webemu.ingest.readers.resync_reader import read_carefully
from webemu.ingest.records import MAX_HEAD, Record, Skip

SHARED = os.environ.get("WEBEMU_SHARED")
LIMIT = 4 << 20


def checked(path: Path, max_block: int = LIMIT) -> tuple[list[Record], list[Skip]]:
    """Return the records and skips of a file, after making sure that all its bytes are accounted for."""
    items = list(read_records(path, max_block))
    at = 0
    for item in items:
        assert item.offset == at
        at += item.length if isinstance(item, Record) else item.bytes
    assert at == path.stat().st_size
    records = [item for item in items if isinstance(item, Record)]
    for item in records:
        assert item.declared_length == int(item.get("content-length") or -1)
        assert item.is_oversized or item.declared_length == len(item.block) + item.missing_bytes
        assert not item.missing_bytes or item.get("WARC-Truncated")
    return records, [item for item in items if isinstance(item, Skip)]


def read_bytes(data: bytes, folder: Path, max_block: int = LIMIT) -> tuple[list[Record], list[Skip]]:
    path = folder / "file"
    path.write_bytes(data)
    return checked(path, max_block)


def hosts(records: list[Record]) -> list[str]:
    return [(one.get("warc-target-uri") or "").removeprefix("http://").partition(".")[0] for one in records]


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (flawed.sound_gzip(), 2),
        (flawed.sound_plain(), 2),
        (flawed.bare_line_feeds(), 3),
        (flawed.bare_line_feeds(gz=False), 3),
        (flawed.old_and_new_versions(), 4),
        (flawed.lower_case_heads(), 3),
        (flawed.repeated_headers(), 3),
        (flawed.non_ascii_headers(), 4),
        (flawed.folded_header(), 3),
        (flawed.header_without_colon(), 3),
        (flawed.missing_line_ends(), 3),
        (flawed.missing_line_ends(gz=False), 3),
        (flawed.too_many_line_ends(), 3),
        (flawed.too_many_line_ends(gz=False), 3),
        (flawed.line_ends_before_the_head(), 3),
        (flawed.wrong_digest(), 3),
        (flawed.payload_that_looks_like_records(), 3),
    ],
)
def test_odd_but_whole_records_are_all_read(data: bytes, count: int, tmp_path: Path) -> None:
    records, skips = read_bytes(data, tmp_path)
    assert (len(records), skips) == (count, [])


@pytest.mark.parametrize(
    ("data", "reasons"),
    [
        (flawed.empty_members(), ["empty-member"] * 4),
        (flawed.junk_between_members(), ["junk-between-records"]),
        (flawed.junk_with_gzip_magic(), ["damaged-gzip"]),
        (flawed.junk_between_plain_records(), ["junk-between-records"]),
        (flawed.zeros_at_the_end(), ["junk-between-records"]),
        (flawed.member_of_something_else(), ["not-a-record"]),
        (flawed.length_too_long(), ["content-length-mismatch"]),
        (flawed.length_too_long(gz=False), ["content-length-mismatch"]),
        (flawed.length_too_short(), ["content-length-mismatch"]),
        (flawed.length_too_short(gz=False), ["content-length-mismatch"]),
        (flawed.length("-5"), ["bad-content-length"]),
        (flawed.length("-5", gz=False), ["bad-content-length"]),
        (flawed.length("9" * 40), ["bad-content-length"]),
        (flawed.length("9" * 17), ["content-length-mismatch"]),
        (flawed.length("9" * 17, gz=False), ["content-length-mismatch"]),
        (flawed.length("five"), ["bad-content-length"]),
        (flawed.length("0x1", gz=False), ["bad-content-length"]),
        (flawed.length_missing(), ["bad-content-length"]),
        (flawed.lengths_that_differ(), ["bad-content-length"]),
        (flawed.lengths_that_differ_in_case(), ["bad-content-length"]),
        (flawed.head_without_end(), ["bad-head"]),
        (flawed.endless_head(3 * MAX_HEAD), ["oversized-head"]),
        (flawed.endless_head(3 * MAX_HEAD, gz=False), ["oversized-head"]),
        (flawed.damaged_member(), ["damaged-gzip"]),
        (flawed.cut_member_in_the_middle(), ["damaged-gzip"]),
    ],
)
def test_a_flaw_costs_its_own_record_only(data: bytes, reasons: list[str], tmp_path: Path) -> None:
    records, skips = read_bytes(data, tmp_path)
    assert [skip.reason for skip in skips] == reasons
    assert hosts(records) == ["before", "after"]


@pytest.mark.parametrize("gz", [True, False])
@pytest.mark.parametrize("keep", [1, 5, 12, 100, 300])
def test_a_record_cut_before_its_payload_is_no_record(keep: int, gz: bool, tmp_path: Path) -> None:
    records, skips = read_bytes(flawed.cut_at_the_end(keep, gz=gz), tmp_path)
    assert hosts(records) == ["before"]
    assert len(skips) == 1
    assert skips[0].bytes == keep
    # Of a few bytes it cannot be told what they were.
    assert skips[0].reason == "truncated-record" or keep <= 12


@pytest.mark.parametrize("gz", [True, False])
@pytest.mark.parametrize("keep", [500, 3000, 5000])
@pytest.mark.parametrize("max_block", [LIMIT, 4000])
def test_a_payload_cut_by_the_end_of_the_file_is_kept_and_marked(
    keep: int, gz: bool, max_block: int, tmp_path: Path
) -> None:
    sound = flawed.HTTP + flawed.noise(5000)
    records, skips = read_bytes(flawed.cut_at_the_end(keep, gz=gz), tmp_path, max_block)
    last = records[-1]
    assert hosts(records) in (["before", "after"], ["before"])
    assert [(skip.reason, skip.bytes if last.missing_bytes else 0) for skip in skips] == [("truncated-record", 0)]
    if len(records) == 2:
        assert last.get("WARC-Truncated") == "unspecified"
        assert last.is_oversized or sound.startswith(last.block)
        assert skips[0].lost_bytes == last.missing_bytes > 0
    assert len(records) == 2 or (gz and keep > max_block)  # a packed block that is cut and too large


def test_the_mark_of_a_crawler_stays_on_a_cut_record(tmp_path: Path) -> None:
    sound = flawed.response(body=flawed.noise(900), headers=(("WARC-Truncated", "length"),))
    (record,), _ = read_bytes(sound[:-300], tmp_path)
    assert [value for name, value in record.headers if name == "WARC-Truncated"] == ["length"]


def test_what_is_cut_and_has_no_payload_is_no_record(tmp_path: Path) -> None:
    for kind in ("request", "metadata", "warcinfo", "revisit"):
        records, skips = read_bytes(flawed.record(flawed.HTTP, kind)[:-20], tmp_path)
        assert (records, [skip.reason for skip in skips]) == ([], ["truncated-record"])


def test_a_member_without_its_checksum_is_whole_but_named(tmp_path: Path) -> None:
    records, skips = read_bytes(flawed.sound_gzip()[:-6], tmp_path)
    assert (hosts(records), records[-1].get("WARC-Truncated")) == (["before", "after"], None)
    assert [(skip.reason, skip.lost_bytes) for skip in skips] == [("truncated-record", 0)]


def test_a_plain_record_without_its_last_line_ends_is_whole(tmp_path: Path) -> None:
    for data in (flawed.sound_plain()[:-4], flawed.sound_plain()[:-1]):
        records, skips = read_bytes(data, tmp_path)
        assert (hosts(records), skips) == (["before", "after"], [])
    records, skips = read_bytes(flawed.sound_plain()[:-5], tmp_path)
    assert (hosts(records), records[-1].missing_bytes, skips[0].lost_bytes) == (["before", "after"], 1, 1)


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    assert read_bytes(flawed.empty(), tmp_path) == ([], [Skip("empty-file", 0, 0)])


@pytest.mark.parametrize("data", [b"\0" * 5000, b"<html>" * 1000, b"\x1f\x8b\x08" * 500, b"WARC/1.0\r\n" * 500])
def test_what_is_no_archive_is_skipped_whole(data: bytes, tmp_path: Path) -> None:
    records, skips = read_bytes(data, tmp_path)
    assert (records, sum(skip.bytes for skip in skips)) == ([], len(data))


def test_headers_are_kept_as_written(tmp_path: Path) -> None:
    _, odd, _ = read_bytes(flawed.repeated_headers(), tmp_path)[0]
    assert [value for name, value in odd.headers if name == "WARC-Protocol"] == ["h2", "tls/1.3"]
    assert odd.get("warc-cipher-suite") == "TLS_AES_128_GCM_SHA256"
    assert odd.get("absent") is None
    _, utf8, latin1, _ = read_bytes(flawed.non_ascii_headers(), tmp_path)[0]
    assert utf8.get("WARC-Target-URI") == "http://odd.example/é"
    assert latin1.get("WARC-Target-URI") == "http://odd.example/éÿ"
    assert read_bytes(flawed.folded_header(), tmp_path)[0][1].get("X-Note") == "one two"
    assert read_bytes(flawed.lower_case_heads(), tmp_path)[0][1].type == "response"


TITLES = [
    "Beyonc\u00e9 \u6771\u4eac \U0001f600".encode(),
    "caf\u00e9".encode("latin-1"),
    "\u00e9 \ufffd".encode(),
    "\u3000\u6771\u4eac\u00a0".encode(),
    "  \u00e9\t".encode(),
    "\u2028x\u0085".encode(),
    "ok\r\nX-\u00e9\u00a0: also".encode(),
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98 ends early",
    "\u212aontent-length".encode(),
]


def titled_records(titles: list[bytes], *, gz: bool) -> bytes:
    """Return conversion records with these titles in their heads."""
    heads = (
        b"WARC/1.1\r\nWARC-Type: conversion\r\nX-Title: %b\r\nContent-Length: 2\r\n\r\n" % title for title in titles
    )
    records = [head + b"ok\r\n\r\n" for head in heads]
    return b"".join(map(gzip.compress, records) if gz else records)


@given(
    st.lists(
        st.sampled_from(TITLES) | st.text(max_size=9).map(lambda text: text.encode("utf-8", "replace")), max_size=5
    )
)
def test_both_readers_read_the_same_of_titles_in_any_encoding(
    tmp_path_factory: pytest.TempPathFactory, titles: list[bytes]
) -> None:
    for gz in (True, False):
        path = tmp_path_factory.mktemp("titles") / "file"
        path.write_bytes(titled_records([b"first", *titles, b"last"], gz=gz))
        with path.open("rb") as file:
            careful = list(read_carefully(file.fileno(), 0, path.stat().st_size, gz, LIMIT))
            for item in careful:
                fast = next(read_fast(path, file.fileno(), item.offset, path.stat().st_size, gz, LIMIT), None)
                assert fast is None or fast == item
        assert list(read_records(path)) == careful


@pytest.mark.parametrize("gz", [True, False])
def test_heads_in_utf_8_are_read_fast(gz: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(titled_records(TITLES[:1] * 9, gz=gz))
    with path.open("rb") as file:
        assert len(list(read_fast(path, file.fileno(), 0, path.stat().st_size, gz, LIMIT))) == 9


def test_records_are_found_again_at_their_offsets(tmp_path: Path) -> None:
    for data in (flawed.sound_gzip(), flawed.damaged_member(), flawed.sound_plain(), flawed.bare_line_feeds(gz=False)):
        for record in read_bytes(data, tmp_path)[0]:
            alone = data[record.offset : record.offset + record.length]
            (again,), skips = read_bytes(alone, tmp_path)
            assert (again.block, again.headers, skips) == (record.block, record.headers, [])


@pytest.mark.parametrize("gz", [True, False])
def test_an_oversized_block_is_passed_over_with_its_head(gz: bool, tmp_path: Path) -> None:
    sound = len(flawed.HTTP + b"<p>Hello</p>")
    records, skips = read_bytes(flawed.large_block(LIMIT + 1, gz=gz), tmp_path)
    assert [(one.is_oversized, len(one.block)) for one in records] == [(False, sound), (True, 0), (False, sound)]
    assert records[1].declared_length == LIMIT + 1
    assert not skips
    records, _ = read_bytes(flawed.large_block(LIMIT, gz=gz), tmp_path)
    assert len(records[1].block) == LIMIT


@pytest.mark.parametrize(
    ("make", "reasons", "odd"),
    [
        (lambda: flawed.large_block(200 << 20), [], 1),
        (lambda: flawed.bomb(400 << 20), ["oversized-record"], 0),
        (lambda: flawed.endless_head(100 << 20), ["oversized-head"], 0),
    ],
)
def test_memory_stays_bounded(make: Callable[[], bytes], reasons: list[str], odd: int, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(make())
    tracemalloc.start()
    records, skips = checked(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [skip.reason for skip in skips] == reasons
    assert len(records) == 2 + odd
    assert peak < 4 * LIMIT


def test_records_that_share_a_member_are_named(tmp_path: Path) -> None:
    records, skips = read_bytes(flawed.records_share_a_member(), tmp_path)
    assert hosts(records) == ["before"]
    assert [(skip.reason, skip.bytes) for skip in skips] == [("records-share-member", 0)]


@pytest.mark.parametrize(
    ("tail", "digest", "count"),
    [
        (b"\r\n\r\ntwo\r\n\r\n", None, 3),
        (b"\r\n\r\ntwo\r\n\r\n", "sha1:WRONG", 2),
        (b" two\r\n\r\n", None, 2),
        (b" two\r\n\r\n", flawed.sha1(b"one"), 3),
    ],
)
def test_a_digest_decides_where_it_is_in_doubt_what_a_block_is(
    tail: bytes, digest: str | None, count: int, tmp_path: Path
) -> None:
    headers = (("WARC-Block-Digest", digest),) if digest else ()
    odd = flawed.record(b"one", url="http://odd.example/", tail=tail, headers=headers)
    for data in (flawed.BEFORE + odd + flawed.AFTER, flawed.packed(flawed.BEFORE, odd, flawed.AFTER)):
        records, skips = read_bytes(data, tmp_path)
        assert len(records) == count
        assert len(skips) == 1


def test_many_flaws_in_a_long_file(tmp_path: Path) -> None:
    sound = [flawed.response(f"http://{n}.example/", b"x" * n) for n in range(300)]
    members = [gzip.compress(one) for one in sound]
    for n in range(0, 300, 7):
        members[n] = members[n][: len(members[n]) // 2]
    records, skips = read_bytes(b"".join(members), tmp_path)
    assert hosts(records) == [str(n) for n in range(300) if n % 7]
    assert len(skips) == 43


DAMAGE = [b"", b"\0", b"\n", b"WARC/1.0\r\n", b"\x1f\x8b\x08\0", b"Content-Length: 7\r\n"]


@settings(max_examples=cases(40, 150), deadline=None)
@given(data=st.data())
def test_no_damage_raises_or_loses_bytes(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    mutated = bytearray(data.draw(st.sampled_from([flawed.sound_gzip() * 3, flawed.sound_plain() * 3])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated)))
        damage = data.draw(st.sampled_from(DAMAGE))
        mutated[at : at + data.draw(st.integers(0, 40))] = damage
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(mutated)
    records, _ = checked(path)
    if mutated.startswith(b"\x1f\x8b\x08"):
        # What gzip's checksum covers is whole, or not handed out.
        assert {record.block for record in records} <= {flawed.HTTP + b"<p>Hello</p>"}


def shared_archives() -> list[dict[str, str]]:
    if not SHARED:
        return []
    with (Path(SHARED) / "data/warc/INVENTORY.tsv").open() as rows:
        return list(csv.DictReader(rows, delimiter="\t"))


FLAWED_BY_BOTH = {
    "date_resolution_nanosecond.warc.gz",
    "deleted_html.warc.gz",
    "invalid_location.warc.gz",
    "redirect.warc",
    "CommonCrawl-sample.warc",
    "segment1.warc.gz",
}
"""Their last or only record is shorter than its length says; both readers of the inventory hand it out as whole."""


@pytest.mark.skipif(not SHARED, reason="WEBEMU_SHARED names no folder of shared data")
def test_shared_archives_are_all_accounted_for() -> None:
    fewer = []
    kinds: Counter[str] = Counter()
    for row in shared_archives():
        path = Path(SHARED or "", "data/warc", row["path"])
        detected = detect_format(path)
        kinds[kind := detected.name if detected else "unknown"] += 1
        records, _ = checked(path)
        is_intact = not row["warcio_error"] and not row["fastwarc_error"]
        if kind in ("warc", "warc.gz") and is_intact and path.name not in FLAWED_BY_BOTH:
            expected_count = max(int(row["records_warcio"]), int(row["records_fastwarc"]))
            if len(records) < expected_count:
                fewer.append((row["path"], len(records), expected_count))
    assert fewer == []
    assert kinds["warc"] > 50
    assert kinds["warc.gz"] > 50
