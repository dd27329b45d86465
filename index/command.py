"""The commands `webemu sql`, `webemu stat` and `webemu snapshots`."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from dataclasses import asdict, fields
from math import inf
from pathlib import Path
from typing import Annotated

import duckdb
import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest, SnapshotError
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.catalog import Catalog
from webemu.index.cut import cut_snapshot
from webemu.index.manifest import current_id, read_manifest, set_current
from webemu.index.partitions.split import add_partition, split_collection
from webemu.index.rank import Weights
from webemu.index.records import describe_reader
from webemu.index.removal.stale import delete_snapshots, list_manifests, refuse_stale
from webemu.index.removal.take import keep_out_rolled_back
from webemu.index.snapshot import build_snapshot
from webemu.index.verify import verify_snapshot

Collection = Annotated[str | None, typer.Option(help="Collection. [default: default]")]


def _collection_folder(root: Path | None, collection: str | None) -> Path:
    """Return the collection's folder. Raises BadRequest if there is none."""
    return find_collection(load_config({"root": root, "collection": collection}))


def sql(
    query: Annotated[str, typer.Argument(help="SQL, in DuckDB's dialect.")],
    collection: Collection = None,
    root: RootOption = None,
    form: Annotated[
        str, typer.Option("--format", help="Output format: table, csv or json (one object per line).")
    ] = "table",
) -> None:
    """Query the catalog with SQL, read-only.

    Tables: sources, captures (Common Crawl's column names), pages, links, drops. Views: hosts, drop_reasons.

    webemu sql "SELECT url_host_name, count(*) FROM captures WHERE fetch_status = 200 GROUP BY 1 ORDER BY 2 DESC"
    """
    if form not in ("table", "csv", "json"):
        raise BadRequest(f"unknown --format {form!r}", action="use table, csv or json")
    with Catalog(_collection_folder(root, collection), read_only=True) as catalog:
        try:
            catalog.db.execute("RESET memory_limit")  # a query here may need any amount of memory
            catalog.db.execute("SET enable_external_access = false")  # SQL must not read or write other files
            if form != "table":
                _print_rows(catalog.db.execute(query), form)
            elif (relation := catalog.db.sql(query)) is not None:
                relation.show(max_width=shutil.get_terminal_size((120, 40)).columns)
        except duckdb.InvalidInputException as error:
            raise BadRequest(str(error), action="use SELECT: this command only reads the catalog") from error
        except duckdb.Error as error:
            raise BadRequest(str(error), action='see the columns: webemu sql "DESCRIBE captures"') from error


def _print_rows(cursor: duckdb.DuckDBPyConnection | None, form: str) -> None:
    if cursor is None:
        return
    columns = [column[0] for column in cursor.description or ()]
    writer = csv.writer(sys.stdout)
    if form == "csv":
        writer.writerow(columns)
    while rows := cursor.fetchmany(10_000):
        if form == "csv":
            writer.writerows(rows)
        else:
            for row in rows:
                print(json.dumps(dict(zip(columns, row, strict=True)), default=str, ensure_ascii=False))


_COUNTS = """
SELECT (SELECT count(*) FROM sources), (SELECT coalesce(sum(bytes), 0) FROM sources), (SELECT count(*) FROM captures),
       (SELECT count(*) FROM pages), (SELECT count(*) FROM pages WHERE searchable), (SELECT count(*) FROM links),
       (SELECT count(DISTINCT url_host_name) FROM captures), (SELECT min(fetch_time) FROM captures),
       (SELECT max(fetch_time) FROM captures)
"""


