"""Ranking on public collections, through the real ingest, index and query path, scored with ir_measures.

WEBEMU_SHARED=DIR python -m benchmarks.ranking [NAME...]     (DIR/data/ir/NAME/{corpus,queries}.jsonl, qrels.tsv)

The engine's ranking is scored to depth 1,000, before the display rules (two of a domain, no duplicates).
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from webemu.index.evaluation import beir
from webemu.index.evaluation.ranker import Setting, ranker
from webemu.index.evaluation.score import figures, measures, score
from webemu.index.manifest import current_id

MEASURES = "AP,nDCG@10,R@100"
DEPTH = 1000
NAMES = ("cranfield", "vaswani", "xquad_en", "xquad_de")


def evaluate(folder: Path, work: Path) -> dict[str, float]:
    """Scores of one collection."""
    collection = beir.ingest(folder, work)
    search = ranker(Setting(collection, current_id(collection) or "", DEPTH))
    scored = score(*beir.judged(folder), search, measures(MEASURES))
    return {name: figure.mean for name, figure in figures(scored, range(len(scored))).items()}


def main(names: list[str]) -> None:
    root = os.environ.get("WEBEMU_SHARED")
    if not root:
        raise SystemExit("WEBEMU_SHARED is not set: it names the folder that holds data/ir")
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as work:
            scores = evaluate(Path(root) / "data" / "ir" / name, Path(work))
        print(f"{name:<10} " + "   ".join(f"{measure} {scores[measure]:.4f}" for measure in scores), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
