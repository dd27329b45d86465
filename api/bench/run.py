"""One run of `webemu bench`: draw the requests, measure the engine alone, start the server, send the load, report."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from webemu.api.bench import cold
from webemu.api.bench.load import Request
from webemu.api.bench.measure import LoadResult, Traffic, run_load
from webemu.api.bench.report import EngineReport, Facts, Machine, Report
from webemu.api.bench.request_factory import DOORS, KINDS, QUERY_KINDS, SEARCH_REQUESTS, RequestFactory
from webemu.api.bench.sequence import RequestPools, SamplingPlan, build_requests, distinct_counts
from webemu.api.bench.server import Server, find_server, start_server
from webemu.api.bench.workload import Workload, draw_workload, engine_baseline, read_lines
from webemu.api.proxy.authority import CERTIFICATE_FILE, ensure_authority
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest
from webemu.emulator.folders import find_collection

MAX_WARM_UP_REQUESTS = 2000
"""Largest number of requests sent before the measurement."""
MAX_CLIENT_LOAD = 0.95
"""Share of its CPU core from which a sending process may be the bottleneck."""
MAX_DELAY_SECONDS = 0.05
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
        if self.dialect and self.dialect not in SEARCH_REQUESTS:
            raise BadRequest(
                f"there is no dialect {self.dialect!r} (from --dialect)", action=f"use {', '.join(SEARCH_REQUESTS)}"
            )
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
    def effective_mix(self) -> str:
        """Mix as given on the command line, or the default for the chosen door or traces."""
        return self.mix or ("page" if self.door else "search=1,text=1" if self.traces else "search")

    @property
    def sampling_plan(self) -> SamplingPlan:
        """Plan by which requests are drawn."""
        return SamplingPlan(parse_mix(self.effective_mix), str(self.seed), self.group, self.zipf, self.batch)

    @property
    def warm_up_requests(self) -> int:
        """Number of requests sent before the measurement; 0 with `cold`."""
        return 0 if self.cold else max(1, min(MAX_WARM_UP_REQUESTS, self.requests // 10))


def parse_mix(text: str) -> dict[str, float]:
    """Parse a mix such as `search=5,text=4`; a kind without a number counts 1. Raises BadRequest.

    parse_mix("search=5,text")   # {"search": 5.0, "text": 1.0}
    """
    share_by_kind = {}
    for part in text.split(","):
        kind, _, share = part.strip().partition("=")
        try:
            share_by_kind[kind] = float(share or 1)
        except ValueError:
            share_by_kind[kind] = -1.0
        if kind not in KINDS or not 0 < share_by_kind[kind] < float("inf"):
            raise BadRequest(
                f"--mix has a bad part, {part!r}", action=f"write search=5,text=4; kinds: {', '.join(KINDS)}"
            )
    return share_by_kind


def run(config: Config, settings: Settings) -> Report:
    """Run the benchmark and return its whole report.

    Starts a server of the collection unless `settings.url` names a running one. Raises BadRequest on settings that
    cannot be met, Overloaded if no request is answered.
    """
    running_server = find_server(settings.url) if settings.url else None
    if running_server:
        running_server.served_snapshot()  # fails here if nobody answers, before the engine is measured for minutes
    workload = prepare_workload(config, settings)
    engine = measure_engine(config, settings, workload)
    if running_server:
        return run_against(running_server, config, settings, workload, engine, [])
    notes = [evict_files(workload)] if settings.cold else []
    with start_server(config) as server:
        return run_against(server, config, settings, workload, engine, notes)


def prepare_workload(config: Config, settings: Settings) -> Workload:
    """Return the requests to draw from: files of the user where given, otherwise the collection."""
    plan = settings.sampling_plan
    has_all_from_files = settings.queries is not None and (settings.pages is not None or set(plan.mix) <= QUERY_KINDS)
    if settings.url and has_all_from_files and not (config.collection_folder / "CURRENT").exists():
        workload = Workload(RequestPools([], []))
    else:
        counts = distinct_counts(plan, settings.requests + settings.warm_up_requests)
        workload = draw_workload(find_collection(config), *counts, str(settings.seed), settings.traces)
    pools = workload.pools
    if settings.queries:
        pools = replace(pools, queries=read_lines(settings.queries))
    if settings.pages:
        pools = replace(pools, pages=[(one, "the") for one in read_lines(settings.pages)])
    if settings.door == "connect":
        pools = replace(pools, pages=tls_pages(pools.pages, settings.connections // settings.clients))
    return replace(workload, pools=pools)


def tls_pages(pages: Sequence[tuple[str, str]], hosts: int) -> list[tuple[str, str]]:
    """Return the https pages of the most frequent hosts, at most `hosts` of them: each connection is a tunnel to one
    host.
    """
    pages_by_host = Counter(urlsplit(url).netloc for url, _ in pages if url.startswith("https://"))
    selected_hosts = {host for host, _ in pages_by_host.most_common(hosts)}
    return [one for one in pages if one[0].startswith("https://") and urlsplit(one[0]).netloc in selected_hosts]


def measure_engine(config: Config, settings: Settings, workload: Workload) -> EngineReport:
    """Return the figures of the engine alone, or `{"reason": ...}` if it cannot be measured."""
    if not set(settings.sampling_plan.mix) & QUERY_KINDS:
        return {"reason": "the mix has no searches"}
    if not workload.snapshot:
        return {
            "reason": f"there is no collection in {config.collection_folder}; name one with --root and --collection"
        }
    if settings.cold:
        cold.evict(workload.files)
    return engine_baseline(
        config.collection_folder, workload.snapshot, workload.pools.queries, 1 if settings.cold else 3
    )


def evict_files(workload: Workload) -> str:
    """Drop the snapshot's files from the page cache; return a note that says how much stayed."""
    total, remaining_bytes = cold.evict(workload.files)
    if remaining_bytes < 0:
        return f"{total / 1e6:,.0f} MB of files may still be in memory: this system cannot evict them, or cannot tell"
    remainder = (
        f"{remaining_bytes / 1e6:,.0f} MB of them stayed, mapped by other processes"
        if remaining_bytes
        else "none of them stayed"
    )
    return f"{total / 1e6:,.0f} MB of files dropped from memory; {remainder}"


