"""The commands `webemu remove`, `webemu removed` and `webemu restore`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.catalog import Catalog
from webemu.index.manifest import current_id
from webemu.index.removal.rules import Kind, Rule, now, parse_rule, read_rules, write_rules
from webemu.index.removal.stale import delete_snapshots, find_stale
from webemu.index.removal.sweep import REASON
from webemu.index.removal.take import drop_stale_splits, parse_list, remove, source_rule
from webemu.ingest.command import CollectionOption, QuietOption, SnapshotOption, WorkersOption
from webemu.ingest.purge import purge
from webemu.ingest.run import count_default_workers, run
from webemu.ingest.snapshot_progress import build_with_progress
from webemu.ingest.sources import Source

_MAX_NAMES = 20
"""Files that are named in a report; others are only counted."""
UrlOption = Annotated[
    list[str] | None, typer.Option(help="URL, in all spellings: http and https, www., tracking parameters. Repeatable.")
]
PrefixOption = Annotated[
    list[str] | None,
    typer.Option(help="Beginning of URLs; a slash at its end means the folder and all below it. Repeatable."),
]
HostOption = Annotated[
    list[str] | None, typer.Option(help="Host, with and without www.; *.example.org with its subdomains. Repeatable.")
]
SourceOption = Annotated[
    list[str] | None, typer.Option(help="Ingested file: its name, path, id, or a file of the same bytes. Repeatable.")
]
ListOption = Annotated[
    Path | None,
    typer.Option(
        "--list", exists=True, dir_okay=False, help="File of lines: a URL, or host:, prefix: and what they say."
    ),
]


def remove_command(
    reason: Annotated[str, typer.Option(help="Why, for those who come later; `webemu removed` shows it.")],
    url: UrlOption = None,
    prefix: PrefixOption = None,
    host: HostOption = None,
    source: SourceOption = None,
    list_file: ListOption = None,
    purge_payloads: Annotated[
        bool,
        typer.Option(
            "--purge",
            help="Also delete snapshots that hold it, and overwrite it in the catalog and in the collection's copies.",
        ),
    ] = False,
    collection: CollectionOption = None,
    root: RootOption = None,
    workers: WorkersOption = None,
    snapshot: SnapshotOption = True,
    quiet: QuietOption = False,
) -> None:
    """Take captures out of a collection for good, by URL, host or file, and build a snapshot without them.

    They are gone from search, pages, replay, archives, indexes, completions, link texts, duplicates and exports, and
    stay out whatever is ingested later: the rules are in removed.jsonl, beside the catalog. Older snapshots that hold
    them are refused from then on, also to sessions that began on them; the served one goes on until the new one is
    built. The files that were ingested are not changed; the server gives no range of them that holds such a record.

    A file is kept out by its content, not its name. To keep pages out whichever file brings them, remove their URLs.

    webemu remove --host example.org --reason "opt-out of 3 May" --collection mine

    webemu remove --list takedown.txt --reason "court order 12/2026" --purge --collection mine
    """
    folder = find_collection(load_config({"root": root, "collection": collection}))
    rules = _read_options(folder, url, prefix, host, source, list_file, reason)
    print(f"removed   {remove(folder, rules):,} captures by {len(rules):,} rules")
    if snapshot:
        _build(folder, workers, quiet)
    _report_older(folder, purge_payloads)
    if purge_payloads:
        _purge(folder)


def _read_options(
    folder: Path, url: list[str] | None, prefix: list[str] | None, host: list[str] | None, source: list[str] | None,
    list_file: Path | None, reason: str,
) -> list[Rule]:  # fmt: skip
    """Return the rules that the options describe. Raises BadRequest if there are none."""
    values: dict[Kind, list[str]] = {"url": url or [], "prefix": prefix or [], "host": host or []}
    rules = [parse_rule(kind, value, reason, now()) for kind, texts in values.items() for value in texts]
    rules += [source_rule(folder, name, reason) for name in source or []]
    if list_file is not None:
        rules += parse_list(list_file.read_text(encoding="utf-8").splitlines(), reason)
    if not rules:
        raise BadRequest("nothing is named", action="give --url, --prefix, --host, --source or --list")
    return rules


def _build(folder: Path, workers: int | None, quiet: bool) -> None:
    """Build and serve the snapshot of what is left, and print its id."""
    with Catalog(folder, read_only=True) as catalog:
        is_empty = catalog.db.execute("SELECT 1 FROM captures LIMIT 1").fetchone() is None
    if is_empty:
        (folder / "CURRENT").unlink(missing_ok=True)
        print("snapshot  none: the collection holds no capture any more, so there is nothing to serve")
    else:
        print(f"snapshot  {build_with_progress(folder, workers or count_default_workers(), quiet)}")
    for parts in drop_stale_splits(folder):
        print(f"split     the {parts} partitions hold it: webemu snapshots split {parts}")


def _report_older(folder: Path, is_purge: bool) -> None:
    """Name the snapshots that still hold what was removed, or delete them."""
    current = current_id(folder)
    stale = [manifest.id for manifest in find_stale(folder, read_rules(folder))]
    older = [snapshot for snapshot in stale if snapshot != current]
    if is_purge:
        delete_snapshots(folder, older)
    for snapshot in older:
        print(
            f"older     {snapshot} {'deleted' if is_purge else 'holds it, and is refused: webemu snapshots remove ID'}"
        )
    if current in stale:
        print(f"served    {current} still holds it, until webemu snapshots build")


def _purge(folder: Path) -> None:
    """Overwrite removed records in the collection's own files, and say what is left elsewhere."""
    report = purge(folder, read_rules(folder))
    print(f"purged    {report.records:,} records in {len(report.copies):,} copies, and the catalog")
    for path in report.foreign[:_MAX_NAMES]:
        print(f"not ours  {path} still holds removed records; the collection does not change it")
    if len(report.foreign) > _MAX_NAMES:
        print(f"not ours  {len(report.foreign) - _MAX_NAMES:,} more")


