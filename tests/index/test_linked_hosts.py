"""The list of hosts that sources link to follows the sources of a catalog."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.index.catalog import Catalog
from webemu.index.signals.hosts import read_graph
from webemu.index.signals.linked_hosts import are_listed, list_linked_hosts

LINKS = [
    (1, 0, "https://b.net/x"),
    (1, 0, "https://b.net/y#top"),
    (1, 1, "http://WWW.c.com:80/"),
    (2, 0, "https://a.org#b/c"),
    (2, 0, "ftp://a.org/"),
]


@pytest.fixture
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE sources (source_id BIGINT, content_hash BIGINT)")
        db.execute("CREATE TABLE captures (source_id BIGINT, warc_record_offset BIGINT, url_host_name VARCHAR)")
        db.execute("CREATE TABLE links (source_id BIGINT, warc_record_offset BIGINT, target VARCHAR)")
        db.execute("INSERT INTO sources VALUES (1, 10), (2, 20), (3, 30)")
        db.execute("INSERT INTO captures VALUES (1, 0, 'a.org'), (1, 1, 'www.a.org'), (2, 0, 'b.net'), (3, 0, 'c.com')")
        db.executemany("INSERT INTO links VALUES (?, ?, ?)", LINKS)
        yield db


def list_rows(db: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    assert not are_listed(db)
    list_linked_hosts(db)
    assert are_listed(db)
    rows = db.execute("SELECT source_id, content_hash, host, target FROM linked_hosts ORDER BY ALL").fetchall()
    assert [row[:2] for row in rows if row[2] is None] == db.execute("FROM sources ORDER BY ALL").fetchall()
    return [row for row in rows if row[2] is not None]


def test_hosts_are_listed_once_by_source(db: duckdb.DuckDBPyConnection) -> None:
    assert list_rows(db) == [
        (1, 10, "a.org", "b.net"),
        (1, 10, "www.a.org", "WWW.c.com:80"),
        (2, 20, "b.net", "*"),
        (2, 20, "b.net", "a.org"),
    ]


def test_changed_and_removed_sources_are_listed_anew(db: duckdb.DuckDBPyConnection) -> None:
    rows = list_rows(db)
    db.execute("INSERT INTO linked_hosts VALUES (2, 20, 'stays', 'stays')")
    db.execute("DELETE FROM links WHERE target LIKE '%b.net/%'")
    db.execute("UPDATE sources SET content_hash = 11 WHERE source_id = 1")
    assert list_rows(db) == [(1, 11, "www.a.org", "WWW.c.com:80"), *rows[2:], (2, 20, "stays", "stays")]
    db.execute("DELETE FROM sources WHERE source_id = 2")
    assert list_rows(db) == [(1, 11, "www.a.org", "WWW.c.com:80")]
    db.execute("INSERT INTO sources VALUES (2, 20)")
    assert list_rows(db)[1:] == rows[2:]


def test_a_build_lists_what_was_ingested_since(tmp_path: Path) -> None:
    def read_links() -> list[tuple[str, str]]:
        with Catalog(tmp_path / "c", read_only=True) as catalog:
            names, links = read_graph(catalog.db)
            assert are_listed(catalog.db)
        return [(names[source], names[target]) for source, target in links]

    for name, target in (("a.org", "b.net"), ("b.net", "a.org"), ("c.com", "a.org")):
        page = html(name, "Some text.", f'<a href="https://www.{target}/">a link</a>')
        ingest(tmp_path / "c", write(tmp_path / f"{name}.warc.gz", [CaptureSpec(f"https://{name}/", page)]))
    assert read_links() == [("a.org", "b.net"), ("b.net", "a.org"), ("c.com", "a.org")]
