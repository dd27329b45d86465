"""Snapshots with vectors, and searching them, by an encoder that knows words and a few synonyms."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import pytest

from tests.crawls import CaptureSpec, html, ingest, write

np = pytest.importorskip("numpy")
pytest.importorskip("usearch", reason="the extra dense is not installed")

from webemu.emulator.errors import SnapshotError  # noqa: E402
from webemu.emulator.query import parse_query  # noqa: E402
from webemu.emulator.types import Query  # noqa: E402
from webemu.emulator.world import World  # noqa: E402
from webemu.index.dense import build  # noqa: E402
from webemu.index.dense.earlier_vectors import EmbeddingSpec, embedded_snapshot_id  # noqa: E402
from webemu.index.dense.encoder import QueryEncoder  # noqa: E402
from webemu.index.dense.ranker import HybridRanker  # noqa: E402
from webemu.index.dense.store import Vector, VectorStore, quantize  # noqa: E402
from webemu.index.engine import RankEngine  # noqa: E402
from webemu.index.lock import exclusive_lock  # noqa: E402
from webemu.index.manifest import current_id, read_manifest, set_current  # noqa: E402
from webemu.index.open import open_snapshot  # noqa: E402
from webemu.index.verify import verify_snapshot  # noqa: E402

SYNONYMS = {"automobile": "car", "physician": "doctor", "repaired": "mended"}
WISH = EmbeddingSpec(model="words", digest="1", passages=2, precision="f32")


def words(texts: Sequence[str]) -> np.ndarray:
    """The sum of a random direction per word; synonyms are one word."""
    rows = []
    for text in texts:
        row = np.zeros(64)
        for word in text.lower().replace(".", " ").split():
            row += np.random.default_rng(crc32(SYNONYMS.get(word, word).encode())).normal(size=64)
        rows.append(row / max(float(np.linalg.norm(row)), 1e-9))
    return np.array(rows)


def page(number: int, text: str, site: str = "one") -> CaptureSpec:
    return CaptureSpec(f"http://{site}.org/{number:02d}", html(f"Page {number}", text), day=1 + number % 20)


TEXTS = ["the car was mended by its owner", "a doctor drove home", "the automobile stood in the rain"] + [
    f"nothing of note happened on street {number}" for number in range(30)
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """(collection, its snapshot with vectors)."""
    root = tmp_path_factory.mktemp("dense")
    records = [page(number, text, "one" if number % 2 else "two") for number, text in enumerate(TEXTS)]
    ingest(root / "c", write(root / "a.warc.gz", records))
    base = build.read_base_manifest(root / "c", current_id(root / "c") or "")
    return root / "c", build.embed_snapshot(root / "c", base, WISH, lambda: (words, words))


def finder(crawl: tuple[Path, str], mode: str, judge: object = None) -> HybridRanker:
    folder, snapshot = crawl
    engine = open_snapshot(folder, snapshot).ranker
    assert isinstance(engine, RankEngine)
    dense = read_manifest(folder / "snapshots" / snapshot).dense
    assert dense is not None
    store = VectorStore(
        folder / "snapshots" / snapshot / "dense", dense.dimensions, dense.scale, list(engine.doc_values.order)
    )
    return HybridRanker(engine, store, QueryEncoder(words), mode, judge)  # type: ignore[arg-type]


def names_of_hits(finder: HybridRanker, text: str, limit: int = 5) -> list[str]:
    plan = finder.plan(parse_query(text))
    return [plan.render_hit(doc, score).url.rpartition("/")[2] for score, doc in plan.top(limit)[0]]


def test_a_snapshot_with_vectors_is_another_one(crawl: tuple[Path, str]) -> None:
    folder, snapshot = crawl
    base = current_id(folder) or ""
    assert snapshot != base
    manifest, old = (read_manifest(folder / "snapshots" / name) for name in (snapshot, base))
    assert old.dense is None
    assert manifest.dense is not None
    assert (manifest.dense.base, manifest.dense.vectors, manifest.dense.dimensions) == (base, len(TEXTS), 64)
    assert replace(manifest, id=base, dense=None, hashes=old.hashes, digest=old.digest) == old
    for name in (snapshot, base):
        faults: list[str] = []
        verify_snapshot(folder, name, faults.append)
        assert faults == []
    set_current(folder, snapshot)
    assert build.read_base_manifest(folder, snapshot).id == base
    set_current(folder, base)


def test_the_id_covers_what_was_asked(crawl: tuple[Path, str]) -> None:
    wishes = [
        WISH,
        replace(WISH, digest="2"),
        replace(WISH, passages=3),
        replace(WISH, precision="bf16"),
        replace(WISH, reranker="r", reranker_digest="3"),
    ]
    assert len({embedded_snapshot_id("base", wish) for wish in wishes}) == len(wishes)
    assert embedded_snapshot_id("base", replace(WISH, model="/elsewhere")) == embedded_snapshot_id("base", WISH)


def test_what_is_there_is_not_made_again(crawl: tuple[Path, str]) -> None:
    folder, snapshot = crawl
    base = build.read_base_manifest(folder, snapshot)

    def never() -> None:
        raise AssertionError

    assert build.embed_snapshot(folder, base, WISH, never) == snapshot  # type: ignore[arg-type]


def test_a_build_that_was_ended_goes_on(crawl: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, snapshot = crawl
    base = build.read_base_manifest(folder, snapshot)
    monkeypatch.setattr(build, "PART_PAGES", 8)
    wish, calls = replace(WISH, digest="9"), []

    def weak(texts: Sequence[str]) -> np.ndarray:
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return words(texts)

    with pytest.raises(KeyboardInterrupt):
        build.embed_snapshot(folder, base, wish, lambda: (weak, words))
    progress: list[int] = []
    again = build.embed_snapshot(folder, base, wish, lambda: (weak, words), progress.append)
    assert calls == [8, 8, 8, 8, 8, 1]
    assert sum(progress) == len(TEXTS)
    files = [folder / "snapshots" / name / "dense" / "vectors.bin" for name in (snapshot, again)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert [path.name for path in (folder / "snapshots").iterdir() if path.name.startswith(".")] == []


def test_vectors_of_unchanged_pages_are_copied(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    ingest(collection, write(tmp_path / "a.warc.gz", [page(number, text) for number, text in enumerate(TEXTS)]))
    embedded = [_embed_and_count(collection)]
    ingest(collection, write(tmp_path / "b.warc.gz", [page(90, "a vehicle that floats"), page(91, "mended at sea")]))
    embedded.append(_embed_and_count(collection))
    assert [encoded for _, encoded in embedded] == [len(TEXTS), 2]

    stores = [finder((collection, snapshot), "dense")._store for snapshot, _ in embedded]
    for query in ("car mended", "street 7"):
        vector = quantize(words([query])[0])
        before, after = (
            _by_url(collection, snapshot, store, vector) for (snapshot, _), store in zip(embedded, stores, strict=True)
        )
        assert before.items() <= after.items(), "pages of the first file have the vectors that they had"
        assert len(after) == len(before) + 2
    faults: list[str] = []
    verify_snapshot(collection, embedded[1][0], faults.append)
    assert faults == []
    assert _embed_and_count(collection) == (embedded[1][0], 0)


def test_damaged_vectors_are_not_copied(tmp_path: Path) -> None:
    collection = tmp_path / "c"
    ingest(collection, write(tmp_path / "a.warc.gz", [page(number, text) for number, text in enumerate(TEXTS)]))
    snapshot, _ = _embed_and_count(collection)
    vectors = collection / "snapshots" / snapshot / "dense" / "vectors.bin"
    vectors.write_bytes(bytes([vectors.read_bytes()[0] ^ 4]) + vectors.read_bytes()[1:])
    ingest(collection, write(tmp_path / "b.warc.gz", [page(90, "a vehicle that floats")]))
    assert _embed_and_count(collection)[1] == len(TEXTS) + 1


def _embed_and_count(collection: Path) -> tuple[str, int]:
    """Embed the current snapshot; return the id of the new one, and the number of windows that were encoded."""
    encoded = 0

    def count(texts: Sequence[str]) -> np.ndarray:
        nonlocal encoded
        encoded += len(texts)
        return words(texts)

    base = build.read_base_manifest(collection, current_id(collection) or "")
    progress: list[int] = []
    snapshot = build.embed_snapshot(collection, base, WISH, lambda: (count, words), progress.append)
    assert sum(progress) in (0, base.documents)
    return snapshot, encoded


def _by_url(collection: Path, snapshot: str, store: VectorStore, vector: Vector) -> dict[str, float]:
    """Return the cosine of every page by its URL."""
    engine = open_snapshot(collection, snapshot).ranker
    assert isinstance(engine, RankEngine)
    return {engine.read_texts(doc)[0]: round(cosine, 9) for cosine, doc in store.nearest(vector, 1000)}


def test_the_graph_of_many_vectors_is_measured(crawl: tuple[Path, str]) -> None:
    folder, snapshot = crawl
    embedded = build.embed_snapshot(
        folder, build.read_base_manifest(folder, snapshot), replace(WISH, digest="8"), lambda: (words, words), exact=10
    )
    dense = read_manifest(folder / "snapshots" / embedded).dense
    assert dense is not None
    assert dense.recall is not None
    assert dense.recall > 0.9
    assert names_of_hits(finder((folder, embedded), "dense"), "car", 2) == names_of_hits(
        finder(crawl, "dense"), "car", 2
    )


def test_an_empty_collection_has_nothing_to_embed(crawl: tuple[Path, str]) -> None:
    base = replace(build.read_base_manifest(*crawl), documents=0)
    with pytest.raises(SnapshotError, match="no page"):
        build.embed_snapshot(crawl[0], base, replace(WISH, digest="7"), lambda: (words, words))


def test_vectors_find_what_has_no_word_of_the_query(crawl: tuple[Path, str]) -> None:
    assert set(names_of_hits(finder(crawl, "dense"), "car mended", 2)) == {"00", "02"}
    assert names_of_hits(finder(crawl, "dense"), "physician", 1) == ["01"]
    assert names_of_hits(finder(crawl, "hybrid"), "car mended", 2) == ["00", "02"]
    assert names_of_hits(finder(crawl, "hybrid"), "physician", 1) == ["01"], "no page says the word"


def test_conditions_hold_for_what_vectors_find(crawl: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for listed in (20_000, 3):  # a list of pages, and each candidate asked
        monkeypatch.setattr("webemu.index.dense.ranker.MAX_LISTED", listed)
        for mode in ("dense", "hybrid"):
            ways = finder(crawl, mode)
            assert names_of_hits(ways, "car site:two.org", 1) in (["00"], ["02"])
            assert all(int(name) % 2 for name in names_of_hits(ways, "car site:one.org", 50))
            assert "00" not in names_of_hits(ways, "automobile -mended", 50)
            assert names_of_hits(ways, 'automobile "the car was"') == ["00"]
            assert len(names_of_hits(ways, "automobile -mended", 50)) == len(TEXTS) - 1
            assert names_of_hits(ways, "automobile site:nowhere.org") == []


def test_queries_without_words_are_the_engines(crawl: tuple[Path, str]) -> None:
    ways = finder(crawl, "hybrid")
    assert ways.start_async(parse_query("site:one.org")) is None
    assert len(names_of_hits(ways, "site:one.org", 50)) == len(TEXTS) // 2
    assert names_of_hits(ways, "") == []


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_longer_ranking_begins_with_the_shorter(
    crawl: tuple[Path, str], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webemu.index.dense.ranker.FUSION_DEPTH", 4)
    ways = finder(crawl, mode)
    plan = ways.plan(parse_query("street car"))
    longest, complete = plan.top(1000)
    assert complete
    assert len(longest) == len({doc for _, doc in longest}) >= 30
    assert [score for score, _ in longest] == sorted((score for score, _ in longest), reverse=True)
    for limit in (1, 4, 6, 12, 28):
        entries, complete = plan.top(limit)
        assert entries == longest[: len(entries)]
        assert len(entries) >= min(limit, 4)
        assert not complete


def test_a_world_serves_the_ranking(crawl: tuple[Path, str]) -> None:
    folder, snapshot = crawl
    world = open_snapshot(folder, snapshot)
    results = World(snapshot, finder(crawl, "hybrid"), world.page_store, {}).search(Query("physician"))
    assert results.hits[0].snippet == "a doctor drove home"
    assert len(results.hits) == 10


def test_the_snippet_is_of_the_passage_that_was_found(tmp_path: Path) -> None:
    text = " ".join(f"Sentence {number} says nothing of note to anyone." for number in range(40))
    records = [page(1, text + " The automobile was repaired at last. " + text), page(2, "Something else is said here.")]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    base = build.read_base_manifest(tmp_path / "c", current_id(tmp_path / "c") or "")
    embedded = build.embed_snapshot(tmp_path / "c", base, replace(WISH, passages=16), lambda: (words, words))
    ways = finder((tmp_path / "c", embedded), "dense")
    plan = ways.plan(parse_query("car mended automobile"))
    score, doc = plan.top(1)[0][0]
    assert "automobile" in plan.render_hit(doc, score).snippet
    assert ways.plan(parse_query("car mended")).top(1)[0][0][1] == doc


def test_the_best_are_read_again(crawl: tuple[Path, str]) -> None:
    read: list[str] = []

    def judge(query: str, passages: Sequence[str]) -> list[float]:
        read.extend(passages)
        return [float("rain" in passage) for passage in passages]

    ways = finder(crawl, "rerank", judge)
    plan = ways.plan(parse_query("car mended"))
    entries, _ = plan.top(40)
    assert plan.render_hit(entries[0][1], 1.0).url.endswith("/02")
    assert "Page 2\nthe automobile stood in the rain" in read
    assert all(score > 1 for score, _ in entries)


def test_queries_that_wait_are_encoded_together_and_kept() -> None:
    batches: list[int] = []
    all_wait = threading.Event()

    def encode_once_all_wait(texts: Sequence[str]) -> np.ndarray:
        batches.append(len(texts))
        assert all_wait.wait(60)
        return words(texts)

    encoder = QueryEncoder(encode_once_all_wait)
    vectors = [encoder.submit(f"query {number}") for number in range(20)]
    all_wait.set()
    for vector in vectors:
        vector.result(60)
    assert sum(batches) == 20
    assert len(batches) <= 2, "one batch may begin before all wait; the others are the second"
    assert (encoder.encode("query 7") == QueryEncoder(words).encode("query 7")).all()
    assert sum(batches) == 20


def test_a_failure_is_told_and_not_kept() -> None:
    weak, is_asked = [True], threading.Event()

    def encode(texts: Sequence[str]) -> np.ndarray:
        is_asked.wait(10)  # a failure that is over before the query is cached would be tried again
        if weak.pop():
            weak.append(False)
            raise MemoryError
        return words(texts)

    encoder = QueryEncoder(encode)
    future = encoder.submit("query")
    is_asked.set()
    with pytest.raises(MemoryError):
        future.result()
    assert len(encoder.encode("query")) == 64


def test_a_failure_that_is_over_before_it_is_cached_is_not_kept() -> None:
    failures = [MemoryError(), MemoryError()]

    def encode(texts: Sequence[str]) -> np.ndarray:
        if failures:
            raise failures.pop()
        return words(texts)

    encoder = QueryEncoder(encode)
    enqueue = encoder._enqueue

    def enqueue_and_wait(text: str) -> Future[Vector]:
        future = enqueue(text)
        wait([future])  # as on a busy machine, where the encoder's thread is faster than the caller's
        return future

    encoder._cached_enqueue = lru_cache(8)(enqueue_and_wait)
    with pytest.raises(MemoryError):
        encoder.encode("query")
    assert not failures
    assert len(encoder.encode("query")) == 64


def test_two_do_not_embed_at_once_and_a_moved_model_is_noted(crawl: tuple[Path, str]) -> None:
    folder, snapshot = crawl
    base = build.read_base_manifest(folder, snapshot)
    assert build.embed_snapshot(folder, base, replace(WISH, model="/moved"), lambda: (words, words)) == snapshot
    dense = read_manifest(folder / "snapshots" / snapshot).dense
    assert dense is not None
    assert dense.model == "/moved"
    with exclusive_lock(folder / "embed.lock", SnapshotError("taken")), pytest.raises(SnapshotError, match="another"):
        build.embed_snapshot(folder, base, WISH, lambda: (words, words))
    build.embed_snapshot(folder, base, WISH, lambda: (words, words))


def test_what_was_read_again_stands_above_all_others(crawl: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webemu.index.dense.ranker.CROSS_ENCODER_DEPTH", 3)
    ways = finder(crawl, "rerank", lambda query, passages: [-99.0] * len(passages))
    scores = [score for score, _ in ways.plan(parse_query("car mended street")).top(20)[0]]
    assert scores == sorted(scores, reverse=True)
