"""Copies that can be read at an offset: the records of the original, byte for byte, and the same bytes every time."""

import gzip
import io
import os
import zipfile
from pathlib import Path

import pytest

from tests.ingest import flawed
from webemu.emulator.errors import SourceError
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.warc import WARC_GZ
from webemu.ingest.readers import read_records
from webemu.ingest.records import Record, Skip
from webemu.ingest.repack import make_seekable

SHARED = os.environ.get("WEBEMU_SHARED")


def repacked(data: bytes, folder: Path, name: str = "file") -> tuple[list[Record], list[str]]:
    """Records of the copy and the reasons of what it has not; two copies must be equal."""
    source = folder / name
    source.write_bytes(data)
    path, skips = make_seekable(source, detect_format(source), folder / "copy.warc.gz")
    again, _ = make_seekable(source, detect_format(source), folder / "again.warc.gz")
    assert path.read_bytes() == again.read_bytes()
    items = list(read_records(path))
    assert not [one for one in items if isinstance(one, Skip) and one.reason != "empty-file"]
    assert sorted(one.name for one in folder.iterdir()) == sorted({name, path.name, again.name})
    return [one for one in items if isinstance(one, Record)], [skip.reason for skip in skips]


def name_of(path: Path) -> str:
    """Name of a file's format, `unknown` if it has none."""
    detected = detect_format(path)
    return detected.name if detected else "unknown"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (flawed.sound_plain(), "warc"),
        (b"\r\n" + flawed.sound_plain(), "warc"),
        (flawed.lower_case_heads().lower(), "warc"),
        (flawed.sound_gzip(), "warc.gz"),
        (flawed.bare_line_feeds(), "warc.gz"),
        (flawed.empty_members(), "warc.gz"),
        (b"junk" * 5 + flawed.sound_gzip(), "unknown"),
        (flawed.damaged_member()[5:], "unknown"),
        (b"\x1f\x8b\x08\0junk" + flawed.sound_gzip(), "warc.gz"),
        (flawed.length_too_long(), "warc.gz"),
        (flawed.large_block(1 << 20), "warc.gz"),
        (flawed.member_of_something_else(), "warc.gz"),
        (flawed.records_share_a_member(), "warc.gz-one-member"),
        (flawed.records_share_members_in_pairs(), "warc.gz-one-member"),
        (flawed.packed(flawed.BEFORE) + flawed.records_share_a_member(), "warc.gz-one-member"),
        (flawed.records_over_member_borders(), "warc.gz-one-member"),
        (flawed.zst(), "warc.zst"),
        (flawed.zst(dictionary=True), "warc.zst"),
        (flawed.zst(skippable=True), "warc.zst"),
        (flawed.lz4(), "warc.lz4"),
        (flawed.arc(), "arc"),
        (flawed.arc(version=2), "arc"),
        (flawed.arc(gz=True), "arc.gz"),
        (flawed.wacz(), "wacz"),
        (flawed.wacz({}), "unknown"),
        (b"", "unknown"),
        (b"<!doctype html>", "unknown"),
        (gzip.compress(b"<!doctype html>"), "unknown"),
        (b"\x28\xb5\x2f\xfdjunk", "unknown"),
        (b"\x04\x22\x4d\x18junk", "unknown"),
        (b"PK\x03\x04junk", "unknown"),
        (b"\x5d\x2a\x4d\x18", "unknown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "bytes",  # the time of packing is in some of the bytes
)
def test_a_kind_is_known_by_its_bytes(data: bytes, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "without-a-telling-name"
    path.write_bytes(data)
    assert name_of(path) == kind


def test_a_name_decides_where_the_bytes_tell_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(b"")
    assert name_of(path) == "warc"
    path.write_bytes(b"junk\n" * 9 + flawed.sound_plain())
    assert name_of(path) == "warc"


def test_a_readable_file_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(flawed.sound_gzip())
    assert make_seekable(path, WARC_GZ, tmp_path / "copy") == (path, [])
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    "data",
    [
        flawed.records_share_a_member(),
        flawed.records_over_member_borders(),
        flawed.records_over_member_borders(7),
        flawed.lz4(),
        flawed.wacz(),
        flawed.wacz({"archive/x.warc.gz": flawed.records_share_a_member()}),
    ],
)
def test_records_go_over_byte_for_byte(data: bytes, tmp_path: Path) -> None:
    records, skips = repacked(data, tmp_path)
    copy = (tmp_path / "copy.warc.gz").read_bytes()
    raw = [gzip.decompress(copy[one.offset : one.offset + one.length]) for one in records]
    assert (raw, skips) == ([flawed.BEFORE, flawed.AFTER], [])


@pytest.mark.parametrize(("dictionary", "skippable"), [(False, False), (True, False), (False, True), (True, True)])
def test_zstd_frames(dictionary: bool, skippable: bool, tmp_path: Path) -> None:
    records, skips = repacked(flawed.zst(dictionary=dictionary, skippable=skippable), tmp_path)
    assert [one.get("WARC-Target-URI") for one in records] == [f"http://{n}.example/" for n in range(40)]
    assert skips == []


