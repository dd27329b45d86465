"""Digests of every spelling, and revisits that find what they repeat by them or by what they name."""

import base64
import hashlib
from pathlib import Path

import pytest

from tests.crawls import ingest
from tests.ingest import flawed
from tests.seeds import every_nth
from webemu.emulator.errors import PayloadError
from webemu.emulator.types import Capture, PageRequest
from webemu.emulator.world import World
from webemu.index.open import open_world
from webemu.index.payload_digests import matches_any, normalize_digest

BODY = b"<p>Boats and nets of the harbour town, in enough words to be a page of its own."
FIRST, AGAIN = "http://a.example/first", "http://b.example/again"
ID = "<urn:uuid:11111111-2222-4333-8444-555555555555>"


def spelled(name: str) -> dict[str, str]:
    """The digest of the body by one algorithm, in every spelling."""
    raw = hashlib.new(name, BODY).digest()
    size = name.removeprefix("sha")
    label = f"SHA-{size}" if name.startswith("sha") else name.upper()
    code, text = base64.b32encode(raw).decode(), base64.b64encode(raw).decode()
    return {
        f"{name} base32": f"{name}:{code}",
        f"{name} base32 without padding": f"{name}:{code.rstrip('=')}",
        f"{name} base32 in lower case": f"{name}:{code.lower()}",
        f"{name} hex": f"{name}:{raw.hex()}",
        f"{name} hex in upper case": f"{name.upper()}:{raw.hex().upper()}",
        f"{name} with a hyphen": f"{label.lower()}:{raw.hex()}",
        f"{name} with a hyphen in upper case": f"{label}:{code}",
        f"{name} with an underscore": f"{label.replace('-', '_')}: {raw.hex()}",
        f"{name} as a URN": f"urn:{name}:{code}",
        f"{name} base64": f"{name}:{text}",
        f"{name} base64 of URLs": f"{name}:{base64.urlsafe_b64encode(raw).decode().rstrip('=')}",
        f"{name} as RFC 9530": f"{label.lower()}=:{text}:",
        f"{name} without a name": code,
        f"{name} hex without a name": raw.hex(),
    }


NAMES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
SPELLINGS = [(name, text) for name in NAMES for text in spelled(name).values()]


@pytest.mark.parametrize(("name", "text"), SPELLINGS)
def test_every_spelling_is_one_digest(name: str, text: str) -> None:
    code = base64.b32encode(hashlib.new(name, BODY).digest()).decode()
    assert normalize_digest(text) == normalize_digest(f" {text} ") == f"{name}:{code.rstrip('=')}"
    assert matches_any(text, [b"", BODY]) is True
    assert matches_any(text, [b""]) is False


@pytest.mark.parametrize(
    "text",
    ["", "sha1:", "sha1", ":", "sha1:ABC", "sha1:" + "!" * 32, "blake3:abcd", "crc32:1234", "sha1:\xff", "=" * 99],
)
def test_what_cannot_be_read_is_equal_to_itself_alone(text: str) -> None:
    assert normalize_digest(text) == text
    assert matches_any(text, [BODY]) is (False if text in ("sha1:ABC", "sha1:" + "!" * 32, "sha1:\xff") else None)


