"""Measures whether a learned second stage orders pages better than the formula does: LambdaMART over the same features.

WEBEMU_SHARED=DIR python -m benchmarks.learned --work FOLDER [--also COLLECTION QUERIES.jsonl QRELS.tsv]...

The first pages of BM25 are ordered by the formula of `webemu.index.rank`, and by trees of LightGBM (LambdaMART, Burges
2010) over its features, learned from the fit halves of all sets together: those that the queries name, else every other
query by a hash. Scored is nDCG@10 of the report halves, with paired randomization tests. The sets are those of
DIR/data/ir, and with `--also` known items (`webemu known-items`) of other collections. Needs lightgbm.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import lightgbm  # optional
import numpy as np

from webemu.emulator import ranking
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.evaluation import beir
from webemu.index.evaluation.judged import JudgedQuery, Judgments, read_judgments, read_queries
from webemu.index.evaluation.score import QueryScore, compare_scores, mean_figures, parse_measures, score_queries
from webemu.index.open import open_world
from webemu.index.rank import RERANK_DEPTH
from webemu.index.rank_plan import RankPlan

SETS = ("cranfield", "vaswani", "xquad_en", "xquad_de")
"""Judged sets."""
MEASURE = "nDCG@10"
DEPTH = 100
FEATURES = (
    *("formula", "bm25", "share", "title", "passage", "order", "length", "host", "address", "quality", "fresh"),
    "words",
)
"""Features of a page for a query: the score of the formula, BM25 and its share of the best, and the number
of query words.
"""
PARAMETERS: Mapping[str, object] = {
    "objective": "lambdarank",
    "num_leaves": 7,
    "learning_rate": 0.05,
    "min_data_in_leaf": 40,
    "lambdarank_truncation_level": 10,
    "deterministic": True,
    "seed": 1,
    "num_threads": 1,
    "verbosity": -1,
}
ROUNDS = 100
"""Trees that are learned."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A page among the first of BM25, with its features."""

    doc: int
    score: float
    """Score by the formula."""
    features: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """One judged set over one collection."""

    name: str
    world: World
    queries: Sequence[JudgedQuery]
    judgments: Judgments

    def halves(self, half: str) -> list[JudgedQuery]:
        """Return the judged queries of a half."""
        return [query for query in self.queries if self.judgments.get(query.id) and _half_of(query) == half]

    def list_candidates(self, text: str) -> tuple[RankPlan, list[Candidate], list[tuple[float, int]]]:
        """Return the plan of a query, the pages that the second stage orders, and those behind them."""
        plan = self.world.ranker.plan(self.world.parse(Query(text)))
        assert isinstance(plan, RankPlan)
        until = self.world.ranker.doc_values.until
        hits = [hit for hit in plan.bm25_candidates(2 * DEPTH)[0] if until[hit[1]] == ranking.FOREVER][:DEPTH]
        if not plan.reranks:
            return plan, [], hits
        first, words = hits[:RERANK_DEPTH], len(plan.rerank.terms)
        factors = plan.rerank_factors(first)
        candidates = []
        for (score, doc), factor in zip(first, factors, strict=True):
            explained = plan.explain_factors(doc, score * factor, True)
            best = first[0][0]
            named = (explained[name] for name in FEATURES[3:-1])
            features = (score * factor / best, score, score / best, *named, float(words))
            candidates.append(Candidate(doc, score * factor, features))
        return plan, candidates, hits[RERANK_DEPTH:]

    def rank(self, text: str, value: Callable[[Sequence[Candidate]], Sequence[float]]) -> list[str]:
        """Return the URLs of the pages in the order of a value, then those that are not ordered again."""
        plan, candidates, hits_behind = self.list_candidates(text)
        values = value(candidates) if candidates else []
        ordered = sorted(zip(values, candidates, strict=True), key=lambda pair: -pair[0])
        docs = [candidate.doc for _, candidate in ordered] + [doc for _, doc in hits_behind]
        return [plan.render_hit(doc, 0.0).url for doc in docs]


def _half_of(query: JudgedQuery) -> str:
    """Return the half of a query: the one that it names, else one by a hash of its id."""
    return query.half or ("fit" if crc32(query.id.encode()) % 2 else "report")


