"""The signals of each page of a crawl: the names others give it, its host, its address, its copies, its quality."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.errors import SourceError
from webemu.emulator.policy import Blocked, Policy
from webemu.emulator.policy_filter import apply_policy
from webemu.emulator.types import Query
from webemu.index import duplicate_clusters
from webemu.index.catalog import Catalog
from webemu.index.columns import Columns
from webemu.index.evaluation.held_out import held_out_sql, is_held_out
from webemu.index.open import current_id, open_world
from webemu.index.shard import END_OFFSET
from webemu.index.signals import anchors, hosts
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources

RIVER = "https://tash.net/river"
TELLERS = [f"https://teller{number}.org/" for number in range(12)]
STORY = (
    "The bridge over the river Tash at Velmora was opened on Sunday by Mayor Ada Brenn. Some four thousand people came"
    " to see it, and the town band played until the evening. It took six years to build and cost nine million crowns,"
    " twice what had been planned when the old bridge was swept away. A ferry had carried people and carts across in"
    " the meantime, which will now be kept as a museum in the harbour, where schools may visit it free of charge."
)


def link(target: str, text: str, rel: str = "") -> str:
    return f'<a href="{target}" rel="{rel}">{text}</a>'


def crawl() -> list[CaptureSpec]:
    chapters = [
        CaptureSpec(f"https://tash.net/chapter/{number}", html(f"Chapter {number}", "Text.")) for number in range(25)
    ]
    contents = [link(RIVER, "more"), *[link(chapter.url, "more") for chapter in chapters]]
    return [
        CaptureSpec(RIVER, html("River Tash", "The river flows.", link("http://tash.net/river", "on itself"))),
        CaptureSpec("https://a.org/1", html("A", link(RIVER, "The great river"))),
        CaptureSpec("https://a.org/2", html("B", link(RIVER, "The great river"), link(RIVER + "#mouth", "→"))),
        CaptureSpec("https://b.org/", html("C", link(RIVER, "the GREAT river", "external nofollow"))),
        CaptureSpec("https://c.org/1", html("D", link("http://www.tash.net/river/index.html", "the other spelling"))),
        CaptureSpec("https://c.org/2", html("E", link("https://tash.net/old", "the old name"))),
        CaptureSpec("https://tash.net/old", "", status="301 Moved", headers=(("Location", RIVER),)),
        CaptureSpec("https://www.tash.net/", html("F", link(RIVER, "river page"))),
        CaptureSpec("https://tash.net/contents", html("Contents", *contents)),
        *chapters,
        *[CaptureSpec(url, html("Teller", link(RIVER, f"told {number}"))) for number, url in enumerate(TELLERS)],
        CaptureSpec("https://wire.org/bridge?id=7", html("Bridge opened", STORY)),
        CaptureSpec(
            "https://gazette.net/2024/01/bridge", html("Bridge opened", STORY, "This report first appeared in Wire.")
        ),
        CaptureSpec("https://gazette.net/agency/bridge", html("Bridge opened", STORY, "From our agency.")),
        CaptureSpec("https://other.org/bridge", html("Bridge opened", STORY.replace("Ada Brenn", "Odo Pell"))),
    ]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signals")
    ingest(folder / "c", write(folder / "crawl.warc.gz", crawl()))
    return folder / "c"


def called(collection: Path, folder: Path, leave_out: str = "false") -> dict[str, dict[str, float]]:
    """Return the anchor texts of each page, by its URL."""
    with Catalog(collection, read_only=True) as catalog:
        anchor_rows = anchors.gather_anchors(catalog.db, folder / "anchors.parquet", leave_out)
        urls = dict(catalog.db.execute("SELECT warc_record_offset, url FROM pages").fetchall())
    return {
        urls[offset]: {text: round(weight, 3) for text, weight in texts}
        for (_, offset), texts in anchors.read_anchors(
            folder / "anchors.parquet", [(source, 0, END_OFFSET) for source in anchor_rows]
        ).items()
    }


def columns(collection: Path) -> tuple[Columns, dict[str, int]]:
    """The columns of the current snapshot, and which page has which dense id."""
    world = open_world(collection)
    docs = {
        url: world.page_store.exact(url)[0].doc
        for url in (record.url for record in crawl())
        if world.page_store.exact(url)
    }
    return Columns(collection / "snapshots" / (current_id(collection) or "") / "columns"), docs


def test_a_page_is_called_what_other_domains_call_it(collection: Path, tmp_path: Path) -> None:
    texts = called(collection, tmp_path)[RIVER]
    assert texts["The great river"] == 1.322  # log2(1 + 1 + 0.5): two domains, one of which does not vouch
    assert texts["the other spelling"] == texts["the old name"] == 1.0
    assert not {"river page", "on itself", "more", "→"} & texts.keys()
    assert len(texts) == anchors.MAX_TEXTS_PER_PAGE
    assert next(iter(texts)) == "The great river"
    assert list(texts)[3:] == sorted(f"told {number}" for number in range(12))[:9]


def test_links_of_some_pages_can_be_left_out(collection: Path, tmp_path: Path) -> None:
    texts = called(collection, tmp_path, held_out_sql("c.url"))[RIVER]
    anchor_texts = {f"told {number}" for number, url in enumerate(TELLERS) if is_held_out(url)}
    assert anchor_texts
    assert not anchor_texts & texts.keys()
    texts = called(collection, tmp_path, "c.url LIKE 'https://teller%'")[RIVER]
    assert texts["river page"] == 0.15
    assert list(texts) == ["The great river", "the old name", "the other spelling", "river page"]


def test_anchors_are_named_by_their_content(collection: Path, tmp_path: Path) -> None:
    with Catalog(collection, read_only=True) as catalog:
        first = anchors.gather_anchors(catalog.db, tmp_path / "a")
        again = anchors.gather_anchors(catalog.db, tmp_path / "b")
        fewer = anchors.gather_anchors(catalog.db, tmp_path / "c", "c.url = 'https://b.org/'")
    assert first == again != fewer
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_votes_are_the_same_counted_in_rounds(
    collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = called(collection, tmp_path)
    before = (tmp_path / "anchors.parquet").read_bytes()
    monkeypatch.setattr(anchors, "MAX_ROWS_PER_ROUND", 3)
    assert called(collection, tmp_path) == votes
    assert (tmp_path / "anchors.parquet").read_bytes() == before


@pytest.mark.parametrize("rows", [anchors.MAX_ROWS_PER_ROUND, 2])
def test_a_link_leads_to_the_page_itself_before_where_it_moved_and_what_is_like_it(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = {"status": "301 Moved", "headers": (("Location", "https://tash.net/new"),)}
    captures = [
        CaptureSpec("http://tash.net/new", html("Like the new one", "Text.")),
        CaptureSpec("https://tash.net/new", html("New", "Text.")),
        CaptureSpec("https://tash.net/here", html("Here", "Text.")),
        CaptureSpec("https://tash.net/here", day=2, **moved),
        CaptureSpec("https://tash.net/gone", **moved),
        CaptureSpec(
            "https://a.org/",
            html(
                "Links",
                link("https://tash.net/here", "as it is"),
                link("https://tash.net/gone", "where it went"),
                link("http://www.tash.net/new/", "what is like it"),
            ),
        ),
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", captures))
    monkeypatch.setattr(anchors, "MAX_ROWS_PER_ROUND", rows)
    assert {url: list(texts) for url, texts in called(tmp_path / "c", tmp_path).items()} == {
        "https://tash.net/here": ["as it is"],
        "https://tash.net/new": ["where it went"],
        "http://tash.net/new": ["what is like it"],
    }


def test_copies_on_other_sites_are_one_result_and_other_facts_are_not(collection: Path) -> None:
    world = open_world(collection)
    urls = {hit.url for hit in world.search(Query("bridge opened Velmora museum harbour")).hits}
    assert "https://other.org/bridge" in urls
    assert len(urls & {"https://wire.org/bridge?id=7", "https://gazette.net/2024/01/bridge"}) == 1
    values, docs = columns(collection)
    copies = duplicate_clusters.Duplicates(
        collection / "snapshots" / (current_id(collection) or "") / duplicate_clusters.FOLDER
    )
    wire, copy = docs["https://wire.org/bridge?id=7"], docs["https://gazette.net/2024/01/bridge"]
    assert {wire, copy} <= set(copies.members_of(values.cluster[wire]))
    assert docs["https://other.org/bridge"] not in copies.members_of(values.cluster[wire])
    assert list(copies.members_of(values.cluster[docs["https://other.org/bridge"]])) == []


def test_every_page_has_a_host_an_address_and_a_quality(collection: Path) -> None:
    values, docs = columns(collection)
    assert values.host[docs[RIVER]] > 0.5 > values.host[docs["https://a.org/1"]] == 0
    assert values.host[docs["https://www.tash.net/"]] == values.host[docs[RIVER]]
    assert values.address[docs["https://b.org/"]] == 1
    assert values.address[docs[RIVER]] > values.address[docs["https://gazette.net/2024/01/bridge"]]
    assert values.quality[docs["https://wire.org/bridge?id=7"]] == 1
    assert values.quality[docs["https://tash.net/chapter/1"]] < 1


def ranks(path: Path, header: str, *lines: str) -> Path:
    path.write_bytes(gzip.compress("\n".join(["\t".join(header.split()), *lines, ""]).encode()))
    return path


HEADER = "#harmonicc_pos #harmonicc_val #pr_pos #pr_val #host_rev"


def test_published_ranks_stand_for_the_crawls_own_links(collection: Path, tmp_path: Path) -> None:
    source = expand_sources([str(collection.parent / "crawl.warc.gz")]).sources
    before = current_id(collection)
    lines = (
        "1\t9.5e7\t1\t0.1\torg.a",
        "10\t8e7\t5\t0.01\tnet.tash",
        "20\t7e7\t2\t0.01\tcom.elsewhere",
        "99\tx\ty\tz\t-",
    )
    file = ranks(tmp_path / "host-ranks.txt.gz", HEADER, *lines)
    report = run(source, collection, 1, quiet=True, host_ranks=file)
    assert (report.already_ingested, report.hosts_with_ranks) == (1, 2)
    assert report.snapshot not in ("", before)
    values, docs = columns(collection)
    assert values.host[docs["https://a.org/1"]] > values.host[docs["https://www.tash.net/"]] == values.host[docs[RIVER]]
    assert round(values.host[docs[RIVER]], 3) == 0.5  # 1 - ln 10 / ln 100
    assert values.host[docs["https://b.org/"]] == 0


@pytest.fixture
def catalog() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect()
    db.execute(hosts.RANKS)
    db.execute("CREATE TABLE captures AS SELECT 'blog.a.co.uk' url_host_name, 'a.co.uk' url_host_registered_domain")
    return db


def test_ranks_of_domains_are_those_of_their_hosts(catalog: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    file = ranks(tmp_path / "r.txt.gz", f"{HEADER} #n_hosts", "3\t5\t1\t1\tuk.co.a\t12", "4\t5\t1\t1\tuk.co.b\t1")
    assert hosts.import_ranks(catalog, file) == 1
    assert catalog.execute("SELECT * FROM host_ranks").fetchall() == [("blog.a.co.uk", 3, 5.0, 4)]


def test_a_file_that_is_none_of_ranks_is_refused(catalog: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(b"not gzip")
    (tmp_path / "cut.gz").write_bytes(ranks(tmp_path / "whole.gz", HEADER, *map(str, range(9999))).read_bytes()[:9999])
    unreadable = [tmp_path / name for name in ("x.gz", "missing", "cut.gz")]
    for path in (ranks(tmp_path / "r.txt.gz", "host rank"), *unreadable):
        with pytest.raises(SourceError):
            hosts.import_ranks(catalog, path)


def test_what_is_left_out_for_a_result_is_listed(collection: Path) -> None:
    world = open_world(collection)
    results = world.search(Query("bridge Velmora band"))
    copies_by_url = dict(zip([hit.url for hit in results.hits], world.duplicate_urls(results), strict=True))
    copies = ["https://gazette.net/2024/01/bridge", "https://gazette.net/agency/bridge", "https://wire.org/bridge?id=7"]
    leaders = [url for url in copies if url in copies_by_url]
    assert len(leaders) == 1
    assert sorted([*leaders, *copies_by_url[leaders[0]]]) == copies
    assert copies_by_url["https://other.org/bridge"] == []
    before = replace(results, query=Query("bridge", as_of=datetime(2001, 1, 1, tzinfo=UTC)))
    assert not any(world.duplicate_urls(before)), "nothing was there yet"
    blocked = apply_policy(world, Policy(blocked=Blocked(domains=("gazette.net",))))
    results = blocked.search(Query("bridge Velmora band"))
    copies_by_url = dict(zip([hit.url for hit in results.hits], blocked.duplicate_urls(results), strict=True))
    assert copies_by_url["https://wire.org/bridge?id=7"] == []


def test_ranks_of_other_hosts_leave_the_earlier_ones(catalog: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    assert hosts.import_ranks(catalog, ranks(tmp_path / "a.gz", HEADER, "3\t5\t1\t1\tuk.co.a.blog")) == 1
    assert hosts.import_ranks(catalog, ranks(tmp_path / "b.gz", HEADER, "3\t5\t1\t1\tcom.elsewhere", "x")) == 0
    assert catalog.execute("SELECT host FROM host_ranks").fetchall() == [("blog.a.co.uk",)]


def test_a_wrong_ranks_file_is_found_before_anything_is_ingested(tmp_path: Path) -> None:
    source = write(tmp_path / "a.warc.gz", [CaptureSpec("http://a.org/", html("A", "text"))])
    with pytest.raises(SourceError, match="not a ranks file"):
        run(expand_sources([str(source)]).sources, tmp_path / "c", 1, quiet=True, host_ranks=source)
    assert not (tmp_path / "c" / "catalog.duckdb").exists()


def test_titles_that_look_like_queries_are_not_suggested_when_they_are_blocked(tmp_path: Path) -> None:
    bad = ["The \u201cSecret\u201d Plan", "Foo * Bar", "Zebra manual"]
    open_pages = [("The harbour", "A secret plan."), ("Foo baz bar", "Nothing.")]
    records = [CaptureSpec(f"http://bad.example/{n}", html(title, "Hidden.")) for n, title in enumerate(bad)]
    records += [
        CaptureSpec(f"http://good.example/{n}", html(title, text)) for n, (title, text) in enumerate(open_pages)
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    world = open_world(tmp_path / "c")
    blocked = apply_policy(world, Policy(blocked=Blocked(domains=("bad.example",))))
    assert {world.suggest(prefix, 5)[0] for prefix in ("the \u201csec", "foo *", "zeb")} == set(bad)
    assert [blocked.suggest(prefix, 5) for prefix in ("the sec", "the \u201csec", "zeb")] == [[], [], []]
    assert blocked.suggest("foo", 5) == ["Foo baz bar"]
