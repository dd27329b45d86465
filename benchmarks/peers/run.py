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

from benchmarks.peers.process import NotRunning, running
from benchmarks.peers.pywb import pywb, replayed
from webemu.api.bench.load import Request
from webemu.api.bench.measure import Traffic, measured
from webemu.api.bench.request_factory import KINDS, Asking
from webemu.api.bench.sequence import Drawing, sequence
from webemu.api.bench.server import Server, started
from webemu.api.bench.workload import Asked, asked
from webemu.api.proxy.authority import CERTIFICATE, ensure
from webemu.emulator.config import Config
from webemu.emulator.errors import EmulatorError

QUERIES, PAGES, BATCH, TOPK = 8000, 2000, 64, 3
CONNECTIONS = 16
"""Connections of the load."""
OURS = "webemu"
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


def row(what: str, name: str, server: Server, requests: Sequence[Request], traffic: Traffic, unit: int = 1) -> Row:
    """Warm up for a third of the time, then measure."""
    measured(server, requests, replace(traffic, seconds=traffic.seconds / 3), "warming up", False)
    told = measured(server, requests, traffic, f"{what}: {name}", False).told()
    load, cost = told["load"], told["server"]
    latency = load["latency"]["p50_ms"], load["latency"]["p99_ms"]
    rates = unit * cost["per_core_s"], unit * load["per_s"]
    return Row(what, name, *rates, *latency, load["good"] / load["requests"], cost["anonymous_mb"], load["errors"])


def retrieval(name: str, peer: AbstractContextManager[Server], given: Asked, seconds: float) -> Iterator[Row]:
    """Measure `POST /retrieve`, with one query and with many per request."""
    with peer as server:
        asking = Asking(f"{server.host}:{server.port}", TOPK, "", "")
        for batch, connections in ((1, CONNECTIONS), (BATCH, 2)):
            drawing = Drawing({"retrieve": 1}, "peers", batch=batch)
            requests = sequence(given.pools, drawing, asking, len(given.pools.queries) // batch)
            what = f"retrieve, {batch} quer{'y' if batch == 1 else 'ies'} a request"
            yield row(what, name, server, requests, Traffic(connections, seconds=seconds), batch)


def pages(given: Asked, config: Config, programs: Path, folder: Path, seconds: float) -> Iterator[Row]:
    """Measure pages that both servers have, as recorded and as text."""
    warcs = [Path(name) for name in given.files if name.endswith((".warc.gz", ".warc"))]
    with pywb(programs, folder, warcs) as other:
        urls = [url for url, _ in given.pools.pages if _has(other, url)]
        place = f"{other.host}:{other.port}"
        theirs = [_get(place, replayed(url)) for url in urls]
        for connections in (CONNECTIONS, 4 * CONNECTIONS):
            yield row("pages", f"pywb, {connections} connections", other, theirs, Traffic(connections, seconds=seconds))
    with started(config) as server:
        place = f"{server.host}:{server.port}"
        asking, inside = Asking(place, TOPK, "", "proxy"), Asking(place, TOPK, "", "connect")
        traffic = Traffic(CONNECTIONS, seconds=seconds)
        yield row("pages", f"{OURS}, text", server, [asking.text(url) for url in urls], traffic)
        yield row("pages", f"{OURS}, raw", server, [asking.raw(url) for url in urls], traffic)
        yield row("pages", f"{OURS}, proxy", server, [asking.page(url) for url in urls], traffic)
        secure = [inside.page(url) for url in urls if url.startswith("https://")]
        tunnels = Traffic(CONNECTIONS, seconds=seconds, authority=str(ensure(config.root) / CERTIFICATE))
        if secure:
            yield row("pages", f"{OURS}, CONNECT", server, secure, tunnels)


def _get(place: str, target: str) -> Request:
    """Return a GET request for a page."""
    return Request(KINDS.index("page"), "", f"GET {target} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())


def _has(server: Server, url: str) -> bool:
    """True if pywb has a page and states its length. Without a length it would close the connection after each page."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.putrequest("GET", replayed(url), skip_accept_encoding=True)
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


def line(one: Row) -> str:
    """Return a row of the table as text."""
    rates = f"{one.per_core_s:>16,.0f}{one.per_s:>12,.0f}{one.p50_ms:>10,.2f}{one.p99_ms:>10,.2f}"
    return f"{one.what:<32}{one.server:<24}{rates}{one.good:>7.1%}{one.memory_mb:>7,.0f}"


def compared(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the ratio of each row of webemu to each peer; of pywb the best row counts."""
    for what in dict.fromkeys(one.what for one in rows):
        those = [one for one in rows if one.what == what]
        best = {name: max(one.per_core_s for one in those if _peer(one) == name) for name in map(_peer, those)}
        for one in those:
            if _peer(one) == OURS:
                times = (f"{one.per_core_s / rate:.1f} times {name}" for name, rate in best.items() if name != OURS)
                yield f"{what}, {one.server}: {', '.join(times) or 'no peer was measured'}"


def _peer(one: Row) -> str:
    """Return the name of a row's server without its variant."""
    return one.server.partition(",")[0]


def peers(given: Asked, config: Config, asked_for: argparse.Namespace, work: Path) -> Iterator[Row]:
    """Yield every row that can be measured; print to standard error why others cannot."""
    yield from retrieval(OURS, started(config), given, asked_for.seconds)
    given_by = {
        "bm25": asked_for.bm25,
        "bm25-numba": asked_for.bm25,
        "lucene": asked_for.lucene,
        "fts5": sys.executable,
    }
    for name, python in given_by.items():
        of = name.partition("-")[0]
        if not python:
            left_out(name, f"--{of} is not given; it names the Python of its environment")
            continue
        if not (work / "pages.jsonl").exists():
            module = [sys.executable, "-m", "benchmarks.peers.corpus", str(config.folder), str(work / "pages.jsonl")]
            subprocess.run(module, check=True)
        place = [str(work / "pages.jsonl"), str(work / of)]
        command = [python, "-m", "benchmarks.peers.retrieve", name, *place, "{port}"]
        try:
            yield from retrieval(name, running(command, work / f"{name}-log", "/health"), given, asked_for.seconds)
        except (NotRunning, EmulatorError) as error:
            left_out(name, str(error))
    if not asked_for.pywb:
        left_out("pywb", "--pywb is not given; it names the folder of its programs")
        return
    try:
        yield from pages(given, config, Path(asked_for.pywb), work / "pywb", asked_for.seconds)
    except (NotRunning, EmulatorError, OSError, subprocess.CalledProcessError) as error:
        left_out("pywb", str(error))


def left_out(name: str, reason: str) -> None:
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
    asked_for = parser.parse_args()
    folder = asked_for.collection.resolve()
    config = Config(root=folder.parent, collection=folder.name, cache_mb=0)
    given = asked(folder, QUERIES, PAGES, "peers", False)
    work = asked_for.work.resolve() / given.snapshot
    work.mkdir(parents=True, exist_ok=True)
    print(
        f"{given.documents:,} documents, snapshot {given.snapshot}, {CONNECTIONS} connections, top {TOPK}", flush=True
    )
    print(HEAD, flush=True)
    rows = []
    for one in peers(given, config, asked_for, work):
        rows.append(one)
        print(line(one), flush=True)
    print("\n".join(["", *compared(rows)]))
    if asked_for.json:
        asked_for.json.write_text(json.dumps([asdict(one) for one in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
