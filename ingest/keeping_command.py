"""The commands `webemu merge`, `webemu move` and `webemu gc`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.keeping.collect import collect, plan_collection
from webemu.index.keeping.merge import merge_collection
from webemu.index.keeping.own import count_foreign_bytes, move_sources, own_payloads
from webemu.index.keeping.relocate import relocate
from webemu.ingest.command import CollectionOption, QuietOption, SnapshotOption, WorkersOption
from webemu.ingest.run import count_default_workers
from webemu.ingest.snapshot_progress import build_with_progress

_AGE = re.compile(r"(\d+)([hdw])")
_SECONDS = {"h": 3600, "d": 86400, "w": 7 * 86400}


def merge(
    target: Annotated[str, typer.Argument(help="Collection that the others are taken into; created if new.")],
    sources: Annotated[list[str], typer.Argument(help="Collections whose sources are taken. They do not change.")],
    root: RootOption = None,
    workers: WorkersOption = None,
    snapshot: SnapshotOption = True,
    quiet: QuietOption = False,
) -> None:
    """Take all sources of other collections into one, as if it had ingested them, and build its snapshot.

    Nothing is read again: rows and own copies are taken as they are. What either of them removed stays out.

    webemu merge mine theirs
    """
    folder = load_config({"root": root, "collection": target}).collection_folder
    for name in sources:
        other = find_collection(load_config({"root": root, "collection": name}))
        if other.resolve() == folder.resolve():
            raise BadRequest(f"{name} cannot be merged with itself", action="name another collection")
        report = merge_collection(folder, other)
        print(
            f"{name:<9} {report.added:,} sources added, {report.already_in:,} already in, {report.kept_out:,} kept out"
        )
    if snapshot:
        print(f"snapshot  {build_with_progress(folder, workers or count_default_workers(), quiet)}")


def move(
    target: Annotated[Path | None, typer.Argument(help="New folder of the collection: ROOT/NAME.")] = None,
    owns_payloads: Annotated[
        bool, typer.Option("--own-payloads", help="Copy payloads into the collection, so that source files may go.")
    ] = False,
    sources: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="OLD NEW", help="Source files were moved from the folder OLD to NEW."),
    ] = None,
    collection: CollectionOption = None,
    root: RootOption = None,
    quiet: QuietOption = False,
) -> None:
    """Move a collection to another folder or disk, or let it go on after its source files moved.

    With --own-payloads the collection needs no other file any more. Servers that run read the new paths when they open
    the next snapshot: restart them before the old files go. Stop servers before the collection itself is moved.

    webemu move --own-payloads --collection mine

    webemu move --sources /old/crawl /new/crawl --collection mine

    webemu move /big/webemu-data/mine --collection mine
    """
    folder = load_config({"root": root, "collection": collection}).collection_folder
    if target is None and not owns_payloads and sources is None:
        raise BadRequest("nothing is to be moved", action="give a folder, --own-payloads or --sources OLD NEW")
    if target is None or folder.exists():
        folder = find_collection(load_config({"root": root, "collection": collection}))
    if sources is not None:
        print(f"sources   {move_sources(folder, str(sources[0]), str(sources[1])):,} are read at their new place")
    if owns_payloads:
        total = count_foreign_bytes(folder)
        with tqdm(total=total, unit="B", unit_scale=True, desc="copying", disable=quiet, file=sys.stderr) as bar:
            print(f"payloads  {own_payloads(folder, bar.update):,} files copied ({total:,} bytes)")
    if target is not None:
        relocate(folder, target)
        print(f"moved     {folder} to {target}")
        print(f"next      webemu serve --root {target.parent} --collection {target.name}")


def gc(
    keep: Annotated[int | None, typer.Option(help="Keep this many of the newest snapshots.", min=1)] = None,
    older_than: Annotated[
        str | None, typer.Option(help="Delete snapshots that were built longer ago: 12h, 30d, 8w.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be deleted.")] = False,
    collection: CollectionOption = None,
    root: RootOption = None,
) -> None:
    """Delete old snapshots, the shards that no other snapshot uses, and what killed runs left behind.

    The served snapshot is kept, later ones, and those that kept ones with vectors were made from; and the same holds
    for sets of partitions (`webemu snapshots split`). Sessions that name a deleted snapshot fail.

    webemu gc --keep 3 --collection mine

    webemu gc --older-than 30d --collection mine
    """
    if keep is None and older_than is None:
        raise BadRequest("no rule says which snapshots are old", action="give --keep N or --older-than 30d")
    folder = find_collection(load_config({"root": root, "collection": collection}))
    plan = plan_collection(folder, keep, None if older_than is None else _parse_age(older_than))
    for snapshot in plan.snapshots:
        print(f"snapshot  {snapshot}")
    for partition_set in plan.partition_sets:
        print(f"parts     {partition_set.id}")
    for path in plan.leftovers:
        print(f"leftover  {path.relative_to(folder)}")
    counted = f"{len(plan.snapshots):,} snapshots, "
    counted += f"{len(plan.partition_sets):,} sets of partitions, " if plan.partition_sets else ""
    counted += f"{len(plan.leftovers):,} leftovers"
    if dry_run:
        print(f"would delete {counted}")
    else:
        print(f"deleted   {counted}: {collect(folder, plan):,} bytes")


def _parse_age(text: str) -> float:
    """Return an age in seconds. Raises BadRequest if it cannot be read."""
    if (match := _AGE.fullmatch(text)) is None:
        raise BadRequest(f"--older-than {text!r} is no age", action="write hours, days or weeks: 12h, 30d, 8w")
    return int(match[1]) * _SECONDS[match[2]]
