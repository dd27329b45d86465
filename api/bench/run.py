"""One run of `webemu bench`: what is asked, the engine alone, the server, the load, and all figures of them."""

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
"""Requests at most that are sent before, and not measured."""
BUSY = 0.95
"""Share of its core from which a process that sends may be what is slow."""
LATE = 0.05
"""Seconds."""


@dataclass(frozen=True)
class Settings:
    """What was asked for on the command line."""

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
            raise BadRequest(f"no search in the words of {self.dialect!r}", action=f"use {', '.join(ASKS)}")
        if self.door and self.door not in DOORS:
            raise BadRequest(f"no such door: {self.door!r}", action=f"use {', '.join(DOORS)}")
        if self.traces and (self.group > 1 or self.zipf or self.queries or self.pages):
            raise BadRequest("traces have repeats of their own", action="leave out --group, --zipf, --queries, --pages")
        if self.cold and (self.url or self.group > 1 or self.zipf or self.seconds):
            raise BadRequest(
                "cold means a server of its own and no request twice", action="leave out --url --group --zipf --seconds"
            )
        if self.clients > self.connections:
            raise BadRequest(f"{self.clients} processes for {self.connections} connections", action="--connections")

    @property
    def kinds(self) -> str:
        """The mix as it was said, or what is meant where nothing was."""
        return self.mix or ("page" if self.door else "search=1,text=1" if self.traces else "search")

    @property
    def drawing(self) -> Drawing:
        return Drawing(shares(self.kinds), str(self.seed), self.group, self.zipf, self.batch)

    @property
    def warm_up(self) -> int:
        """Requests that are sent before."""
        return 0 if self.cold else max(1, min(WARM_UP, self.requests // 10))


def shares(text: str) -> dict[str, float]:
    """`search=5,text=4` as shares; a kind without a number has 1. Raises BadRequest."""
    found = {}
    for part in text.split(","):
        kind, _, share = part.strip().partition("=")
        try:
            found[kind] = float(share or 1)
        except ValueError:
            found[kind] = -1.0
        if kind not in KINDS or not 0 < found[kind] < float("inf"):
            raise BadRequest(f"--mix cannot be read at {part!r}", action=f"such as search=5,text=4; {', '.join(KINDS)}")
    return found


def run(config: Config, settings: Settings) -> dict[str, Any]:
    """All figures of one run."""
    ran_before = running(settings.url) if settings.url else None
    if ran_before:
        ran_before.snapshot()  # that nobody answers is said before the engine is measured
    given = what_is_asked(config, settings)
    engine = alone(config, settings, given)
    if ran_before:
        return against(ran_before, config, settings, given, engine, [])
    notes = [dropped(given)] if settings.cold else []
    with started(config) as server:
        return against(server, config, settings, given, engine, notes)


def what_is_asked(config: Config, settings: Settings) -> Asked:
    """From the collection, unless files say it all."""
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
    """Those that TLS leads to, of so many hosts at most, the largest: each connection is a tunnel to one."""
    of_host = Counter(urlsplit(url).netloc for url, _ in pages if url.startswith("https://"))
    chosen = {host for host, _ in of_host.most_common(hosts)}
    return [one for one in pages if one[0].startswith("https://") and urlsplit(one[0]).netloc in chosen]


def alone(config: Config, settings: Settings, given: Asked) -> dict[str, Any]:
    """Figures of the engine, or the reason why there are none."""
    if not set(settings.drawing.mix) & OF_QUERIES:
        return {"reason": "nothing is searched"}
    if not given.snapshot:
        return {"reason": f"there is no collection in {config.folder}; --root and --collection name it"}
    if settings.cold:
        cold.drop(given.files)
    return engine_alone(config.folder, given.snapshot, given.pools.queries, 1 if settings.cold else 3)


def dropped(given: Asked) -> str:
    """The files of the snapshot out of memory; what is to be said of it."""
    total, stayed = cold.drop(given.files)
    if stayed < 0:
        return f"{total / 1e6:,.0f} MB of files were to be dropped from memory; this system cannot do it or tell"
    kept = f"{stayed / 1e6:,.0f} MB of them stayed, mapped by others" if stayed else "none of them stayed"
    return f"{total / 1e6:,.0f} MB of files dropped from memory; {kept}"


def against(
    server: Server, config: Config, settings: Settings, given: Asked, engine: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """The run against a server that is up."""
    snapshot = server.snapshot()
    if given.snapshot and snapshot != given.snapshot:
        notes.append(f"the server serves {snapshot}, what is asked and the engine are of {given.snapshot}")
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
    """What makes a figure less than it seems."""
    said = []
    if found.samples.cpu > BUSY * settings.clients * found.samples.wall:
        said.append("the processes that send were busy all the time: the server bears more; give more --clients")
    if settings.rate and found.samples.late > LATE:
        said.append(f"the load was {1e3 * found.samples.late:,.0f} ms late at worst: was the machine busy?")
    distinct = len({one.message for one in requests})
    if settings.group == 1 and not (settings.zipf or settings.traces) and distinct < len(requests):
        said.append(f"only {distinct:,} of the requests differ: the collection has no more to ask")
    if settings.seconds and len(found.samples.took) > len(requests):
        said.append("the requests were sent more than once: with fewer --seconds or more --requests each is sent once")
    if not found.is_here:
        said.append("the server is not on this machine: its processor time and memory are not known")
    return said


def title(config: Config, settings: Settings, about: dict[str, Any]) -> str:
    """What was measured, in a line or two."""
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
    """Where it was measured."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
