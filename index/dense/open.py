"""Opens the rankers of a snapshot: BM25, and those of its vectors if it has any."""

from __future__ import annotations

from pathlib import Path

from webemu.emulator.ports import Finder
from webemu.index.dense.encoder import Encoder
from webemu.index.dense.model import checked, judge, query_encoder
from webemu.index.dense.ranker import HybridFinder, Mode
from webemu.index.dense.store import Dense, Store
from webemu.index.engine import Engine
from webemu.index.manifest import Manifest

FOLDER = "dense"
"""Name of the folder of vectors in a snapshot."""


def opened(folder: Path, manifest: Manifest, engine: Engine) -> dict[Mode, Finder]:
    """Return the rankers of a snapshot by mode; `rerank` only if its vectors were made with a reranker.

    Loads the models from where `webemu embed` found them. Raises BadRequest, SnapshotError or ModuleNotFoundError.
    """
    modes: dict[Mode, Finder] = {"bm25": engine}
    if manifest.dense is None:
        return modes
    dense = Dense(**manifest.dense)
    store = Store(folder / FOLDER, dense.dimensions, dense.scale, engine.columns.order)
    encoder = Encoder(query_encoder(checked(dense.model, dense.digest)))
    modes["dense"] = HybridFinder(engine, store, encoder, "dense")
    modes["hybrid"] = HybridFinder(engine, store, encoder, "hybrid")
    if dense.reranker:
        judged = judge(checked(dense.reranker, dense.reranker_digest))
        modes["rerank"] = HybridFinder(engine, store, encoder, "rerank", judged)
    return modes
