"""Partitions that are added to others, and what is answered while some are lost."""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, write
from tests.in_process import in_process
from tests.index.here import Here
from webemu.emulator.errors import NotCaptured, Overloaded, SnapshotError
from webemu.emulator.missing_parts import collect_missing_parts
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.keeping.collect import collect, plan_collection
from webemu.index.open import open_world
from webemu.index.partitions.partition import partition_of
from webemu.index.partitions.split import (
    PartitionSet,
    add_partition,
    partition_folder,
    partitioned_world,
    read_partitions,
    split_collection,
)
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources
from webemu.worlds import generate

pytestmark = pytest.mark.slow

PARTS = 5
COPIED = " ".join(f"Sentence {n} of the harbour news is about {n * 3} boats in the fog." for n in range(30))
FIRST = [
    CaptureSpec("https://news.example/front", html("Front page", "The quagga was seen in the morning."), day=10),
    CaptureSpec("https://news.example/older", html("A page", "The late text has an axolotl."), day=20),
    CaptureSpec("https://news.example/same", html("Same", "The numbat page has one capture only."), day=10),
    CaptureSpec("https://copy.example/one", html("Harbour", COPIED), day=10),
]
SECOND = [
    CaptureSpec("https://news.example/front", html("Front page", "The okapi was seen in the evening."), day=20),
    CaptureSpec("https://news.example/older", html("A page", "The early text has a pangolin."), day=10),
    CaptureSpec("https://news.example/new", html("Unheard of", "A tapir is in the added part."), day=20),
    CaptureSpec("https://copy.example/two", html("Harbour", COPIED), day=20),
    CaptureSpec("https://linking.example/", html("Links", '<a href="https://news.example/third">An animal</a>')),
    CaptureSpec("https://moved.example/", status="301 Moved", headers=(("Location", "https://news.example/same"),)),
]
THIRD = [
    CaptureSpec("https://news.example/front", html("Front page", "The dugong was seen at night."), day=25),
    CaptureSpec("https://news.example/third", html("Third", "Only an aardvark here."), day=25),
]


def ingest(root: Path, name: str, records: Sequence[CaptureSpec]) -> None:
    write(root / name, records)
    run(expand_sources([str(root / name)]).sources, root / "default", 1, quiet=True)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("added")
    generate(root / "web", seed=5, pages=200)
    run(expand_sources([str(root / "web")]).sources, root / "default", 2, quiet=True)
    ingest(root, "first.warc.gz", FIRST)
    split_collection(root / "default", PARTS, 2)
    ingest(root, "second.warc.gz", SECOND)
    add_partition(root / "default", PARTS, 1)
    ingest(root, "third.warc.gz", THIRD)
    add_partition(root / "default", PARTS, 1)
    return root / "default"


@pytest.fixture(scope="module")
def partition_set(collection: Path) -> PartitionSet:
    return read_partitions(collection, PARTS)


@pytest.fixture(scope="module")
def whole_world(collection: Path) -> World:
    return open_world(collection)


@pytest.fixture
def here(collection: Path) -> Here:
    return Here(collection, PARTS)


@pytest.fixture
def parted(partition_set: PartitionSet, here: Here) -> World:
    return partitioned_world(here.collection, partition_set, here)


def urls_of(world: World, text: str, as_of: datetime | None = None) -> list[str]:
    return [hit.url for hit in world.search(Query(text, as_of=as_of, is_strict=True)).hits]


def all_urls(collection: Path) -> list[str]:
    with Catalog(collection, read_only=True) as catalog:
        rows = catalog.db.execute("SELECT DISTINCT url FROM captures WHERE url_protocol LIKE 'http%' ORDER BY 1")
        return [url for (url,) in rows.fetchall()]


