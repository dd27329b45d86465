"""The load benchmark over a real server of a small crawl: what is sent, what is counted, what is told."""

import json
import mmap
import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import psutil
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.bench import cold
from webemu.api.bench.figures import format_lines, merge_samples, quantile, summarize
from webemu.api.bench.load import Request
from webemu.api.bench.measure import Traffic, run_load
from webemu.api.bench.request_factory import KINDS, RequestFactory
from webemu.api.bench.run import Settings, parse_mix, run
from webemu.api.bench.sequence import RequestPools, SamplingPlan, build_requests, draw_members
from webemu.api.bench.server import Server, start_server
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, Overloaded
from webemu.emulator.trace import Trace
from webemu.index.traces import TraceWriter

PAGES = 60
SETTINGS = Settings(
    None, 40, 0.0, 4, 0.0, 1, "", None, 8, "", "", None, None, False, 1, 0.0, False, 7, True,
)  # fmt: skip


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    root = tmp_path_factory.mktemp("bench")
    words = ("river", "lighthouse", "harbour", "museum", "bridge", "station", "market")
    crawl = []
    for number in range(PAGES):
        chosen_words = [words[(number * step) % len(words)] for step in (1, 2, 3)]
        title = f"The {chosen_words[0]} and the {chosen_words[1]} of town {number}"
        crawl.append(
            CaptureSpec(f"https://site{number % 5}.example/{number}", html(title, f"It has a {chosen_words[2]}."))
        )
    ingest(root / "small", write(root / "a.warc.gz", crawl))
    return Config(root=root, collection="small", cache_mb=0)


@pytest.fixture(scope="module")
def server(config: Config) -> Iterator[Server]:
    with start_server(config) as running:
        yield running


def address(server: Server) -> str:
    return f"http://{server.host}:{server.port}"


def test_percentiles_are_of_the_samples() -> None:
    ordered = [float(number) for number in range(1, 1001)]
    assert [quantile(ordered, share) for share in (0.0, 0.5, 0.99, 0.999, 1.0)] == [1, 500, 990, 999, 1000]
    assert quantile([3.0], 0.999) == 3.0


def test_a_seed_is_a_sequence() -> None:
    pools = RequestPools([f"query {n}" for n in range(100)], [(f"https://a.example/{n}", "word") for n in range(100)])
    drawing = SamplingPlan(parse_mix("search=3,text,markdown,links,raw,find,retrieve,page"), "1", batch=5)
    asking = RequestFactory("a:1", 10, "", "proxy")
    first = build_requests(pools, drawing, asking, 200)
    assert first == build_requests(pools, drawing, asking, 200)
    assert first != build_requests(pools, replace(drawing, seed="2"), asking, 200)
    counted = Counter(KINDS[one.kind] for one in first)
    assert counted.keys() == set(KINDS)
    assert max(counted, key=lambda kind: counted[kind]) == "search"


def test_groups_repeat_close_together_and_zipf_prefers() -> None:
    pool = list(range(500))
    grouped = list(islice(draw_members(pool, SamplingPlan({"search": 1}, "1", group=8), False), 8 * 160))
    assert set(Counter(grouped).values()) == {8}
    places = [[at for at, one in enumerate(grouped) if one == member] for member in set(grouped)]
    assert max(numbers[-1] - numbers[0] for numbers in places) < 8 * 16
    once = list(islice(draw_members(pool, SamplingPlan({"search": 1}, "1"), False), 500))
    assert sorted(once) == pool
    popular = Counter(islice(draw_members(pool, SamplingPlan({"search": 1}, "1", zipf=1.0), False), 5000))
    counts = [count for _, count in popular.most_common()]
    assert counts[0] > 3 * counts[9] > 0
    assert len(counts) < 500


def test_all_kinds_are_answered_and_told(config: Config) -> None:
    report = run(config, replace(SETTINGS, mix="search=3,text,markdown,links,raw,find,retrieve,page", requests=120))
    load = report["load"]
    assert (load["requests"], load["good"], load["errors"]) == (120, 120, {})
    assert load["kinds"].keys() == set(KINDS)
    assert sum(kind["good"] for kind in load["kinds"].values()) == sum(row["answers"] for row in load["seconds"]) == 120
    latency = load["latency"]
    assert 0 < latency["p50_ms"] <= latency["p90_ms"] <= latency["p99_ms"] <= latency["p999_ms"] <= latency["max_ms"]
    assert [share for share, _ in latency["curve_ms"]] == sorted(share for share, _ in latency["curve_ms"])
    assert report["server"]["cpu_s"] > 0
    assert report["client"]["cpu_s"] > 0
    assert 0 < report["server"]["anonymous_mb"] < report["server"]["resident_mb"]
    assert report["engine"]["queries"] > 0
    assert "ratio" not in report["engine"]  # pages were asked for as well
    assert json.loads(json.dumps(report)) == report
    text = "\n".join(format_lines(report))
    assert all(word in text for word in (*KINDS, "p99.9", "per core-second", "engine"))


