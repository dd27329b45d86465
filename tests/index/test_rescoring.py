"""Rescoring: the order and the scores of the fusion, over pages that the words found."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("usearch", reason="the extra dense is not installed")

from webemu.index.dense.fusion import fuse_scores  # noqa: E402
from webemu.index.dense.rescoring import COSINE_WEIGHT, Rescorer  # noqa: E402
from webemu.index.dense.store import EmbeddingPart, VectorStore, quantize, write_part, write_vectors  # noqa: E402

DIMENSIONS, PAGES = 32, 50


def test_the_scores_are_those_of_the_fusion(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    owners = np.repeat(np.arange(PAGES, dtype=np.uint32), generator.integers(1, 4, PAGES))
    rows = generator.normal(size=(len(owners), DIMENSIONS))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    write_part(tmp_path / "0.npz", EmbeddingPart(owners, owners.astype(np.uint64), rows.astype(np.float16)))
    _, _, scale = write_vectors(tmp_path / "dense", [tmp_path / "0.npz"])
    order = generator.permutation(PAGES).tolist()
    files = (tmp_path / "dense", DIMENSIONS, scale, order)
    store, rescorer, query = VectorStore(*files), Rescorer(*files), quantize(rows[3])
    lexical = [(9.0 - number, doc) for number, doc in enumerate((3, 40, 0, PAGES - 1, 17))]
    docs = np.array([doc for _, doc in lexical], np.uint32)
    cosines = [(COSINE_WEIGHT * cosine, doc) for cosine, doc in store.nearest(query, len(lexical), docs)]
    expected = fuse_scores(lexical, cosines, order)
    rescored = rescorer.rescore(query, lexical)
    assert [doc for _, doc in rescored] == [doc for _, doc in expected]
    assert np.allclose([score for score, _ in rescored], [score for score, _ in expected])
    assert rescorer.rescore(query, []) == []
    tied = rescorer.rescore(query, [(1.0, 5), (1.0, 5)])
    assert tied[0] == tied[1]
