"""An export that is ingested again gives the same results and payloads; removed captures are in none."""

import base64
import gzip
import json
from hashlib import sha1
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.cli import app
from webemu.emulator.types import Query
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id, read_manifest
from webemu.index.open import SnapshotPageStore, open_world
from webemu.index.removal.rules import parse_rule
from webemu.index.removal.take import remove
from webemu.ingest.export.pages import SCHEMA

WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."
HOME, TRADE = "https://a.example/", "https://b.example/trade"
HOME_PAGE = html("Home", WORDS, f'<a href="{TRADE}">the trade</a>')
DIGEST = {"WARC-Payload-Digest": "sha1:" + base64.b32encode(sha1(HOME_PAGE.encode()).digest()).decode()}
FIRST = [
    CaptureSpec(HOME, HOME_PAGE, 1, warc=DIGEST),
    CaptureSpec(TRADE, html("Trade", WORDS, "Trade in the harbour."), 2),
    CaptureSpec("https://gone.example/", html("Gone", WORDS, "quibbledock"), 2),
]
LATER = [
    CaptureSpec(HOME, "", 20, kind="revisit", warc=DIGEST),
    CaptureSpec(TRADE, html("Trade", WORDS, "Trade in the harbour, later."), 21),
]
_CAPTURES = """
SELECT * EXCLUDE (source_id, warc_record_offset, warc_record_length, warc_filename, crawl), coalesce(crawl, '')
FROM captures
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("export")
    ingest(root / "c", write(root / "a.warc.gz", FIRST), write(root / "b.warc.gz", LATER))
    remove(root / "c", [parse_rule("host", "gone.example", "opt-out", "2024-01-01")])
    return root


def export(root: Path, name: str, *options: str) -> Path:
    target = root / "out" / name
    arguments = ["export", str(target), "--root", str(root), "--collection", "c", "-q", *options]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return target


def captures_of(collection: Path) -> list[str]:
    with Catalog(collection, read_only=True) as catalog:
        return sorted(map(repr, catalog.db.execute(_CAPTURES).fetchall()))


def payloads_of(collection: Path) -> list[tuple[str, int, bytes]]:
    folder = collection / "snapshots" / (current_id(collection) or "")
    store = SnapshotPageStore(folder, collection, read_manifest(folder))
    captures = [capture for url in sorted(store.iter_urls()) for capture in store.exact(url)]
    return [(capture.url, capture.time, store.payload(capture).body) for capture in captures]


@pytest.mark.parametrize("name", ["all.warc.gz", "all.wacz"])
def test_archives_come_back_as_they_were(root: Path, tmp_path: Path, name: str) -> None:
    ingest(root / "c")  # builds the snapshot without the removed page
    ingest(tmp_path / "again", export(root, name))
    assert captures_of(tmp_path / "again") == captures_of(root / "c")
    assert payloads_of(tmp_path / "again") == payloads_of(root / "c")
    before, after = open_world(root / "c"), open_world(tmp_path / "again")
    for text in ("harbour", "trade", "boats nets", "quibbledock"):
        assert [(hit.url, hit.title, hit.snippet) for hit in after.search(Query(text)).hits] == [
            (hit.url, hit.title, hit.snippet) for hit in before.search(Query(text)).hits
        ]


def test_pages_have_the_columns_of_fineweb(root: Path, tmp_path: Path) -> None:
    path = export(root, "all.parquet")
    table = pq.read_table(path)
    assert table.schema.names == SCHEMA.names
    assert sorted(table["url"].to_pylist()) == [HOME, TRADE, TRADE]
    assert ingest(tmp_path / "again", path).pages == 3
    urls = {hit.url for hit in open_world(tmp_path / "again").search(Query("harbour trade")).hits}
    assert urls == {hit.url for hit in open_world(root / "c").search(Query("harbour trade")).hits}


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl"])
def test_rows_are_ingested_again_as_the_same_pages(name: str, root: Path, tmp_path: Path) -> None:
    columns = "url, title, text, headings, description, language, published, searchable, link_density, signature"
    query = f"SELECT {columns} FROM pages ORDER BY ALL", "SELECT target, anchor, rel FROM links ORDER BY ALL"
    head = '<meta name="description" content="All of it"><meta name="robots" content="noindex">'
    tale = [
        CaptureSpec("https://c.example/", html("Tale", f"<h2>Part</h2><a href='{HOME}' rel=nofollow>home</a>", WORDS)),
        CaptureSpec("https://c.example/hidden", html("Hidden", WORDS, head=head)),
        CaptureSpec("https://c.example/gone", html("Gone", WORDS), status="404 Not Found"),
        CaptureSpec("https://c.example/fraction", html("", WORDS), warc={"WARC-Date": "2024-01-01T12:00:00.250000Z"}),
    ]
    ingest(tmp_path / "c", write(tmp_path / "tale.warc.gz", tale))
    path = export(tmp_path, name)
    ingest(tmp_path / "again", path)
    rows = []
    for collection in ("c", "again"):
        with Catalog(tmp_path / collection, read_only=True) as catalog:
            times = catalog.db.execute("SELECT url, fetch_time, fetch_status FROM captures ORDER BY ALL").fetchall()
            rows.append([[row[:2] for row in times], *(catalog.db.execute(one).fetchall() for one in query)])
    assert rows[0] == rows[1]
    assert rows[0][2] == [(HOME, "home", "nofollow")]


def test_a_wrong_length_is_corrected(tmp_path: Path) -> None:
    content = gzip.decompress(write(tmp_path / "a.warc.gz", [FIRST[1]]).read_bytes())
    length = content.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
    wrong = content.replace(b"Content-Length: " + length, b"Content-Length: %d" % (int(length) + 20), 1)
    (tmp_path / "wrong.warc").write_bytes(content + wrong)
    ingest(tmp_path / "c", tmp_path / "wrong.warc")
    path = export(tmp_path, "right.warc.gz")
    ingest(tmp_path / "again", path)
    with Catalog(tmp_path / "c", read_only=True) as before, Catalog(tmp_path / "again", read_only=True) as after:
        counts = [one.db.execute("SELECT count(*) FROM captures").fetchall() for one in (before, after)]
        assert counts[0] == counts[1] == [(2,)]
        assert before.db.execute("SELECT reason FROM drops").fetchall() == [("truncated-record",)]
        assert after.db.execute("SELECT reason FROM drops").fetchall() == []


def test_corpora_have_the_latest_capture_of_each_page(root: Path) -> None:
    lines = export(root, "beir.jsonl", "--format", "beir").read_text().splitlines()
    texts = {row["_id"]: row["text"] for row in map(json.loads, lines)}
    assert len(lines) == len(texts)
    assert texts.keys() == {HOME, TRADE}
    assert "later" in texts[TRADE]
    passages = gzip.decompress(export(root, "p.jsonl.gz", "--format", "passages").read_bytes()).decode().splitlines()
    assert any(json.loads(passage)["contents"].startswith('"Home"\n') for passage in passages)


@pytest.mark.parametrize(
    ("options", "urls"),
    [
        (("--host", "b.example"), {TRADE}),
        (("--to", "2024-01-02"), {HOME}),
        (("--from", "2024-01-15", "--url", TRADE), {TRADE}),
        (("--query", "trade", "--hits", "1"), {TRADE}),
    ],
)
def test_conditions_choose(root: Path, options: tuple[str, ...], urls: set[str]) -> None:
    rows = export(root, "chosen.jsonl", *options).read_text().splitlines()
    assert {json.loads(row)["url"] for row in rows} == urls


def test_nothing_chosen_is_an_error(root: Path) -> None:
    arguments = ["export", str(root / "x.jsonl"), "--root", str(root), "--collection", "c", "--host", "none.example"]
    assert CliRunner().invoke(app, arguments).exit_code == 1
    assert not (root / "x.jsonl").exists()
