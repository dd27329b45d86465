"""An id names what was built, and by what: changed code builds anew, and what was built is known byte for byte."""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import lmdb
import orjson
import pytest
import zstandard

from tests.crawls import ingest
from webemu.emulator.errors import SnapshotError
from webemu.emulator.types import Query
from webemu.index.blobs import Blobs
from webemu.index.builders import DENSE_SOURCES, PARTITION_SOURCES, SHARD_SOURCES, SNAPSHOT_SOURCES, hash_sources
from webemu.index.manifest import current_id, read_manifest
from webemu.index.open import open_world
from webemu.index.records import read_texts
from webemu.index.text import open_index

HOUSE = Path(__file__).parents[2]
DECIDES_NOTHING = {
    "emulator/article.py": "what is read of a wiki's page",
    "emulator/errors.py": "texts of errors",
    "emulator/groups.py": "what a query says",
    "emulator/ports.py": "types of the reading side",
    "emulator/query.py": "what a query says",
    "emulator/ranking.py": "which hits of a ranking are shown",
    "emulator/types.py": "types of the reading side",
    "index/builders.py": "names what is built",
    "index/catalog.py": "opens the database",
    "index/digests.py": "hashes of files",
    "index/manifest.py": "what a snapshot says of itself; its FORMAT is in the id",
    "index/parent.py": "processes",
    "index/rank.py": "weights, which are in the id by value",
}
"""The modules that builders import although they have no say in what is built."""


