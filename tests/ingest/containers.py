"""The same records in every container that is read, with where each ends: for tests that cut and damage files."""

from __future__ import annotations

import base64
import gzip
import io
import json
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
import zstandard
from fastwarc.stream_io import Lz4Writer

from tests.ingest import flawed
from webemu.emulator.errors import SourceError
from webemu.ingest.formats.detection import detect_format
from webemu.ingest.formats.warc import WARC_GZ_ONE_MEMBER
from webemu.ingest.readers import read_records
from webemu.ingest.records import Record, Skip
from webemu.ingest.repack import make_seekable

WORDS = [b"archive", b"crawl", b"desert", b"engine", b"forest", b"garden", b"harbor", b"island", b"jungle"]


class Container(NamedTuple):
    """A file, and the places at which one of its records ends; none where records share a stream."""

    data: bytes
    ends: tuple[int, ...]
    kind: str
    name: str = "file"


class Account(NamedTuple):
    """The bytes of a file, accounted for: the records and the parts that were skipped."""

    records: list[Record]
    skips: list[Skip]
    kind: str


def account(data: bytes, folder: Path, name: str) -> Account:
    """Read bytes as ingest does; a file that is refused is one skip."""
    source = folder / name
    source.write_bytes(data)
    detected = detect_format(source)
    try:
        path, skips = make_seekable(source, detected, folder / "copy.warc.gz")
    except SourceError as error:
        return Account([], [Skip("unreadable-source", 0, len(data), error.message)], "unreadable")
    items = list(read_records(path))
    if any(isinstance(one, Skip) and one.reason == "records-share-member" for one in items):
        path, skips = make_seekable(source, WARC_GZ_ONE_MEMBER, folder / "copy.warc.gz")
        items = list(read_records(path))
    item_skips = [one for one in items if isinstance(one, Skip) and (one.reason != "empty-file" or not data)]
    return Account(
        [one for one in items if isinstance(one, Record)],
        [*skips, *item_skips],
        detected.name if detected else "unreadable",
    )


def bodies(seed: int = 7) -> list[bytes]:
    """Payloads of many sizes, some of which do not compress, a few larger than a block of zstd."""
    rng = random.Random(seed)
    sizes = [40, 300, 900, 2000, 150_000, 5000, 70, 700, 3000, 60, 20_000, 1200]
    return [
        rng.randbytes(size) if number % 3 == 0 else b" ".join(rng.choices(WORDS, k=size // 7))
        for number, size in enumerate(sizes)
    ]


def records(seed: int = 7) -> list[bytes]:
    return [flawed.response(f"http://{n}.example/", body) for n, body in enumerate(bodies(seed))]


def _ends(parts: Sequence[bytes], start: int = 0) -> tuple[int, ...]:
    ends, at = [], start
    for part in parts:
        at += len(part)
        ends.append(at)
    return tuple(ends)


def _joined(parts: Sequence[bytes], kind: str) -> Container:
    return Container(b"".join(parts), _ends(parts), kind)


def lz4(content: bytes) -> bytes:
    target = io.BytesIO()
    writer = Lz4Writer(target)
    writer.write(content)
    writer.close()
    return target.getvalue()


def _zst_with_dictionary() -> Container:
    words = zstandard.train_dictionary(4096, [record[:400] for record in records()] * 30)
    content = zstandard.compress(words.as_bytes())
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    frames = [zstandard.ZstdCompressor(dict_data=words).compress(one) for one in records()]
    return Container(head + b"".join(frames), _ends(frames, len(head)), "warc.zst")


def _arc_records() -> list[bytes]:
    info = b"1 0 Tests\nURL IP-address Archive-date Content-type Archive-length\n"
    arc_lines = [b"filedesc://file.arc 0.0.0.0 20080430204825 text/plain %d\n" % len(info) + info + b"\n"]
    for number, body in enumerate(bodies()):
        block = flawed.HTTP + body
        line = b"http://%d.example/ 1.2.3.4 20080430204825 text/html %d\n" % (number, len(block))
        arc_lines.append(line + block + b"\n")
    return arc_lines


def _wacz(*, seekable: bool, method: int = zipfile.ZIP_STORED) -> Container:
    target = io.BytesIO()
    stream = target if seekable else _Unseekable(target)
    members = flawed.packed(*records()[:6]), flawed.packed(*records()[6:])
    with zipfile.ZipFile(stream, "w", method) as archive:  # type: ignore[arg-type]
        archive.writestr("datapackage.json", b"{}")
        for name, content in zip("ab", members, strict=True):
            archive.writestr(f"archive/{name}.warc.gz", content)
        archive.writestr("pages/pages.jsonl", b"{}\n")
    data = target.getvalue()
    ends = [data.find(one) + len(one) for one in map(flawed.packed, records())] if method == zipfile.ZIP_STORED else []
    return Container(data, tuple(ends), "wacz", "file.wacz")


class _Unseekable(io.RawIOBase):
    """A stream that is written once, as Browsertrix uploads a WACZ: sizes stand behind each file."""

    def __init__(self, target: io.BytesIO) -> None:
        self._target = target

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self._target.write(data)


def _lines() -> list[bytes]:
    texts = [b" ".join(body.split()).decode("latin-1") for body in bodies()]
    return [json.dumps({"url": f"http://{n}.example/", "text": text}).encode() + b"\n" for n, text in enumerate(texts)]


def _har() -> bytes:
    """The records as a browser saves them: texts as they are, everything else in base64."""
    entries = []
    for number, body in enumerate(bodies()):
        try:
            content = {"size": len(body), "mimeType": "text/html", "text": body.decode("ascii")}
        except UnicodeDecodeError:
            text = base64.b64encode(body).decode()
            content = {"size": len(body), "mimeType": "text/html", "text": text, "encoding": "base64"}
        headers = [{"name": "Content-Type", "value": "text/html"}]
        response = {"status": 200, "statusText": "OK", "headers": headers, "content": content}
        request = {"method": "GET", "url": f"http://{number}.example/"}
        entries.append({"startedDateTime": "2024-11-30T12:00:00.5Z", "request": request, "response": response})
    return json.dumps({"log": {"version": "1.2", "entries": entries}}, indent=1).encode()


def _cassette() -> bytes:
    """The records as vcrpy writes them."""
    interactions = [
        {
            "request": {"method": "GET", "uri": f"http://{number}.example/", "body": None, "headers": {}},
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"Content-Type": ["text/html"]},
                "body": {"string": body},
            },
            "recorded_at": "2024-11-30T12:00:00Z",
        }
        for number, body in enumerate(bodies())
    ]
    return yaml.safe_dump({"interactions": interactions, "version": 1}).encode()


