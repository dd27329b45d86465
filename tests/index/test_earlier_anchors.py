"""Link texts that build upon those of fewer sources are those of all sources counted at once."""

from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from tests.seeds import few_of
from webemu.index import snapshot as snapshots
from webemu.index import source_classes
from webemu.index.earlier_results import EarlierResult
from webemu.index.manifest import current_id, read_manifest
from webemu.index.signals import anchors
from webemu.index.signals.anchors import gather_anchors
from webemu.index.signals.earlier_anchors import NAME, register_sources, select_changed
from webemu.index.signals.linked_hosts import list_linked_hosts

HOSTS = ("a.org", "www.a.org", "WWW2.A.org", "b.net", "sub.b.net", "c.com", "")
PATHS = ("", "/", "//", "/x", "/x/", "/X", "/x/index.html", "/index.php", "/y?q=1", "/z", "/z/default.asp/")
SCHEMES = ("http://", "https://", "https://", "HTTP://", "ftp://", "http://ftp://", "dns:", "")
TEXTS = ("Next", "next", " next ", "The Bridge", "the bridge", "1", "→", "x" * 99, "x" * 100, "About us", "Map")
SOURCES = 6


def create_tables(db: duckdb.DuckDBPyConnection) -> None:
    """Create the columns of the catalog that link texts are made of."""
    columns = "source_id BIGINT, warc_record_offset BIGINT"
    domain = "url_host_registered_domain VARCHAR"
    db.execute(f"CREATE TABLE captures ({columns}, url VARCHAR, {domain}, fetch_redirect VARCHAR)")
    db.execute("ALTER TABLE captures ADD COLUMN url_host_name VARCHAR DEFAULT 'any.host'")
    db.execute("CREATE TABLE sources (source_id BIGINT, pages BIGINT)")
    db.execute("ALTER TABLE sources ADD COLUMN content_hash BIGINT DEFAULT 7")
    db.execute(f"CREATE TABLE pages ({columns}, url VARCHAR, searchable BOOLEAN)")
    db.execute(f"CREATE TABLE links ({columns}, target VARCHAR, anchor VARCHAR, rel VARCHAR)")


def make_catalog(random: Random) -> duckdb.DuckDBPyConnection:
    """Return a catalog with what link texts are made of: few URLs in many spellings."""
    db = duckdb.connect()
    db.execute("SET threads = 1")

    def draw_url() -> str:
        return random.choice(SCHEMES if random.random() < 0.3 else SCHEMES[:2]) + random.choice(HOSTS) + draw_path()

    def draw_path() -> str:
        return random.choice(PATHS)

    def domain_of(url: str) -> str | None:
        return next((name for name in ("a.org", "b.net", "c.com") if name in url.lower()), None)

    create_tables(db)
    captures: list[tuple[Any, ...]] = []
    pages: list[tuple[Any, ...]] = []
    links: list[tuple[Any, ...]] = []
    for source in range(SOURCES):
        for offset in range(random.randint(1, 8)):
            url = draw_url()
            is_redirect = random.random() < 0.25
            captures.append((source, offset, url, domain_of(url), draw_url() if is_redirect else None))
            if is_redirect:
                continue
            pages.append((source, offset, url, random.random() < 0.8))
            for _ in range(random.randint(0, 6)):
                target = draw_url() + random.choice(("", "", "#top"))
                links.append((source, offset, target, random.choice(TEXTS), random.choice(("", "", "nofollow"))))
    sizes = [(source, sum(page[0] == source for page in pages)) for source in range(SOURCES)]
    for table, rows in (("captures", captures), ("pages", pages), ("links", links), ("sources", sizes)):
        if rows:
            values = ", ".join([*"?" * len(rows[0]), *["DEFAULT"] * (table in ("captures", "sources"))])
            db.executemany(f"INSERT INTO {table} VALUES ({values})", rows)
    list_linked_hosts(db)
    return db


def restrict(db: duckdb.DuckDBPyConnection, sources: list[int]) -> duckdb.DuckDBPyConnection:
    """Return a catalog of some of the sources."""
    part = duckdb.connect()
    for table in ("captures", "pages", "links", "sources"):
        rows = db.sql(f"SELECT * FROM {table} WHERE source_id IN $1", params=[sources]).to_arrow_table()
        part.register("restricted_rows", rows)
        part.execute(f"CREATE TABLE {table} AS SELECT * FROM restricted_rows")
        part.unregister("restricted_rows")
    list_linked_hosts(part)
    return part


@pytest.mark.parametrize("seed", few_of(20, 2))
def test_texts_built_upon_earlier_ones_are_those_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    random = Random(seed)
    monkeypatch.setattr(anchors, "MAX_TARGETS", random.choice((1, 2, 3, 20)))
    monkeypatch.setattr(anchors, "MAX_TEXTS_PER_PAGE", random.choice((2, 12)))
    monkeypatch.setattr(source_classes, "CLASS_PAGES", random.choice(((100, 1000), (3, 5), (2, 100))))
    leave_out = random.choice(("false", "contains(c.url, '/x')"))
    db = make_catalog(random)
    expected = gather_anchors(db, tmp_path / "whole", leave_out)
    for number in range(3):
        sources = sorted(random.sample(range(SOURCES), random.choice((1, 3, SOURCES - 1, SOURCES - 1))))
        earlier = tmp_path / f"earlier{number}"
        hashes = gather_anchors(restrict(db, sources), earlier, leave_out)
        grown = tmp_path / f"grown{number}"
        assert gather_anchors(db, grown, leave_out, EarlierResult(earlier, frozenset(sources), hashes)) == expected
        assert pq.read_table(grown).to_pylist() == pq.read_table(tmp_path / "whole").to_pylist()


