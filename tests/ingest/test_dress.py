"""Heads in unusual dress that other readers take: what they read, we read."""

from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from tests.ingest import flawed
from tests.ingest.containers import account
from webemu.emulator.types import PageRequest
from webemu.index.open import open_world
from webemu.ingest.run import run
from webemu.ingest.sources import Source

PAGE = flawed.HTTP + b"<p>some words of a page</p>"


def by_warcio(path: Path) -> list[tuple[str | None, bytes]]:
    with path.open("rb") as file:
        return [
            (one.rec_headers.get_header("WARC-Target-URI"), one.content_stream().read())
            for one in ArchiveIterator(file, arc2warc=True)
            if one.rec_type == "response"
        ]


def by_us(data: bytes, folder: Path, name: str = "file") -> list[tuple[str | None, bytes]]:
    result = account(data, folder, name)
    return [
        (one.get("WARC-Target-URI"), one.block.partition(b"\r\n\r\n")[2])
        for one in result.records
        if one.type == "response"
    ]


def carriage_returns(*, http: bool = False) -> list[bytes]:
    """Return the line ends that a text mode made in the heads of records, with `http` in those of answers too."""
    block = PAGE.replace(b"\r\n", b"\r\r\n") if http else PAGE
    return [flawed.record(block, "response", f"http://{name}.example/", line=b"\r\r\n", headers=TYPE) for name in "abc"]


TYPE = (("Content-Type", "application/http; msgtype=response"),)


@pytest.mark.parametrize("packed", [False, True])
def test_heads_that_end_in_two_carriage_returns(packed: bool, tmp_path: Path) -> None:
    data = flawed.packed(*carriage_returns()) if packed else b"".join(carriage_returns())
    path = tmp_path / "x.warc"
    path.write_bytes(data)
    expected = by_warcio(path)
    assert len(expected) == 3
    assert by_us(data, tmp_path) == expected


@pytest.mark.parametrize("http", [False, True])
def test_such_pages_are_served(http: bool, tmp_path: Path) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(b"".join(carriage_returns(http=http)))
    report = run([Source(path, path.name)], tmp_path / "c", 1, quiet=True)
    assert (report.captures, report.pages, report.drops) == (3, 3, {})
    world = open_world(tmp_path / "c")
    for name in "abc":
        _, payload = world.payload(PageRequest(f"http://{name}.example/", "raw"))
        assert (payload.status, payload.body) == (200, b"<p>some words of a page</p>")


INFO = b"1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n"
USUAL = b"http://%s.example/ 1.2.3.4 20080430204825 text/html %d"


def arc(line: bytes, *, info: bytes = INFO, end: bytes = b"\n", between: bytes = b"\n") -> bytes:
    """A file head and three pages, of which the second has an odd line."""
    arc_lines = [b"filedesc://file.arc 0.0.0.0 20080430204825 text/plain %d" % len(info) + end + info + between]
    for name, form in ((b"a", USUAL), (b"b", line), (b"c", USUAL)):
        arc_lines.append(form % (name, len(PAGE)) + end + PAGE + between)
    return b"".join(arc_lines)


ODD_LINES = {
    "no address": b"http://%s.example/  20080430204825 text/html %d",
    "no address, no blank": b"http://%s.example/ 20080430204825 text/html %d",
    "a dash as address": b"http://%s.example/ - 20080430204825 text/html %d",
    "a name as address": b"http://%s.example/ localhost 20080430204825 text/html %d",
    "an address of IPv6": b"http://%s.example/ 2001:db8::1 20080430204825 text/html %d",
    "no type": b"http://%s.example/ 1.2.3.4 20080430204825  %d",
    "no type, no blank": b"http://%s.example/ 1.2.3.4 20080430204825 %d",
    "a dash as type": b"http://%s.example/ 1.2.3.4 20080430204825 - %d",
    "a type with a parameter": b"http://%s.example/ 1.2.3.4 20080430204825 text/html; charset=utf-8 %d",
    "a dash as date": b"http://%s.example/ 1.2.3.4 - text/html %d",
    "no date": b"http://%s.example/ 1.2.3.4 text/html %d",
    "nothing but dashes": b"http://%s.example/ - - - %d",
    "a date of 8 digits": b"http://%s.example/ 1.2.3.4 20080430 text/html %d",
    "blanks at the end": b"http://%s.example/ 1.2.3.4 20080430204825 text/html %d  ",
    "two blanks each": b"http://%s.example/  1.2.3.4  20080430204825  text/html  %d",
    "tabs": b"http://%s.example/\t1.2.3.4\t20080430204825\ttext/html\t%d",
    "upper case": b"HTTP://%s.example/ 1.2.3.4 20080430204825 text/html %d",
    "no scheme": b"%s.example/ 1.2.3.4 20080430204825 text/html %d",
    "version 2": b"http://%s.example/ 1.2.3.4 20080430204825 text/html 200 - - 0 file.arc %d",
    "version 2, far into a file": b"http://%s.example/ 1.2.3.4 20080430204825 text/html 200 - - 20123456 file.arc %d",
    "version 2, with dashes": b"http://%s.example/ - 20080430204825 - - - - 123456789 - %d",
    "blanks and digits in the URL": b"http://%s.example/ 20010101 x 1.2.3.4 20080430204825 text/html %d",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ODD_LINES)