def test_all_captures_are_there(
    collection: Path, partition_set: PartitionSet, whole_world: World, parted: World
) -> None:
    assert (partition_set.parts, len(partition_set.snapshots)) == (PARTS, PARTS + 2)
    for url in all_urls(collection):
        captures = [capture._replace(doc=0) for capture in whole_world.page_store.exact(url)]
        parted_captures = [capture._replace(doc=0) for capture in parted.page_store.exact(url)]
        assert [(one.url, one.time, one.offset, one.digest) for one in parted_captures] == [
            (one.url, one.time, one.offset, one.digest) for one in captures
        ]
        pages = [parted.page_store.text(one.doc) for one in parted.page_store.exact(url) if one.doc >= 0]
        assert pages == [
            whole_world.page_store.text(one.doc) for one in whole_world.page_store.exact(url) if one.doc >= 0
        ]
        bodies = [parted.page_store.payload(one).body for one in parted_captures if one.length]
        assert bodies == [whole_world.page_store.payload(one).body for one in captures if one.length]
    assert {**parted.figures(), "parts": 0} == {**whole_world.figures(), "parts": 0}


def test_a_url_shows_its_latest_capture_wherever_that_is(whole_world: World, parted: World) -> None:
    for word in ("quagga", "axolotl", "numbat", "okapi", "pangolin", "tapir", "dugong", "aardvark"):
        assert urls_of(parted, word) == urls_of(whole_world, word)
        for day in (1, 5, 12, 22, 31):
            as_of = datetime(2024, 1, day, tzinfo=UTC)
            assert urls_of(parted, word, as_of) == urls_of(whole_world, word, as_of)
    assert urls_of(parted, "dugong")
    assert not urls_of(parted, "okapi")
    assert urls_of(parted, "okapi", datetime(2024, 1, 22, tzinfo=UTC))


def test_duplicates_and_redirects_reach_over_parts(whole_world: World, parted: World) -> None:
    query = Query("harbour news boats fog")
    results, whole_results = parted.search(query), whole_world.search(query)
    copies = {results.hits[0].url, *parted.duplicate_urls(results)[0]}
    assert copies == {whole_results.hits[0].url, *whole_world.duplicate_urls(whole_results)[0]}
    assert copies == {"https://copy.example/one", "https://copy.example/two"}
    page = parted.fetch(PageRequest("https://moved.example/"))
    assert page.capture.url == "https://news.example/same"


def test_lists_files_and_completions_have_all_parts(whole_world: World, parted: World) -> None:
    def listed(world: World) -> list[tuple[str, list[tuple[str, int]]]]:
        return [(key, [(one.url, one.time) for one in captures]) for key, captures in world.listing("", "\U0010ffff")]

    assert listed(parted) == listed(whole_world)
    archives, whole_archives = (sorted(one.archives(), key=lambda file: file.name) for one in (parted, whole_world))
    assert [(one.name, one.first_time, one.last_time) for one in archives] == [
        (one.name, one.first_time, one.last_time) for one in whole_archives
    ]
    for archive, whole_archive in zip(archives, whole_archives, strict=True):
        data = b"".join(parted.bytes_of(archive, 0, 1000))
        assert data == b"".join(whole_world.bytes_of(whole_archive, 0, 1000)) != b""
    assert parted.suggest("unheard", 5) == ["Unheard of"]
    assert parted.ranker.frequency("front") == whole_world.ranker.frequency("front")


def test_searches_find_the_same_first(collection: Path, whole_world: World, parted: World) -> None:
    lines = (collection.parent / "web" / "tasks.jsonl").read_text().splitlines()
    questions = [json.loads(line)["question"] for line in lines][:60]
    pairs = [
        (
            [hit.url for hit in whole_world.search(Query(text)).hits],
            [hit.url for hit in parted.search(Query(text)).hits],
        )
        for text in questions
    ]
    assert sum(one[:1] == other[:1] for one, other in pairs) >= 0.9 * len(pairs)


