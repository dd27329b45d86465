"""The command `webemu eval-search`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.command import resolve_snapshot_id
from webemu.index.evaluation import beir
from webemu.index.evaluation.judged import JudgedQuery, Judgments, id_resolver, read_judgments, read_queries, read_tasks
from webemu.index.evaluation.ranker import RankerConfig, open_ranker
from webemu.index.evaluation.score import MEASURES, QueryScore, parse_measures, score_queries
from webemu.index.evaluation.table import format_comparison, format_table
from webemu.index.manifest import current_id

if TYPE_CHECKING:
    from ir_measures import Measure

CollectionOption = Annotated[str | None, typer.Option(help="Collection. [default: default]")]
QueriesOption = Annotated[Path | None, typer.Option(help="Queries: JSON Lines (_id, text), or id, tab, text.")]
QrelsOption = Annotated[Path | None, typer.Option(help="Judgments: BEIR's three columns or TREC's four.")]
IdsAreOption = Annotated[
    str | None,
    typer.Option(
        "--ids", help="Meaning of page ids: a file of id, tab, URL, or a URL with {id}. [default: ids are URLs]"
    ),
]
TasksOption = Annotated[Path | None, typer.Option(help="Task file instead: its questions, with their evidence.")]
BeirFolderOption = Annotated[
    Path | None, typer.Option("--beir", help="Folder in BEIR's layout instead: ingested, queried and removed.")
]
SnapshotOption = Annotated[str | None, typer.Option(help="Beginning of its id. [default: the one that is served]")]
EngineOption = Annotated[str, typer.Option(help="Ranker: full, plain, weak, dense, hybrid or rerank.")]
AgainstOption = Annotated[str | None, typer.Option(help="Second snapshot, compared with the first.")]
AgainstEngineOption = Annotated[str | None, typer.Option(help="Second ranker, compared with the first.")]
AsShownOption = Annotated[
    bool, typer.Option("--shown", help="Score the results that an agent is shown, not the engine's ranking.")
]
DepthOption = Annotated[int, typer.Option(help="Results per query.", min=1, max=10_000)]
MeasureNamesOption = Annotated[str, typer.Option("--measures", help="Measures, as ir_measures names them.")]
RunFileOption = Annotated[Path | None, typer.Option(help="File for the rankings, in TREC's run format.")]
PerQueryOption = Annotated[Path | None, typer.Option(help="File for a line of JSON per query.")]


def eval_search(
    collection: CollectionOption = None,
    queries: QueriesOption = None,
    qrels: QrelsOption = None,
    ids_are: IdsAreOption = None,
    tasks: TasksOption = None,
    beir_folder: BeirFolderOption = None,
    snapshot: SnapshotOption = None,
    engine: EngineOption = "",
    against: AgainstOption = None,
    against_engine: AgainstEngineOption = None,
    as_shown: AsShownOption = False,
    depth: DepthOption = 100,
    measure_names: MeasureNamesOption = MEASURES,
    run_file: RunFileOption = None,
    per_query: PerQueryOption = None,
    root: RootOption = None,
) -> None:
    """Measure how well a snapshot's search finds pages that are known to be right, and compare it with another.

    webemu eval-search --collection mine --queries known/queries.jsonl --qrels known/qrels.tsv

    webemu eval-search --collection mine --tasks tasks.jsonl --engine plain --against-engine full

    webemu eval-search --beir scifact --depth 1000
    """
    measures = parse_measures(measure_names)
    with ExitStack() as stack:
        if beir_folder is not None:
            judged_queries = beir.read_judged(beir_folder)
            folder = beir.ingest_corpus(beir_folder, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        else:
            folder = find_collection(load_config({"root": root, "collection": collection}))
            judged_queries = _read_judged(queries, qrels, ids_are, tasks)
        snapshot_id = resolve_snapshot_id(folder, snapshot or current_id(folder) or "")
        config = RankerConfig(folder, snapshot_id, depth, engine, as_shown)
        scores = _score(judged_queries, config, measures)
        print("\n".join([f"{_describe(config)}, to depth {depth:,}", *format_table(scores)]))
        if against is not None or against_engine is not None:
            other_config = replace(
                config,
                snapshot=config.snapshot if against is None else resolve_snapshot_id(folder, against),
                engine=engine if against_engine is None else against_engine,
            )
            print(f"\n{_describe(config)} (first), {_describe(other_config)} (second)")
            print("\n".join(format_comparison(scores, _score(judged_queries, other_config, measures))))
    if run_file is not None:
        _write_lines(run_file, _run_lines(scores, config.snapshot))
    if per_query is not None:
        _write_lines(per_query, [_json_line(one) for one in scores])


def _describe(config: RankerConfig) -> str:
    """Return a configuration as text."""
    return f"snapshot {config.snapshot}" + (f" by {config.engine}" if config.engine else "")


def _read_judged(
    queries: Path | None, qrels: Path | None, ids_are: str | None, tasks: Path | None
) -> tuple[tuple[JudgedQuery, ...], Judgments]:
    """Return the queries and judgments of the given files. Raises BadRequest if files are missing."""
    if tasks is not None:
        return read_tasks(tasks)
    if queries is None or qrels is None:
        raise BadRequest(
            "--queries or --qrels is missing", action="give --queries and --qrels, or --tasks, or --beir: see --help"
        )
    return read_queries(queries), read_judgments(qrels, id_resolver(ids_are))


def _score(
    judged_queries: tuple[tuple[JudgedQuery, ...], Judgments], config: RankerConfig, chosen_measures: Sequence[Measure]
) -> list[QueryScore]:
    """Run and score the queries. Raises BadRequest if none has a judgment."""
    queries, judgments = judged_queries
    with tqdm(total=len(queries), unit="query", leave=False, disable=None) as bar:
        scores = score_queries(queries, judgments, open_ranker(config), chosen_measures, bar.update)
    if not scores:
        raise BadRequest("no query has a judgment", action="compare the query ids with those in the qrels")
    return scores


def _run_lines(scores: Sequence[QueryScore], name: str) -> list[str]:
    """Return the rankings in TREC's run format. Scores count down from the depth, since readers sort by them."""
    return [
        f"{query_score.query.id} Q0 {url} {rank} {len(query_score.ranked_urls) - rank + 1} {name}"
        for query_score in scores
        for rank, url in enumerate(query_score.ranked_urls, 1)
    ]


def _json_line(query_score: QueryScore) -> str:
    """Return a query and its scores as a line of JSON."""
    query_fields = {
        "_id": query_score.query.id,
        "text": query_score.query.text,
        "kind": query_score.query.kind,
        "half": query_score.query.half,
    }
    return json.dumps({**query_fields, **query_score.values}, ensure_ascii=False)


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror}") from error
