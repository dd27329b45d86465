"""Digests are verified: what is not as it was written is counted, and kept."""

import base64
import gzip
import hashlib
from pathlib import Path

import pytest

from tests.crawls import ingest
from tests.ingest import flawed
from webemu.emulator.types import PageRequest
from webemu.index.open import open_world
from webemu.ingest.capture import read_capture
from webemu.ingest.readers import read_records
from webemu.ingest.record_metadata import RequestMetadata
from webemu.ingest.records import Record

BODY = b"<title>Boats</title><p>Boats and nets of the harbour town, in enough words to be a page of its own.</p>"
URL = "http://a.example/"


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def drops(folder: Path, data: bytes) -> list[str]:
    path = folder / "one.warc"
    path.write_bytes(data)
    [record] = (one for one in read_records(path) if isinstance(one, Record))
    capture = read_capture(record, RequestMetadata(), None)
    assert capture.row is not None
    assert record.type == "revisit" or capture.page is not None
    return [reason for reason, _ in capture.drops]


def stated(body: bytes, http: bytes = flawed.HTTP, kind: str = "response", **digests: str) -> bytes:
    names = {"block": "WARC-Block-Digest", "payload": "WARC-Payload-Digest", "truncated": "WARC-Truncated"}
    headers = tuple((names[name], text) for name, text in digests.items())
    if kind == "resource":
        return flawed.record(body, kind, URL, headers=(("Content-Type", "text/html"), *headers))
    return flawed.response(URL, body, http, headers=headers).replace(
        b"response\r\nWARC-R", kind.encode() + b"\r\nWARC-R"
    )


CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
CHUNKED_HTTP = flawed.HTTP[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
PACKED = gzip.compress(BODY, mtime=0)
PACKED_HTTP = flawed.HTTP[:-2] + b"Content-Encoding: gzip\r\n\r\n"
PACKED_CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PACKED), PACKED)
BOTH_HTTP = PACKED_HTTP[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
SOUND = {
    "none": stated(BODY),
    "both": stated(BODY, block=sha1(flawed.HTTP + BODY), payload=sha1(BODY)),
    "another spelling": stated(BODY, payload="SHA-256:" + hashlib.sha256(BODY).hexdigest().upper()),
    "an algorithm that is not known": stated(BODY, block="blake3:00", payload="crc32:1"),
    "no digest": stated(BODY, block="sha1:", payload=""),
    "chunks as transferred": stated(CHUNKED, CHUNKED_HTTP, payload=sha1(CHUNKED)),
    "chunks taken away": stated(CHUNKED, CHUNKED_HTTP, payload=sha1(BODY)),
    "gzip as transferred": stated(PACKED, PACKED_HTTP, payload=sha1(PACKED)),
    "gzip taken away": stated(PACKED, PACKED_HTTP, payload=sha1(BODY)),
    "gzip in chunks as transferred": stated(PACKED_CHUNKS, BOTH_HTTP, payload=sha1(PACKED_CHUNKS)),
    "gzip without its chunks": stated(PACKED_CHUNKS, BOTH_HTTP, payload=sha1(PACKED)),
    "gzip and chunks taken away": stated(PACKED_CHUNKS, BOTH_HTTP, payload=sha1(BODY)),
    "the block": stated(BODY, payload=sha1(flawed.HTTP + BODY)),
    "a resource": stated(BODY, kind="resource", block=sha1(BODY), payload=sha1(BODY)),
    "cut by the crawler": stated(BODY, block=sha1(b"more"), payload=sha1(b"more"), truncated="length"),
    "a revisit, whose payload is elsewhere": stated(b"", kind="revisit", payload=sha1(BODY)),
}
DAMAGED = {
    "a payload": stated(BODY, payload=sha1(b"other")),
    "a block": stated(BODY, block=sha1(b"other")),
    "a block, not the payload": stated(BODY, block=sha1(b"other"), payload=sha1(BODY)),
    "a payload, not the block": stated(BODY, block=sha1(flawed.HTTP + BODY), payload=sha1(b"other")),
    "a spelling": stated(BODY, payload="SHA-256:" + hashlib.sha256(b"other").hexdigest()),
    "a flipped bit": stated(BODY, block=sha1(flawed.HTTP + BODY), payload=sha1(BODY)).replace(
        b"Boats and", b"Goats and"
    ),
    "a flipped bit in gzip": stated(PACKED, PACKED_HTTP, payload=sha1(PACKED[:-1] + b"!")),
    "a text that is no digest": stated(BODY, payload="sha1:WRONG"),
    "a resource": stated(BODY, kind="resource", payload=sha1(b"other")),
    "a revisit": stated(b"", kind="revisit", block=sha1(b"other")),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_as_it_was_written_is_not_counted(tmp_path: Path, name: str) -> None:
    assert drops(tmp_path, SOUND[name]) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_not_as_it_was_written_is_counted_and_kept(tmp_path: Path, name: str) -> None:
    assert drops(tmp_path, DAMAGED[name]) == ["digest-mismatch"]


def test_a_damaged_page_is_served_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "flipped.warc"
    path.write_bytes(flawed.BEFORE + DAMAGED["a flipped bit"] + flawed.AFTER)
    report = ingest(tmp_path / "c", path)
    assert (report.captures, report.drops) == (3, {"digest-mismatch": 1})
    world = open_world(tmp_path / "c")
    assert "Goats and nets" in world.fetch(PageRequest(URL, "markdown")).content
    assert world.payload(PageRequest(URL))[1].body == BODY.replace(b"Boats and", b"Goats and")
