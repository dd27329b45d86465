"""Removed captures stay out of the catalog and of every later build, whatever is ingested or rolled back."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from tests.in_process import in_process
from webemu.emulator.errors import BadRequest, NotCaptured, SnapshotError
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id, read_manifest, set_current
from webemu.index.open import open_snapshot, open_world
from webemu.index.removal.rules import FILE, Kind, Rules, parse_rule, read_rules
from webemu.index.removal.stale import delete_snapshots, find_stale
from webemu.index.removal.take import keep_out_rolled_back, parse_list, remove, source_rule
from webemu.index.verify import verify_snapshot
from webemu.ingest.purge import purge
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources

WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."
PAGES = [
    CaptureSpec("https://a.example/kept", html("Kept", WORDS)),
    CaptureSpec("https://a.example/private/one", html("One", WORDS, "quibbledock one")),
    CaptureSpec("https://a.example/privateer", html("Privateer", WORDS, "privateer")),
    CaptureSpec("http://www.b.example/x?utm_source=mail", html("Bee", WORDS, "quibbledock bee")),
    CaptureSpec("https://sub.c.example/y", html("Sea", WORDS, "quibbledock sea")),
]


def rules_of(*values: tuple[Kind, str]) -> Rules:
    return Rules(tuple(parse_rule(kind, value, "test", "2024-01-01") for kind, value in values))


@pytest.mark.parametrize(
    ("rule", "covered"),
    [
        (("url", "https://b.example/x"), ["http://www.b.example/x", "https://b.example/x?utm_source=mail"]),
        (("url", "https://b.example/x/index.html"), ["https://b.example/x/"]),
        (("prefix", "https://a.example/private/"), ["http://a.example/private", "https://a.example/private/one?x=1"]),
        (("prefix", "https://a.example/priv"), ["https://a.example/privateer", "https://a.example/private/"]),
        (("host", "c.example"), ["https://www.c.example/", "https://c.example:8080/y"]),
        (("host", "*.c.example"), ["https://sub.c.example/y", "https://c.example/"]),
    ],
)
def test_a_rule_covers_all_spellings_and_nothing_else(rule: tuple[Kind, str], covered: list[str]) -> None:
    rules = rules_of(rule)
    other_urls = ["https://other.example/", "https://b.example/xx", "https://a.example/", "https://notc.example/"]
    assert [url for url in covered if not rules.covers(url)] == []
    assert [url for url in other_urls if rules.covers(url)] == []


def test_a_folder_is_not_its_namesake() -> None:
    assert not rules_of(("prefix", "https://a.example/private/")).covers("https://a.example/privateer")
    assert not rules_of(("host", "c.example")).covers("https://sub.c.example/y")


def test_lists_name_urls_hosts_and_prefixes() -> None:
    rules = parse_list(["# why", "", "https://b.example/x", "host: C.example", "prefix:https://a.example/p/"], "list")
    assert [rule.key for rule in rules] == [
        ("url", "https://b.example/x"),
        ("host", "c.example"),
        ("prefix", "https://a.example/p/"),
    ]


ALL_RULES = rules_of(
    ("prefix", "https://a.example/private/"), ("url", "https://b.example/x"), ("host", "*.c.example")
).rules


def urls_of(collection: Path) -> list[str]:
    with Catalog(collection, read_only=True) as catalog:
        return [url for (url,) in catalog.db.execute("SELECT url FROM captures ORDER BY url").fetchall()]


def test_removed_captures_stay_out_of_whatever_is_ingested_later(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    first = ingest(collection, write(tmp_path / "one.warc.gz", PAGES)).snapshot
    with in_process():
        assert remove(collection, ALL_RULES) == 3
        second = build_snapshot(collection)
    kept_urls = ["https://a.example/kept", "https://a.example/privateer"]
    assert urls_of(collection) == kept_urls
    assert [manifest.id for manifest in find_stale(collection, read_rules(collection))] == [first]
    with pytest.raises(SnapshotError, match="removed since"):
        open_snapshot(collection, first)
    later = [replace(page, day=9) for page in PAGES]
    third = ingest(collection, write(tmp_path / "two.warc.gz", later), tmp_path / "one.warc.gz").snapshot
    assert urls_of(collection) == sorted(kept_urls * 2)
    assert find_stale(collection, read_rules(collection))[0].id == first
    assert {second, third} & {first} == set()


@pytest.mark.slow
def test_the_order_of_removals_does_not_change_the_snapshot(tmp_path: Path) -> None:
    path = write(tmp_path / "one.warc.gz", PAGES)
    for name, rules in (("forward", ALL_RULES), ("backward", ALL_RULES[::-1])):
        ingest(tmp_path / name, path)
        for rule in rules:
            remove(tmp_path / name, [rule])
    with in_process():
        assert build_snapshot(tmp_path / "forward") == build_snapshot(tmp_path / "backward")
    before_ingest = tmp_path / "before"
    before_ingest.mkdir()
    (before_ingest / FILE).write_text((tmp_path / "forward" / FILE).read_text())
    assert ingest(before_ingest, path).snapshot == current_id(tmp_path / "forward")


def test_a_file_gives_no_range_that_holds_a_removed_record(tmp_path: Path) -> None:
    collection, path = tmp_path / "c", write(tmp_path / "one.warc.gz", PAGES)
    ingest(collection, path)
    before = open_world(collection)
    records = {capture.url: capture.record for page in PAGES for capture in before.captures(page.url)}
    with in_process():
        remove(collection, ALL_RULES)
        build_snapshot(collection)
    world = open_world(collection)
    (archive,) = world.archives()
    for url in urls_of(collection):
        _, offset, length = records[url]
        assert b"".join(world.bytes_of(archive, offset, length)) == path.read_bytes()[offset : offset + length]
    for _, offset, length in (records["https://a.example/private/one"], ("", 0, path.stat().st_size)):
        with pytest.raises(NotCaptured):
            list(world.bytes_of(archive, offset, length))


def test_a_removed_file_stays_out_and_is_found_by_any_name(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    paths = [write(tmp_path / name, pages) for name, pages in (("a.warc.gz", PAGES[:1]), ("b.warc.gz", PAGES[1:]))]
    ingest(collection, *paths)
    rule = source_rule(collection, "b.warc.gz", "bad")
    assert rule.value == source_rule(collection, str(paths[1]), "bad").value
    with pytest.raises(BadRequest):
        source_rule(collection, "c.warc.gz", "bad")
    remove(collection, [rule])
    copy = paths[1].rename(tmp_path / "renamed.warc.gz")
    report = ingest(collection, copy)
    assert (report.added, report.kept_out, urls_of(collection)) == (0, 1, ["https://a.example/kept"])
    assert [Path(file).name for file in read_manifest(collection / "snapshots" / report.snapshot).files] == [
        "a.warc.gz"
    ]


def test_a_rolled_back_source_does_not_come_back(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    old = ingest(collection, write(tmp_path / "a.warc.gz", PAGES[:1])).snapshot
    new = ingest(collection, write(tmp_path / "b.warc.gz", PAGES[1:])).snapshot
    set_current(collection, old)
    assert [rule.name for rule in keep_out_rolled_back(collection, new)] == ["b.warc.gz"]
    delete_snapshots(collection, [new])
    report = ingest(collection, tmp_path / "a.warc.gz", tmp_path / "b.warc.gz")
    assert (report.snapshot, urls_of(collection)) == (old, ["https://a.example/kept"])


def test_an_old_snapshot_without_sources_of_its_own_is_deleted_without_removals(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    old = ingest(collection, write(tmp_path / "a.warc.gz", PAGES[:1])).snapshot
    ingest(collection, write(tmp_path / "b.warc.gz", PAGES[1:]))
    assert keep_out_rolled_back(collection, old) == []


def test_purging_blanks_own_copies_and_keeps_every_other_offset(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    one_member = write(tmp_path / "plain.warc.gz", PAGES)
    one_member.write_bytes(gzip.compress(gzip.decompress(one_member.read_bytes())))
    ingest(collection, one_member)
    (copy,) = (collection / "warc").glob("*.warc.gz")
    size = copy.stat().st_size
    with in_process():
        remove(collection, ALL_RULES)
        snapshot = build_snapshot(collection)
    rules = read_rules(collection)
    report = purge(collection, rules)
    assert (report.records, len(report.copies), copy.stat().st_size) == (3, 1, size)
    assert b"quibbledock" not in gzip.decompress(copy.read_bytes())
    assert b"quibbledock" not in (collection / "catalog.duckdb").read_bytes()
    assert purge(collection, rules).records == 0
    faults: list[str] = []
    assert verify_snapshot(collection, snapshot, faults.append)["payloads"] == 2
    assert faults == []


@pytest.mark.parametrize("removed_host", ["quibble.example", "*.example"])
def test_purging_without_a_new_snapshot_leaves_nothing_that_builds_kept(tmp_path: Path, removed_host: str) -> None:
    link = '<a href="https://a.example/kept">dockmaster</a><a href="https://elsewhere.example/">away</a>'
    pages = [PAGES[0], CaptureSpec("https://quibble.example/", html("Links", WORDS, link))]
    collection = tmp_path / "c"
    ingest(collection, write(tmp_path / "a.warc.gz", pages))

    def find_traces() -> list[str]:
        traces = [path.name for path in collection.glob("*.parquet")] + [
            path.name for path in collection.glob("*.json")
        ]
        with Catalog(collection, read_only=True) as catalog:
            hosts = catalog.db.execute("SELECT DISTINCT host FROM linked_hosts WHERE host IS NOT NULL").fetchall()
        return sorted([*traces, *(host for (host,) in hosts)])

    files = ["link_texts.json", "link_texts.parquet", "near_bands.json", "near_bands.parquet"]
    assert find_traces() == [*files, "quibble.example"]
    rules = rules_of(("host", removed_host))
    remove(collection, rules.rules)
    purge(collection, rules)
    assert find_traces() == []
    assert b"quibble" not in (collection / "catalog.duckdb").read_bytes()


def test_reading_again_brings_back_what_was_taken_back(tmp_path: Path) -> None:
    collection, path = tmp_path / "c", write(tmp_path / "a.warc.gz", PAGES)
    before = ingest(collection, path).snapshot
    remove(collection, ALL_RULES)
    (collection / FILE).unlink()
    with in_process():
        report = run(expand_sources([str(path)]).sources, collection, 1, quiet=True, reread=True)
    assert (report.added, report.snapshot) == (1, before)
    assert len(urls_of(collection)) == len(PAGES)