def run_against(
    server: Server, config: Config, settings: Settings, workload: Workload, engine: EngineReport, notes: list[str]
) -> Report:
    """Run the load against a server that is up, and return the report."""
    snapshot = server.served_snapshot()
    if workload.snapshot and snapshot != workload.snapshot:
        notes.append(f"the server serves {snapshot}, but requests and engine figures are from {workload.snapshot}")
    plan = settings.sampling_plan
    size = settings.size or (3 if "retrieve" in plan.mix else 10)
    factory = RequestFactory(f"{server.host}:{server.port}", size, settings.dialect, settings.door or "proxy")
    traffic = Traffic(settings.connections, settings.rate, settings.seconds, settings.clients, str(settings.seed))
    if settings.door == "connect":
        traffic = replace(traffic, authority=str(ensure_authority(config.root) / CERTIFICATE_FILE))
    warm_up_pools, pools = workload.pools.split_for_warm_up(
        settings.warm_up_requests * (plan.batch if "retrieve" in plan.mix else 1)
    )
    if settings.warm_up_requests:
        requests = build_requests(
            warm_up_pools, replace(plan, seed=f"{settings.seed}/before"), factory, settings.warm_up_requests
        )
        run_load(server, requests, replace(traffic, rate=0.0, seconds=0.0, clients=1), "warming up", settings.quiet)
    requests = build_requests(pools, plan, factory, settings.requests)
    load_result = run_load(server, requests, traffic, "measuring", settings.quiet)
    notes += caveats(settings, load_result, requests)
    queries = sum({"search": 1, "retrieve": plan.batch}.get(KINDS[one.kind], 0) for one in requests) / len(requests)
    load_report = load_result.report(queries)
    # The ratio compares equal work, so it is given for searches alone.
    server_figures = load_report["server"]
    if "reason" not in engine and server_figures["cpu_s"] is not None and set(plan.mix) <= QUERY_KINDS:
        engine["ratio"] = round(queries * server_figures["per_core_s"] / engine["per_core_s"], 4)
    facts: Facts = {
        "documents": workload.document_count,
        "snapshot": snapshot,
        "distinct": len({one.message for one in requests}),
        "server_start_s": round(server.startup_seconds, 3),
        "machine": describe_machine(),
        "collection": "" if settings.url else config.collection,
    }
    return {
        **load_report,
        "settings": _settings_row(config, settings, size),
        "about": facts,
        "engine": engine,
        "notes": notes,
        "title": format_title(config, settings, facts),
    }


def _settings_row(config: Config, settings: Settings, size: int) -> dict[str, object]:
    """Return the options in effect by name, and those of the server if it was started here."""
    row = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(settings).items()}
    server_settings = {} if settings.url else {"workers": config.workers, "cache_mb": config.cache_mb}
    return row | {"mix": settings.effective_mix, "size": size} | server_settings


def caveats(settings: Settings, load_result: LoadResult, requests: Sequence[Request]) -> list[str]:
    """Return caveats: circumstances that make a figure mean less than it seems to."""
    texts = []
    if load_result.samples.cpu > MAX_CLIENT_LOAD * settings.clients * load_result.samples.wall:
        texts.append(
            "the sending processes used all of their CPU, so the server may be faster than shown: raise --clients"
        )
    if settings.rate and load_result.samples.late > MAX_DELAY_SECONDS:
        texts.append(
            f"requests were sent up to {1e3 * load_result.samples.late:,.0f} ms late: other work "
            "may keep the machine busy"
        )
    distinct = len({one.message for one in requests})
    if settings.group == 1 and not (settings.zipf or settings.traces) and distinct < len(requests):
        texts.append(f"only {distinct:,} of the requests differ: the collection has no more queries or pages")
    if settings.seconds and len(load_result.samples.took) > len(requests):
        texts.append("requests were repeated: lower --seconds or raise --requests to send each once")
    if not load_result.is_local:
        texts.append("the server runs on another machine: its CPU time and memory are unknown")
    return texts


def format_title(config: Config, settings: Settings, facts: Facts) -> str:
    """Return one or two lines that say what was measured."""
    loop = f"{settings.rate:g} due per second" if settings.rate else "closed loop"
    server_text = settings.url or f"{config.workers} worker{'s' * (config.workers > 1)}, cache {config.cache_mb} MB"
    document_text = f"{facts['documents']:,} documents, " if facts["documents"] else ""
    variant = f" in the words of {settings.dialect}" if settings.dialect else ""
    variant += f" through the door {settings.door}" if settings.door else ""
    state = "cold" if settings.cold else "warm"
    return (
        f"{document_text}snapshot {facts['snapshot']}; {server_text}; {state}\n"
        f"{settings.effective_mix}{variant}: {settings.requests:,} requests, {facts['distinct']:,} of them distinct,"
        f" {settings.connections} connections, {loop}, seed {settings.seed}"
    )


def describe_machine() -> Machine:
    """Return a description of this machine."""
    return {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()}