def removed(
    form: Annotated[
        str, typer.Option("--format", help="Output format: table or json (one object per line).")
    ] = "table",
    collection: CollectionOption = None,
    root: RootOption = None,
) -> None:
    """List what was removed from a collection, when and why.

    webemu removed --collection mine
    """
    if form not in ("table", "json"):
        raise BadRequest(f"unknown --format {form!r}", action="use table or json")
    rules = read_rules(find_collection(load_config({"root": root, "collection": collection}))).rules
    for rule in rules:
        if form == "json":
            print(json.dumps(asdict(rule), ensure_ascii=False))
        else:
            value = f"{rule.value} ({rule.name})" if rule.name else rule.value
            print(f"{rule.time[:19]}  {rule.kind:<6}  {value}  {rule.reason}")
    if not rules:
        print("nothing was removed", file=sys.stderr)


def restore(
    values: Annotated[list[str], typer.Argument(help="What `webemu removed` lists: a URL, host, or a source's name.")],
    collection: CollectionOption = None,
    root: RootOption = None,
    workers: WorkersOption = None,
    snapshot: SnapshotOption = True,
    quiet: QuietOption = False,
) -> None:
    """Take removals back: forget their rules, and read the files again from which captures were removed.

    The files must still be where they were ingested from.

    webemu restore example.org --collection mine
    """
    folder = find_collection(load_config({"root": root, "collection": collection}))
    rules = read_rules(folder)
    named = [rule for rule in rules.rules if {rule.value, rule.name} & set(values)]
    if unknown := sorted(set(values) - {text for rule in named for text in (rule.value, rule.name)}):
        raise BadRequest(f"{unknown[0]!r} was not removed", action="see what was: webemu removed")
    sources = list(_sources_to_read(folder, named))
    write_rules(folder, rules.without(rule.key for rule in named))
    report = run(
        sources, folder, workers or count_default_workers(), snapshot=snapshot, quiet=quiet, reread=True
    )  # fmt: skip
    print(f"restored  {len(named):,} rules; {report.added:,} files read again, {report.captures:,} captures in them")
    for name, why in report.failed:
        print(f"failed    {name}: {why}")
    if report.snapshot:
        print(f"snapshot  {report.snapshot}")
    if report.failed:
        raise typer.Exit(1)


_TOUCHED = """
SELECT path, name FROM sources WHERE source_id IN (SELECT source_id FROM drops WHERE reason = ?) ORDER BY source_id
"""


def _sources_to_read(folder: Path, rules: list[Rule]) -> Iterator[Source]:
    """Yield the files that captures were removed from, and removed files of these rules."""
    for rule in rules:
        if rule.kind == "source":
            yield Source(folder / rule.path, rule.name)
    if any(rule.kind != "source" for rule in rules):
        with Catalog(folder, read_only=True) as catalog:
            for path, name in catalog.db.execute(_TOUCHED, [REASON]).fetchall():
                yield Source(folder / path, name)
