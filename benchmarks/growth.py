"""Measures how ranking holds as the web around a judged set grows: its pages alone, and among more and more others.

WEBEMU_SHARED=DIR python -m benchmarks.growth CRAWL.warc.gz... --work FOLDER [--sizes 0 5000 50000 136000]

The judged sets DIR/data/ir/{xquad_en,cranfield} are ingested together with the first pages of the crawl, whose pages
answer none of their questions. Scored are nDCG@10 and R@100 of all signals and of BM25 alone (`engine=plain`), and
of bm25s over whole pages if it is installed. Collections stay in `--work`, so that a run that ended goes on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from benchmarks.agent_queries import rank_with_peer
from webemu.index.evaluation import beir
from webemu.index.evaluation.judged import JudgedQuery, Judgments
from webemu.index.evaluation.ranker import RankerConfig, RankFunction, open_ranker
from webemu.index.evaluation.score import mean_figures, parse_measures, score_queries
from webemu.index.manifest import current_id

SETS = ("xquad_en", "cranfield")
"""Judged sets."""
SIZES = (0, 5_000, 50_000, 136_000)
"""Numbers of other pages."""
MEASURES = "nDCG@10,R@100"
"""Measures by their names in ir_measures."""
DEPTH = 100
_RECORDS_PER_PAGE = 3
"""Records that a crawl has for each page: request, response and metadata."""


def take_pages(crawl: Sequence[Path], pages: int, folder: Path) -> Iterator[Path]:
    """Yield files of a crawl that hold so many pages together; of the last one a part is copied into the folder.

    Raises ValueError if the crawl has fewer pages.
    """
    records_wanted = pages * _RECORDS_PER_PAGE
    for path in crawl:
        if records_wanted <= 0:
            return
        with path.open("rb") as stream:
            records = ArchiveIterator(stream)
            count = 0
            for _ in records:
                count += 1
                if count > records_wanted:
                    break
            end = records.get_record_offset()
        if count <= records_wanted:
            yield path
        else:
            part = folder / f"first-{records_wanted}-of-{path.name}"
            part.write_bytes(path.read_bytes()[:end])
            yield part
        records_wanted -= count
    if records_wanted > 0:
        raise ValueError(f"the crawl lacks {records_wanted // _RECORDS_PER_PAGE:,} of {pages:,} pages")


def build_collection(sets: Sequence[Path], crawl: Sequence[Path], pages: int, work: Path) -> Path:
    """Ingest the sets among so many other pages, unless that was done before; return the folder of the collection."""
    collection = work / f"among-{pages}"
    if not current_id(collection):
        work.mkdir(parents=True, exist_ok=True)
        sources = list(take_pages(crawl, pages, work))
        for folder in sets:
            sources.append(work / f"{folder.name}.warc.gz")
            beir.write_crawl(folder, sources[-1])
        command = [sys.executable, "-m", "webemu.emulator.cli", "ingest", *map(str, sources), "--root", str(work)]
        subprocess.run([*command, "--collection", collection.name, "--quiet"], check=True)
    return collection


def open_systems(
    collection: Path, queries: Sequence[JudgedQuery], peer_folder: Path
) -> Iterator[tuple[str, RankFunction]]:
    """Yield the systems that are compared, with their names."""
    snapshot = current_id(collection) or ""
    yield "all signals", open_ranker(RankerConfig(collection, snapshot, DEPTH))
    yield "BM25", open_ranker(RankerConfig(collection, snapshot, DEPTH, engine="plain"))
    try:
        texts = [query.text for query in queries]
        yield "bm25s", rank_with_peer(collection, texts, peer_folder, DEPTH).__getitem__
    except ImportError as error:
        print(f"bm25s is left out: the package {error.name!r} is not installed", file=sys.stderr)


def score_set(folder: Path, collection: Path, peer_folder: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the name of each system, and its means by measure on one set."""
    judged: tuple[Sequence[JudgedQuery], Judgments] = beir.read_judged(folder)
    for name, search in open_systems(collection, judged[0], peer_folder):
        scores = score_queries(*judged, search, parse_measures(MEASURES))
        yield name, {measure: figure.mean for measure, figure in mean_figures(scores, range(len(scores))).items()}


def main() -> None:
    """Print a line for each set, size and system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawl", type=Path, nargs="+", help="WARC files of other pages")
    parser.add_argument("--work", type=Path, required=True, help="folder for the collections, which are kept")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of other pages")
    options = parser.parse_args()
    if not (root := os.environ.get("WEBEMU_SHARED")):
        raise SystemExit("WEBEMU_SHARED is not set; set it to the folder that holds data/ir")
    sets = [Path(root) / "data" / "ir" / name for name in SETS]
    for pages in options.sizes:
        collection = build_collection(sets, options.crawl, pages, options.work)
        for folder in sets:
            peer_folder = options.work / f"bm25s-{pages}"
            peer_folder.mkdir(exist_ok=True)
            for name, figures in score_set(folder, collection, peer_folder):
                columns = "   ".join(f"{measure} {mean:.4f}" for measure, mean in figures.items())
                print(f"{folder.name:<10} among {pages:>7,}   {name:<12} {columns}", flush=True)


if __name__ == "__main__":
    main()
