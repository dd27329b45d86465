"""Opens the rankers of a snapshot: BM25, and those of its vectors if it has any."""

from __future__ import annotations

from pathlib import Path

from webemu.emulator.ports import Ranker
from webemu.index.dense.encoder import QueryEncoder
from webemu.index.dense.model import load_cross_encoder, load_query_encoder, require_digest
from webemu.index.dense.ranker import HybridRanker, Mode
from webemu.index.dense.store import VectorStore
from webemu.index.engine import RankEngine
from webemu.index.manifest import Manifest

FOLDER = "dense"
"""Name of the folder of vectors in a snapshot."""


def open_rankers(folder: Path, manifest: Manifest, engine: RankEngine) -> dict[Mode, Ranker]:
    """Return the rankers of a snapshot by mode; `rerank` only if its vectors were made with a reranker.

    Loads the models from where `webemu embed` found them. Raises BadRequest, SnapshotError or ModuleNotFoundError.
    """
    modes: dict[Mode, Ranker] = {"bm25": engine}
    if (embedding := manifest.dense) is None:
        return modes
    store = VectorStore(folder / FOLDER, embedding.dimensions, embedding.scale, engine.doc_values.order)
    encoder = QueryEncoder(load_query_encoder(require_digest(embedding.model, embedding.digest)))
    modes["dense"] = HybridRanker(engine, store, encoder, "dense")
    modes["hybrid"] = HybridRanker(engine, store, encoder, "hybrid")
    if embedding.reranker:
        cross_encoder = load_cross_encoder(require_digest(embedding.reranker, embedding.reranker_digest))
        modes["rerank"] = HybridRanker(engine, store, encoder, "rerank", cross_encoder)
    return modes