def test_hosts_are_as_central_as_among_all(whole_world: World, parted: World) -> None:
    """The graph of the added hosts alone would make the only one that is linked to the centre of the web."""
    query = Query("aardvark", explain=True)
    explanations = [world.search(query).explanations[0] for world in (whole_world, parted)]
    assert explanations[0]["host"] == explanations[1]["host"] > 0


def test_nothing_is_added_twice_and_changed_sources_are_refused(
    collection: Path, partition_set: PartitionSet, tmp_path: Path
) -> None:
    assert add_partition(collection, PARTS) == partition_set
    copy = tmp_path / "default"
    shutil.copytree(collection, copy, ignore=shutil.ignore_patterns("shards", "snapshots"))
    with Catalog(copy) as catalog:
        catalog.db.execute("UPDATE sources SET content_hash = content_hash + 1")
    with pytest.raises(SnapshotError, match="changed or removed"):
        add_partition(copy, PARTS)
    with pytest.raises(SnapshotError, match="not split into 9"):
        add_partition(collection, 9)


def test_earlier_sets_can_be_opened_beside_the_newest(
    collection: Path, partition_set: PartitionSet, here: Here
) -> None:
    ids = [file.stem for file in (partition_folder(collection, PARTS) / "sets").glob("*.json")]
    sets = {len(one.snapshots): one for one in (read_partitions(collection, PARTS, set_id) for set_id in ids)}
    assert sorted(sets) == [PARTS, PARTS + 1, PARTS + 2]
    worlds = {count: partitioned_world(collection, one, here) for count, one in sets.items()}
    for _ in range(2):
        assert urls_of(worlds[PARTS], "quagga")
        assert not urls_of(worlds[PARTS + 1], "quagga")
        assert urls_of(worlds[PARTS + 1], "okapi")
        assert not urls_of(worlds[PARTS + 2], "okapi")
    with pytest.raises(SnapshotError, match="no partitions"):
        read_partitions(collection, PARTS, "0" * 16)
    with pytest.raises(SnapshotError, match="not an id"):
        read_partitions(collection, PARTS, "../split")


LOST = partition_of("https://news.example/same", PARTS)


@pytest.fixture
def thinned(parted: World, here: Here) -> World:
    """The world after one part was lost."""
    here.lost = {LOST}
    return parted


def test_a_search_says_which_parts_it_lacks(parted: World, here: Here) -> None:
    with collect_missing_parts() as missing:
        complete = parted.search(Query("town river"))
        assert not missing
        here.lost = {LOST}
        thinner = parted.search(Query("town river"))
    assert missing == {LOST}
    urls = {hit.url for hit in thinner.hits}
    assert urls
    assert not [
        url for url in urls if partition_of(url, PARTS) == LOST and url not in {one.url for one in SECOND + THIRD}
    ]
    here.lost = set()
    with collect_missing_parts() as missing:
        assert parted.search(Query("town river")) == complete
    assert not missing


def test_words_counted_without_a_part_are_counted_again(parted: World, here: Here, whole_world: World) -> None:
    here.lost = {LOST}
    with collect_missing_parts() as missing:
        parted.search(Query("mayor novel numbat council"))
    assert missing == {LOST}
    here.lost = set()
    with collect_missing_parts() as missing:
        results = parted.search(Query("mayor novel numbat council"))
        assert parted.ranker.frequency("numbat") == whole_world.ranker.frequency("numbat") == 1
    assert not missing
    fresh = partitioned_world(here.collection, read_partitions(here.collection, PARTS), Here(here.collection, PARTS))
    assert fresh.search(Query("mayor novel numbat council")).hits == results.hits


def test_what_cannot_say_so_is_refused(partition_set: PartitionSet, thinned: World, here: Here) -> None:
    with pytest.raises(Overloaded, match=f"parts {LOST} of the index"):
        thinned.search(Query("town"))
    strict = partitioned_world(here.collection, partition_set, here, is_strict=True)
    with collect_missing_parts() as missing, pytest.raises(Overloaded, match=f"parts {LOST}"):
        strict.search(Query("town"))
    assert not missing


