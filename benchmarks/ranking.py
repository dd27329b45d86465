"""Ranking on public collections, through the real ingest, index and query path, scored with ir_measures.

WEBEMU_SHARED=DIR python -m benchmarks.ranking [NAME...]     (DIR/data/ir/NAME/{corpus,queries}.jsonl, qrels.tsv)

The engine's ranking is scored to depth 1,000, before the display rules (two results of a domain, no duplicates).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from webemu.index.evaluation import beir
from webemu.index.evaluation.ranker import RankerConfig, open_ranker
from webemu.index.evaluation.score import mean_figures, parse_measures, score_queries
from webemu.index.manifest import current_id

MEASURES = "AP,nDCG@10,R@100"
"""Measures by their names in ir_measures."""
DEPTH = 1000
NAMES = ("cranfield", "vaswani", "xquad_en", "xquad_de")
"""Collections that are scored if none is named."""


def evaluate_collection(folder: Path, work: Path) -> dict[str, float]:
    """Ingest one collection in `work` and return its scores by measure."""
    collection = beir.ingest_corpus(folder, work)
    search = open_ranker(RankerConfig(collection, current_id(collection) or "", DEPTH))
    query_scores = score_queries(*beir.read_judged(folder), search, parse_measures(MEASURES))
    return {name: figure.mean for name, figure in mean_figures(query_scores, range(len(query_scores))).items()}


def main(names: list[str]) -> None:
    """Score each collection and print the scores."""
    root = os.environ.get("WEBEMU_SHARED")
    if not root:
        raise SystemExit("WEBEMU_SHARED is not set; set it to the folder that holds data/ir")
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as work:
            scores = evaluate_collection(Path(root) / "data" / "ir" / name, Path(work))
        print(f"{name:<10} " + "   ".join(f"{measure} {scores[measure]:.4f}" for measure in scores), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
