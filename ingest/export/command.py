"""The command `webemu export`."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, NamedTuple

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.dates import parse_time
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.catalog import Catalog
from webemu.index.removal.rules import Kind, Rules, parse_rule, read_rules
from webemu.index.removal.sweep import sweep_collection
from webemu.index.removal.take import parse_list
from webemu.ingest.command import CollectionOption, QuietOption
from webemu.ingest.export.pages import CONVERSIONS, iter_pages, write_lines, write_parquet
from webemu.ingest.export.selection import Selection, choose_captures, chosen_offsets
from webemu.ingest.export.wacz import write_wacz
from webemu.ingest.export.warc import copy_records

SUFFIXES = {".warc.gz": "warc", ".wacz": "wacz", ".parquet": "parquet", ".jsonl": "jsonl", ".jsonl.gz": "jsonl"}
"""Formats by the ending of the file."""
FORMATS = ("warc", "wacz", "parquet", *CONVERSIONS)


class _Exported(NamedTuple):
    """Number of things that were written, and their name."""

    number: int
    unit: str


def export(
    target: Annotated[Path, typer.Argument(help="File to write: .warc.gz, .wacz, .parquet, .jsonl or .jsonl.gz.")],
    form: Annotated[
        str | None, typer.Option("--format", help=f"{', '.join(FORMATS)}. [default: by the ending of the file]")
    ] = None,
    query: Annotated[str, typer.Option(help="Only pages that this search finds.")] = "",
    hits: Annotated[int, typer.Option(help="Results of the query at most.", min=1)] = 1000,
    url: Annotated[list[str] | None, typer.Option(help="Only this URL, in all spellings. Repeatable.")] = None,
    prefix: Annotated[list[str] | None, typer.Option(help="Only URLs that begin so. Repeatable.")] = None,
    host: Annotated[list[str] | None, typer.Option(help="Only this host; *.example.org with subdomains.")] = None,
    list_file: Annotated[
        Path | None,
        typer.Option("--list", exists=True, dir_okay=False, help="Only what its lines name, as in `webemu remove`."),
    ] = None,
    since: Annotated[str | None, typer.Option("--from", help="Only captures of this time or later.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Only captures before this time.")] = None,
    collection: CollectionOption = None,
    root: RootOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write a collection, or a part of it, to a file that `webemu ingest` and others read.

    warc and wacz hold the records byte for byte, with their requests, metadata and warcinfo: ingested again they give
    the same results and payloads. parquet and jsonl hold the texts of pages, with FineWeb's columns and the title; beir
    is a BEIR corpus, passages are 100 words each, as in wiki-18, both of the latest capture of each page. Without
    conditions, everything is written; several conditions are all met.

    webemu export docs.wacz --host docs.python.org --from 2024-01-01 --collection mine

    webemu export river.warc.gz --query "river council" --hits 200 --collection mine

    webemu export passages.jsonl.gz --format passages --collection mine
    """
    folder = find_collection(load_config({"root": root, "collection": collection}))
    chosen_format = form or next((name for end, name in SUFFIXES.items() if target.name.endswith(end)), "")
    if chosen_format not in FORMATS:
        raise BadRequest(f"the format of {target} is not known", action=f"give --format: {', '.join(FORMATS)}")
    selection = Selection(
        _read_places(url, prefix, host, list_file), query, hits, _parse(since), _parse(until)
    )  # fmt: skip
    sweep_collection(folder)
    with Catalog(folder, read_only=True) as catalog:
        count = choose_captures(catalog, selection)
        if not count:
            raise BadRequest("no capture meets the conditions", action="see what there is: webemu stat, webemu sql")
        with _written_beside(target) as temporary:
            exported = _write(catalog, temporary, chosen_format, count, quiet, is_gzip=target.name.endswith(".gz"))
    print(f"exported  {exported.number:,} {exported.unit} to {target} ({target.stat().st_size:,} bytes)")


def _parse(time: str | None) -> datetime | None:
    return None if time is None else parse_time(time)


def _read_places(
    url: list[str] | None, prefix: list[str] | None, host: list[str] | None, list_file: Path | None
) -> Rules:
    """Return the URLs, prefixes and hosts that the options name."""
    values: dict[Kind, list[str]] = {"url": url or [], "prefix": prefix or [], "host": host or []}
    rules = [parse_rule(kind, value, "", "") for kind, texts in values.items() for value in texts]
    if list_file is not None:
        rules += parse_list(list_file.read_text(encoding="utf-8").splitlines(), "")
    return Rules(tuple(rules))


@contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """Give the path of a file beside the target, which takes its place if all goes well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _write(catalog: Catalog, path: Path, form: str, count: int, quiet: bool, *, is_gzip: bool) -> _Exported:
    """Write the chosen captures in a format, with a progress bar."""
    with tqdm(total=count, unit="capture", desc="exporting", disable=quiet, file=sys.stderr) as bar:
        if form in ("warc", "wacz"):
            return _Exported(_write_records(catalog, path, form, bar), "records")
        pages = iter_pages(catalog, is_latest=form in ("beir", "passages"))
        counted = (page for page in pages if not bar.update())
        if form == "parquet":
            return _Exported(write_parquet(path, counted), "pages")
        with _open_text(path, is_gzip) as file:
            unit = "passages" if form == "passages" else "pages"
            return _Exported(write_lines(file, CONVERSIONS[form](counted)), unit)


def _open_text(path: Path, is_gzip: bool) -> IO[str]:
    """Open a file of text for writing; equal texts give equal gzip files."""
    if not is_gzip:
        return path.open("w", encoding="utf-8")
    return io.TextIOWrapper(gzip.GzipFile(path, "wb", mtime=0), encoding="utf-8")


def _write_records(catalog: Catalog, path: Path, form: str, bar: tqdm[None]) -> int:
    """Write the chosen records as WARC or WACZ; return their number."""
    warc = path if form == "warc" else path.with_name(f"{path.name}.warc")
    try:
        with warc.open("wb") as target:
            written = list(copy_records(chosen_offsets(catalog), target, bar.update, read_rules(catalog.folder)))
        if form == "wacz":
            write_wacz(path, warc, written)
    finally:
        if form == "wacz":
            warc.unlink(missing_ok=True)
    return len(written)