def test_odd_lines_of_arc(name: str, packed: bool, tmp_path: Path) -> None:
    data = arc(ODD_LINES[name])
    data = flawed.packed(data) if packed else data
    texts = by_us(data, tmp_path)
    assert [body for _, body in texts] == [b"<p>some words of a page</p>"] * 3
    assert [(url or "").lower().removeprefix("http://")[:10] for url, _ in texts] == [
        "a.example/", "b.example/", "c.example/",
    ]  # fmt: skip
    path = tmp_path / "x.arc"
    path.write_bytes(data)
    try:
        expected = by_warcio(path)
    except ArchiveLoadFailed:
        return  # of a line with another number of blanks
    assert len(expected) <= len(texts)


ODD_FILES = {
    "line ends of two bytes": arc(USUAL, end=b"\r\n", between=b"\r\n"),
    "line ends of three bytes": arc(USUAL, end=b"\r\r\n", between=b"\r\r\n"),
    "no line ends between": arc(USUAL, between=b""),
    "many line ends between": arc(USUAL, between=b"\n\n\n\n"),
    "no version block": arc(USUAL, info=b""),
    "a version block of XML": arc(USUAL, info=b"1 1 InternetArchive\nURL ...\n<arcmetadata>\n</arcmetadata>\n"),
    "another order stated": arc(USUAL, info=b"2 0 x\nURL Archive-length IP-address\n\n"),
    "no file head": arc(USUAL).partition(INFO)[2].lstrip(b"\n"),
    "a wrong length of the file head": arc(USUAL).replace(b"text/plain %d" % len(INFO), b"text/plain 7"),
    "no address in the file head": arc(USUAL).replace(b"0.0.0.0 ", b""),
    "no date in the file head": arc(USUAL).replace(b"0.0.0.0 20080430204825", b"0.0.0.0"),
    "line ends before the file head": b"\n\r\n" + arc(USUAL),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_files_of_arc(name: str, packed: bool, tmp_path: Path) -> None:
    data = flawed.packed(ODD_FILES[name]) if packed else ODD_FILES[name]
    assert [url for url, _ in by_us(data, tmp_path)] == [f"http://{one}.example/" for one in "abc"]


def test_an_arc_of_records_that_cannot_be_read_is_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.arc"
    path.write_bytes(b"http://a.example/ 1.2.3.4 20140401000000 text/html -1\n\n" * 3)
    report = run([Source(path, path.name)], tmp_path / "c", 1, quiet=True)
    assert report.drops == {"bad-content-length": 3}
    assert report.without_records == [("x.arc", "bad-content-length")]


@pytest.mark.parametrize("packing", ["", "one member", "members"])
@pytest.mark.parametrize("lines", [b"\n", b"\r\n"])
def test_a_file_whose_carriage_returns_were_removed(packing: str, lines: bytes, tmp_path: Path) -> None:
    body = b"<p>one" + lines + b"two" + lines + b"three</p>"
    records = [flawed.response(f"http://{name}.example/", body) for name in "abc"]
    plain = b"".join(records).replace(b"\r\n", b"\n")
    data = {"": plain, "one member": flawed.packed(plain), "members": flawed.packed(*_split(plain))}[packing]
    path = tmp_path / "x.warc"
    path.write_bytes(data)
    report = run([Source(path, path.name)], tmp_path / "c", 1, quiet=True)
    assert (report.captures, report.pages, report.drops) == (3, 3, {})
    world = open_world(tmp_path / "c")
    for name in "abc":
        _, payload = world.payload(PageRequest(f"http://{name}.example/", "raw"))
        assert payload.body.strip() == b"<p>one\ntwo\nthree</p>"


def _split(plain: bytes) -> list[bytes]:
    return [b"WARC/1.0" + part for part in plain.split(b"WARC/1.0")[1:]]


def test_a_length_that_is_wrong_otherwise_is_still_a_mismatch(tmp_path: Path) -> None:
    odd = flawed.record(b"a\nb\nc\n", "conversion", "http://b.example/", line=b"\n", length="12")
    data = flawed.BEFORE + odd + flawed.AFTER
    result = account(data, tmp_path, "x.warc")
    assert ([skip.reason for skip in result.skips], len(result.records)) == (["content-length-mismatch"], 2)