def stat(collection: Collection = None, root: RootOption = None) -> None:
    """Show what a collection holds, and what was dropped for which reason."""
    folder = _collection_folder(root, collection)
    with Catalog(folder, read_only=True) as catalog:
        row = catalog.db.execute(_COUNTS).fetchone() or ()
        statuses = catalog.db.execute(
            "SELECT fetch_status, count(*) FROM captures GROUP BY 1 ORDER BY 2 DESC, 1"
        ).fetchall()
        drops = catalog.db.execute("SELECT reason, records, bytes FROM drop_reasons").fetchall()
    names = ("sources", "bytes read", "captures", "pages", "searchable", "links", "hosts", "first fetch", "last fetch")
    for name, value in zip(names, row, strict=True):
        print(f"{name:<12} {value:,}" if isinstance(value, int) else f"{name:<12} {value}")
    print(f"{'reader':<12} {describe_reader()}")
    print(f"{'on disk':<12} {sum(f.stat().st_size for f in folder.rglob('*') if f.is_file()):,} bytes")
    print(f"{'snapshot':<12} {current_id(folder) or 'none: webemu snapshots build'}")
    print("statuses     " + ", ".join(f"{status}: {count:,}" for status, count in statuses))
    for reason, count, size in drops:
        print(f"dropped      {count:,} {reason} ({size:,} bytes)")


snapshots = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Manage snapshots, which are what is served: immutable, named by content, switched without a restart.",
)


def resolve_snapshot_id(folder: Path, snapshot: str) -> str:
    """Return the full id of a snapshot given its beginning. Raises SnapshotError unless exactly one id begins so."""
    matching_ids = [manifest.id for manifest in list_manifests(folder) if manifest.id.startswith(snapshot)]
    if len(matching_ids) != 1:
        raise SnapshotError(
            f"{len(matching_ids)} snapshots of {folder} begin with {snapshot!r}",
            action="see them: webemu snapshots list",
        )
    return matching_ids[0]


@snapshots.command("list")
def list_(collection: Collection = None, root: RootOption = None) -> None:
    """List snapshots; an asterisk marks the one that is served."""
    folder = _collection_folder(root, collection)
    current = current_id(folder)
    for manifest in list_manifests(folder):
        mark = "*" if manifest.id == current else " "
        print(
            f"{mark} {manifest.id}  {manifest.sources:,} sources, {manifest.documents:,} documents,"
            f" {manifest.captures:,} captures, {manifest.hosts:,} hosts"
            + (f", {manifest.dense.vectors:,} vectors of {manifest.dense.model}" if manifest.dense else "")
        )


@snapshots.command("build")
def build_(
    collection: Collection = None,
    root: RootOption = None,
    workers: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    weights: Annotated[str, typer.Option(help='Weights of ranking features as JSON, such as {"anchors": 0}.')] = "{}",
    hold_out: Annotated[
        bool, typer.Option("--hold-out", help="Leave out the links whose texts `webemu known-items` uses as queries.")
    ] = False,
) -> None:
    """Build a snapshot of the whole catalog unless it exists, and serve it.

    Weights are those of `index/rank.py` (docs/search_quality.md); they are part of the snapshot's id.
    """
    print(build_snapshot(_collection_folder(root, collection), workers, weights=_weights(weights), hold_out=hold_out))


@snapshots.command("cut")
def cut_(
    as_of: Annotated[str, typer.Option(help="Time of the last capture that is kept, such as 2024-06-01.")],
    collection: Collection = None,
    root: RootOption = None,
    workers: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    weights: Annotated[str, typer.Option(help='Weights of ranking features as JSON, such as {"anchors": 0}.')] = "{}",
) -> None:
    """Build a snapshot of what was captured by a time unless it exists, and print its id.

    Later pages, links and titles are not in it, so that even ranking statistics are those of that time. What is served
    does not change: sessions name the snapshot in their policy ("snapshot": ID).
    """
    folder = _collection_folder(root, collection)
    print(cut_snapshot(folder, parse_time(as_of), workers, weights=_weights(weights)))


def _weights(text: str) -> Weights:
    """Return the weights in a JSON object; those it does not name have their defaults. Raises BadRequest."""
    try:
        data_row = json.loads(text)
        defaults = asdict(Weights())
        if unknown_names := sorted(data_row.keys() - defaults.keys()):
            raise ValueError(f"there is no weight {unknown_names[0]!r}")
        weights = {name: type(defaults[name])(value) for name, value in data_row.items()}
        if invalid_names := [name for name, value in weights.items() if not 0 <= value < inf]:
            raise ValueError(
                f"{invalid_names[0]} must be a finite number of at least 0, got {weights[invalid_names[0]]}"
            )
        return Weights(**weights)
    except (ValueError, TypeError, AttributeError) as error:
        names = ", ".join(field.name for field in fields(Weights))
        raise BadRequest(f"--weights is invalid: {error}", action=f"give a JSON object with any of {names}") from error


