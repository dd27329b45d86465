"""The command `webemu ingest`: options in, the printed report out. The work is in `webemu.ingest.run`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from webemu.emulator.config import Config, load_config
from webemu.emulator.options import RootOption
from webemu.ingest.formats import TITLES
from webemu.ingest.run import Report, count_default_workers, run
from webemu.ingest.sources import SourceList, advise, expand_archives

_MAX_NAMES = 20
"""Files without a record that are named in the report; the others are only counted."""


SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        help="WARC, ARC, WET, WACZ or HAR files, folders, globs, dumps of texts (JSONL, Parquet), *.paths(.gz) lists,"
        " or URLs of these."
    ),
]
CollectionOption = Annotated[str | None, typer.Option(help="Collection to add to; created if new. [default: default]")]
WorkersOption = Annotated[int | None, typer.Option(help="Number of worker processes. [default: one per core]", min=1)]
PathsRootOption = Annotated[Path | None, typer.Option(help="Folder that the lines of a *.paths list are relative to.")]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="URL that the lines of a *.paths list are relative to; files are downloaded.")
]
HostRanksOption = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Common Crawl's host or domain ranks (cc-main-...-ranks.txt.gz) to rank by, instead of the crawl's own"
        " links; give them again when there are new hosts.",
    ),
]
RayOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Read the sources on the machines of a Ray cluster: auto, HOST:PORT or ray://HOST:PORT. Each must see"
        " the sources under the same paths.",
    ),
]
SnapshotOption = Annotated[
    bool, typer.Option(help="Build a new snapshot at the end and make it the one that is served.")
]
RereadOption = Annotated[
    bool,
    typer.Option(
        "--reread", help="Read sources again that are already in, as after an upgrade; what did not change is kept."
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress bars.")]


def ingest(
    sources: SourcesArgument,
    collection: CollectionOption = None,
    root: RootOption = None,
    workers: WorkersOption = None,
    paths_root: PathsRootOption = None,
    base_url: BaseUrlOption = None,
    host_ranks: HostRanksOption = None,
    ray: RayOption = None,
    reread: RereadOption = False,
    snapshot: SnapshotOption = True,
    quiet: QuietOption = False,
) -> None:
    """Read dumps of the web into a collection and build a snapshot that can be served.

    Any crawl will do: Common Crawl, Heritrix, Browsertrix, wget, warcio. Unreadable parts are skipped and counted by
    reason; damage does not stop the run. After an interruption (Ctrl-C, power cut, full disk), the same command
    continues; files that are already in the collection are not read again.

    Exit status: 0 if at least one file gave a record (those that gave none are named); 1 if none did, or if a file
    could not be opened or downloaded; 130 after Ctrl-C. No snapshot is built as long as there is nothing to serve.

    webemu ingest crawl/*.warc.gz --collection mine

    webemu ingest warc.paths.gz --base-url https://data.commoncrawl.org/ --collection cc

    webemu ingest warc.paths --paths-root /mnt/commoncrawl --collection cc

    webemu ingest wiki-18.jsonl.gz 'fineweb/*.parquet' --collection texts

    webemu ingest /mnt/crawl/*.warc.gz --collection mine --ray auto
    """
    config = load_config({"root": root, "collection": collection})
    source_list = expand_archives(sources, paths_root, base_url)
    with _exit_when_interrupted():
        report = run(
            source_list.sources, config.collection_folder, workers or count_default_workers(), snapshot=snapshot,
            quiet=quiet, host_ranks=host_ranks, cluster=ray, reread=reread,
        )  # fmt: skip
    _show(report, config, source_list, root)
    if snapshot and not report.snapshot:
        print("snapshot  none: the collection holds no capture, so there is nothing to serve")
    if report.has_no_records:
        print(f"next      name whole files of a format that is read: {', '.join(TITLES)}")
    if report.failed or report.has_no_records:
        raise typer.Exit(1)


@contextmanager
def _exit_when_interrupted() -> Iterator[None]:
    """Exit with status 130 after a Ctrl-C, and say how to continue."""
    try:
        yield
    except (KeyboardInterrupt, RuntimeError) as error:
        # DuckDB raises a RuntimeError for a Ctrl-C during one of its calls.
        if isinstance(error, RuntimeError) and "interrupted" not in str(error).lower():
            raise
        print("\nStopped. Ingested sources are kept; run the same command to continue.", file=sys.stderr)
        raise typer.Exit(130) from None


def _show(report: Report, config: Config, source_list: SourceList, root: Path | None) -> None:
    """Print the report."""
    rate = report.pages / report.seconds if report.seconds else 0.0
    print(f"sources   {report.added:,} added, {report.already_ingested:,} already in, {len(report.failed):,} failed")
    if report.kept_out:
        print(f"removed   {report.kept_out:,} kept out, which were removed (webemu removed)")
    if source_list.ignored_count:
        print(f"ignored   {source_list.ignored_count:,} files whose names are not those of archives")
        if source_list.dump_globs:
            print(f"          {advise(source_list)}")
    if source_list.missing_lines:
        print(
            f"missing   {len(source_list.missing_lines):,} lines of path lists, the first: "
            f"{source_list.missing_lines[0]}"
        )
    print(f"captures  {report.captures:,}")
    print(f"pages     {report.pages:,} ({rate:,.0f}/s, {report.bytes / 1e6:,.1f} MB in {report.seconds:,.1f} s)")
    if report.hosts_with_ranks is not None:
        print(f"hosts     {report.hosts_with_ranks:,} with ranks")
    for reason, count in report.drops.items():
        print(f"dropped   {count:,} {reason}")
    for name, reasons in report.without_records[:_MAX_NAMES]:
        print(f"no record {name}: {reasons}")
    if len(report.without_records) > _MAX_NAMES:
        print(f"no record in {len(report.without_records) - _MAX_NAMES:,} more")
    for name, why in report.failed:
        print(f"failed    {name}: {why}")
    if report.snapshot:
        print(f"snapshot  {report.snapshot}")
        serve_options = ["--collection", config.collection] + (["--root", str(config.root)] if root else [])
        print(f"next      webemu serve {shlex.join(serve_options)}")