def imported(source: str) -> set[str]:
    """Sources of ours that a source imports, and data that it reads."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((HOUSE / source).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    paths = {name.removeprefix("webemu.").replace(".", "/") + ".py" for name in names}
    return {path for path in paths if path.startswith(("index/", "emulator/")) and (HOUSE / path).exists()}


def closure(source: str) -> set[str]:
    visited: set[str] = set()
    waiting = [source]
    while waiting:
        if (module_name := waiting.pop()) not in visited and module_name not in DECIDES_NOTHING:
            visited.add(module_name)
            waiting += imported(module_name)
    return visited


def test_all_that_a_builder_imports_is_in_its_fingerprint() -> None:
    assert closure("index/shard.py") == set(SHARD_SOURCES)
    assert closure("index/snapshot.py") | {"index/resolve.sql"} == set(SNAPSHOT_SOURCES)
    assert {source for source in (*DENSE_SOURCES, *PARTITION_SOURCES) if not (HOUSE / source).exists()} == set()


def test_every_source_counts(tmp_path: Path) -> None:
    """A copy of the code with one byte more in a source has another fingerprint."""
    for room in ("index", "emulator"):
        shutil.copytree(HOUSE / room, tmp_path / "webemu" / room, ignore=shutil.ignore_patterns("__pycache__"))
    code = "from webemu.index.builders import *; print(hash_sources(SHARD_SOURCES), hash_sources(SNAPSHOT_SOURCES))"

    def source_hashes() -> list[str]:
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=tmp_path).stdout.split()

    before = source_hashes()
    assert before == [hash_sources(SHARD_SOURCES), hash_sources(SNAPSHOT_SOURCES)]
    for source, changes in (("index/records.py", (True, True)), ("index/columns.py", (False, True))):
        text = (tmp_path / "webemu" / source).read_bytes()
        (tmp_path / "webemu" / source).write_bytes(text.replace(b"\n", b"\r\n"))
        assert source_hashes() == before, "line ends of another system are no change"
        (tmp_path / "webemu" / source).write_bytes(text + b"\n")
        assert tuple(one != other for one, other in zip(before, source_hashes(), strict=True)) == changes
        (tmp_path / "webemu" / source).write_bytes(text)


def record(number: int, url: str, title: str, body: str) -> bytes:
    """A record whose bytes are always the same, of page `number`."""
    page = f"<html lang=en><head><title>{title}</title></head><body><main>{body}</main></body></html>"
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page.encode()
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2024-01-{number:02d}T12:00:00Z\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Record-ID: <urn:uuid:{number}>\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    return head.encode() + b"Content-Length: %d\r\n\r\n%b\r\n\r\n" % (len(block), block)


FILLER = "<p>The council met on Tuesday and spoke about roads, bridges and the price of bread in the valley.</p>" * 9
GOLDEN = [
    record(1, "https://www.velmora.org/", "Velmora - Home", f"<p>Velmora is a town on the river Tash.</p>{FILLER}"),
    record(
        2, "https://tash.net/river?id=7", "River Tash", '<p><a href="https://www.velmora.org/">the old town</a></p>'
    ),
    record(3, "https://jp.net/東京", "東京", "<p>日本の首都は東京都です。</p>" * 30),
    record(4, "https://tash.net/copy", "River Tash", '<p><a href="https://www.velmora.org/">the old town</a></p>'),
    record(
        5, "https://de.net/index.html?utm_source=x", "Überfahrt", "<p>Die Fähren fuhren täglich über den Fluss.</p>"
    ),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    (folder / "golden.warc").write_bytes(b"".join(GOLDEN))
    ingest(folder / "c", folder / "golden.warc")
    return folder / "c"


def digest(*parts: bytes | memoryview) -> str:
    return blake2b(b"\0".join(parts), digest_size=8).hexdigest()


def contents(folder: Path) -> dict[str, Any]:
    """Return the contents of a snapshot, as readable as they can be."""
    snapshot = folder / "snapshots" / (current_id(folder) or "")
    manifest = read_manifest(snapshot)
    [shard] = [folder / "shards" / name for name in manifest.shards]
    text = [path for path in sorted((shard / "text").iterdir()) if path.suffix not in (".json", ".lock")]
    records, views = Blobs(shard / "records"), Blobs(shard / "views")
    with lmdb.open(str(snapshot / "pages.lmdb"), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        pairs = [(bytes(key), bytes(value)) for key, value in txn.cursor()]
    captures = [orjson.loads(value) for key, value in pairs if key[:1] == b"e"]
    searcher = open_index(snapshot / "text").searcher()
    words = ("town", "council", "東京", "fluss", "taglich")
    own_hashes = {
        name: hashed for name, hashed in manifest.hashes.items() if not name.startswith(("text", "pages.lmdb"))
    }
    return {
        "documents, captures, urls, hosts": [manifest.documents, manifest.captures, manifest.urls, manifest.hosts],
        "url, title, passages": [[url, title, *passages] for url, title, passages in map(read_texts, listed(records))],
        "records": digest(*listed(records)),
        "title and text": digest(*map(zstandard.decompress, listed(views))),
        "documents with a word": {word: searcher.doc_freq("all", word) for word in words},
        "sizes of the text index": {path.suffix: path.stat().st_size for path in text},
        "captures": sorted(json.dumps(one, ensure_ascii=False) for one in captures),
        "lookup": digest(*(part for pair in pairs for part in pair)),
        "completions": [bytes(one).decode() for one in listed(Blobs(shard / "titles/titles"))],
        "vocabulary": (snapshot / "words.txt").read_text(encoding="utf-8").split(),
        "word counts": (shard / "word_counts.txt").read_text(encoding="utf-8").splitlines(),
        "files": own_hashes,
    }


def listed(blobs: Blobs) -> list[memoryview]:
    return [blobs[number] for number in range(len(blobs))]


def test_what_a_snapshot_holds_is_known(built: Path, golden: Callable[[str, Any], None]) -> None:
    try:
        golden("snapshot", contents(built))
    except AssertionError as error:
        pytest.fail(
            "what a snapshot holds of the same pages has changed (ids change with the code by themselves). "
            f"If it is meant: pytest tests/index/test_builders.py --update-golden\n{error}"
        )


@pytest.mark.slow
def test_a_changed_builder_gives_another_id_and_builds_anew(built: Path, tmp_path: Path) -> None:
    """The same sources with shorter passages: other bytes, so another id."""
    shutil.copytree(built, tmp_path / "c")
    for room in ("index", "emulator"):
        shutil.copytree(HOUSE / room, tmp_path / "webemu" / room, ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "webemu/index/records.py"
    source.write_text(
        source.read_text(encoding="utf-8").replace("PASSAGE_CHARACTERS = 260", "PASSAGE_CHARACTERS = 160")
    )

    def build(code: Path) -> str:
        command = [sys.executable, "-m", "webemu.emulator.cli", "snapshots", "build", "--root", str(tmp_path)]
        env = {**os.environ, "PYTHONPATH": str(code)}
        done = subprocess.run([*command, "--collection", "c"], capture_output=True, text=True, env=env, cwd="/")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    before = current_id(tmp_path / "c")
    shortened = build(tmp_path)
    assert shortened != before
    assert build(tmp_path) == shortened
    assert build(HOUSE / "src") == before
    records = [path.read_bytes() for path in sorted((tmp_path / "c").glob("shards/*/records.bin"))]
    assert len(set(records)) == 2


def test_a_shard_of_other_content_under_the_same_name_is_refused(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "c")
    assert open_world(tmp_path / "c").search(Query("council")).hits
    [shard] = (tmp_path / "c/shards").iterdir()
    shard_file = json.loads((shard / "shard.json").read_text())
    shard_file["hashes"]["records.bin"] = "0" * 16
    (shard / "shard.json").write_text(json.dumps(shard_file))
    with pytest.raises(SnapshotError, match="holds other pages than those that snapshot"):
        open_world(tmp_path / "c")
    (shard / "shard.json").unlink()
    with pytest.raises(SnapshotError, match=r"shard\.json cannot be read"):
        open_world(tmp_path / "c")
