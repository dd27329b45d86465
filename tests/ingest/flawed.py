"""Tiny archives named for their flaw: plain functions that make bytes, for every test that reads archives.

`record` and `response` make sound records; the functions below them make one flawed file each, with two sound
records ("before" and "after" in their URLs) around the flaw where there is room for them.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import random
import zipfile
import zlib
from collections.abc import Sequence

import zstandard
from fastwarc.stream_io import Lz4Writer

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def record(
    block: bytes = b"",
    kind: str = "resource",
    url: str = "http://a.example/",
    *,
    headers: tuple[tuple[str, str], ...] = (),
    version: bytes = b"WARC/1.0",
    length: str | None = None,
    digest: bool = False,
    line: bytes = b"\r\n",
    tail: bytes | None = None,
) -> bytes:
    """One uncompressed WARC record; `length` overrides Content-Length, `tail` the two line ends."""
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<urn:uuid:00000000-0000-4000-8000-{zlib.crc32(url.encode() + block):012d}>"),
        ("WARC-Date", "2024-11-30T12:00:00Z"),
        ("WARC-Target-URI", url),
        *([("WARC-Block-Digest", sha1(block))] if digest else []),
        *headers,
        ("Content-Length", str(len(block)) if length is None else length),
    ]
    head = line.join([version, *(f"{name}: {value}".encode("latin-1") for name, value in fields), b"", b""])
    return head + block + (2 * line if tail is None else tail)


def sha1(block: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(block).digest()).decode()


def response(
    url: str = "http://a.example/", body: bytes = b"<p>Hello</p>", http: bytes = HTTP, **options: object
) -> bytes:
    """A response record; `rest` as for `record`, with headers added to its Content-Type."""
    headers = (("Content-Type", "application/http; msgtype=response"), *options.pop("headers", ()))  # type: ignore[misc]
    return record(http + body, "response", url, headers=headers, **options)  # type: ignore[arg-type]


BEFORE = response("http://before.example/")
AFTER = response("http://after.example/")


def packed(*records: bytes) -> bytes:
    """Per-record gzip, as Common Crawl and Heritrix write it."""
    return b"".join(gzip.compress(one, mtime=0) for one in records)


def noise(size: int, seed: int = 1) -> bytes:
    """Bytes that do not compress."""
    return random.Random(seed).randbytes(size)


# Files whose every record is sound, in unusual dress.


def sound_gzip() -> bytes:
    return packed(BEFORE, AFTER)


def sound_plain() -> bytes:
    return BEFORE + AFTER


def bare_line_feeds(*, gz: bool = True) -> bytes:
    odd = record(b"line feeds", url="http://odd.example/", line=b"\n")
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def old_and_new_versions() -> bytes:
    return packed(*(record(b"x", version=b"WARC/" + v) for v in (b"0.17", b"0.18", b"1.0", b"1.1")))


def lower_case_heads() -> bytes:
    head, _, remainder = response("http://odd.example/").partition(b"\r\n\r\n")
    return BEFORE + head.lower() + b"\r\n\r\n" + remainder + AFTER


def repeated_headers() -> bytes:
    protocols = (("WARC-Protocol", "h2"), ("WARC-Protocol", "tls/1.3"), ("WARC-Cipher-Suite", "TLS_AES_128_GCM_SHA256"))
    return packed(BEFORE, response("http://odd.example/", headers=protocols), AFTER)


def non_ascii_headers() -> bytes:
    utf8 = record(b"utf-8", url="http://odd.example/\xc3\xa9")
    latin1 = record(b"latin-1", url="http://odd.example/\xe9\xff")
    return packed(BEFORE, utf8, latin1, AFTER)


def folded_header() -> bytes:
    return packed(BEFORE, record(b"x", headers=(("X-Note", "one\r\n  two"),)), AFTER)


def header_without_colon() -> bytes:
    return packed(BEFORE, record(b"x").replace(b"WARC-Date", b"no colon here\r\nWARC-Date"), AFTER)


def missing_line_ends(*, gz: bool = True) -> bytes:
    odd = record(b"no line ends after me", url="http://odd.example/", tail=b"")
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def too_many_line_ends(*, gz: bool = True) -> bytes:
    odd = record(b"x", url="http://odd.example/", tail=b"\r\n" * 9)
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def line_ends_before_the_head() -> bytes:
    return packed(BEFORE, b"\r\n\r\n" + record(b"x", url="http://odd.example/"), AFTER)


def wrong_digest() -> bytes:
    return packed(BEFORE, record(b"x", url="http://odd.example/", headers=(("WARC-Block-Digest", "sha1:AAAA"),)), AFTER)


def payload_that_looks_like_records() -> bytes:
    """A captured WARC file: its records are content."""
    return BEFORE + record(sound_plain(), url="http://odd.example/x.warc") + AFTER


# Files with a loss, each between two sound records.


def empty() -> bytes:
    return b""


def empty_members() -> bytes:
    return packed(b"", BEFORE, b"", b"", AFTER, b"")


def junk_between_members() -> bytes:
    return packed(BEFORE) + b"JUNK" * 10 + packed(AFTER)


def junk_with_gzip_magic() -> bytes:
    return packed(BEFORE) + b"\x1f\x8b\x08\x00" * 10 + packed(AFTER)


def junk_between_plain_records() -> bytes:
    return BEFORE + b"JUNK\r\n" * 10 + AFTER


def zeros_at_the_end() -> bytes:
    return sound_gzip() + bytes(512)


def member_of_something_else() -> bytes:
    return packed(BEFORE, b"<html>not a record</html>", AFTER)


def length_too_long(*, gz: bool = True) -> bytes:
    odd = record(b"short", url="http://odd.example/", length="50")
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def length_too_short(*, gz: bool = True) -> bytes:
    odd = record(b"longer than its head says", url="http://odd.example/", length="6")
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def length(text: str, *, gz: bool = True) -> bytes:
    odd = record(b"x", url="http://odd.example/", length=text)
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def length_missing() -> bytes:
    return packed(BEFORE, record(b"x", length="1").replace(b"Content-Length: 1\r\n", b""), AFTER)


def lengths_that_differ() -> bytes:
    return packed(BEFORE, record(b"hello", headers=(("Content-Length", "2"),)), AFTER)


def lengths_that_differ_in_case() -> bytes:
    return packed(BEFORE, record(b"hello", headers=(("content-length", "2"),)), AFTER)


def head_without_end() -> bytes:
    odd = record(b"", url="http://odd.example/", tail=b"").replace(b"\r\n\r\n", b"\r\n")
    return BEFORE + odd + AFTER


def endless_head(size: int = 100 << 20, *, gz: bool = True) -> bytes:
    """One header of `size` bytes; packed it is small."""
    odd = record(b"x", url="http://odd.example/", headers=(("X-Long", "a" * size),))
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def damaged_member() -> bytes:
    """Bytes flipped in the middle of a member whose payload does not compress."""
    odd = bytearray(packed(response("http://odd.example/", noise(5000))))
    odd[2000:2010] = bytes(10)
    return packed(BEFORE) + bytes(odd) + packed(AFTER)


def cut_member_in_the_middle() -> bytes:
    return packed(BEFORE) + packed(response("http://odd.example/", noise(5000)))[:3000] + packed(AFTER)


def cut_at_the_end(keep: int, *, gz: bool = True) -> bytes:
    """The last record has so many bytes left."""
    last = response("http://after.example/", noise(5000))
    return packed(BEFORE) + packed(last)[:keep] if gz else BEFORE + last[:keep]


def large_block(size: int, *, gz: bool = True) -> bytes:
    odd = record(b"\0" * size, url="http://odd.example/")
    return packed(BEFORE, odd, AFTER) if gz else BEFORE + odd + AFTER


def bomb(size: int) -> bytes:
    """A member that says it holds little and inflates to `size` bytes."""
    return packed(BEFORE, record(b"x", url="http://odd.example/", tail=b"\0" * size), AFTER)


def records_share_a_member() -> bytes:
    return gzip.compress(BEFORE + AFTER, mtime=0)


def records_share_members_in_pairs() -> bytes:
    third = response("http://third.example/")
    return gzip.compress(BEFORE + AFTER, mtime=0) + gzip.compress(third, mtime=0)


def records_over_member_borders(step: int = 100, records: Sequence[bytes] = ()) -> bytes:
    """Blocks of gzip wherever they fall, as bgzip and pigz -i make them."""
    text = b"".join(records) or sound_plain()
    return packed(*(text[at : at + step] for at in range(0, len(text), step)))


# Other containers.


def zst(*, dictionary: bool = False, skippable: bool = False) -> bytes:
    """Per-record frames; with a compressed dictionary frame in front, and frames of no content between."""
    records = [response(f"http://{n}.example/", b"<p>page %d</p>" % n * 20) for n in range(40)]
    head, options = b"", {}
    if dictionary:
        words = zstandard.ZstdCompressionDict(b"".join(records[:10]))
        content = zstandard.compress(words.as_bytes())
        head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
        options = {"dict_data": words}
    gap = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello" if skippable else b""
    packer = zstandard.ZstdCompressor(**options)
    return head + b"".join(gap + packer.compress(one) for one in records)


def damaged_zst() -> bytes:
    frames = [zstandard.compress(response(f"http://{n}.example/", noise(20000, n))) for n in range(20)]
    odd = bytearray(frames[5])
    odd[300:320] = b"\xff" * 20
    return b"".join([*frames[:5], bytes(odd)[: len(odd) // 2], *frames[6:]])


def lz4() -> bytes:
    target = io.BytesIO()
    writer = Lz4Writer(target)
    writer.write(sound_plain())
    writer.close()
    return target.getvalue()


def arc(*, version: int = 1, gz: bool = False, lengths: tuple[int, ...] = (0, 0)) -> bytes:
    """A file head and two pages; `lengths` is added to what their lines state."""
    version_fields = {1: "text/html", 2: "text/html 200 - - 0 file.arc"}[version]
    columns = "URL IP-address Archive-date Content-type Archive-length\n"
    info = f"{version} 0 Tests\n{columns}\n".encode()
    records = [f"filedesc://file.arc 0.0.0.0 20080430204825 {version_fields} {len(info)}\n".encode() + info]
    for page, wrong in zip((b"first", b"second"), lengths, strict=True):
        block = HTTP + b"<p>" + page + b"</p>"
        line = b"http://%s.example/a b 1.2.3.4 20080430204825 %s %d\n" % (
            page,
            version_fields.encode(),
            len(block) + wrong,
        )
        records.append(line + block + b"\n")
    return packed(*records) if gz else b"".join(records)


def wacz(files: dict[str, bytes] | None = None) -> bytes:
    target = io.BytesIO()
    files = {"archive/b.warc.gz": packed(AFTER), "archive/a.warc": BEFORE} if files is None else files
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in {"datapackage.json": b"{}", "pages/pages.jsonl": b"{}\n", **files}.items():
            archive.writestr(name, content)
    return target.getvalue()
