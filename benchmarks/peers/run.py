"""Other servers over the same pages, in one run: requests per server core-second, and their ratio to webemu's.

    python -m benchmarks.peers.run COLLECTION_FOLDER [--bm25 PYTHON] [--lucene PYTHON] [--pywb BIN] [--json FILE]

Each peer has an environment of its own, named by its Python (pywb by its folder of programs); SQLite needs none.
Indexes are built once, in `--work`. A peer that is not named or does not start is left out, with a message.
docs/bench.md describes what is compared.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.peers.process import NotRunning, run_server
from benchmarks.peers.pywb import replay_target, run_pywb
from webemu.api.bench.load import Request
from webemu.api.bench.measure import Traffic, run_load
from webemu.api.bench.request_factory import KINDS, RequestFactory
from webemu.api.bench.sequence import SamplingPlan, build_requests
from webemu.api.bench.server import Server, start_server
from webemu.api.bench.workload import Workload, draw_workload
from webemu.api.proxy.authority import CERTIFICATE_FILE, ensure_authority
from webemu.emulator.config import Config
from webemu.emulator.errors import EmulatorError

QUERIES, PAGES, BATCH, TOPK = 8000, 2000, 64, 3
CONNECTIONS = 16
"""Connections of the load."""
WEBEMU = "webemu"
"""Name of webemu in the table."""


@dataclass(frozen=True)
class Row:
    """Figures of one server under one load. Written as JSON by field."""

    what: str
    """Name of the load; rows of the same load are compared."""
    server: str
    per_core_s: float
    """Good queries or pages per CPU second of the server."""
    per_s: float
    """Good queries or pages per second of wall time."""
    p50_ms: float
    p99_ms: float
    good: float
    """Share of requests that were answered well, 0 to 1."""
    memory_mb: float
    """Anonymous memory of the server."""
    errors: dict[str, int]
    """Number of other answers by status."""


def measure_row(
    what: str, name: str, server: Server, requests: Sequence[Request], traffic: Traffic, unit: int = 1
) -> Row:
    """Warm up for a third of the time, then measure."""
    run_load(server, requests, replace(traffic, seconds=traffic.seconds / 3), "warming up", False)
    figures = run_load(server, requests, traffic, f"{what}: {name}", False).report()
    load, cost = figures["load"], figures["server"]
    assert cost["cpu_s"] is not None  # all of these servers run on this machine
    latency = load["latency"]["p50_ms"], load["latency"]["p99_ms"]
    rates = unit * cost["per_core_s"], unit * load["per_s"]
    return Row(what, name, *rates, *latency, load["good"] / load["requests"], cost["anonymous_mb"], load["errors"])


def measure_retrieval(
    name: str, peer: AbstractContextManager[Server], samples: Workload, seconds: float
) -> Iterator[Row]:
    """Measure `POST /retrieve`, with one query and with many per request."""
    with peer as server:
        request_builder = RequestFactory(f"{server.host}:{server.port}", TOPK, "", "")
        for batch, connections in ((1, CONNECTIONS), (BATCH, 2)):
            drawing = SamplingPlan({"retrieve": 1}, "peers", batch=batch)
            requests = build_requests(samples.pools, drawing, request_builder, len(samples.pools.queries) // batch)
            what = f"retrieve, {batch} quer{'y' if batch == 1 else 'ies'} a request"
            yield measure_row(what, name, server, requests, Traffic(connections, seconds=seconds), batch)


def measure_pages(samples: Workload, config: Config, programs: Path, folder: Path, seconds: float) -> Iterator[Row]:
    """Measure pages that both servers have, as recorded and as text."""
    warcs = [Path(name) for name in samples.files if name.endswith((".warc.gz", ".warc"))]
    with run_pywb(programs, folder, warcs) as pywb_server:
        urls = [url for url, _ in samples.pools.pages if _has_page(pywb_server, url)]
        authority = f"{pywb_server.host}:{pywb_server.port}"
        pywb_requests = [_build_get(authority, replay_target(url)) for url in urls]
        for connections in (CONNECTIONS, 4 * CONNECTIONS):
            yield measure_row(
                "pages",
                f"pywb, {connections} connections",
                pywb_server,
                pywb_requests,
                Traffic(connections, seconds=seconds),
            )
    with start_server(config) as server:
        authority = f"{server.host}:{server.port}"
        request_builder, connect_builder = (
            RequestFactory(authority, TOPK, "", "proxy"),
            RequestFactory(authority, TOPK, "", "connect"),
        )
        traffic = Traffic(CONNECTIONS, seconds=seconds)
        yield measure_row(
            "pages", f"{WEBEMU}, text", server, [request_builder.view("text", url) for url in urls], traffic
        )
        yield measure_row(
            "pages", f"{WEBEMU}, raw", server, [request_builder.view("raw", url) for url in urls], traffic
        )
        yield measure_row("pages", f"{WEBEMU}, proxy", server, [request_builder.page(url) for url in urls], traffic)
        secure = [connect_builder.page(url) for url in urls if url.startswith("https://")]
        tunnels = Traffic(CONNECTIONS, seconds=seconds, authority=str(ensure_authority(config.root) / CERTIFICATE_FILE))
        if secure:
            yield measure_row("pages", f"{WEBEMU}, CONNECT", server, secure, tunnels)


def _build_get(authority: str, target: str) -> Request:
    """Return a GET request for a page."""
    return Request(KINDS.index("page"), "", f"GET {target} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())


def _has_page(server: Server, url: str) -> bool:
    """True if pywb has a page and states its length. Without a length it would close the connection after each page."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.putrequest("GET", replay_target(url), skip_accept_encoding=True)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status == 200 and answer.getheader("Content-Length") is not None and bool(answer.read())
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


