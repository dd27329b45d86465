"""The command `webemu compare-serp`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.command import resolve_snapshot_id
from webemu.index.evaluation.serp_comparison import SerpComparison, compare_searches
from webemu.index.evaluation.serp_log import RecordedResult, read_serp_log
from webemu.index.evaluation.serp_report import MEASURES, format_table, list_missing, render_page
from webemu.index.manifest import current_id
from webemu.index.open import open_snapshot


def compare_serp(
    log: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Recorded searches as JSON lines.")],
    collection: Annotated[str | None, typer.Option(help="Collection. [default: default]")] = None,
    root: RootOption = None,
    snapshot: Annotated[str | None, typer.Option(help="Beginning of its id. [default: the one that is served]")] = None,
    engine: Annotated[str, typer.Option(help="Ranker: full, plain, weak, dense, hybrid or rerank.")] = "",
    depth: Annotated[int, typer.Option(help="Results of a query that are compared.", min=1, max=100)] = 10,
    html: Annotated[Path | None, typer.Option(help="File for a page with both lists of every query.")] = None,
    missing: Annotated[Path | None, typer.Option(help="File for live URLs that the collection lacks.")] = None,
    per_query: Annotated[Path | None, typer.Option(help="File for a line of JSON per query.")] = None,
) -> None:
    """Compare results that a live search service gave with those of a collection.

    LOG holds queries with the service's answers as it sent them: Serper, SerpAPI, Tavily, Brave, Exa, Bing, Google,
    Jina or Firecrawl.

    webemu compare-serp serper.jsonl --collection mine --html serp.html

    webemu compare-serp serper.jsonl --collection mine --missing wanted.txt

    webemu pick 'cc-index/*.parquet' --urls wanted.txt
    """
    folder = find_collection(load_config({"root": root, "collection": collection}))
    world = open_snapshot(folder, resolve_snapshot_id(folder, snapshot or current_id(folder) or ""))
    world = world.with_engine(engine) if engine else world
    with log.open(encoding="utf-8", errors="replace") as lines:
        serp_log = read_serp_log(lines)
    for reason, count in sorted(serp_log.dropped.items()):
        print(f"{count:,} lines of {log} were left out: {reason}", file=sys.stderr)
    if not serp_log.searches:
        raise BadRequest(
            f"{log} has no recorded search", action='give lines such as {"query": "...", "organic": [...]}'
        )
    searches = tqdm(serp_log.searches, unit="query", leave=False, disable=None)
    comparisons = list(
        compare_searches(searches, lambda text, count: _search(world, text, count), world.has_url, depth)
    )
    print("\n".join(format_table(comparisons)))
    if html is not None:
        _write(html, render_page(comparisons))
    if missing is not None:
        _write(missing, "".join(f"{url}\n" for url in list_missing(comparisons)))
    if per_query is not None:
        _write(per_query, "".join(map(_format_line, comparisons)))


def _search(world: World, text: str, count: int) -> Sequence[RecordedResult]:
    """Return the results that an agent is shown."""
    hits = world.search(Query(text, size=count, snippet="long")).hits
    return [RecordedResult(hit.url, hit.snippet) for hit in hits]


def _format_line(comparison: SerpComparison) -> str:
    """Return the measures of a query as a line of JSON."""
    values = {name: round(value(comparison), 6) for name, _, value in MEASURES}
    return json.dumps({"query": comparison.query, **values}, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror}") from error
