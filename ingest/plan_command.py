"""The command `webemu plan`: what a crawl will cost, before any of it is fetched or read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from webemu.emulator.config import load_config
from webemu.emulator.errors import BadRequest, SourceError
from webemu.emulator.folders import find_collection
from webemu.emulator.options import RootOption
from webemu.index.catalog import Catalog
from webemu.ingest.command import BaseUrlOption, PathsRootOption, QuietOption
from webemu.ingest.planning.content import COMMON_CRAWL_FILE, estimate_content, read_content, scale
from webemu.ingest.planning.model import FIGURES, Content, Model, load_model
from webemu.ingest.run import count_default_workers
from webemu.ingest.sources import expand_archives

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
"""Numbers of pages of the table at the end."""
PART_PAGES = 1_000_000
"""Pages of one part of a collection that is served in parts (docs/cluster.md)."""
SERVED_PARTS = ("text_index", "result_records", "page_views", "lookup", "columns", "others")
"""Parts of the disk that serving reads at random; the catalog is not read, and payloads are read one by one."""
_MULTIPLES = {"k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9}

PagesOption = Annotated[
    str | None, typer.Option(metavar="N", help="Number of pages, such as 10M. [default: that of the sources]")
]
LikeOption = Annotated[
    str | None, typer.Option(metavar="COLLECTION", help="Take pages to be like those of this collection.")
]
CoresOption = Annotated[int | None, typer.Option(min=1, help="Cores of one machine. [default: those of this one]")]
MachinesOption = Annotated[int, typer.Option(min=1, help="Machines that read and serve.")]
CorePriceOption = Annotated[float | None, typer.Option("--core-hour", min=0, help="Price of a core for an hour.")]
DiskPriceOption = Annotated[float | None, typer.Option("--gb-month", min=0, help="Price of a gigabyte for a month.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def plan(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Sources as `webemu ingest` takes them. [default: Common Crawl's pages]")
    ] = None,
    pages: PagesOption = None,
    like: LikeOption = None,
    root: RootOption = None,
    paths_root: PathsRootOption = None,
    base_url: BaseUrlOption = None,
    cores: CoresOption = None,
    machines: MachinesOption = 1,
    core_hour: CorePriceOption = None,
    gb_month: DiskPriceOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say what a crawl will cost: core-hours, time, disk, memory, and requests per second.

    Local sources are sampled; files of a paths list that are not here count as WARC files of Common Crawl. Nothing is
    fetched or kept. The model is fitted on measured collections (docs/plan.md).

    webemu plan crawl/*.warc.gz --cores 16

    webemu plan warc.paths.gz --base-url https://data.commoncrawl.org/ --machines 20 --cores 32 --core-hour 0.04

    webemu plan --pages 10M --like mine
    """
    content, origin = _find_content(sources or [], like, root, paths_root, base_url, quiet)
    if pages:
        content = scale(content, _parse_number(pages) / content["pages"])
    model = load_model()
    machine = _Machine(cores or count_default_workers(), machines, core_hour, gb_month)
    forecast = _forecast(model, content, machine)
    if as_json:
        print(json.dumps({"content": content, "forecast": asdict(forecast)}, indent=1))
        return
    print(f"content   {origin}")
    _print_content(content)
    _print_forecast(forecast, machine)
    _print_sizes(model, content, machine)


@dataclass(frozen=True, slots=True)
class _Machine:
    """Machines to plan for, and prices."""

    cores: int
    count: int
    core_hour: float | None
    gb_month: float | None

    @property
    def all_cores(self) -> int:
        """Number of cores of all machines."""
        return self.cores * self.count


@dataclass(frozen=True, slots=True)
class _Forecast:
    """Predicted figures of a collection."""

    ingest_core_hours: float
    build_core_hours: float
    hours: float
    """Hours on all machines, if every core is busy."""
    disk_bytes: Mapping[str, float]
    """Bytes of disk by part of the collection, the source files among them."""
    served_bytes: float
    """Bytes of the files that serving reads at random: memory for them makes every request a warm one."""
    searches_per_core_second: float
    texts_per_core_second: float
    payloads_per_core_second: float
    cost: float | None
    """Price of the core-hours; None without one."""
    cost_per_month: float | None
    """Price of the disk for a month; None without one."""


def _find_content(
    sources: list[str], like: str | None, root: Path | None, paths_root: Path | None, base_url: str | None, quiet: bool
) -> tuple[Content, str]:
    """Return the content to plan for, and where it comes from."""
    if sources and like:
        raise BadRequest("sources and --like exclude each other", action="give one of them")
    if like:
        with Catalog(find_collection(load_config({"root": root, "collection": like})), read_only=True) as catalog:
            content = read_content(catalog)
        if not content["pages"]:
            raise SourceError(f"the collection {like} has no pages", action="name another collection")
        return content, f"pages like those of the collection {like}"
    if not sources:
        return COMMON_CRAWL_FILE, "pages like those of Common Crawl; one WARC file unless --pages says more"
    source_list = expand_archives(sources, paths_root, base_url)
    bar = tqdm(desc="sampling", unit="sample", disable=quiet, leave=False)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    content, sampled_pages, indivisible, unrecognized = estimate_content(
        source_list.sources, count_default_workers(), show
    )
    bar.close()
    if not content["pages"]:
        raise SourceError("the samples of the sources hold no page with text", action="give --pages")
    absent_count = sum(source.url is not None for source in source_list.sources)
    count = len(source_list.sources)
    parts = [f"{count:,} file{'s' if count > 1 else ''}, {content['archive_bytes'] / 1e9:,.2f} GB"]
    parts += [f"{sampled_pages:,} pages sampled"] if sampled_pages else []
    parts += [f"{_name_first(indivisible)} not sampled, taken to be like the others"] if indivisible else []
    parts += [f"{_name_first(unrecognized)} of no known format"] if unrecognized else []
    parts += [f"{absent_count:,} files not here, taken as Common Crawl's"] if absent_count else []
    return content, "; ".join(parts)