def _calls() -> list[bytes]:
    rows = [json.loads(line) for line in _lines()]
    return [
        json.dumps({"url": row["url"], "response": row["text"], "time": 1732968000}).encode() + b"\n" for row in rows
    ]


def _parquet() -> bytes:
    rows = [json.loads(line) for line in _lines()]
    target = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), target, row_group_size=4, compression="zstd")
    return target.getvalue()


def _checked_zst(content: bytes) -> bytes:
    packer = zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compressobj()
    return packer.compress(content) + packer.flush()


CONTAINERS: dict[str, Container] = {
    "warc": _joined(records(), "warc"),
    "warc.gz": _joined([flawed.packed(one) for one in records()], "warc.gz"),
    "warc.gz in one member": Container(gzip.compress(b"".join(records()), mtime=0), (), "warc.gz-one-member"),
    "warc.gz in pieces": Container(flawed.records_over_member_borders(100, records()), (), "warc.gz-one-member"),
    "warc.zst": _joined([zstandard.compress(one) for one in records()], "warc.zst"),
    "warc.zst with checksums": _joined([_checked_zst(one) for one in records()], "warc.zst"),
    "warc.zst with a dictionary": _zst_with_dictionary(),
    "warc.zst in one frame": Container(_checked_zst(b"".join(records())), (), "warc.zst"),
    "warc.lz4": _joined([lz4(one) for one in records()], "warc.lz4"),
    "warc.lz4 in one frame": Container(lz4(b"".join(records())), (), "warc.lz4"),
    "arc": _joined(_arc_records(), "arc"),
    "arc.gz": _joined([flawed.packed(one) for one in _arc_records()], "arc.gz"),
    "wacz": _wacz(seekable=True),
    "wacz, streamed": _wacz(seekable=False),
    "wacz, deflated": _wacz(seekable=True, method=zipfile.ZIP_DEFLATED),
    "har": Container(_har(), (), "har"),
    "har.gz": Container(gzip.compress(_har(), mtime=0), (), "har.gz"),
    "jsonl": _joined(_lines(), "jsonl"),
    "jsonl.gz": Container(gzip.compress(b"".join(_lines()), mtime=0), (), "jsonl.gz"),
    "jsonl.gz, a member a row": _joined([flawed.packed(one) for one in _lines()], "jsonl.gz"),
    "jsonl.zst": _joined([zstandard.compress(one) for one in _lines()], "jsonl.zst"),
    "parquet": Container(_parquet(), (), "parquet"),
    "cassette": Container(_cassette(), (), "cassette"),
    "service-log": Container(b"".join(_calls()), (), "service-log"),
    "service-log.gz": Container(gzip.compress(b"".join(_calls()), mtime=0), (), "service-log.gz"),
    "service-log.zst": Container(b"".join(zstandard.compress(one) for one in _calls()), (), "service-log.zst"),
}
