"""One run of `webemu bench`: draw the requests, measure the engine alone, start the server, send the load, report."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from webemu.api.bench import cold
from webemu.api.bench.load import Request
from webemu.api.bench.measure import Measured, Traffic, measured
from webemu.api.bench.request_factory import ASKS, DOORS, KINDS, OF_QUERIES, Asking
from webemu.api.bench.sequence import Drawing, Pools, needed, sequence
from webemu.api.bench.server import Server, running, started
from webemu.api.bench.workload import Asked, asked, engine_alone, read_lines
from webemu.api.proxy.authority import CERTIFICATE, ensure
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest

WARM_UP = 2000
"""Largest number of requests sent before the measurement."""
BUSY = 0.95
"""Share of its CPU core from which a sending process may be the bottleneck."""
LATE = 0.05
"""Delay of the open loop, in seconds, from which the report warns."""


@dataclass(frozen=True)
class Settings:
    """Options of the command line; `command.bench` documents each. They are written to the report by name."""

    url: str | None
    requests: int
    seconds: float
    connections: int
    rate: float
    clients: int
    mix: str
    size: int | None
    batch: int
    dialect: str
    door: str
    queries: Path | None
    pages: Path | None
    traces: bool
    group: int
    zipf: float
    cold: bool
    seed: int
    quiet: bool

    def __post_init__(self) -> None:
        if self.dialect and self.dialect not in ASKS:
            raise BadRequest(f"there is no dialect {self.dialect!r} (from --dialect)", action=f"use {', '.join(ASKS)}")
        if self.door and self.door not in DOORS:
            raise BadRequest(f"there is no door {self.door!r} (from --door)", action=f"use {', '.join(DOORS)}")
        if self.traces and (self.group > 1 or self.zipf or self.queries or self.pages):
            raise BadRequest(
                "--traces replays requests as recorded", action="leave out --group, --zipf, --queries, --pages"
            )
        if self.cold and (self.url or self.group > 1 or self.zipf or self.seconds):
            raise BadRequest(
                "--cold starts its own server and repeats no request",
                action="leave out --url, --group, --zipf, --seconds",
            )
        if self.clients > self.connections:
            raise BadRequest(
                f"--clients must be at most --connections ({self.connections}), got {self.clients}",
                action="raise --connections",
            )

    @property
    def kinds(self) -> str:
        """Mix as given on the command line, or the default for the chosen door or traces."""
        return self.mix or ("page" if self.door else "search=1,text=1" if self.traces else "search")

    @property
    def drawing(self) -> Drawing:
        """Plan by which requests are drawn."""
        return Drawing(shares(self.kinds), str(self.seed), self.group, self.zipf, self.batch)

    @property
    def warm_up(self) -> int:
        """Number of requests sent before the measurement; 0 with `cold`."""
        return 0 if self.cold else max(1, min(WARM_UP, self.requests // 10))


def shares(text: str) -> dict[str, float]:
    """Parse a mix such as `search=5,text=4`; a kind without a number counts 1. Raises BadRequest.

    parse_mix("search=5,text")   # {"search": 5.0, "text": 1.0}
    """
    found = {}
    for part in text.split(","):
        kind, _, share = part.strip().partition("=")
        try:
            found[kind] = float(share or 1)
        except ValueError:
            found[kind] = -1.0
        if kind not in KINDS or not 0 < found[kind] < float("inf"):
            raise BadRequest(
                f"--mix has a bad part, {part!r}", action=f"write search=5,text=4; kinds: {', '.join(KINDS)}"
            )
    return found


def run(config: Config, settings: Settings) -> dict[str, Any]:
    """Run the benchmark and return its whole report.

    Starts a server of the collection unless `settings.url` names a running one. Raises BadRequest on settings that
    cannot be met, Overloaded if no request is answered.
    """
    ran_before = running(settings.url) if settings.url else None
    if ran_before:
        ran_before.snapshot()  # fails here if nobody answers, before the engine is measured for minutes
    given = what_is_asked(config, settings)
    engine = alone(config, settings, given)
    if ran_before:
        return against(ran_before, config, settings, given, engine, [])
    notes = [dropped(given)] if settings.cold else []
    with started(config) as server:
        return against(server, config, settings, given, engine, notes)


def what_is_asked(config: Config, settings: Settings) -> Asked:
    """Return the requests to draw from: files of the user where given, otherwise the collection."""
    drawing = settings.drawing
    is_all_given = settings.queries is not None and (settings.pages is not None or set(drawing.mix) <= OF_QUERIES)
    if settings.url and is_all_given and not (config.folder / "CURRENT").exists():
        given = Asked(Pools([], []))
    else:
        counts = needed(drawing, settings.requests + settings.warm_up)
        given = asked(config.folder, *counts, str(settings.seed), settings.traces)
    pools = given.pools
    if settings.queries:
        pools = replace(pools, queries=read_lines(settings.queries))
    if settings.pages:
        pools = replace(pools, pages=[(one, "the") for one in read_lines(settings.pages)])
    if settings.door == "connect":
        pools = replace(pools, pages=tunnelled(pools.pages, settings.connections // settings.clients))
    return replace(given, pools=pools)


def tunnelled(pages: Sequence[tuple[str, str]], hosts: int) -> list[tuple[str, str]]:
    """Return the https pages of the most frequent hosts, at most `hosts` of them: each connection is a tunnel to one
    host.
    """
    of_host = Counter(urlsplit(url).netloc for url, _ in pages if url.startswith("https://"))
    chosen = {host for host, _ in of_host.most_common(hosts)}
    return [one for one in pages if one[0].startswith("https://") and urlsplit(one[0]).netloc in chosen]


def alone(config: Config, settings: Settings, given: Asked) -> dict[str, Any]:
    """Return the figures of the engine alone, or `{"reason": ...}` if it cannot be measured."""
    if not set(settings.drawing.mix) & OF_QUERIES:
        return {"reason": "the mix has no searches"}
    if not given.snapshot:
        return {"reason": f"there is no collection in {config.folder}; name one with --root and --collection"}
    if settings.cold:
        cold.drop(given.files)
    return engine_alone(config.folder, given.snapshot, given.pools.queries, 1 if settings.cold else 3)


def dropped(given: Asked) -> str:
    """Drop the snapshot's files from the page cache; return a note that says how much stayed."""
    total, stayed = cold.drop(given.files)
    if stayed < 0:
        return f"{total / 1e6:,.0f} MB of files may still be in memory: this system cannot evict them, or cannot tell"
    kept = f"{stayed / 1e6:,.0f} MB of them stayed, mapped by other processes" if stayed else "none of them stayed"
    return f"{total / 1e6:,.0f} MB of files dropped from memory; {kept}"