def learn(sets: Sequence[JudgedSet]) -> lightgbm.Booster:
    """Learn trees from the fit halves of all sets, without queries that have no relevant page among the candidates."""
    rows, grades, groups = [], [], []
    for judged in sets:
        for query in judged.halves("fit"):
            plan, candidates, _ = judged.list_candidates(query.text)
            relevant = judged.judgments[query.id]
            query_grades = [min(3, max(0, relevant.get(plan.render_hit(one.doc, 0.0).url, 0))) for one in candidates]
            if any(query_grades):
                rows += [candidate.features for candidate in candidates]
                grades += query_grades
                groups.append(len(candidates))
    print(f"learned from {len(groups):,} queries with {len(rows):,} pages", flush=True)
    data = lightgbm.Dataset(np.array(rows), np.array(grades), group=groups, feature_name=list(FEATURES))
    return lightgbm.train(dict(PARAMETERS), data, num_boost_round=ROUNDS)


def score_formula(candidates: Sequence[Candidate]) -> list[float]:
    """Return the scores of the formula."""
    return [candidate.score for candidate in candidates]


def compare(judged: JudgedSet, booster: lightgbm.Booster) -> None:
    """Print how both order the report half of a set."""
    measures, queries = parse_measures(MEASURE), judged.halves("report")

    def score_learned(candidates: Sequence[Candidate]) -> Sequence[float]:
        return list(booster.predict([candidate.features for candidate in candidates], num_threads=1))

    def score(value: Callable[[Sequence[Candidate]], Sequence[float]]) -> list[QueryScore]:
        return score_queries(queries, judged.judgments, lambda text: judged.rank(text, value), measures)

    formula, learned = score(score_formula), score(score_learned)
    everything = range(len(formula))
    gain = compare_scores(formula, learned, everything)[MEASURE]
    means = [mean_figures(scores, everything)[MEASURE].mean for scores in (formula, learned)]
    print(
        f"{judged.name:<14}{len(formula):>5}   formula {means[0]:.4f}   learned {means[1]:.4f}"
        f"   {gain.gain.mean:+.4f}, p {gain.p:.4f}",
        flush=True,
    )


def measure_cost(booster: lightgbm.Booster) -> float:
    """Return the microseconds that the trees take to order the pages of a query."""
    rows = np.random.default_rng(1).random((RERANK_DEPTH, len(FEATURES)))
    repeats, start = 500, time.process_time()
    for _ in range(repeats):
        booster.predict(rows, num_threads=1)
    return (time.process_time() - start) / repeats * 1e6


def open_sets(root: Path, work: Path, also: Sequence[Sequence[str]]) -> Iterator[JudgedSet]:
    """Yield all sets; collections of the judged ones are built once, in `work`."""
    for name in SETS:
        folder = work / name
        folder.mkdir(parents=True, exist_ok=True)
        built = folder / beir.COLLECTION
        collection = built if (built / "CURRENT").exists() else beir.ingest_corpus(root / name, folder)
        yield JudgedSet(name, open_world(collection), *beir.read_judged(root / name))
    for collection_name, queries, qrels in also:
        path = Path(collection_name)
        judgments = read_judgments(Path(qrels), lambda url: url)
        yield JudgedSet(path.name, open_world(path), read_queries(Path(queries)), judgments)


def main() -> None:
    """Learn from all sets and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the collections, which are kept")
    parser.add_argument("--also", nargs=3, action="append", default=[], metavar=("COLLECTION", "QUERIES", "QRELS"))
    options = parser.parse_args()
    if not (root := os.environ.get("WEBEMU_SHARED")):
        sys.exit("WEBEMU_SHARED is not set; set it to the folder that holds data/ir")
    sets = list(open_sets(Path(root) / "data" / "ir", options.work, options.also))
    booster = learn(sets)
    for judged in sets:
        compare(judged, booster)
    gains = sorted(zip(booster.feature_importance("gain"), FEATURES, strict=True), reverse=True)
    print("gain by feature: " + ", ".join(f"{name} {gain / sum(one for one, _ in gains):.2f}" for gain, name in gains))
    print(f"{measure_cost(booster):.0f} us to order the pages of a query; {len(booster.model_to_string()):,} bytes")


if __name__ == "__main__":
    main()