def test_only_pages_that_may_change_are_counted_again(tmp_path: Path) -> None:
    db = duckdb.connect()
    create_tables(db)
    for source, site in ((1, "a.org"), (2, "b.net")):
        for offset in range(50):
            url = f"https://{site}/{offset}"
            db.execute("INSERT INTO captures VALUES (?, ?, ?, ?, NULL, DEFAULT)", [source, offset, url, site])
            db.execute("INSERT INTO pages VALUES (?, ?, ?, true)", [source, offset, url])
            target = f"https://{site}/{(offset + 1) % 50}"
            db.execute("INSERT INTO links VALUES (?, ?, ?, ?, '')", [source, offset, target, f"part {offset}"])
    db.execute("INSERT INTO links VALUES (2, 0, 'https://a.org/7', 'the seventh', '')")
    values: dict[str, object] = {"max_text": 80, "max_targets": 20, "leave_out": "false"}
    db.execute("INSERT INTO sources VALUES (1, 50, 7), (2, 50, 7)")
    list_linked_hosts(db)
    db.execute(anchors._LOOSE)
    register_sources(db, "anchor_earlier", [1])
    select_changed(db, values)
    recounted = {url for (url,) in db.execute("SELECT url FROM anchor_recounted").fetchall()}
    assert recounted == {"https://a.org/7", *(f"https://b.net/{offset}" for offset in range(50))}
    needed = db.execute("SELECT source_id, anchor FROM anchor_needed WHERE source_id = 1").fetchall()
    assert needed == [(1, "part 6")]


def test_a_further_source_gives_the_snapshot_of_all_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recounts: list[int] = []

    def spy(db: duckdb.DuckDBPyConnection, values: dict[str, object]) -> None:
        select_changed(db, values)
        recounts.append(len(db.execute("SELECT url FROM anchor_recounted").fetchall()))

    monkeypatch.setattr(anchors, "select_changed", spy)
    story = "What is said about boats, bridges and the price of bread in this town. " * 9
    big = [
        CaptureSpec(
            f"https://a.org/{number}", html(f"Page {number}", f'{story}<a href="/{number - 1}">Page before</a>')
        )
        for number in range(1, 9)
    ]
    link = '<a href="https://www.a.org/3/">the third of them</a>'
    files = [
        write(tmp_path / "big.warc.gz", big),
        write(tmp_path / "small.warc.gz", [CaptureSpec("https://b.net/", html("Links", story + link))]),
    ]
    for file in files:
        ingest(tmp_path / "grown", file)
    assert recounts == [1]
    monkeypatch.setattr(snapshots, "find_earlier_result", lambda *_: None)
    ingest(tmp_path / "whole", *files)
    assert recounts == [1]
    assert current_id(tmp_path / "grown") == current_id(tmp_path / "whole")
    rows = [pq.read_table(tmp_path / name / f"{NAME}.parquet").to_pylist() for name in ("grown", "whole")]
    assert rows[0] == rows[1]
    assert any(row["text"] == "the third of them" for row in rows[0])


@pytest.mark.parametrize("seed", few_of(6, 1))
def test_texts_of_a_class_are_those_of_a_catalog_without_smaller_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    db = make_catalog(Random(seed))
    monkeypatch.setattr(source_classes, "CLASS_PAGES", (3, 5))
    gather_anchors(db, tmp_path / "whole")
    rows = pq.read_table(tmp_path / "whole").to_pylist()
    classes = source_classes.group_by_class(dict(db.execute("SELECT source_id, pages FROM sources").fetchall()))
    monkeypatch.setattr(source_classes, "CLASS_PAGES", (100, 1000))
    for number, members in enumerate(classes):
        gather_anchors(restrict(db, [source for sources in classes[number:] for source in sources]), tmp_path / "part")
        expected = [row for row in pq.read_table(tmp_path / "part").to_pylist() if row["source_id"] in members]
        assert [row for row in rows if row["source_id"] in members] == expected


def test_links_of_a_small_file_leave_the_shards_of_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_classes, "CLASS_PAGES", (3, 100))
    story = "What is said about boats, bridges and the price of bread in this town. " * 9
    links = "".join(f'<a href="https://a.org/{number}">the great number {number}</a> ' for number in range(1, 5))
    large = [CaptureSpec(f"https://a.org/{number}", html(f"Page {number}", story)) for number in range(1, 5)]
    ingest(tmp_path / "c", write(tmp_path / "large.warc.gz", large))
    [shard] = read_manifest(tmp_path / "c" / "snapshots" / (current_id(tmp_path / "c") or "")).shards
    ingest(tmp_path / "c", write(tmp_path / "s.warc.gz", [CaptureSpec("https://b.net/", html("Links", story + links))]))
    shards = read_manifest(tmp_path / "c" / "snapshots" / (current_id(tmp_path / "c") or "")).shards
    assert len(shards) == 2
    assert shard in shards
    more_links = [CaptureSpec(f"https://b.net/{number}", html(f"Links {number}", story + links)) for number in range(4)]
    ingest(tmp_path / "c", write(tmp_path / "second.warc.gz", more_links))
    assert shard not in read_manifest(tmp_path / "c" / "snapshots" / (current_id(tmp_path / "c") or "")).shards
