"""Opens the rankers of a snapshot: BM25, and those of its vectors if it has any."""

from __future__ import annotations

from pathlib import Path

from webemu.emulator.ports import Ranker
from webemu.index.dense.encoder import InlineEncoder, QueryEncoder
from webemu.index.dense.model import load_cross_encoder, load_query_encoder, require_digest
from webemu.index.dense.ranker import HybridRanker, Mode
from webemu.index.dense.rescoring import Rescorer
from webemu.index.dense.static_model import is_static_model
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
    files = (folder / FOLDER, embedding.dimensions, embedding.scale, engine.doc_values.order)
    store = VectorStore(*files)
    # A distilled model is in the collection's folder; another one is wherever its absolute path or the hub's id says.
    local_model = folder.parent.parent / embedding.model
    model = require_digest(str(local_model) if local_model.is_dir() else embedding.model, embedding.digest)
    encode, is_static = load_query_encoder(model), is_static_model(model)
    encoder = InlineEncoder(encode) if is_static else QueryEncoder(encode)
    modes["dense"] = HybridRanker(engine, store, encoder, "dense")
    # Static vectors find no page that the words miss (docs/dense.md), and comparing all pages would cost most.
    rescorer = Rescorer(*files) if is_static else None
    modes["hybrid"] = HybridRanker(engine, store, encoder, "hybrid", rescorer=rescorer)
    if embedding.reranker:
        cross_encoder = load_cross_encoder(require_digest(embedding.reranker, embedding.reranker_digest))
        modes["rerank"] = HybridRanker(engine, store, encoder, "rerank", cross_encoder)
    return modes
