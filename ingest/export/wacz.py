"""Packs a WARC file as a WACZ (version 1.1.1): archive, index (CDXJ), pages and their hashes in one zip."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from webemu.emulator.urls import surt_key
from webemu.ingest.export.warc import WrittenRecord

_ARCHIVE = "archive/data.warc.gz"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Earliest time of a zip entry: equal contents give equal files."""


def write_wacz(path: Path, warc: Path, records: Sequence[WrittenRecord]) -> None:
    """Write a WACZ of the WARC file, whose chosen records these are."""
    index = "".join(sorted(_index_line(one) for one in records)).encode()
    pages = ['{"format": "json-pages-1.0", "id": "pages", "title": "All pages"}']
    pages += [json.dumps({"url": one.url, "ts": one.date}, ensure_ascii=False) for one in records if one.is_page]
    contents = {
        "indexes/index.cdx.gz": gzip.compress(index, mtime=0),
        "pages/pages.jsonl": "\n".join(pages).encode() + b"\n",
    }
    with zipfile.ZipFile(path, "w") as file:
        resources = [_add_archive(file, warc)]
        for name, content in contents.items():
            file.writestr(zipfile.ZipInfo(name, _EPOCH), content)
            resources.append(_describe(name, sha256(content).hexdigest(), len(content)))
        package = {"profile": "data-package", "wacz_version": "1.1.1", "software": "webemu", "resources": resources}
        file.writestr(zipfile.ZipInfo("datapackage.json", _EPOCH), json.dumps(package, indent=1))


def _add_archive(file: zipfile.ZipFile, warc: Path) -> dict[str, object]:
    """Store the WARC file without compressing it again; return its description."""
    digest = sha256()
    info = zipfile.ZipInfo(_ARCHIVE, _EPOCH)
    with file.open(info, "w", force_zip64=True) as entry, warc.open("rb") as source:
        while piece := source.read(1 << 20):
            digest.update(piece)
            entry.write(piece)
    return _describe(_ARCHIVE, digest.hexdigest(), warc.stat().st_size)


def _describe(path: str, digest: str, size: int) -> dict[str, object]:
    return {"name": Path(path).name, "path": path, "hash": f"sha256:{digest}", "bytes": size}


def _index_line(written: WrittenRecord) -> str:
    """Return the line of a record in the index."""
    stamp = "".join(character for character in written.date if character.isdigit())[:14]
    place = {"filename": Path(_ARCHIVE).name, "offset": str(written.offset), "length": str(written.length)}
    values = {"url": written.url, "digest": written.digest, **place}
    return f"{surt_key(written.url)} {stamp} {json.dumps(values, ensure_ascii=False)}\n"
