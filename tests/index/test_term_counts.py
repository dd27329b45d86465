"""Counts of terms: the compiled reader and the plain one agree, completed scores are Tantivy's own, and pages that are
found by the rare words of a query are those that all of its words find.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.query import parse_query
from webemu.emulator.types import Query
from webemu.index import engine as engine_module
from webemu.index import rank_plan, term_counts
from webemu.index.blobs import Blobs
from webemu.index.count_files import CountWriter, TermCounts
from webemu.index.engine import RankEngine
from webemu.index.index_reader import IndexFiles
from webemu.index.open import open_world
from webemu.index.partitions.engine import GlobalTermStatistics, PartitionEngine
from webemu.index.rank import FLAT_BM25
from webemu.index.rank_plan import RankPlan
from webemu.index.term_counts import MAX_COUNT, hash_counted_term, quantize_length
from webemu.index.text import IndexEntry, compute_segment_bases, open_index, unite_indexes, write_index

WORDS = ["river", "été", "日本", "x", "port9", "of", "the", "a" * 300]
texts = st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 300)), max_size=12).map(
    lambda runs: " ".join(word for word, times in runs for _ in range(times))
)


def pack(blobs: Sequence[bytes]) -> tuple[memoryview, memoryview]:
    offsets = array("Q", [0])
    for blob in blobs:
        offsets.append(offsets[-1] + len(blob))
    return memoryview(b"".join(blobs)), memoryview(offsets.tobytes())


@given(st.lists(st.lists(texts, min_size=1, max_size=4), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_both_readers_count_and_complete_alike(shards: Sequence[Sequence[str]], random: Random) -> None:
    compiled = pytest.importorskip("webemu.index._reading", reason="there was no compiler where this was installed")
    for text in (text for shard in shards for text in shard):
        for spaced in (text, f"  {text} ", text.replace(" ", "  ")):
            assert compiled.encode_counts(spaced) == term_counts.encode_counts(text)
    files = [pack([term_counts.encode_counts(text) for text in shard]) for shard in shards]
    bases = [sum(map(len, shards[:number])) for number in range(len(shards))]
    docs = list(range(sum(map(len, shards))))
    random.shuffle(docs)
    ranked = [(random.choice([0.0, 1.5, random.random()]), doc) for doc in docs]
    terms = [(hash_counted_term(word), random.random()) for word in (*WORDS, "nowhere")]
    completed = compiled.complete_scores(files, bases, ranked, terms, 321.5)
    assert completed == term_counts.complete_scores(files, bases, ranked, terms, 321.5)
    assert compiled.complete_scores(files, bases, ranked, [], 321.5) == sorted(
        ranked, key=lambda hit: (-hit[0], hit[1])
    )


@pytest.mark.parametrize("count", [1, 127, 128, 129, 143, 144, 1000, 31_743, MAX_COUNT, MAX_COUNT + 1, 70_000])
def test_a_count_is_exact_or_nearly_so(count: int) -> None:
    files = [pack([term_counts.encode_counts("river " * count)])]
    weight, norm = 2.0, 1.2 * (0.25 + 0.75 * quantize_length(count) / 500)
    ((score, _),) = term_counts.complete_scores(files, [0], [(0.0, 0)], [(hash_counted_term("river"), weight)], 500.0)
    stored_count = score * norm / (weight * 2.2 - score)
    stored_limit = min(count, MAX_COUNT)
    assert stored_count == pytest.approx(stored_limit, rel=1e-6 if count < 128 else 1 / 31)


DAMAGED: dict[str, tuple[list[int], list[int], int, type[Exception]]] = {
    "offsets that end before they begin": ([8, 0], [0], 0, ValueError),
    "offsets outside of the file": ([0, 2**63], [0], 0, ValueError),
    "no length": ([4, 4], [0], 0, ValueError),
    "half an entry": ([0, 6], [0], 0, ValueError),
    "no such page": ([0, 8], [0], 1, IndexError),
    "a page before the first": ([0, 8], [5], 1, IndexError),
}
"""Offsets of the blobs in a file of 8 bytes, bases of the shards, dense id that is read, and the error."""


@pytest.mark.parametrize("reader", ["compiled", "plain"])
@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_raises(reader: str, damage: str) -> None:
    offsets, bases, doc, error = DAMAGED[damage]
    files = [(memoryview(bytes(8)), memoryview(array("Q", offsets)).cast("B"))]
    module: Any = term_counts
    if reader == "compiled":
        module = pytest.importorskip("webemu.index._reading", reason="there was no compiler where this was installed")
    with pytest.raises(error):
        module.complete_scores(files, bases, [(1.0, doc)], [(1, 1.0)], 10.0)


@pytest.mark.parametrize(
    "arguments",
    [
        ([], [], [], [], 1.0),
        ([(b"", bytes(8))], [], [], [], 1.0),
        ([(b"",)], [0], [], [], 1.0),
        ([(b"", bytes(8))], [-1], [], [], 1.0),
        ([(b"", bytes(8))], [0], [1.0], [], 1.0),
        ([(b"", bytes(8))], [0], [], [(1.0,)], 1.0),
        ([(b"", bytes(8))], [0], [], [(-1, 1.0)], 1.0),
        ([(b"", bytes(8))], [0], [], [], "long"),
        ([(b"", bytes(8))], [0], []),
        (1, [0], [], [], 1.0),
    ],
)
def test_arguments_of_other_types_raise(arguments: tuple[Any, ...]) -> None:
    compiled = pytest.importorskip("webemu.index._reading", reason="there was no compiler where this was installed")
    with pytest.raises((TypeError, ValueError, OverflowError)):
        compiled.complete_scores(*arguments)


RANDOM = Random(5)
VOCABULARY = [f"w{number}x" for number in range(3000)]
ODDS = [1 / (number + 1) for number in range(len(VOCABULARY))]
"""Odds of the words of a page: Zipf's law."""


