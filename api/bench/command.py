"""The command `webemu bench`: options, and what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from webemu.api.bench.figures import lines, written
from webemu.api.bench.request_factory import KINDS
from webemu.api.bench.run import Settings, run
from webemu.emulator.config import load


def bench(
    collection: Annotated[str | None, typer.Option(help="Collection to serve. [default: default]")] = None,
    root: Annotated[Path | None, typer.Option(help="Folder of all collections. [default: webemu-data]")] = None,
    url: Annotated[str | None, typer.Option(help="A server that runs, instead of one of its own.")] = None,
    workers: Annotated[int | None, typer.Option(help="Serving processes. [default: 1]", min=1)] = None,
    cache_mb: Annotated[int | None, typer.Option(help="Answers kept, MB per process; 0: none. [default: 64]")] = None,
    requests: Annotated[int, typer.Option(help="Requests that are measured.", min=1)] = 20_000,
    seconds: Annotated[
        float, typer.Option(help="Go on so long, from the first request again; 0: each once.", min=0)
    ] = 0,
    connections: Annotated[int, typer.Option(help="Connections, kept alive.", min=1)] = 64,
    rate: Annotated[
        float, typer.Option(help="Open loop: so many requests per second are due; 0: closed loop.", min=0)
    ] = 0,
    clients: Annotated[int, typer.Option(help="Processes that send.", min=1)] = 1,
    mix: Annotated[str, typer.Option(help=f"Shares of what is asked: {', '.join(KINDS)}. [default: search]")] = "",
    size: Annotated[
        int | None, typer.Option(help="Results of a search. [default: 10, of a retrieve 3]", min=1, max=100)
    ] = None,
    batch: Annotated[int, typer.Option(help="Queries of one `retrieve`.", min=1)] = 64,
    dialect: Annotated[str, typer.Option(help="Search in the words of a service: serper, tavily, …")] = "",
    door: Annotated[str, typer.Option(help="Pages as the web itself: proxy, connect (with TLS), host.")] = "",
    queries: Annotated[Path | None, typer.Option(help="File with a query on each line.")] = None,
    pages: Annotated[Path | None, typer.Option(help="File with a URL on each line.")] = None,
    traces: Annotated[
        bool, typer.Option("--traces", help="Ask what sessions asked, by the collection's traces.")
    ] = False,
    group: Annotated[int, typer.Option(help="Ask each so often, close together, as GRPO does.", min=1)] = 1,
    zipf: Annotated[float, typer.Option(help="Popularity: the r-th is asked in proportion to r^-S.", min=0)] = 0,
    cold: Annotated[bool, typer.Option("--cold", help="Drop the files from memory first; no warm-up.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same requests in the same order.")] = 0,
    out: Annotated[Path | None, typer.Option("--json", help="Also write all figures there.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Measure how much a server bears, how long answers take, and what they cost.

    Serves the collection, sends requests made of its titles and URLs, and prints rates, percentiles, processor time and
    memory of server and client, beside the search engine alone. docs/bench.md says how to read it.

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
    config = load({"root": root, "collection": collection, "workers": workers, "cache_mb": cache_mb})
    settings = Settings(
        url, requests, seconds, connections, rate, clients, mix, size, batch, dialect, door, queries, pages, traces,
        group, zipf, cold, seed, quiet,
    )  # fmt: skip
    told = run(config, settings)
    print("\n".join([told["title"], *lines(told)]))
    if out is not None:
        out.write_text(written(told), encoding="utf-8")