def against(
    server: Server, config: Config, settings: Settings, given: Asked, engine: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """Run the load against a server that is up, and return the report."""
    snapshot = server.snapshot()
    if given.snapshot and snapshot != given.snapshot:
        notes.append(f"the server serves {snapshot}, but requests and engine figures are from {given.snapshot}")
    drawing = settings.drawing
    size = settings.size or (3 if "retrieve" in drawing.mix else 10)
    asking = Asking(f"{server.host}:{server.port}", size, settings.dialect, settings.door or "proxy")
    traffic = Traffic(settings.connections, settings.rate, settings.seconds, settings.clients, str(settings.seed))
    if settings.door == "connect":
        traffic = replace(traffic, authority=str(ensure(config.root) / CERTIFICATE))
    before, pools = given.pools.parted(settings.warm_up * (drawing.batch if "retrieve" in drawing.mix else 1))
    if settings.warm_up:
        requests = sequence(before, replace(drawing, seed=f"{settings.seed}/before"), asking, settings.warm_up)
        measured(server, requests, replace(traffic, rate=0.0, seconds=0.0, clients=1), "warming up", settings.quiet)
    requests = sequence(pools, drawing, asking, settings.requests)
    found = measured(server, requests, traffic, "measuring", settings.quiet)
    notes += remarks(settings, found, requests)
    queries = sum({"search": 1, "retrieve": drawing.batch}.get(KINDS[one.kind], 0) for one in requests) / len(requests)
    told = found.told(queries)
    # The ratio compares equal work, so it is given for searches alone.
    if "per_core_s" in engine and found.is_here and set(drawing.mix) <= OF_QUERIES:
        engine["ratio"] = round(queries * told["server"]["per_core_s"] / engine["per_core_s"], 4)
    about = {"documents": given.documents, "snapshot": snapshot, "distinct": len({one.message for one in requests})}
    about |= {"server_start_s": round(server.started, 3), "machine": machine()}
    about |= {"collection": "" if settings.url else config.collection}
    how = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(settings).items()}
    served = {} if settings.url else {"workers": config.workers, "cache_mb": config.cache_mb}
    told |= {"settings": how | {"mix": settings.kinds, "size": size} | served, "about": about}
    return told | {"engine": engine, "notes": notes, "title": title(config, settings, about)}


def remarks(settings: Settings, found: Measured, requests: Sequence[Request]) -> list[str]:
    """Return caveats: circumstances that make a figure mean less than it seems to."""
    said = []
    if found.samples.cpu > BUSY * settings.clients * found.samples.wall:
        said.append(
            "the sending processes used all of their CPU, so the server may be faster than shown: raise --clients"
        )
    if settings.rate and found.samples.late > LATE:
        said.append(
            f"requests were sent up to {1e3 * found.samples.late:,.0f} ms late: other work may keep the machine busy"
        )
    distinct = len({one.message for one in requests})
    if settings.group == 1 and not (settings.zipf or settings.traces) and distinct < len(requests):
        said.append(f"only {distinct:,} of the requests differ: the collection has no more queries or pages")
    if settings.seconds and len(found.samples.took) > len(requests):
        said.append("requests were repeated: lower --seconds or raise --requests to send each once")
    if not found.is_here:
        said.append("the server runs on another machine: its CPU time and memory are unknown")
    return said


def title(config: Config, settings: Settings, about: dict[str, Any]) -> str:
    """Return one or two lines that say what was measured."""
    loop = f"{settings.rate:g} due per second" if settings.rate else "closed loop"
    where = settings.url or f"{config.workers} worker{'s' * (config.workers > 1)}, cache {config.cache_mb} MB"
    place = f"{about['documents']:,} documents, " if about["documents"] else ""
    words = f" in the words of {settings.dialect}" if settings.dialect else ""
    words += f" through the door {settings.door}" if settings.door else ""
    state = "cold" if settings.cold else "warm"
    return (
        f"{place}snapshot {about['snapshot']}; {where}; {state}\n"
        f"{settings.kinds}{words}: {settings.requests:,} requests, {about['distinct']:,} of them distinct,"
        f" {settings.connections} connections, {loop}, seed {settings.seed}"
    )


def machine() -> dict[str, Any]:
    """Return a description of this machine."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
