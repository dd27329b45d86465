"""The command `webemu eval-search`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from tqdm import tqdm

from webemu.emulator.config import load
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import existing
from webemu.index.command import known
from webemu.index.evaluation import beir
from webemu.index.evaluation.judged import Judged, Judgments, ids, read_judgments, read_queries, read_tasks
from webemu.index.evaluation.ranker import Setting, ranker
from webemu.index.evaluation.score import MEASURES, Scored, measures, score
from webemu.index.evaluation.table import comparison, table
from webemu.index.manifest import current_id


def eval_search(
    collection: Annotated[str | None, typer.Option(help="Collection. [default: default]")] = None,
    queries: Annotated[Path | None, typer.Option(help="Queries: JSON Lines (_id, text), or id, tab, text.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgments: BEIR's three columns or TREC's four.")] = None,
    ids_are: Annotated[
        str | None,
        typer.Option(
            "--ids", help="Meaning of page ids: a file of id, tab, URL, or a URL with {id}. [default: ids are URLs]"
        ),
    ] = None,
    tasks: Annotated[Path | None, typer.Option(help="Task file instead: its questions, with their evidence.")] = None,
    beir_folder: Annotated[
        Path | None, typer.Option("--beir", help="Folder in BEIR's layout instead: ingested, queried and removed.")
    ] = None,
    snapshot: Annotated[str | None, typer.Option(help="Beginning of its id. [default: the one that is served]")] = None,
    engine: Annotated[str, typer.Option(help="Ranker: full, plain, weak, dense, hybrid or rerank.")] = "",
    against: Annotated[str | None, typer.Option(help="Second snapshot, compared with the first.")] = None,
    against_engine: Annotated[str | None, typer.Option(help="Second ranker, compared with the first.")] = None,
    shown: Annotated[
        bool, typer.Option("--shown", help="Score the results that an agent is shown, not the engine's ranking.")
    ] = False,
    depth: Annotated[int, typer.Option(help="Results per query.", min=1, max=10_000)] = 100,
    measured: Annotated[str, typer.Option("--measures", help="Measures, as ir_measures names them.")] = MEASURES,
    run_file: Annotated[Path | None, typer.Option(help="File for the rankings, in TREC's run format.")] = None,
    per_query: Annotated[Path | None, typer.Option(help="File for a line of JSON per query.")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")] = None,
) -> None:
    """Measure how well a snapshot's search finds pages that are known to be right, and compare it with another.

    webemu eval-search --collection mine --queries known/queries.jsonl --qrels known/qrels.tsv

    webemu eval-search --collection mine --tasks tasks.jsonl --engine plain --against-engine full

    webemu eval-search --beir scifact --depth 1000
    """
    by = measures(measured)
    with ExitStack() as stack:
        if beir_folder is not None:
            asked = beir.judged(beir_folder)
            folder = beir.ingest(beir_folder, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        else:
            folder = existing(load({"root": root, "collection": collection}))
            asked = _asked(queries, qrels, ids_are, tasks)
        setting = Setting(folder, known(folder, snapshot or current_id(folder) or ""), depth, engine, shown)
        scored = _scored(asked, setting, by)
        print("\n".join([f"{_named(setting)}, to depth {depth:,}", *table(scored)]))
        if against is not None or against_engine is not None:
            other = replace(
                setting,
                snapshot=setting.snapshot if against is None else known(folder, against),
                engine=engine if against_engine is None else against_engine,
            )
            second = _scored(asked, other, by)
            print(f"\n{_named(setting)} (first), {_named(other)} (second)")
            print("\n".join(comparison(scored, second)))
    if run_file is not None:
        _write(run_file, _run_lines(scored, setting.snapshot))
    if per_query is not None:
        _write(per_query, [_line(one) for one in scored])


def _named(setting: Setting) -> str:
    """Return a configuration as text."""
    return f"snapshot {setting.snapshot}" + (f" by {setting.engine}" if setting.engine else "")


def _asked(
    queries: Path | None, qrels: Path | None, ids_are: str | None, tasks: Path | None
) -> tuple[tuple[Judged, ...], Judgments]:
    """Return the queries and judgments of the given files. Raises BadRequest if files are missing."""
    if tasks is not None:
        return read_tasks(tasks)
    if queries is None or qrels is None:
        raise BadRequest(
            "--queries or --qrels is missing", action="give --queries and --qrels, or --tasks, or --beir: see --help"
        )
    return read_queries(queries), read_judgments(qrels, ids(ids_are))


def _scored(asked: tuple[tuple[Judged, ...], Judgments], setting: Setting, by: Sequence[Any]) -> list[Scored]:
    """Run and score the queries. Raises BadRequest if none has a judgment."""
    queries, judgments = asked
    with tqdm(total=len(queries), unit="query", leave=False, disable=None) as bar:
        scored = score(queries, judgments, ranker(setting), by, bar.update)
    if not scored:
        raise BadRequest("no query has a judgment", action="compare the query ids with those in the qrels")
    return scored


def _run_lines(scored: Sequence[Scored], name: str) -> list[str]:
    """Return the rankings in TREC's run format. Scores count down from the depth, since readers sort by them."""
    return [
        f"{one.query.id} Q0 {url} {place} {len(one.found) - place + 1} {name}"
        for one in scored
        for place, url in enumerate(one.found, 1)
    ]


def _line(one: Scored) -> str:
    """Return a query and its scores as a line of JSON."""
    told = {"_id": one.query.id, "text": one.query.text, "kind": one.query.kind, "half": one.query.half}
    return json.dumps({**told, **one.values}, ensure_ascii=False)


def _write(path: Path, lines: Sequence[str]) -> None:
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror}") from error
