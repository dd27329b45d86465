"""Rankings of queries as agents write them, on the documentation web: webemu beside flat BM25 and bm25s.

python -m benchmarks.agent_queries COLLECTION_FOLDER [QUERIES]

QUERIES (default: `agent_queries.jsonl` beside this file) has one JSON object a line: `_id`, `kind`, `text`, and
`targets`, the URLs that answer, any of which counts. Targets that are not in the collection are left out, and queries
without any. Prints success@1 (s@1), success@10 and MRR@10 by kind. The columns:

- shown: what an agent is shown, at most two results of a domain and no duplicates;
- ranking: the same without that limit, which is what the other two are comparable with;
- flat: BM25 over the same index and the same reading of the query, without any signal;
- bm25s: the peer (`peers/requirements-bm25.txt`) over whole pages; left out if it is not installed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.peers.corpus import write_pages
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.evaluation.judged import JudgedQuery, Judgments, read_queries
from webemu.index.evaluation.ranker import RankerConfig, RankFunction, open_ranker, rank_parsed_query
from webemu.index.evaluation.score import QueryScore, compare_scores, group_queries, parse_measures, score_queries
from webemu.index.manifest import current_id
from webemu.index.open import open_snapshot

QUERIES = Path(__file__).with_suffix(".jsonl")
DEPTH = 10
MEASURES = {"s@1": "Success@1", "s@10": "Success@10", "MRR@10": "RR@10"}
"""Measures by the name in the table, with their names in ir_measures."""
PEER = "bm25s"
WHOLE_PAGE = 10**9
"""Characters of a page that the peer indexes: all of them, as webemu does."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Queries with the pages that answer them."""

    queries: tuple[JudgedQuery, ...]
    targets: Judgments


def read_judged(path: Path, collection: Path) -> Judged:
    """Return the queries of a file, with those of their targets that the collection has."""
    with Catalog(collection, read_only=True) as catalog:
        urls = {url for (url,) in catalog.db.execute("SELECT url FROM pages WHERE searchable").fetchall()}
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    targets = {row["_id"]: dict.fromkeys(urls.intersection(row["targets"]), 1) for row in rows}
    return Judged(read_queries(path), targets)


def rank_relaxed(world: World, text: str) -> list[str]:
    """Return the ranking of a query, pages that meet its phrases and `+words` first, then the others."""
    parsed = world.parse(Query(text))
    milder = replace(parsed, phrases=(), required=())
    urls = rank_parsed_query(world, parsed, DEPTH)
    if milder != parsed and len(urls) < DEPTH:
        urls = list(dict.fromkeys([*urls, *rank_parsed_query(world, milder, DEPTH)]))
    return urls[:DEPTH]


def make_flat(world: World) -> World:
    """Return the world ranked by BM25 alone."""
    return world.with_engine("plain")


def rank_with_peer(collection: Path, texts: Sequence[str], folder: Path, depth: int = DEPTH) -> Mapping[str, list[str]]:
    """Return the ranking of each query by bm25s, whose index is built in a folder if it is not there yet.

    Raises ImportError if the peer is not installed.
    """
    from benchmarks.peers.bm25 import Bm25  # optional
    from benchmarks.peers.passages import read_rows

    corpus = folder / "pages.jsonl"
    if not corpus.exists():
        write_pages(collection, corpus, WHOLE_PAGE)
    urls = {row["id"]: row["url"] for row in read_rows(corpus)}
    rankings = Bm25(corpus, folder / "index").search(list(texts), depth)
    return {
        text: [urls[passage["id"]] for passage, _ in ranking] for text, ranking in zip(texts, rankings, strict=True)
    }


def open_systems(collection: Path, texts: Sequence[str], peer_folder: Path) -> Iterator[tuple[str, RankFunction]]:
    """Yield the systems that are compared, with their names."""
    snapshot = current_id(collection) or ""
    world = open_snapshot(collection, snapshot)
    yield "shown", open_ranker(RankerConfig(collection, snapshot, DEPTH, as_shown=True))
    yield "ranking", partial(rank_relaxed, world)
    yield "flat", partial(rank_relaxed, make_flat(world))
    try:
        yield PEER, rank_with_peer(collection, texts, peer_folder).__getitem__
    except ImportError as error:
        print(f"{PEER} is left out: the package {error.name!r} is not installed")


def print_table(scores: Mapping[str, Sequence[QueryScore]]) -> None:
    """Print each measure of each system by kind, and the differences of `ranking` from the others."""
    queries = scores["ranking"]
    print(f"{'':<18}" + "".join(f"{system:>26}" for system in scores))
    print(f"{'':<14}{'n':>4}" + ("  " + "".join(f"{name:>8}" for name in MEASURES)) * len(scores))
    for (kind, half), indices in group_queries(queries).items():
        means = [
            sum(system[index].values[measure] for index in indices) / len(indices)
            for system in scores.values()
            for measure in MEASURES.values()
        ]
        cells = ["  " * (number % len(MEASURES) == 0) + f"{mean:8.3f}" for number, mean in enumerate(means)]
        if not half:
            print(f"{kind or 'all':<14}{len(indices):>4}" + "".join(cells))
    for name in scores.keys() - {"ranking"}:
        difference = compare_scores(scores[name], queries, range(len(queries)))["RR@10"]
        print(f"ranking over {name}: MRR@10 {difference.gain.mean:+.3f}, p {difference.p:.4f}")


def write_ranks(path: Path, scores: Mapping[str, Sequence[QueryScore]]) -> None:
    """Write the rank of the first target of every query by system, 0 if it is not among ten."""
    with path.open("w", encoding="utf-8") as file:
        for row in zip(*scores.values(), strict=True):
            reciprocals = [score.values["RR@10"] for score in row]
            ranks = dict(zip(scores, [round(1 / one) if one else 0 for one in reciprocals], strict=True))
            file.write(json.dumps({"_id": row[0].query.id, "text": row[0].query.text, **ranks}) + "\n")


def main(collection: Path, queries: Path, peer_folder: Path, ranks: Path | None) -> None:
    """Score every system and print the table."""
    judged = read_judged(queries, collection)
    measures = parse_measures(",".join(MEASURES.values()))
    texts = [query.text for query in judged.queries]
    scores = {
        name: score_queries(judged.queries, judged.targets, rank, measures)
        for name, rank in open_systems(collection, texts, peer_folder)
    }
    print_table(scores)
    if ranks:
        write_ranks(ranks, scores)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("queries", type=Path, nargs="?", default=QUERIES)
    parser.add_argument("--peer-folder", type=Path, help="folder that keeps the peer's index for further runs")
    parser.add_argument("--ranks", type=Path, help="file for the rank of the first target of every query")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(arguments.collection, arguments.queries, arguments.peer_folder or Path(temporary), arguments.ranks)
