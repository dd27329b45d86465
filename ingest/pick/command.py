"""The command `webemu pick`: options in, the plan and the result printed. The work is in `webemu.ingest.pick.run`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from webemu.emulator.errors import BadRequest, SourceError
from webemu.index.columnar_index import RecordRange, Selection, select_records
from webemu.ingest.pick.cdx_client import Scope, download_index
from webemu.ingest.pick.journal import PickFolder
from webemu.ingest.pick.plan import Plan, build_plan
from webemu.ingest.pick.range_client import RangeClient
from webemu.ingest.pick.remote_index import fetch_matches, is_remote_index, list_index_files
from webemu.ingest.pick.run import fetch_records
from webemu.ingest.planning.content import content_of_records
from webemu.ingest.planning.model import load_model
from webemu.ingest.sources import is_url

INDEX_FOLDER = "index"
"""Folder below `--out` for what is read of an index behind URLs."""

IndexArgument = Annotated[
    list[str],
    typer.Argument(
        help="Columnar index (cc-index-table) of a crawl: its name, such as CC-MAIN-2026-12, Parquet files, globs or"
        " URLs; or the URL of a CDX server."
    ),
]
OutOption = Annotated[Path, typer.Option(help="Folder for the WARC files and the journal.")]
BaseUrlOption = Annotated[str, typer.Option(help="URL that the index's file names are relative to.")]
HostOption = Annotated[list[str] | None, typer.Option("--host", help="Host name that is wanted; repeat it for more.")]
DomainOption = Annotated[
    list[str] | None, typer.Option("--domain", help="Registrable domain that is wanted, with all of its hosts.")
]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", help="Language that is wanted, in ISO 639-3, such as eng.")
]
MimeOption = Annotated[list[str] | None, typer.Option("--mime", help="MIME type that is wanted, such as text/html.")]
SinceOption = Annotated[str, typer.Option(help="Earliest day of the fetch, such as 2024-05-01.")]
UntilOption = Annotated[str, typer.Option(help="First day that is too late.")]
PatternOption = Annotated[str, typer.Option("--url-pattern", help="Regular expression found anywhere in the URL.")]
UrlsOption = Annotated[
    Path | None, typer.Option("--urls", exists=True, dir_okay=False, help="File of wanted URLs, one a line.")
]
PerHostOption = Annotated[int, typer.Option(help="Most pages of one host; 0 means all.", min=0)]
PagesOption = Annotated[int, typer.Option(help="Most pages in all; 0 means all.", min=0)]
MegabytesOption = Annotated[float, typer.Option(help="Most compressed megabytes in all; 0 means all.", min=0)]
IndexMegabytesOption = Annotated[
    float, typer.Option(help="Most megabytes of an index that are read over HTTP; 0 means any number.", min=0)
]
GapOption = Annotated[
    int, typer.Option(help="Most unwanted bytes between two records that one request fetches.", min=0)
]
DelayOption = Annotated[float, typer.Option(help="Seconds between two requests.", min=0)]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the plan, and fetch nothing.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress bars.")]


def pick(
    index: IndexArgument,
    out: OutOption = Path("picked"),
    base_url: BaseUrlOption = "https://data.commoncrawl.org/",
    hosts: HostOption = None,
    domains: DomainOption = None,
    languages: LanguageOption = None,
    mime_types: MimeOption = None,
    since: SinceOption = "",
    until: UntilOption = "",
    url_pattern: PatternOption = "",
    urls: UrlsOption = None,
    per_host: PerHostOption = 0,
    max_pages: PagesOption = 0,
    max_megabytes: MegabytesOption = 0,
    index_megabytes: IndexMegabytesOption = 2000,
    gap: GapOption = 16384,
    delay: DelayOption = 0.6,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
) -> None:
    """Choose pages of a crawl by its index, and fetch only their records into WARC files.

    All conditions must hold; of several captures of a URL the newest is taken. The plan is printed first. Records are
    fetched by byte range, neighbours in one request, one request at a time. After an interruption the same command
    continues. A range that no longer holds its record is counted and left out. Of an index behind URLs, only the parts
    are read that may have a wanted page. This command connects to --base-url, and to the URLs of INDEX; a CDX server
    is asked for each --host, --domain and URL of --urls.

    Exit status: 0 if records were fetched; 1 if none match or none arrived; 130 after Ctrl-C.

    webemu pick CC-MAIN-2026-12 --domain example.org --language eng --dry-run

    webemu pick 'cc-index/*.parquet' --mime text/html --per-host 20 --max-pages 5000 --out picked
    """
    selection = Selection(
        hosts or (), domains or (), languages or (), mime_types or (), since, until, url_pattern, _read_urls(urls),
        per_host, max_pages, int(max_megabytes * 1e6),
    )  # fmt: skip
    if any(map(is_remote_index, index)):
        with _told_to_continue():
            records = _select_remote(index, selection, out, base_url, delay, int(index_megabytes * 1e6), quiet)
    else:
        records = _select(index, selection, delay)
    plan = build_plan(records, gap)
    if not plan.requests:
        raise SourceError("no page of the index matches", action="loosen the conditions")
    _show_plan(plan, delay)
    if dry_run:
        return
    with RangeClient(base_url, delay) as client, _told_to_continue():
        folder = fetch_records(plan, client, out, quiet)
    _show_result(folder, client)
    if not folder.records:
        raise typer.Exit(1)


@contextmanager
def _told_to_continue() -> Iterator[None]:
    """Say after Ctrl-C how to go on, and exit with status 130."""
    try:
        yield
    except KeyboardInterrupt:
        print("\nStopped. What was fetched is kept; run the same command to continue.", file=sys.stderr)
        raise typer.Exit(130) from None


def _select(index: list[str], selection: Selection, delay: float) -> list[RecordRange]:
    """Return the wanted records of Parquet files, or of a CDX server."""
    servers = [name for name in index if is_url(name)]
    if not servers:
        return select_records(index, selection)
    if len(index) > 1:
        raise BadRequest("a CDX server is the only index of a pick", action="pick from each index in turn")
    scopes = [Scope(host, "host") for host in selection.hosts] + [Scope(name, "domain") for name in selection.domains]
    scopes = scopes or [Scope(url, "exact") for url in selection.urls]
    if not scopes:
        raise BadRequest("a CDX server lists no whole crawl", action="name what is wanted: --host, --domain or --urls")
    with TemporaryDirectory(prefix="webemu-pick-") as folder:
        path = Path(folder) / "index.parquet"
        report = download_index(servers[0], scopes, path, delay)
        print(
            f"index     {report.rows:,} captures of {servers[0]}"
            + (f", {report.dropped:,} unreadable lines" if report.dropped else "")
        )
        return list(select_records([str(path)], selection)) if report.rows else []


def _select_remote(
    index: list[str], selection: Selection, out: Path, base_url: str, delay: float, max_bytes: int, quiet: bool
) -> list[RecordRange]:
    """Return the wanted records of Parquet files of which some are behind URLs. What is read of them stays in `out`."""
    if refused_names := [name for name in index if is_url(name) and not is_remote_index(name)]:
        raise BadRequest(
            f"{refused_names[0]} is no Parquet file, no list of them (*.paths.gz) and not the only index",
            action="pick from each index in turn",
        )
    addresses = list_index_files([name for name in index if is_remote_index(name)], base_url)
    with RangeClient(base_url, delay) as client:
        report = fetch_matches(addresses, selection, out / INDEX_FOLDER, client, max_bytes, quiet)
    print(f"index     {report.rows:,} captures; this run: {report.requests:,} requests, {report.bytes / 1e6:,.1f} MB")
    local_files = [name for name in index if not is_remote_index(name)]
    return select_records([*map(str, report.paths), *local_files], selection)


def _read_urls(path: Path | None) -> list[str]:
    """Return the URLs of a file, one a line. Raises BadRequest if it names none."""
    if path is None:
        return []
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    urls = [line for line in lines if line and not line.startswith("#")]
    if not urls:
        raise BadRequest(f"{path} names no URL", action="write one URL a line")
    return urls


def _show_plan(plan: Plan, delay: float) -> None:
    """Print what will be fetched."""
    print(f"records   {plan.records:,} of {plan.hosts:,} hosts, {plan.record_bytes / 1e6:,.1f} MB compressed")
    print(f"download  {plan.download_bytes / 1e6:,.1f} MB in {len(plan.requests):,} requests to {plan.files:,} files")
    print(f"pauses    {(len(plan.requests) - 1) * delay / 60:,.1f} minutes at {delay:g} s between requests")
    figures = load_model().predict(content_of_records(plan.records, plan.record_bytes))
    core_hours = (figures["ingest_core_seconds"] + figures["build_core_seconds"]) / 3600
    disk_bytes = sum(size for name, size in figures.items() if name.startswith("disk_"))
    print(f"ingest    {core_hours:,.2f} core-hours, {disk_bytes / 1e6:,.0f} MB of disk beside the records")


def _show_result(folder: PickFolder, client: RangeClient) -> None:
    """Print what was fetched, and what to do with it."""
    print(f"fetched   {folder.records:,} records; this run: {client.requests:,} requests, {client.bytes / 1e6:,.1f} MB")
    for reason, count in folder.flaws.most_common():
        print(f"left out  {count:,} {reason}")
    if folder.records:
        print(f"next      webemu ingest {shlex.quote(str(folder.path))}")