def make_entry(number: int) -> IndexEntry:
    size = RANDOM.choice([5, 39, 40, 41, 100, 300])
    words = " ".join(RANDOM.choices(VOCABULARY, ODDS, k=size))
    words += " rare" * (number % 1700 == 9)
    title = " ".join(RANDOM.choices(VOCABULARY, ODDS, k=4))
    anchors = (("w7x w1x", 1.5),) if number % 5 == 0 else ()
    return IndexEntry(f"http://s{number}.example/", title, words, "text/html", "en", "2024-01-01", anchors)


ENTRIES = [make_entry(number) for number in range(4000)]


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> RankEngine:
    """Engine over two shards of 4,000 pages, united."""
    folder, shards, terms = tmp_path_factory.mktemp("counted"), [], 0
    for number, entries in enumerate((ENTRIES[:1500], ENTRIES[1500:])):
        shards.append(folder / str(number))
        with CountWriter(folder / f"counts{number}") as writer:
            write_index(shards[-1], entries, counts=writer)
        terms += writer.terms
    segments = unite_indexes(shards, folder / "text")
    index = open_index(folder / "text")
    bases = compute_segment_bases(folder / "text", index.searcher(), segments, [0, 1500])
    counts = TermCounts([folder / "counts0", folder / "counts1"], [0, 1500], terms / len(ENTRIES))
    columns: Any = SimpleNamespace(order=range(len(ENTRIES)))
    nothing: Any = None
    return RankEngine(IndexFiles(index, bases, [], [], columns, nothing, counts), FLAT_BM25)


def draw_query(random: Random) -> str:
    return " ".join(dict.fromkeys(random.choices(VOCABULARY, ODDS, k=random.randint(2, 6))))


def plan_with_shortcut(
    ranker: RankEngine, monkeypatch: pytest.MonkeyPatch, query: str, addition: float = 1.3
) -> RankPlan:
    monkeypatch.setattr(engine_module, "MIN_SAVED_POSTINGS", 1)
    monkeypatch.setattr(engine_module, "ADDITION", addition)
    monkeypatch.setattr(rank_plan, "MAX_SHORTCUT_HITS", 10)
    monkeypatch.setattr(engine_module, "MAX_SHORTCUT_HITS", 10)
    return ranker.plan(parse_query(query))


def rank_all(ranker: RankEngine, plan: RankPlan) -> dict[int, float]:
    assert plan.query is not None
    bases = ranker.reader.bases
    hits = ranker.reader.search(plan.query, len(ENTRIES))[0]
    return {bases[address.segment_ord] + address.doc: score for score, address in hits}


