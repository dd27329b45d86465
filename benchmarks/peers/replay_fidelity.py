"""Fidelity of replay of the emulated web and of pywb, over the same WARC files.

python -m benchmarks.peers.replay_fidelity PYWB_BIN WARC...

`PYWB_BIN` is pywb's folder of programs. Captures are requested from both at their time: from webemu through its proxy,
from pywb as `/<collection>/<time>id_/<url>`. Headers are faithful if all headers of the origin are present by name and
value. Speed is compared in `benchmarks.peers.run`.
"""

from __future__ import annotations

import http.client
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urljoin

from benchmarks.peers.pywb import replay_target, run_pywb
from benchmarks.peers.recorded import Headers, RecordedCapture, decode_body, origin_headers, read_captures, sha1_of
from webemu.api.bench.server import start_server
from webemu.emulator.config import Config

MAX_HOPS, SAMPLE_SIZE = 20, 2000
"""Redirects that are followed, and captures that are compared."""


@dataclass(frozen=True)
class Answer:
    """Response of a server; status 0 if none came."""

    status: int
    headers: Headers
    body: bytes

    def get(self, name: str) -> str:
        """Return the first value of a header, empty if there is none. `name` is in lower case."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def decoded_body(self) -> bytes:
        """Body without its content coding."""
        return decode_body(self.body, self.get("content-encoding"))


Fetch = Callable[[str, datetime], Answer]
"""Function that requests a URL at a time."""


def build_fetch(port: int, target: Callable[[str, datetime], str]) -> Fetch:
    """Return a function that makes one GET on a new connection; its answer has status 0 if none came."""

    def ask(url: str, at_time: datetime) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.putrequest("GET", target(url, at_time), skip_accept_encoding=True)
            connection.putheader("Accept-Datetime", format_datetime(at_time, usegmt=True))
            connection.endheaders()
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return Answer(0, [], b"")
        finally:
            connection.close()

    return ask


def replay_target_at(url: str, at_time: datetime) -> str:
    """Return pywb's request target of a page at a time."""
    return replay_target(url, f"{at_time:%Y%m%d%H%M%S}")


def measure_fidelity(
    fetch: Fetch, prefix: str, captures_known: list[RecordedCapture]
) -> tuple[Counter[str], dict[str, set[str]]]:
    """Request every capture; return the number that is faithful in each respect, and for each respect their URLs."""
    counts: Counter[str] = Counter()
    urls_by_respect: dict[str, set[str]] = {}
    for capture in captures_known:
        answer = fetch(capture.url, capture.time)
        respects = {"status": answer.status == capture.status}
        if capture.record_type == "response":
            respects["body"] = respects["status"] and sha1_of(answer.decoded_body) == capture.body_sha1
        else:
            respects["revisit with a body"] = respects["status"] and bool(answer.body)
        respects["headers"] = respects["status"] and origin_headers(capture.headers) <= origin_headers(answer.headers)
        if prefix:
            header_pairs = origin_headers(answer.headers) | origin_headers(answer.headers, prefix)
            respects["headers under other names"] = (
                respects["status"] and origin_headers(capture.headers) <= header_pairs
            )
        respects["all"] = all(value for name, value in respects.items() if name != "headers under other names")
        for name, value in respects.items():
            counts[name] += value
            urls_by_respect.setdefault(name, set())
            if value:
                urls_by_respect[name].add(f"{capture.time:%Y%m%d%H%M%S} {capture.url}")
    return counts, urls_by_respect


def follow_redirects(fetch: Fetch, capture: RecordedCapture, unwrap: Callable[[str], str]) -> str:
    """Return in words where a client that follows redirects ends."""
    url = capture.url
    for _ in range(MAX_HOPS):
        answer = fetch(url, capture.time)
        location = answer.get("location")
        if not (300 <= answer.status < 400 and location):
            return "a page" if answer.status == 200 else f"status {answer.status}"
        url = unwrap(urljoin(url, location))
    return f"no end after {MAX_HOPS} hops"


def original_url(url: str) -> str:
    """Return the URL that a URL of pywb stands for."""
    return url.partition("id_/")[2] or url


def format_share(count: int, total: int) -> str:
    """Return a count and its share as text."""
    return f"{count:6,} of {total:,} ({count / max(total, 1):.1%})"


def print_comparison(fetch_webemu: Fetch, fetch_pywb: Fetch, sample: list[RecordedCapture]) -> None:
    """Print how faithful both servers are."""
    responses = sum(capture.record_type == "response" for capture in sample)
    revisits = len(sample) - responses
    print(f"{responses:,} responses and {revisits:,} revisits asked for")
    webemu_counts, webemu_urls = measure_fidelity(fetch_webemu, "", sample)
    pywb_counts, pywb_urls = measure_fidelity(fetch_pywb, "x-archive-orig-", sample)
    for name in ("status", "body", "revisit with a body", "headers", "headers under other names", "all"):
        total = {"body": responses, "revisit with a body": revisits}.get(name, len(sample))
        webemu_share = "" if name == "headers under other names" else format_share(webemu_counts[name], total)
        print(f"  {name:<26} ours {webemu_share:<26} pywb {format_share(pywb_counts[name], total)}")
    for name in ("status", "body"):
        for url in sorted(pywb_urls[name] - webemu_urls[name])[:20]:
            print(f"  only pywb, {name}: {url}")
    all_urls = {f"{capture.time:%Y%m%d%H%M%S} {capture.url}" for capture in sample}
    for url in sorted(all_urls - webemu_urls["all"])[:20]:
        print(f"  ours not all true: {url}")
    redirects = [capture for capture in sample if 300 <= capture.status < 400 and capture.status != 304]
    random.Random(7).shuffle(redirects)
    redirects = redirects[:500]
    for name, end_counts in (
        ("ours", Counter(follow_redirects(fetch_webemu, capture, str) for capture in redirects)),
        ("pywb", Counter(follow_redirects(fetch_pywb, capture, original_url) for capture in redirects)),
    ):
        print(
            f"  {len(redirects)} redirects followed, {name}: "
            + ", ".join(f"{n} {end}" for end, n in end_counts.most_common())
        )


def main(programs: Path, warcs: list[Path]) -> None:
    """Ingest the files, start both servers and compare them."""
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        sample = list({(capture.url, capture.time): capture for capture in read_captures(warcs)}.values())
        random.Random(7).shuffle(sample)
        command = [sys.executable, "-P", "-m", "webemu.emulator.cli", "ingest", *map(str, warcs), "--root", work, "-q"]
        subprocess.run([*command, "--collection", "bench"], check=True, capture_output=True)
        with (
            start_server(Config(root=root, collection="bench")) as webemu_server,
            run_pywb(programs, root / "pywb", warcs) as pywb_server,
        ):
            print_comparison(
                build_fetch(webemu_server.port, lambda url, _: url),
                build_fetch(pywb_server.port, replay_target_at),
                sample[:SAMPLE_SIZE],
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