def test_a_damaged_dictionary_is_named(tmp_path: Path) -> None:
    words = b"\x37\xa4\x30\xec" + flawed.noise(3000)  # begins like a dictionary, and is none
    head = b"\x5d\x2a\x4d\x18" + len(words).to_bytes(4, "little") + words
    records, skips = repacked(head + flawed.zst(), tmp_path, "x.warc.zst")
    assert (records, set(skips)) == ([], {"damaged-zstd"})


def test_a_damaged_zstd_frame_costs_what_is_near_it(tmp_path: Path) -> None:
    records, skips = repacked(flawed.damaged_zst(), tmp_path)
    urls = {one.get("WARC-Target-URI") for one in records}
    assert {f"http://{n}.example/" for n in [*range(5), *range(8, 20)]} <= urls
    assert "http://5.example/" not in urls
    assert "damaged-zstd" in skips


def test_a_damaged_member_of_many_records_costs_what_follows_in_it(tmp_path: Path) -> None:
    odd = flawed.response("http://odd.example/", flawed.noise(50000))
    member = bytearray(gzip.compress(flawed.BEFORE + odd + flawed.AFTER, mtime=0))
    member[20000:20400] = bytes(400)
    records, skips = repacked(bytes(member) + flawed.records_share_a_member(), tmp_path)
    assert [one.get("WARC-Target-URI") for one in records] == [
        "http://before.example/",
        "http://before.example/",
        "http://after.example/",
    ]
    assert skips == ["damaged-gzip", "content-length-mismatch"]


def test_the_last_record_of_a_cut_stream_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    body = flawed.noise(5000)
    odd = flawed.response("http://odd.example/", body)
    records, skips = repacked(gzip.compress(flawed.BEFORE + odd)[:3000], tmp_path)
    assert [one.get("WARC-Target-URI") for one in records] == ["http://before.example/", "http://odd.example/"]
    assert (records[1].missing_bytes, records[1].get("WARC-Truncated")) == (0, "unspecified")
    assert (flawed.HTTP + body).startswith(records[1].block)
    assert len(records[1].block) > 2500
    assert skips == ["truncated-gzip", "truncated-record"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("gz", [True, False])
def test_arc_records(version: int, gz: bool, tmp_path: Path) -> None:
    records, skips = repacked(flawed.arc(version=version, gz=gz), tmp_path)
    assert [one.type for one in records] == ["warcinfo", "response", "response"]
    first = records[1]
    assert first.get("WARC-Target-URI") == "http://first.example/a%20b"
    assert first.get("WARC-Date") == "2008-04-30T20:48:25Z"
    assert first.get("WARC-IP-Address") == "1.2.3.4"
    assert (first.get("Content-Type") or "").startswith("application/http")
    assert first.block == flawed.HTTP + b"<p>first</p>"
    assert len({one.get("WARC-Record-ID") for one in records}) == 3
    assert skips == []


@pytest.mark.parametrize(
    ("lengths", "reasons", "count"),
    [
        ((5, 0), ["content-length-mismatch"], 2),
        ((-5, 0), ["content-length-mismatch"], 2),
        ((10**6, 0), ["content-length-mismatch"], 2),
        ((-1000, 0), ["bad-content-length"], 2),
        ((0, 5), ["truncated-record"], 3),
    ],
)
def test_a_wrong_arc_length_costs_its_own_record(
    lengths: tuple[int, int], reasons: list[str], count: int, tmp_path: Path
) -> None:
    records, skips = repacked(flawed.arc(lengths=lengths), tmp_path)
    assert (len(records), skips) == (count, reasons)


@pytest.mark.parametrize(("digits", "date"), [("2016020900", "2016-02-09T00"), ("201512000000000", "2015-12-01T00")])
def test_arc_dates_of_other_lengths(digits: str, date: str, tmp_path: Path) -> None:
    records, _ = repacked(flawed.arc().replace(b"1.2.3.4 20080430204825", b"None " + digits.encode()), tmp_path)
    assert (records[1].get("WARC-Date") or "").startswith(date)
    assert records[1].get("WARC-IP-Address") is None


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    for data in (b"<html>", flawed.wacz({})):
        path.write_bytes(data)
        with pytest.raises(SourceError) as refused:
            make_seekable(path, detect_format(path), tmp_path / "copy")
        assert refused.value.action
        assert [one.name for one in tmp_path.iterdir()] == ["x.wacz"]


def test_a_damaged_file_of_a_wacz_costs_only_what_it_held(tmp_path: Path) -> None:
    odd = flawed.packed(flawed.response("http://odd.example/", flawed.noise(5000)))
    files = {"archive/a.warc.gz": flawed.packed(flawed.BEFORE) + odd, "archive/b.warc": flawed.AFTER}
    data = bytearray(flawed.wacz(files))
    at = data.find(odd) + 2000
    data[at : at + 10] = bytes(10)
    records, skips = repacked(bytes(data), tmp_path, "x.wacz")
    assert [one.get("WARC-Target-URI") for one in records] == ["http://before.example/", "http://after.example/"]
    assert skips == ["damaged-zip", "damaged-gzip"]


@pytest.mark.skipif(not SHARED, reason="WEBEMU_SHARED names no folder of shared data")
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("_derived/iana_per-record.warc.zst", 343),
        ("archivesunleashed+aut/src/test/resources/arc/example.arc.gz", 300),
        ("webrecorder+warcio/test/data/example-bad-non-chunked.warc.gz", 6),
        ("webrecorder+py-wacz/tests/fixtures/valid_example_2.wacz", 4),
        ("internetarchive+CDX-Writer/tests/small_warcs/15_digit_date.arc.gz", 2),
    ],
)
def test_shared_archives_are_copied_whole(name: str, count: int, tmp_path: Path) -> None:
    path = Path(SHARED or "", "data/warc", name)
    copy, skips = make_seekable(path, detect_format(path), tmp_path / "copy.warc.gz")
    assert (sum(isinstance(one, Record) for one in read_records(copy)), skips) == (count, [])