@snapshots.command("split")
def split_(
    parts: Annotated[int, typer.Argument(help="Number of partitions.", min=2, max=1000)],
    collection: Collection = None,
    root: RootOption = None,
    workers: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 1,
    weights: Annotated[str, typer.Option(help="Weights of ranking features, as for `build`.")] = "{}",
    add: Annotated[
        bool,
        typer.Option("--add", help="Add a partition of what was ingested since; the others stay as they are."),
    ] = False,
) -> None:
    """Build snapshots of partitions of the catalog, by hash of URL, for an index that outgrows one disk.

    Each partition is its own folder, <collection>/parts/COUNT/NUMBER, and may be on its own disk. Existing partitions
    are not built again. Serve them on a Ray cluster: webemu serve --ray ADDRESS --parts COUNT (docs/cluster.md). A
    running server follows within seconds.

    \b
    Example:
      webemu snapshots split 8 --workers 4
      webemu ingest later.warc.gz --no-snapshot && webemu snapshots split 8 --add
    """
    folder = _collection_folder(root, collection)
    if add and weights != "{}":
        raise BadRequest("--add takes the weights of the other partitions", action="leave out --weights")
    with tqdm(total=1 if add else parts, unit="part", disable=None) as bar:
        if add:
            partition_set = add_partition(folder, parts, workers)
        else:
            partition_set = split_collection(folder, parts, workers, bar.update, _weights(weights))
    print(partition_set.id)


@snapshots.command("use")
def use(snapshot: str, collection: Collection = None, root: RootOption = None) -> None:
    """Serve this snapshot, given by the beginning of its id; running servers follow within seconds."""
    folder = _collection_folder(root, collection)
    snapshot_id = resolve_snapshot_id(folder, snapshot)
    refuse_stale(folder, read_manifest(folder / "snapshots" / snapshot_id))
    set_current(folder, snapshot_id)
    print(snapshot_id)


@snapshots.command("remove")
def remove(snapshot: str, collection: Collection = None, root: RootOption = None) -> None:
    """Delete a snapshot that is not served, and the shards that no other snapshot uses.

    Sources that only this snapshot had, after a rollback to one without them, are removed from the collection, so that
    the next ingest does not bring them back. `webemu restore` takes them in again.
    """
    folder = _collection_folder(root, collection)
    snapshot_id = resolve_snapshot_id(folder, snapshot)
    if snapshot_id == current_id(folder):
        raise SnapshotError(f"{snapshot_id} is being served", action="switch first: webemu snapshots use ID")
    sources = keep_out_rolled_back(folder, snapshot_id)
    delete_snapshots(folder, [snapshot_id])
    print(f"removed {snapshot_id}")
    for source in sources:
        print(f"stays out  {source.name}, which only that snapshot had (webemu removed, webemu restore)")


@snapshots.command("verify")
def verify(
    snapshot: Annotated[
        str | None, typer.Argument(help="Beginning of its id. [default: the one that is served]")
    ] = None,
    collection: Collection = None,
    root: RootOption = None,
) -> None:
    """Read every file, record, view, key and payload of a snapshot, and report what is damaged or missing."""
    folder = _collection_folder(root, collection)
    snapshot_id = resolve_snapshot_id(folder, snapshot or current_id(folder) or "")
    faults: list[str] = []
    figures = verify_snapshot(folder, snapshot_id, faults.append)
    for name, count in figures.items():
        print(f"{name:<10} {count:,}")
    for fault in faults[:20]:
        print(f"fault      {fault}")
    if faults:
        print(f"{len(faults):,} faults")
        raise typer.Exit(1)
    print("no faults")
