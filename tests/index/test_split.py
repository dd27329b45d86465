"""A collection in parts answers as one snapshot of all of it does, but for the average length of pages."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, write
from tests.index.here import Here
from webemu.emulator.errors import EmulatorError, NotCaptured, SnapshotError
from webemu.emulator.exchange_keys import make_keys
from webemu.emulator.policy import Blocked, Policy
from webemu.emulator.policy_filter import apply_policy
from webemu.emulator.query import ParsedQuery
from webemu.emulator.types import PageRequest, Query
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id
from webemu.index.open import open_world
from webemu.index.partitions import methods
from webemu.index.partitions.client import PartitionClient
from webemu.index.partitions.methods import Method
from webemu.index.partitions.partition import Partition, partition_of
from webemu.index.partitions.split import (
    PartitionSet,
    partition_folder,
    partitioned_world,
    read_partitions,
    split_collection,
)
from webemu.ingest.run import run
from webemu.ingest.sources import expand_sources
from webemu.recorder.archive import Archive, RecordedRequest, ResponseCopy
from webemu.worlds import generate

pytestmark = pytest.mark.slow

PARTS = 3
MISSPELLED = ("harbuor concil", "fishremen", "popluation of the town", "foundde")
NEWS = " ".join(
    f"On day {n} the council of the harbour heard {n * 7} fishermen who were tired of the fog." for n in range(40)
)
FEW = [
    CaptureSpec("https://one.example/old", status="301 Moved", headers=(("Location", "https://two.example/newer"),)),
    CaptureSpec("https://two.example/newer", html("New home", "Where the old address leads to")),
    *(CaptureSpec(f"https://{name}.example/news", html("Harbour news", NEWS)) for name in ("three", "nine", "ten")),
    CaptureSpec("https://six.example/gone", html("Not here", "Nothing"), status="404 Not Found"),
]


API_URL = "https://api.example/search"


def write_recording(path: Path) -> None:
    archive = Archive(path)
    for second, answer in enumerate((b"first", b"second")):
        copy = ResponseCopy(200, b"OK", [(b"Content-Type", b"text/plain")], "h2")
        copy.add(answer)
        archive.write(
            RecordedRequest("POST", API_URL, [], b"q=boats", datetime(2024, 3, 1, 12, 0, second, tzinfo=UTC)), copy
        )
        copy.close()
    archive.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("split")
    generate(root / "web", seed=3, pages=700)
    write(root / "web" / "few.warc.gz", FEW)
    write_recording(root / "web" / "tape.warc.gz")
    run(expand_sources([str(root / "web")]).sources, root / "default", 2, quiet=True)
    return root / "default"


@pytest.fixture(scope="module")
def partition_set(folder: Path) -> PartitionSet:
    return split_collection(folder, PARTS, 2)


@pytest.fixture(scope="module")
def whole_world(folder: Path) -> World:
    return open_world(folder)


@pytest.fixture
def here(folder: Path, partition_set: PartitionSet) -> Here:
    return Here(folder, PARTS)


@pytest.fixture
def parted(partition_set: PartitionSet, here: Here) -> World:
    return partitioned_world(here.collection, partition_set, here)


@pytest.fixture(scope="module")
def questions(folder: Path) -> list[str]:
    lines = (folder.parent / "web" / "tasks.jsonl").read_text().splitlines()
    return [json.loads(line)["question"] for line in lines][:100]


def urls_of(world: World, query: Query) -> list[str]:
    return [hit.url for hit in world.search(query).hits]


def read(world: World, url: str) -> tuple[str, ...]:
    """Return the outcome of a visit, or the reason why it has none."""
    try:
        page = world.fetch(PageRequest(url))
    except EmulatorError as error:
        return (error.reason, error.message)
    return (page.title, page.content, *page.redirects)


def all_urls(folder: Path) -> list[str]:
    with Catalog(folder, read_only=True) as catalog:
        rows = catalog.db.execute("SELECT DISTINCT url FROM captures WHERE url_protocol LIKE 'http%' ORDER BY 1")
        return [url for (url,) in rows.fetchall()]


def test_many_results_take_one_request_of_each_partition(parted: World, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [hit.url for number in range(1, 7) for hit in parted.search(Query("harbour council", number)).hits]
    depths: list[object] = []
    search_all = PartitionClient.search_all

    def note_depth(client: PartitionClient, method: Method[object], *arguments: object) -> list[object]:
        if method is methods.RANK:
            depths.append(arguments[-1])
        return search_all(client, method, *arguments)

    monkeypatch.setattr(PartitionClient, "search_all", note_depth)
    assert [hit.url for hit in parted.search(Query("harbour council", size=60)).hits] == expected
    assert len(expected) == 60
    assert depths == [300]


def test_a_url_is_in_the_part_that_sql_says() -> None:
    import duckdb

    urls = [f"https://a.example/{n}?ö" for n in range(100)]
    for number in range(4):
        inside = Partition(number, 4).membership_sql("?")
        inside_urls = {url for url in urls if duckdb.execute(f"SELECT {inside}", [url]).fetchall()[0][0]}
        assert inside_urls == {url for url in urls if partition_of(url, 4) == number}


def test_every_capture_is_there_and_says_the_same(folder: Path, whole_world: World, parted: World, here: Here) -> None:
    for url in all_urls(folder):
        captures = [capture._replace(doc=0) for capture in whole_world.page_store.exact(url)]
        assert [capture._replace(doc=0) for capture in parted.page_store.exact(url)] == captures
        assert here.calls[-1] == ("exact", (partition_of(url, PARTS),))
        assert read(parted, url) == read(whole_world, url)


def test_a_redirect_leads_into_another_part(parted: World) -> None:
    assert partition_of(FEW[0].url, PARTS) != partition_of(FEW[1].url, PARTS)
    page = parted.fetch(PageRequest(FEW[0].url))
    assert (page.capture.url, page.redirects) == (FEW[1].url, (FEW[0].url,))


def test_other_spellings_are_looked_for_in_all_parts(folder: Path, whole_world: World, parted: World) -> None:
    spelled = [url.replace("https://", "http://www.") + "?utm_source=a" for url in all_urls(folder)[::25]]
    for url in spelled:
        captures, other = whole_world.captures(url), parted.captures(url)
        assert [capture._replace(doc=0) for capture in other] == [capture._replace(doc=0) for capture in captures]


def test_searches_find_the_same_first(whole_world: World, parted: World, questions: list[str]) -> None:
    url_pairs = [(urls_of(whole_world, Query(text)), urls_of(parted, Query(text))) for text in questions]
    assert sum(one[:1] == other[:1] for one, other in url_pairs) >= 97
    shared = sum(len(set(one) & set(other)) for one, other in url_pairs)
    assert shared > 0.93 * sum(len(one) for one, _ in url_pairs)


@pytest.mark.parametrize("engine", ["plain", "weak"])
def test_other_engines_too(engine: str, whole_world: World, parted: World, questions: list[str]) -> None:
    for text in questions[:20]:
        urls, other = urls_of(whole_world, Query(text, engine=engine)), urls_of(parted, Query(text, engine=engine))
        assert len(set(urls) & set(other)) >= 0.7 * len(urls)


def test_words_are_as_frequent_as_in_the_whole(whole_world: World, parted: World, questions: list[str]) -> None:
    for word in {word for text in questions for word in text.split()}:
        assert parted.ranker.frequency(word) == whole_world.ranker.frequency(word)
        assert list(parted.ranker.terms(word, "the town")) == list(whole_world.ranker.terms(word, "the town"))


def test_pages_of_results_follow_one_another(whole_world: World, parted: World) -> None:
    for text in ("site:en.openlexicon.org", "town", "after:2020-01-01 -town"):
        pages = [urls_of(parted, Query(text, page=page)) for page in range(1, 6)]
        listed = [url for page in pages for url in page]
        assert len(set(listed)) == len(listed) == 50
        assert urls_of(parted, Query(text, size=50)) == listed


def test_answers_do_not_depend_on_what_was_asked_before(
    folder: Path, partition_set: PartitionSet, questions: list[str]
) -> None:
    worlds = [partitioned_world(folder, partition_set, Here(folder, PARTS, groups)) for groups in (1, 2, 3)]
    in_order = {text: worlds[0].search(Query(text)).hits for text in questions}
    backwards = {text: worlds[1].search(Query(text)).hits for text in reversed(questions)}
    again = {text: worlds[2].search(Query(text)).hits for text in questions[::3] + questions}
    assert in_order == backwards == again


def test_a_search_is_one_question_once_its_words_are_known(parted: World, here: Here) -> None:
    first = parted.search(Query("lighthouse of the town"))
    copied = [hit for hit in first.hits if parted.ranker.duplicates(hit.doc)]
    here.calls.clear()
    assert parted.search(Query("lighthouse of the town")) == first
    assert here.calls == [("rank", (0, 2, 1))]
    parted.duplicate_urls(first)
    assert [method for method, _ in here.calls].count("copies_in") == len(copied) < len(first.hits)


def test_copies_are_collapsed_over_parts(whole_world: World, parted: World) -> None:
    query = Query("harbour council fishermen fog")
    assert len({partition_of(record.url, PARTS) for record in FEW[2:5]}) > 1
    results, other = whole_world.search(query), parted.search(query)
    copies = [
        {results.hits[0].url, *whole_world.duplicate_urls(results)[0]},
        {other.hits[0].url, *parted.duplicate_urls(other)[0]},
    ]
    assert copies == [{record.url for record in FEW[2:5]}] * 2


def test_lists_hosts_and_completions_are_those_of_the_whole(whole_world: World, parted: World) -> None:
    def listed(world: World) -> Iterator[tuple[str, list[tuple[str, int]]]]:
        for key, captures in world.listing("", "\U0010ffff"):
            yield key, [(capture.url, capture.time) for capture in captures]

    assert list(listed(parted)) == list(listed(whole_world))
    assert parted.knows_host("six.example")
    assert not parted.knows_host("seven.example")
    for prefix in ("the", "t", "mayor", "river "):
        assert parted.suggest(prefix, 10) == whole_world.suggest(prefix, 10)
    # Of few texts all are read, so that the words are those of the whole.
    assert [parted.correct(text) for text in MISSPELLED] == [whole_world.correct(text) for text in MISSPELLED]
    assert any(whole_world.correct(text) for text in MISSPELLED)
    assert [one.name for one in parted.archives()] == [one.name for one in whole_world.archives()]
    missing = parted.error_page_of("six.example")
    assert missing is not None
    assert missing[0].url == "https://six.example/gone"
    assert {**parted.figures(), "parts": 0} == {**whole_world.figures(), "parts": 0}


def test_a_session_sees_nothing_of_what_is_blocked(parted: World) -> None:
    world = apply_policy(
        parted, Policy(blocked=Blocked(domains=("openlexicon.org",)), as_of=datetime(2030, 1, 1, tzinfo=UTC))
    )
    urls = [url for page in range(1, 4) for url in urls_of(world, Query("river town mayor", page=page))]
    assert urls
    assert not [url for url in urls if "openlexicon.org" in url]
    with pytest.raises(NotCaptured):
        world.fetch(PageRequest("https://en.openlexicon.org/wiki/Main_Page"))


def test_what_ranked_a_page_is_told(parted: World) -> None:
    results = parted.search(Query("river", explain=True))
    assert len(results.explanations) == len(results.hits)
    for hit, explanation in zip(results.hits, results.explanations, strict=True):
        assert hit.score == pytest.approx(explanation["bm25"] * explanation["factor"], rel=1e-3)


def test_the_same_parts_again_and_nothing_of_the_collection_changed(
    folder: Path, partition_set: PartitionSet, whole_world: World
) -> None:
    assert split_collection(folder, PARTS, 2) == partition_set == read_partitions(folder, PARTS)
    assert current_id(folder) == whole_world.snapshot
    assert [current_id(partition_folder(folder, PARTS, number)) for number in range(PARTS)] == [
        *partition_set.snapshots
    ]
    with pytest.raises(SnapshotError, match="not split into 7 partitions"):
        read_partitions(folder, 7)


def test_a_plan_without_words_gives_urls(whole_world: World, parted: World) -> None:
    plan = parted.ranker.plan(ParsedQuery())
    hit = parted.search(Query("river")).hits[0]
    assert plan.render_hit(hit.doc, 0.0).url == hit.url


def test_recorded_exchanges(folder: Path, parted: World, whole_world: World) -> None:
    assert whole_world.has_exchanges
    assert parted.has_exchanges
    for key in make_keys("POST", API_URL, {}, b"q=boats"):
        captures = parted.page_store.recorded_exchanges(key)
        assert [(one.url, one.time) for one in captures] == [
            (one.url, one.time) for one in whole_world.page_store.recorded_exchanges(key)
        ]
        assert [parted.page_store.payload(one).body for one in captures] == [b"first", b"second"]