def test_a_page_of_a_lost_part_is_refused_and_not_denied(thinned: World) -> None:
    with collect_missing_parts() as missing:
        there = next(one.url for one in FIRST if partition_of(one.url, PARTS) != LOST)
        assert thinned.fetch(PageRequest(there)).title
        for url in ("https://news.example/same", "https://news.example/nowhere", "https://unknown.example/"):
            with pytest.raises(Overloaded, match=f"parts {LOST}"):
                thinned.fetch(PageRequest(url))
        with pytest.raises(Overloaded):
            list(thinned.listing("", "\U0010ffff"))
        with pytest.raises(Overloaded):
            thinned.knows_host("unknown.example")
    assert not missing


def test_what_any_part_can_answer_is_asked_of_another_process(parted: World, here: Here, whole_world: World) -> None:
    parted.ranker.frequency("river")  # counted while all are there
    here.lost = set(range(0, PARTS + 2, 2))
    here.calls.clear()
    with collect_missing_parts() as missing:
        assert parted.ranker.frequency("river") == whole_world.ranker.frequency("river")
    assert missing == {0}
    assert here.calls[:2] == [("frequency", (0,)), ("frequency", (1,))]


def test_no_part_is_no_answer(parted: World, here: Here) -> None:
    here.lost = set(range(PARTS + 2))
    with collect_missing_parts(), pytest.raises(Overloaded, match="of the index did not answer"):
        parted.search(Query("town"))


def test_a_part_whose_files_are_gone_is_named_until_they_are_back(
    collection: Path, partition_set: PartitionSet, parted: World
) -> None:
    folder = partition_folder(collection, PARTS, LOST)
    with collect_missing_parts() as missing:
        complete = parted.search(Query("town river"))
    moved = folder.rename(folder.with_name("moved"))
    try:
        fresh = partitioned_world(collection, partition_set, here := Here(collection, PARTS))
        with collect_missing_parts() as missing:
            fresh.search(Query("town river"))
        assert missing == {LOST}
        with pytest.raises(Overloaded):
            fresh.fetch(PageRequest("https://news.example/same"))
    finally:
        moved.rename(folder)
    here.forget_failures()
    with collect_missing_parts() as missing:
        assert fresh.search(Query("town river")) == complete
    assert not missing
    with pytest.raises(NotCaptured):
        fresh.fetch(PageRequest("https://unknown.example/"))


def test_sets_that_are_not_served_can_be_collected(tmp_path: Path) -> None:
    with in_process():
        ingest(tmp_path, "first.warc.gz", FIRST)
        folder = tmp_path / "default"
        first = split_collection(folder, 2)
        ingest(tmp_path, "second.warc.gz", SECOND)
        second = add_partition(folder, 2)
        ingest(tmp_path, "third.warc.gz", THIRD)
        third = split_collection(folder, 2)
    plan = plan_collection(folder, 2, None)
    assert [one.id for one in plan.partition_sets] == [first.id]
    assert plan_collection(folder, None, 3600).partition_sets == ()
    collect(folder, plan)  # the second set has all snapshots of the first one
    assert partitioned_world(folder, second, Here(folder, 2)).search(Query("okapi")).hits
    plan = plan_collection(folder, 1, None)
    assert [one.id for one in plan.partition_sets] == [second.id]
    assert collect(folder, plan) > 0
    remaining = {path.name for path in folder.glob("parts/2/*/snapshots/*")}
    assert remaining == set(third.snapshots)
    assert {path.name for path in folder.glob("parts/2/sets/*")} == {f"{third.id}.json", f"{third.id}.words"}
    assert partitioned_world(folder, third, Here(folder, 2)).search(Query("dugong")).hits
    with pytest.raises(SnapshotError, match="no partitions"):
        read_partitions(folder, 2, second.id)
