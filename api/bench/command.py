"""The command `webemu bench`: options in, report out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webemu.api.bench.figures import format_json, format_lines
from webemu.api.bench.report import Report
from webemu.api.bench.request_factory import KINDS
from webemu.api.bench.run import Settings, run
from webemu.emulator.config import load_config
from webemu.emulator.options import RootOption

CollectionOption = Annotated[str | None, typer.Option(help="Collection to serve. [default: default]")]
UrlOption = Annotated[str | None, typer.Option(help="URL of a running server to measure, instead of starting one.")]
WorkersOption = Annotated[int | None, typer.Option(help="Worker processes of the server. [default: 1]", min=1)]
CacheMbOption = Annotated[
    int | None, typer.Option(min=0, help="Response cache, MB per worker; 0 disables it. [default: 64]")
]
RequestsOption = Annotated[int, typer.Option(help="Number of requests to measure.", min=1)]
SecondsOption = Annotated[
    float, typer.Option(help="Duration in seconds, repeating the requests; 0 sends each once.", min=0)
]
ConnectionsOption = Annotated[int, typer.Option(help="Number of keep-alive connections.", min=1)]
RateOption = Annotated[float, typer.Option(help="Requests due per second (open loop); 0 is a closed loop.", min=0)]
ClientsOption = Annotated[int, typer.Option(help="Number of sending processes.", min=1)]
MixOption = Annotated[str, typer.Option(help=f"Shares of the kinds of requests: {', '.join(KINDS)}. [default: search]")]
SizeOption = Annotated[
    int | None, typer.Option(help="Results per search. [default: 10, or 3 for retrieve]", min=1, max=100)
]
BatchOption = Annotated[int, typer.Option(help="Queries per `retrieve` request.", min=1)]
DialectOption = Annotated[str, typer.Option(help="Service whose search API is used: serper, tavily, …")]
DoorOption = Annotated[
    str, typer.Option(help="Way to ask for pages as the web itself: proxy, connect (with TLS), host.")
]
QueriesOption = Annotated[Path | None, typer.Option(help="File with one query per line.")]
PagesOption = Annotated[Path | None, typer.Option(help="File with one URL per line.")]
TracesOption = Annotated[
    bool, typer.Option("--traces", help="Replay the requests of recorded sessions, from the collection's traces.")
]
GroupOption = Annotated[int, typer.Option(help="Repeats of each request, close together, as in GRPO.", min=1)]
ZipfOption = Annotated[
    float,
    typer.Option(help="Exponent S of popularity: rank r is drawn in proportion to r^-S; 0 disables it.", min=0),
]
ColdOption = Annotated[bool, typer.Option("--cold", help="Evict the files from memory first, and send no warm-up.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the draw: equal seeds give equal requests in equal order.")]
OutOption = Annotated[Path | None, typer.Option("--json", help="File to write the whole report to, as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar.")]


def bench(
    collection: CollectionOption = None,
    root: RootOption = None,
    url: UrlOption = None,
    workers: WorkersOption = None,
    cache_mb: CacheMbOption = None,
    requests: RequestsOption = 20_000,
    seconds: SecondsOption = 0,
    connections: ConnectionsOption = 64,
    rate: RateOption = 0,
    clients: ClientsOption = 1,
    mix: MixOption = "",
    size: SizeOption = None,
    batch: BatchOption = 64,
    dialect: DialectOption = "",
    door: DoorOption = "",
    queries: QueriesOption = None,
    pages: PagesOption = None,
    traces: TracesOption = False,
    group: GroupOption = 1,
    zipf: ZipfOption = 0,
    cold: ColdOption = False,
    seed: SeedOption = 0,
    out: OutOption = None,
    quiet: QuietOption = False,
) -> None:
    """Measure throughput, latency and cost of a server.

    Serves the collection, sends requests drawn from its titles and URLs, and prints rates, percentiles, CPU time and
    memory of server and client, next to the search engine alone. docs/bench.md explains the figures.

    \b
    Examples:
      webemu bench --collection demo
      webemu bench --collection demo --group 8                           # repeats, as the samples of a prompt
      webemu bench --collection demo --mix search=5,text=4,find=1 --rate 500 --seconds 60
      webemu bench --collection demo --mix retrieve --batch 2560 --requests 5 --connections 1 --workers 2
      webemu bench --collection demo --dialect serper --connections 1 --cache-mb 0
      webemu bench --collection demo --door connect --json pages.json
      webemu bench --collection demo --url http://127.0.0.1:8800 --zipf 1.1 --seconds 30
      webemu bench --collection demo --cold --requests 2000 --connections 1
    """
    settings = Settings(
        url, requests, seconds, connections, rate, clients, mix, size, batch, dialect, door, queries, pages, traces,
        group, zipf, cold, seed, quiet,
    )  # fmt: skip
    flags = {"root": root, "collection": collection, "workers": workers, "cache_mb": cache_mb}
    _show(run(load_config(flags), settings), out)


def _show(report: Report, out: Path | None) -> None:
    """Print the report, and write it as JSON to the file if there is one."""
    print("\n".join([report["title"], *format_lines(report)]))
    if out is not None:
        out.write_text(format_json(report), encoding="utf-8")