def test_completed_scores_are_those_of_tantivy(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    random, completed_pages = Random(1), 0
    for _ in range(60):
        plan = plan_with_shortcut(ranker, monkeypatch, draw_query(random))
        if plan.shortcut is None:
            continue
        scores, bases = rank_all(ranker, plan), ranker.reader.bases
        hits = ranker.reader.search(plan.shortcut.query, len(ENTRIES))[0]
        rare_hits = [(score, bases[address.segment_ord] + address.doc) for score, address in hits]
        completed = ranker.reader.complete_scores(rare_hits, plan.shortcut.completing)
        assert [score for score, _ in completed] == pytest.approx([scores[doc] for _, doc in completed], rel=1e-5)
        completed_pages += len(completed)
    assert completed_pages > 10_000


def test_a_shortcut_within_the_bound_of_bm25_is_exact(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_plan, "SHORTCUT_DEPTHS", (60, 600))
    random, shortcuts = Random(2), 0
    for _ in range(150):
        plan = plan_with_shortcut(ranker, monkeypatch, draw_query(random), addition=2.2)
        if plan.shortcut is None or not (hits := plan._take_shortcut(plan.shortcut, 10)):
            continue
        shortcuts += 1
        scores = sorted(rank_all(ranker, plan).values(), reverse=True)
        assert [score for score, _ in hits] == pytest.approx(scores[: len(hits)], rel=1e-5)
        # Only hits that tie with the next one are left out.
        assert len(hits) == 10 or scores[len(hits)] == pytest.approx(scores[10], rel=1e-5)
        assert plan.top(10) == (hits, False)
    assert shortcuts > 20


def test_the_estimate_misses_few_pages(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    random, overlaps = Random(3), []
    for _ in range(200):
        plan = plan_with_shortcut(ranker, monkeypatch, draw_query(random))
        if plan.shortcut is None or not (hits := plan._take_shortcut(plan.shortcut, 10)):
            continue
        scores = rank_all(ranker, plan)
        tenth_score = sorted(scores.values(), reverse=True)[9] * (1 - 1e-5)
        overlaps.append(sum(scores[doc] >= tenth_score for _, doc in hits) / len(hits))
    assert len(overlaps) > 60
    assert sum(overlaps) / len(overlaps) > 0.98


def test_a_longer_list_reads_every_posting(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(2)
    monkeypatch.setattr(rank_plan.RankPlan, "_take_shortcut", lambda *_: pytest.fail("a shortcut was taken"))
    for _ in range(20):
        plan = plan_with_shortcut(ranker, monkeypatch, draw_query(random))
        hits, _ = plan.top(rank_plan.MAX_SHORTCUT_HITS + 1)
        scores = sorted(rank_all(ranker, plan).values(), reverse=True)
        assert [score for score, _ in hits] == pytest.approx(scores[: len(hits)], rel=1e-5)


def test_rare_words_must_have_more_pages_than_are_looked_for(
    ranker: RankEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ranker.frequency("rare") == 3
    assert plan_with_shortcut(ranker, monkeypatch, "rare w0x").shortcut is None
    plan = plan_with_shortcut(ranker, monkeypatch, "rare w90x w0x")
    assert plan.shortcut is not None
    assert [term for term, _ in plan.shortcut.completing] == [hash_counted_term("w0x")]


@pytest.mark.parametrize("query", ["w90x w0x site:s1.example", '"w90x w0x"', "w90x OR w0x", "w50x w51x", "w90x"])
def test_no_shortcut(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    assert plan_with_shortcut(ranker, monkeypatch, "w90x w0x").shortcut is not None
    assert plan_with_shortcut(ranker, monkeypatch, query).shortcut is None


def test_other_fields_have_no_shortcut(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in (ranker.with_weights(FLAT_BM25, "title"), ranker.with_weights(FLAT_BM25, is_dated=True)):
        assert plan_with_shortcut(other, monkeypatch, "w90x w0x").shortcut is None


def test_a_shortcut_must_save_postings(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    query = parse_query("w90x w0x")
    assert ranker.plan(query).shortcut is None
    monkeypatch.setattr(engine_module, "MIN_SAVED_POSTINGS", ranker.frequency("w0x"))
    assert ranker.plan(query).shortcut is not None
    monkeypatch.setattr(engine_module, "MIN_SAVED_POSTINGS", ranker.frequency("w0x") + 1)
    assert ranker.plan(query).shortcut is None


def test_a_partition_counts_the_postings_that_it_has(ranker: RankEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    saved, words = ranker.frequency("w0x"), ("w90x", "w0x")
    statistics = GlobalTermStatistics(2 * len(ENTRIES), 0, {})
    statistics.learn({("all", word): 2 * ranker.frequency(word) for word in words})
    partition = PartitionEngine(statistics, ranker._files, FLAT_BM25)
    monkeypatch.setattr(engine_module, "MIN_SAVED_POSTINGS", saved)
    assert partition.plan(parse_query("w90x w0x")).shortcut is not None
    monkeypatch.setattr(engine_module, "MIN_SAVED_POSTINGS", saved + 1)
    assert partition.plan(parse_query("w90x w0x")).shortcut is None


def test_a_snapshot_answers_the_same_by_a_shortcut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    specs = [
        CaptureSpec(
            f"http://s{number}.org/",
            html(" ".join(random.choices(VOCABULARY, ODDS, k=5)), " ".join(random.choices(VOCABULARY, ODDS, k=150))),
        )
        for number in range(400)
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", specs))
    world = open_world(tmp_path / "c")
    queries = [draw_query(random) for _ in range(40)]
    expected_urls = [[hit.url for hit in world.search(Query(query)).hits] for query in queries]
    monkeypatch.setattr(engine_module, "MIN_SAVED_POSTINGS", 1)
    monkeypatch.setattr(engine_module, "ADDITION", 2.2)
    successes: list[bool] = []
    take = rank_plan.RankPlan._take_shortcut

    def take_and_count(self: RankPlan, *arguments: Any) -> Any:
        hits = take(self, *arguments)
        successes.append(bool(hits))
        return hits

    monkeypatch.setattr(rank_plan.RankPlan, "_take_shortcut", take_and_count)
    assert [[hit.url for hit in world.search(Query(query)).hits] for query in queries] == expected_urls
    assert sum(successes) > 5
    (shard,) = (tmp_path / "c" / "shards").iterdir()
    assert len(Blobs(shard / "counts")) == 400