def _name_first(paths: Sequence[Path]) -> str:
    """Return the name of the first file, and how many there are besides."""
    return f"{paths[0].name} and {len(paths) - 1:,} more" if len(paths) > 1 else paths[0].name


def _parse_number(text: str) -> float:
    """Return a number such as `10M` or `1.98B`."""
    digits, multiple = text.replace(",", "").lower(), 1.0
    if digits and digits[-1] in _MULTIPLES:
        digits, multiple = digits[:-1], _MULTIPLES[digits[-1]]
    try:
        number = float(digits) * multiple
    except ValueError:
        number = 0.0
    if not 0 < number < 1e15:
        raise BadRequest(f"--pages must be a number of pages, got {text!r}", action="write it as 250000, 10M or 1.98B")
    return number


def _forecast(model: Model, content: Content, machine: _Machine) -> _Forecast:
    figures = model.predict(content)
    disk = {name.removeprefix("disk_"): figures[name] for name in FIGURES if name.startswith("disk_")}
    copies = {"copies": content["copy_bytes"]} if content["copy_bytes"] else {}
    disk = {"archives": content["archive_bytes"], **copies, **disk}
    core_hours = (figures["ingest_core_seconds"] + figures["build_core_seconds"]) / 3600
    return _Forecast(
        ingest_core_hours=figures["ingest_core_seconds"] / 3600,
        build_core_hours=figures["build_core_seconds"] / 3600,
        hours=core_hours / machine.all_cores,
        disk_bytes=disk,
        served_bytes=sum(disk[part] for part in SERVED_PARTS),
        searches_per_core_second=1 / figures["search_core_seconds"],
        texts_per_core_second=1 / figures["text_core_seconds"],
        payloads_per_core_second=1 / figures["raw_core_seconds"],
        cost=None if machine.core_hour is None else core_hours * machine.core_hour,
        cost_per_month=None if machine.gb_month is None else sum(disk.values()) / 1e9 * machine.gb_month,
    )


def _print_content(content: Content) -> None:
    pages = content["pages"]
    print(
        f"pages     {_short(pages)} with text, {content['html_bytes'] / pages / 1e3:,.1f} KB of payload,"
        f" {content['text_bytes'] / pages / 1e3:,.1f} KB of text and {content['links'] / pages:,.0f} links each"
    )


def _print_forecast(forecast: _Forecast, machine: _Machine) -> None:
    count = f"{machine.count:,} machine{'s' if machine.count > 1 else ''} of {machine.cores:,} cores"
    print(
        f"ingest    {forecast.ingest_core_hours:,.2f} core-hours to read, {forecast.build_core_hours:,.2f} to build the"
        f" snapshot; at least {_duration(forecast.hours)} on {count}"
    )
    parts = ", ".join(f"{name.replace('_', ' ')} {_bytes(size)}" for name, size in forecast.disk_bytes.items())
    print(f"disk      {_bytes(sum(forecast.disk_bytes.values()))}: {parts}")
    print(
        f"memory    {_bytes(forecast.served_bytes)} of files that serving reads, so that no request waits for the disk"
    )
    rates = (
        ("searches", forecast.searches_per_core_second),
        ("text pages", forecast.texts_per_core_second),
        ("payloads", forecast.payloads_per_core_second),
    )
    all_rates = ", ".join(f"{_short(rate * machine.all_cores)} {name}" for name, rate in rates)
    print(f"serve     {all_rates} a second on {count}")
    if forecast.cost is not None:
        print(f"cost      {forecast.cost:,.2f} for the core-hours of ingest")
    if forecast.cost_per_month is not None:
        print(f"cost      {forecast.cost_per_month:,.2f} a month for the disk")


def _print_sizes(model: Model, content: Content, machine: _Machine) -> None:
    """Print what fits: the figures of other numbers of such pages."""
    print()
    header = ("such pages", "core-hours", "disk", "memory", "searches/core-s", "ms a search", "ms in parts of 1M")
    print("  ".join(f"{name:>17}" for name in header))
    part = _forecast(model, scale(content, PART_PAGES / content["pages"]), machine)
    for size in SIZES:
        forecast = _forecast(model, scale(content, size / content["pages"]), machine)
        least_milliseconds = 1000 / max(forecast.searches_per_core_second, part.searches_per_core_second)
        cells = (
            _short(size),
            f"{forecast.ingest_core_hours + forecast.build_core_hours:,.1f}",
            _bytes(sum(forecast.disk_bytes.values())),
            _bytes(forecast.served_bytes),
            _short(forecast.searches_per_core_second),
            _short(1000 / forecast.searches_per_core_second),
            _short(least_milliseconds),
        )
        print("  ".join(f"{cell:>17}" for cell in cells))


def _short(value: float) -> str:
    """Return a number with three significant digits and a letter for thousands, millions or billions."""
    for unit, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def _bytes(size: float) -> str:
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e6:.3g} MB"


def _duration(hours: float) -> str:
    if hours >= 48:
        return f"{hours / 24:,.1f} days"
    return f"{hours:,.1f} hours" if hours >= 1 else f"{hours * 60:,.1f} minutes"