def test_the_command_writes_what_it_found(config: Config, tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    words = ["--root", str(config.root), "--collection", "small", "--requests", "30", "--json", str(out), "-q"]
    command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "bench", *words, "--group", "3", "--cache-mb", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(out.read_text())
    assert report["about"]["documents"] == PAGES
    assert report["about"]["distinct"] < report["load"]["good"] == 30
    assert report["engine"]["ratio"] == pytest.approx(
        report["server"]["per_core_s"] / report["engine"]["per_core_s"], abs=1e-3
    )
    assert f"{PAGES} documents" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("door", ["proxy", "connect", "host"])
def test_every_door_gives_the_pages(config: Config, server: Server, door: str) -> None:
    report = run(config, replace(SETTINGS, door=door, url=address(server)))
    assert report["load"]["errors"] == {}
    assert report["load"]["kinds"].keys() == {"page"}
    assert report["load"]["received_mb"] * 1e6 > 40 * 100


def test_a_server_that_runs(config: Config, server: Server) -> None:
    report = run(config, replace(SETTINGS, url=address(server), dialect="serper", clients=2))
    assert report["load"]["good"] == 40
    assert report["server"]["cpu_s"] > 0
    assert report["engine"]["ratio"] > 0


def test_files_say_what_is_asked(config: Config, server: Server, tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("lighthouse\n\nriver museum\n")
    elsewhere = Config(root=tmp_path, collection="none")
    settings = replace(SETTINGS, url=address(server), queries=tmp_path / "queries")
    report = run(elsewhere, settings)
    assert report["about"]["distinct"] == 2
    assert "no collection" in report["engine"]["reason"]
    assert any("only 2 of the requests differ" in note for note in report["notes"])
    with pytest.raises(BadRequest, match="none cannot be read"):
        run(elsewhere, replace(settings, mix="text", pages=tmp_path / "none"))


def test_traces_are_asked_again(config: Config, server: Server) -> None:
    writer = TraceWriter(config.collection_folder / "traces")
    trace_end = ("", 0, (), 0, 0, 200, 1.0, 10, "", False)
    for step, (kind, query, url) in enumerate(
        [("search", "river museum", ""), ("open", "", "https://site1.example/1"), ("search", "harbour", "")], 1
    ):
        writer.put((Trace("s", "t", "r", step, "webemu", kind, query, url, *trace_end),))
    writer.close()
    report = run(config, replace(SETTINGS, traces=True, url=address(server)))
    assert report["load"]["kinds"].keys() == {"search", "text"}
    assert report["about"]["distinct"] == 3


def test_an_open_loop_hides_no_queue(server: Server) -> None:
    """The server stands still for a second: all that was due in it waited, not only what was under way."""
    (process,) = [psutil.Process(pid) for pid in {one.pid for one in server.iterate_processes()}]
    asking = RequestFactory(f"{server.host}:{server.port}", 10, "", "proxy")
    requests = build_requests(RequestPools(["river", "museum"], []), SamplingPlan({"search": 1}, "1"), asking, 400)
    stop, go = threading.Timer(0.7, process.suspend), threading.Timer(1.7, process.resume)
    stop.start()
    go.start()
    outcome = run_load(server, requests, Traffic(4, rate=200.0, seed="1"), "", True)
    go.join()
    slow = [took for took in outcome.samples.took if took > 0.3]
    assert len(slow) > 10 * 4
    assert len(outcome.samples.took) == 400
    gaps = sorted(outcome.samples.due)
    assert 200 * 0.7 < 400 / (gaps[-1] - gaps[0]) < 200 * 1.4


@contextmanager
def misbehaving(answers: list[bytes]) -> Iterator[Server]:
    """A server that gives these answers in turn, each on a connection of its own; none: it closes."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def answer() -> None:
            for answer_bytes in answers * 100:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer_bytes)

        threading.Thread(target=answer, daemon=True).start()
        yield Server("127.0.0.1", listener.getsockname()[1], [])


def test_what_goes_wrong_is_counted() -> None:
    good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    requests = [Request(0, "", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")] * 40
    with misbehaving([good, busy, b"", b"?" * 40]) as server:
        outcome = run_load(server, requests, Traffic(1), "", True)
    summary = summarize(outcome.samples)
    assert (summary["requests"], summary["good"]) == (40, 10)
    assert summary["errors"] == {"503": 10, "connection lost": 10, "no HTTP": 10}
    assert not outcome.is_local
    assert summarize(merge_samples([outcome.samples, outcome.samples]))["good"] == 20
    with misbehaving([busy]) as server, pytest.raises(Overloaded, match="503"):
        run_load(server, requests, Traffic(2), "", True)


def test_what_stays_in_memory_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(mmap.PAGESIZE * 64))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert sum(mapped[:: mmap.PAGESIZE]) > 0
        total, stayed = cold.evict([str(path), str(path)])
    assert total == mmap.PAGESIZE * 64
    assert stayed in (-1, total)


def test_cold_is_said(config: Config) -> None:
    report = run(config, replace(SETTINGS, cold=True))
    assert report["load"]["good"] == 40
    assert "MB of files" in report["notes"][0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"mix": "serch"}, {"mix": "search=-1"}, {"dialect": "altavista"}, {"door": "back"}, {"cold": True, "group": 2},
        {"traces": True, "zipf": 1.0}, {"clients": 9}, {"url": "ftp://a"},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(config: Config, wrong: dict[str, object]) -> None:
    with pytest.raises(BadRequest):
        run(config, replace(SETTINGS, **wrong))  # type: ignore[arg-type]