def record(
    url: str,
    body: bytes,
    day: int,
    warc: dict[str, str],
    kind: str = "response",
    status: str = "200 OK",
    more: str = "",
) -> bytes:
    """A record whose WARC headers are as stated."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n{more}\r\n".encode()
    fields = {"Content-Type": "application/http; msgtype=response", **warc}
    data = flawed.record(head + body, kind, url, headers=tuple(fields.items()))
    data = data.replace(b"2024-11-30T12:00:00Z", f"2024-01-{day:02d}T12:00:00Z".encode(), 1)
    lines = [line for line in data.split(b"\r\n") if not ("WARC-Record-ID" in warc and b"-8000-" in line)]
    return flawed.packed(b"\r\n".join(lines))


MORE = record("http://c.example/", b"<p>Another page altogether.", 9, {})


def write_archive(path: Path, *records: bytes) -> Path:
    path.write_bytes(b"".join(records))
    return path


def revisited(folder: Path, original: dict[str, str], revisit: dict[str, str]) -> tuple[Capture, bytes]:
    """Return the payloads that answer a revisit, from one file and from two, which must be the same."""
    records = [record(FIRST, BODY, 10, {"WARC-Record-ID": ID, **original}), MORE]
    again = record(AGAIN, b"", 20, revisit, "revisit")
    ingest(folder / "one", write_archive(folder / "one.warc.gz", *records, again))
    ingest(folder / "two", write_archive(folder / "a.warc.gz", *records), write_archive(folder / "b.warc.gz", again))
    worlds = [open_world(folder / name) for name in ("one", "two")]
    answers = {
        (opened(world).digest, opened(world).status, world.payload(PageRequest(AGAIN))[1].body) for world in worlds
    }
    assert len(answers) == 1
    for world in worlds:
        for view in ("text", "html", "markdown", "links"):
            assert "Boats and nets" in world.fetch(PageRequest(AGAIN, view)).content
    return opened(worlds[0]), worlds[0].payload(PageRequest(AGAIN))[1].body


def opened(world: World) -> Capture:
    return world.payload(PageRequest(AGAIN))[0]


REFERS = {"WARC-Refers-To-Target-URI": FIRST, "WARC-Refers-To-Date": "2024-01-10T12:00:00Z"}
STATED = spelled("sha256")
SHA1 = {"WARC-Payload-Digest": spelled("sha1")["sha1 base32"]}
OTHER = {"WARC-Payload-Digest": "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}


@pytest.mark.parametrize(
    ("original", "revisit"),
    [
        (STATED["sha256 hex"], STATED["sha256 with a hyphen"]),
        (STATED["sha256 with a hyphen"], STATED["sha256 base32 without padding"]),
        (STATED["sha256 base64"], STATED["sha256 hex in upper case"]),
        (spelled("sha1")["sha1 base32"], spelled("sha1")["sha1 hex"]),
        (spelled("sha1")["sha1 hex without a name"], spelled("sha1")["sha1 base32 in lower case"]),
    ],
)
def test_a_revisit_is_resolved_by_a_digest_spelled_otherwise(tmp_path: Path, original: str, revisit: str) -> None:
    stated = {"WARC-Payload-Digest": original}, {"WARC-Payload-Digest": revisit}
    capture, body = revisited(tmp_path, *stated)
    assert (capture.kind, capture.status, capture.digest, body) == ("revisit", 200, original, BODY)


@pytest.mark.parametrize(
    "names",
    every_nth(
        [
            REFERS,
            {**REFERS, "WARC-Refers-To-Target-URI": f"<{FIRST}>"},
            {**REFERS, "WARC-Refers-To-Date": "2024-01-10T12:00:00.123456789Z"},
            {**REFERS, "WARC-Refers-To-Date": "20240110120000"},
            {"WARC-Refers-To": ID},
            {"WARC-Refers-To": ID.strip("<>")},
            {"WARC-Refers-To": ID, "WARC-Refers-To-Target-URI": FIRST, "WARC-Refers-To-Date": "2024-01-11"},
        ],
        2,
    ),
)
def test_what_a_revisit_names_wins_over_a_digest_that_is_not_found(tmp_path: Path, names: dict[str, str]) -> None:
    capture, body = revisited(tmp_path, SHA1, {**OTHER, **names})
    assert (capture.digest, body) == (SHA1["WARC-Payload-Digest"], BODY)


def test_a_digest_that_is_found_wins_over_another_that_is_named(tmp_path: Path) -> None:
    names = {"WARC-Refers-To-Target-URI": "http://c.example/", "WARC-Refers-To-Date": "2024-01-09T12:00:00Z"}
    assert revisited(tmp_path, SHA1, {**SHA1, **names})[1] == BODY


def test_an_unmodified_page_is_the_one_before_whatever_its_digest(tmp_path: Path) -> None:
    """Heritrix states the digest of no bytes; redirects have it too."""
    empty = {"WARC-Payload-Digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"}
    moved = record("http://c.example/moved", b"", 1, empty, status="301 Moved", more="Location: /\r\n")
    again = record(FIRST, b"", 20, empty, "revisit", "304 Not Modified")
    ingest(tmp_path / "c", write_archive(tmp_path / "c.warc.gz", moved, record(FIRST, BODY, 10, SHA1), again))
    capture, payload = open_world(tmp_path / "c").payload(PageRequest(FIRST))
    assert (capture.kind, capture.status, payload.status, payload.body) == ("revisit", 200, 200, BODY)


def test_a_revisit_of_nothing_says_so(tmp_path: Path) -> None:
    again = record(AGAIN, b"", 20, {**OTHER, **REFERS, "WARC-Refers-To": ID}, "revisit")
    ingest(tmp_path / "c", write_archive(tmp_path / "c.warc.gz", MORE, again))
    with pytest.raises(PayloadError, match="not in the crawl"):
        open_world(tmp_path / "c").payload(PageRequest(AGAIN))