HEAD = (
    f"{'':<32}{'server':<24}{'per core-second':>16}{'per second':>12}{'p50 ms':>10}{'p99 ms':>10}{'good':>7}{'MB':>7}"
)


def format_row(table_row: Row) -> str:
    """Return a row of the table as text."""
    rates = (
        f"{table_row.per_core_s:>16,.0f}{table_row.per_s:>12,.0f}{table_row.p50_ms:>10,.2f}{table_row.p99_ms:>10,.2f}"
    )
    return f"{table_row.what:<32}{table_row.server:<24}{rates}{table_row.good:>7.1%}{table_row.memory_mb:>7,.0f}"


def compare_rows(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the ratio of each row of webemu to each peer; of pywb the best row counts."""
    for what in dict.fromkeys(table_row.what for table_row in rows):
        same_load_rows = [table_row for table_row in rows if table_row.what == what]
        best = {
            name: max(table_row.per_core_s for table_row in same_load_rows if _peer_name(table_row) == name)
            for name in map(_peer_name, same_load_rows)
        }
        for table_row in same_load_rows:
            if _peer_name(table_row) == WEBEMU:
                ratios = (
                    f"{table_row.per_core_s / rate:.1f} times {name}" for name, rate in best.items() if name != WEBEMU
                )
                yield f"{what}, {table_row.server}: {', '.join(ratios) or 'no peer was measured'}"


def _peer_name(table_row: Row) -> str:
    """Return the name of a row's server without its variant."""
    return table_row.server.partition(",")[0]


def measure_peers(samples: Workload, config: Config, options: argparse.Namespace, work: Path) -> Iterator[Row]:
    """Yield every row that can be measured; print to standard error why others cannot."""
    yield from measure_retrieval(WEBEMU, start_server(config), samples, options.seconds)
    python_by_peer = {
        "bm25": options.bm25,
        "bm25-numba": options.bm25,
        "lucene": options.lucene,
        "fts5": sys.executable,
    }
    for name, python in python_by_peer.items():
        option_name = name.partition("-")[0]
        if not python:
            report_left_out(name, f"--{option_name} is not given; it names the Python of its environment")
            continue
        if not (work / "pages.jsonl").exists():
            module = [
                sys.executable,
                "-m",
                "benchmarks.peers.corpus",
                str(config.collection_folder),
                str(work / "pages.jsonl"),
            ]
            subprocess.run(module, check=True)
        paths = [str(work / "pages.jsonl"), str(work / option_name)]
        command = [python, "-m", "benchmarks.peers.retrieve", name, *paths, "{port}"]
        try:
            yield from measure_retrieval(
                name, run_server(command, work / f"{name}-log", "/health"), samples, options.seconds
            )
        except (NotRunning, EmulatorError) as error:
            report_left_out(name, str(error))
    if not options.pywb:
        report_left_out("pywb", "--pywb is not given; it names the folder of its programs")
        return
    try:
        yield from measure_pages(samples, config, Path(options.pywb), work / "pywb", options.seconds)
    except (NotRunning, EmulatorError, OSError, subprocess.CalledProcessError) as error:
        report_left_out("pywb", str(error))


def report_left_out(name: str, reason: str) -> None:
    """Print why a peer is left out."""
    print(f"{name}: left out: {reason}", file=sys.stderr)


def main() -> None:
    """Parse the command line, measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("collection", type=Path, help="folder of a collection that webemu ingested")
    parser.add_argument("--bm25", metavar="PYTHON", default="", help="Python of an environment with bm25s")
    parser.add_argument("--lucene", metavar="PYTHON", default="", help="Python of an environment with pyserini")
    parser.add_argument("--pywb", metavar="BIN", default="", help="folder of pywb's programs")
    parser.add_argument("--work", type=Path, default=Path("benchmarks/results/peers"), help="folder for indexes")
    parser.add_argument("--seconds", type=float, default=6.0, help="seconds of each measurement (default: 6)")
    parser.add_argument("--json", type=Path, help="file for the rows as JSON")
    options = parser.parse_args()
    folder = options.collection.resolve()
    config = Config(root=folder.parent, collection=folder.name, cache_mb=0)
    samples = draw_workload(folder, QUERIES, PAGES, "peers", False)
    work = options.work.resolve() / samples.snapshot
    work.mkdir(parents=True, exist_ok=True)
    print(
        f"{samples.document_count:,} documents, snapshot {samples.snapshot}, {CONNECTIONS} connections, top {TOPK}",
        flush=True,
    )
    print(HEAD, flush=True)
    rows = []
    for table_row in measure_peers(samples, config, options, work):
        rows.append(table_row)
        print(format_row(table_row), flush=True)
    print("\n".join(["", *compare_rows(rows)]))
    if options.json:
        options.json.write_text(
            json.dumps([asdict(table_row) for table_row in rows], indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
