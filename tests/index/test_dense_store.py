"""Vectors at rest and the nearest among them, without any model."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("usearch", reason="the extra dense is not installed")

from webemu.index.dense.fusion import fuse_scores  # noqa: E402
from webemu.index.dense.passages import WINDOW, cut_windows, window_mask  # noqa: E402
from webemu.index.dense.store import (  # noqa: E402  # noqa: E402
    GRAPH,
    EmbeddingPart,
    VectorStore,
    measure_recall,
    quantize,
    write_part,
    write_vectors,
)

PAGES, DIMENSIONS = 900, 48
RANDOM = np.random.default_rng(7)
TOPICS = RANDOM.normal(size=(30, DIMENSIONS))


def near_topics(count: int) -> np.ndarray:
    """Rows of length 1 in clusters, as those of texts are."""
    rows = TOPICS[RANDOM.integers(len(TOPICS), size=count)] + RANDOM.normal(size=(count, DIMENSIONS)) * 0.7
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


OWNERS = np.sort(RANDOM.integers(0, PAGES, size=3 * PAGES)).astype(np.uint32)
ROWS = near_topics(len(OWNERS)).astype(np.float16)
WINDOWS = np.arange(len(OWNERS), dtype=np.uint64)
QUERIES = near_topics(20)
ORDER = RANDOM.permutation(PAGES).tolist()


def stored(folder: Path, exact: int = 10**6) -> VectorStore:
    folder.mkdir(exist_ok=True)
    half = int(np.searchsorted(OWNERS, PAGES // 2))
    write_part(folder / "a.npz", EmbeddingPart(OWNERS[:half], WINDOWS[:half], ROWS[:half]))
    write_part(folder / "b.npz", EmbeddingPart(OWNERS[half:], WINDOWS[half:], ROWS[half:]))
    count, dimensions, scale = write_vectors(folder / "dense", [folder / "a.npz", folder / "b.npz"], exact)
    assert (count, dimensions) == (len(OWNERS), DIMENSIONS)
    return VectorStore(folder / "dense", dimensions, scale, ORDER)


def plain(query: np.ndarray, limit: int) -> list[int]:
    """The nearest pages by their best row, computed another way."""
    scores: dict[int, float] = {}
    for owner, score in zip(OWNERS.tolist(), ROWS.astype(np.float64) @ query, strict=True):
        scores[owner] = max(scores.get(owner, -2.0), float(score))
    return sorted(scores, key=lambda doc: -scores[doc])[:limit]


def test_a_page_is_as_near_as_its_best_passage(tmp_path: Path) -> None:
    store = stored(tmp_path)
    shared = [
        len(set(plain(query, 10)) & {doc for _, doc in store.nearest(quantize(query), 10)}) / 10 for query in QUERIES
    ]
    assert sum(shared) / len(shared) > 0.95
    score, doc = store.nearest(quantize(ROWS[5].astype(np.float64)), 1)[0]
    assert doc == OWNERS[5]
    assert score == pytest.approx(1, abs=0.01)
    first = int(np.searchsorted(OWNERS, OWNERS[5]))
    assert store.best_window(quantize(ROWS[5].astype(np.float64)), doc) == 5 - first


def test_a_longer_list_begins_with_the_shorter(tmp_path: Path) -> None:
    store, query = stored(tmp_path), quantize(QUERIES[0])
    everything = store.nearest(query, PAGES)
    assert len(everything) == store.pages == len(set(OWNERS.tolist()))
    assert [len(store.nearest(query, limit)) for limit in (1, 7, 300)] == [1, 7, 300]
    assert all(store.nearest(query, limit) == everything[:limit] for limit in (1, 7, 300))


def test_equal_scores_stand_in_the_order_given(tmp_path: Path) -> None:
    tmp_path.joinpath("x").mkdir()
    rows = np.ones((5, 8), np.float16)
    write_part(tmp_path / "x" / "a.npz", EmbeddingPart(np.arange(5, dtype=np.uint32), WINDOWS[:5], rows))
    _, dimensions, scale = write_vectors(tmp_path / "x" / "dense", [tmp_path / "x" / "a.npz"])
    store = VectorStore(tmp_path / "x" / "dense", dimensions, scale, [3, 1, 4, 0, 2])
    assert [doc for _, doc in store.nearest(quantize(np.ones(8)), 5)] == [3, 1, 4, 0, 2]
    assert [doc for _, doc in store.nearest(quantize(np.ones(8)), 2)] == [3, 1]


def test_only_some_pages_are_looked_at(tmp_path: Path) -> None:
    store, query = stored(tmp_path), quantize(QUERIES[1])
    among = np.array([3, 14, 159, 265, PAGES + 5], np.uint32)
    expected = [entry for entry in store.nearest(query, PAGES) if entry[1] in among.tolist()]
    assert store.nearest(query, 10, among) == expected
    assert store.nearest(query, 10, np.array([], np.uint32)) == []


def test_the_graph_finds_nearly_all_and_is_the_same_when_built_again(tmp_path: Path) -> None:
    store, again = stored(tmp_path / "one", exact=100), stored(tmp_path / "two", exact=100)
    queries = [quantize(query) for query in QUERIES]
    assert measure_recall(store, queries) > 0.9
    files = [tmp_path / name / "dense" / GRAPH for name in ("one", "two")]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert [store.nearest(query, 10) for query in queries] == [again.nearest(query, 10) for query in queries]
    scores = {doc: score for score, doc in store.nearest(queries[0], PAGES, exact=True)}
    assert all(scores[doc] == score for score, doc in store.nearest(queries[0], 10))


def test_rankings_are_fused_by_their_scores() -> None:
    order = [0, 1, 2, 3]
    entries = fuse_scores([(8.0, 2), (6.0, 1)], [(0.9, 1), (0.8, 3), (0.1, 2), (0.9, 1)], order)
    assert entries == [(0.75 + 0.9, 1), (1 + 0.1, 2), (0.8, 3)]
    assert fuse_scores([], [(0.5, 3), (0.5, 0)], order) == [(0.5, 0), (0.5, 3)], "a tie is broken by order"


def test_windows_are_passages_under_a_title() -> None:
    passages = [f"passage {number}." for number in range(2 * WINDOW + 1)]
    cut = cut_windows("http://a/", "Title", passages, 3)
    assert [text.splitlines()[0] for text in cut] == ["Title"] * 3
    assert cut[2].splitlines()[1] == "passage 8."
    assert len(cut_windows("http://a/", "Title", passages, 2)) == 2
    assert cut_windows("http://a/", "http://a/", passages, 1)[0].startswith("passage 0."), "a URL is no title"
    assert cut_windows("http://a/", "Title", [], 3) == ["Title"]
    assert window_mask(0) == 0b1111
    assert window_mask(1) == 0b11110000