def entry_flaw(data: bytes, name: bytes, flags: int, method: int) -> bytes:
    """A WACZ with other flags and another method in both heads of a file."""
    flawed_data = bytearray(data)
    for signature, place, names in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        at = data.find(signature)
        while data[at + names : at + names + len(name)] != name:
            at = data.find(signature, at + 1)
        flawed_data[at + place : at + place + 4] = flags.to_bytes(2, "little") + method.to_bytes(2, "little")
    return bytes(flawed_data)


def three_files() -> bytes:
    odd = flawed.packed(flawed.response("http://odd.example/", flawed.noise(5000)))
    return flawed.wacz(
        {
            "archive/a.warc.gz": flawed.packed(flawed.BEFORE),
            "archive/b.warc.gz": odd,
            "archive/c.warc.gz": flawed.packed(flawed.AFTER),
        }
    )


def byte_flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


SOUND_WACZ = three_files()
DIRECTORY = SOUND_WACZ.find(b"PK\x01\x02")
WACZ_FLAWS = {
    "encrypted": (entry_flaw(SOUND_WACZ, b"archive/b.warc.gz", 1, 0), 2),
    "an unknown method": (entry_flaw(SOUND_WACZ, b"archive/b.warc.gz", 0, 99), 2),
    "stored said to be deflated": (entry_flaw(SOUND_WACZ, b"archive/b.warc.gz", 0, 8), 2),
    "no directory": (SOUND_WACZ[:DIRECTORY], 3),
    "a cut directory": (SOUND_WACZ[: DIRECTORY + 60], 3),
    "no end of the directory": (SOUND_WACZ[:-22], 3),
    "a directory of noise": (SOUND_WACZ[:DIRECTORY] + flawed.noise(200), 3),
    "bytes before": (flawed.noise(100) + SOUND_WACZ[:-22] + SOUND_WACZ[-22:], 3),
    "bytes inserted between": (SOUND_WACZ.replace(b"PK\x03\x04", flawed.noise(700) + b"PK\x03\x04", 4), 3),
    "a wrong signature of a file": (byte_flipped(SOUND_WACZ, SOUND_WACZ.find(b"archive/b.warc.gz") - 30), 3),
    "a wrong name of a file": (SOUND_WACZ.replace(b"archive/b", b"\xff\xfe\x00hive/b", 1), 3),
}


@pytest.mark.parametrize("name", WACZ_FLAWS)
def test_a_flaw_of_a_wacz_costs_at_most_the_file_it_is_in(name: str, tmp_path: Path) -> None:
    data, count = WACZ_FLAWS[name]
    records, skips = repacked(data, tmp_path, "x.wacz")
    urls = [one.get("WARC-Target-URI") for one in records]
    assert len(urls) == count
    assert {"http://before.example/", "http://after.example/"} <= set(urls)
    assert set(skips) <= {"damaged-zip", "truncated-zip", "junk-between-records"}
    assert "damaged-zip" in skips or (count == 3 and not skips)


def test_a_bomb_in_a_wacz_ends_at_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/a.warc", flawed.BEFORE + flawed.record(bytes(30 << 20)))
        archive.writestr("archive/b.warc", flawed.AFTER)
    monkeypatch.setattr("webemu.ingest.formats.wacz.MAX_UNPACKED", 1 << 20)
    monkeypatch.setattr("webemu.ingest.formats.wacz._MAX_RATIO", 2)
    records, skips = repacked(target.getvalue(), tmp_path, "x.wacz")
    assert records[0].get("WARC-Target-URI") == "http://before.example/"
    assert "oversized-archive" in skips
