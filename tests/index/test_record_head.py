"""Record heads of odd bytes are read in one way: what was ingested is found and opened in every view."""

from pathlib import Path

import pytest

from tests.crawls import ingest
from tests.ingest import flawed
from webemu.emulator.types import PageRequest
from webemu.index.catalog import Catalog
from webemu.index.open import open_world

BODY = b"<title>Boats</title><p>Boats and nets of the harbour town, in enough words to be a page of its own.</p>"
TARGETS = {
    "bytes that are no UTF-8": b"http://a.example/\xff\xfe",
    "UTF-8": "http://a.example/m\u00fcnchen/\u6771\u4eac?q=\u00e4".encode(),
    "Latin-1": "http://a.example/m\u00fcnchen".encode("latin-1"),
    "a cut character": "http://a.example/\u6771".encode()[:-1],
    "every byte": b"http://a.example/" + bytes(set(range(256)) - {10, 13, 35}),
    "a carriage return": b"http://a.example/one\rtwo",
    "carriage returns at the end": b"http://a.example/end\r\r",
    "tabs": b"\thttp://a.example/a\tb\t",
    "blanks": b"   http://a.example/a b   ",
    "a form feed": b"\x0c\x1fhttp://a.example/feed\x1f\x0c",
    "brackets": b"<http://a.example/brackets>",
    "brackets and blanks": b" < http://a.example/inner > ",
    "brackets and odd bytes": b"<http://a.example/\xe9\xff>",
    "an open bracket": b"<http://a.example/open",
    "a folded line": b"http://a.example/folded\r\n /line",
    "percent signs": b"http://a.example/%FF%fe/%zz%/%25?a=%&b=%E4",
    "a fragment": b"http://a.example/fragment#\xff",
    "a host of another script": "http://b\u00fccher.example/".encode(),
    "a host in Punycode": b"http://xn--bcher-kva.example/p",
    "a host of odd bytes": b"http://\xff\xfe.example/",
    "no host": b"http:///nothing",
    "an open host": b"http://[::1/x",
    "a port that is none": b"http://a.example:99999/x",
    "a user": b"http://user:p\xe4ss@a.example/user",
    "upper case": b"HTTP://A.EXAMPLE/Case",
    "backslashes": b"http:\\\\a.example\\back",
    "a lone surrogate": b"http://a.example/\xed\xa0\x80",
    "a mark of byte order": b"\xef\xbb\xbfhttp://a.example/bom",
    "a no-break space": "\u00a0http://a.example/space\u00a0".encode(),
    "very long": b"http://a.example/" + b"x\xe9" * 9_000,
}


def head(target: bytes, *lines: bytes) -> bytes:
    """A plain response record with these bytes in its head."""
    block = flawed.HTTP + BODY
    fields = (b"WARC-Type: response", b"WARC-Date: 2024-11-30T12:00:00Z", *lines, b"WARC-Target-URI: " + target)
    fields += (b"Content-Type: application/http; msgtype=response", b"Content-Length: %d" % len(block))
    return b"WARC/1.0\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + block + b"\r\n\r\n"


def opened(folder: Path, data: bytes) -> list[str]:
    """URLs of the captures of a file, after each was opened in every view."""
    path = folder / ("odd.warc.gz" if data.startswith(b"\x1f\x8b") else "odd.warc")
    path.write_bytes(data)
    assert ingest(folder / "c", path).failed == []
    with Catalog(folder / "c", read_only=True) as catalog:
        urls = [url for (url,) in catalog.db.execute("SELECT url FROM captures ORDER BY ALL").fetchall()]
    world = open_world(folder / "c")
    for url in urls:
        if not url.startswith(("http://", "https://")):
            continue
        for view in ("text", "html", "markdown", "links"):
            assert "Boats and nets" in world.fetch(PageRequest(url, view)).content, url
        capture, payload = world.payload(PageRequest(url, "raw"))
        assert (capture.url, payload.body) == (url, BODY)
    return urls


@pytest.mark.parametrize("is_packed", [False, True])
def test_every_target_is_opened_as_it_was_ingested(tmp_path: Path, is_packed: bool) -> None:
    records = [head(target) for target in TARGETS.values()]
    urls = opened(tmp_path, flawed.packed(*records) if is_packed else b"".join(records))
    assert len(urls) == len(TARGETS)
    assert {"http://a.example/%C3%BF%C3%BE", "http://a.example/onetwo", "http://a.example/brackets"} <= set(urls)


LINES = (
    b"WARC-Payload-Digest: sha1:\xff\xfe",
    b"WARC-Payload-Digest: sha1:A\rB",
    b"WARC-Payload-Digest:\t sha1:ABC \t",
    b"warc-payload-digest : sha1:ABC",
    b"WARC-Payload-Digest: sha1:\r\n ABC",
    b"WARC-Payload-Digest:",
    b"WARC-Payload-Digest: sha1:A\r\nWARC-Payload-Digest: sha1:B",
    b"WARC-Payload-Digest: \xc2\xa0sha1:ABC\xc2\xa0",
    b"X-Comment: caf\xe9",
    b"X-Comment: caf\xc3\xa9\xff",
    b"no colon in this line\xff",
    b": no name",
    b"X-\xff\xfe: 1\rContent-Length: 3",
    b"X-Zero: \x00\x0b",
)


@pytest.mark.parametrize("is_packed", [False, True])
def test_every_header_is_compared_as_it_was_ingested(tmp_path: Path, is_packed: bool) -> None:
    records = [
        head(f"http://{name}.example/{number}".encode(), line)
        for number, line in enumerate(LINES)
        for name in ("a", "m\u00fcnchen")
    ]
    urls = opened(tmp_path, flawed.packed(*records) if is_packed else b"".join(records))
    assert len(urls) == len(records)


def test_the_kind_of_a_record_is_read_in_any_case(tmp_path: Path) -> None:
    plain = head(b"http://a.example/plain")
    records = [plain.replace(b"response\r\nWARC-Date", b"RESPONSE\r\nWARC-Date").replace(b"/plain", b"/type")]
    records.append(plain.replace(b"application/http; msg", b"Application/HTTP;msg").replace(b"/plain", b"/content"))
    records.append(plain.replace(b"WARC-Type: response", b"WARC-Type: resource").replace(b"/plain", b"/resource"))
    assert len(opened(tmp_path, b"".join(records))) == 3


def test_arc_urls_are_read_as_those_of_warc(tmp_path: Path) -> None:
    block = flawed.HTTP + BODY
    lines = [b"%s 1.2.3.4 20241130120000 text/html %d\n" % (TARGETS[name], len(block)) for name in ("Latin-1", "UTF-8")]
    arc = b"".join(line + block + b"\n" for line in lines)
    info = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    first = b"filedesc://x.arc 0.0.0.0 20241130120000 text/plain %d\n" % len(info)
    assert opened(tmp_path, first + info + b"\n" + arc) == [
        "http://a.example/m%C3%BCnchen",
        "http://a.example/m%C3%BCnchen/%E6%9D%B1%E4%BA%AC?q=%C3%A4",
    ]
