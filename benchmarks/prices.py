"""Measures what the worst request of each endpoint costs the server, and what it still costs once its client has left.

python -m benchmarks.prices [--root FOLDER]

A real `webemu serve` has a generated web of 2,500 pages and five hostile pages: 100,000 links, markup nested 50,000
deep, a table of 100,000 cells, four megabytes of one word, a script of 600,000 escapes. Each request is the dearest of
its endpoint that is known. It is sent once to its end, and once more, made different, by a client that resets the
connection after 50 ms: what the server works from 100 ms after that on is counted. The collection is kept in `--root`.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import psutil
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

PAGES = 2500
"""Pages of the generated web."""
HOST = "hostile.example"
"""Host of the hostile pages."""
LEAVE_SECONDS = 0.05
"""Seconds after which a client leaves."""
GRACE_SECONDS = 0.1
"""Seconds after that in which the server may still work."""
IDLE_SECONDS = 0.5
"""Seconds without work after which the server is taken to be done."""
COMMON = "the of and a in is was for its first"
"""Words that most pages have."""
NAMES = ("links", "deep", "table", "word", "script")
"""Names of the hostile pages."""
URLS = [f"http://{HOST}/{name}" for name in NAMES]


class WorstRequest(NamedTuple):
    """The dearest request of an endpoint that is known."""

    endpoint: str
    description: str
    request_bytes: bytes


def build_get(target: str, host: str = "webemu") -> bytes:
    """Return a GET request."""
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def build_post(target: str, body: object, *headers: str) -> bytes:
    """Return a POST request with a JSON body."""
    encoded_body = json.dumps(body).encode()
    lines = [f"POST {target} HTTP/1.1", "Host: webemu", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(encoded_body)}")
    return "\r\n".join([*lines, "", ""]).encode() + encoded_body


def write_hostile_pages(path: Path) -> None:
    """Write the hostile pages as a WARC file."""
    links = "".join(f'<a href="/{number}?q={number}#f">link {number} of many</a> ' for number in range(100_000))
    rows = "".join(f"<tr><td>{number}<td><b>cell</b></tr>" for number in range(50_000))
    escapes = "\\u0041\\u0062" * 300_000
    script = f'<p>Little text.</p><script type="application/json">{{"a": "{escapes}"}}</script>'
    bodies = [links, "<div>" * 50_000 + "bottom of it", f"<table>{rows}</table>", "the " * 1_000_000, script]
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for url, name, body in zip(URLS, NAMES, bodies, strict=True):
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            document = f"<html><head><title>{name}</title></head><body>{body}".encode()
            record = writer.create_warc_record(url, "response", payload=BytesIO(document), http_headers=headers,
                                               warc_headers_dict={"WARC-Date": "2024-12-01T00:00:00Z"})  # fmt: skip
            writer.write_record(record)


def list_searches(seed: int) -> list[WorstRequest]:
    """Return the dearest searches; another seed gives other ones, so that no cache answers."""
    either = " OR ".join(f"{word}{seed + number}" for number in range(80) for word in COMMON.split()[:5])[:4000]
    common, ten_words = quote(f"{COMMON} {seed}"), [f"{COMMON} {seed} {number}" for number in range(16_384)]
    targets = {
        "common words, page 10 of 100": f"q={common}",
        "4,000 characters of OR": f"q={quote(either)}",
        "a negated word alone": f"q=-zz{seed}",
        "phrases of common words": f"q=%22of+the%22+%22in+the%22+{seed}&strict=true",
        "intext: of a common word, explained": f"q=intext:the+{seed}&explain=true",
    }
    batches: dict[str, object] = {
        "1,000 queries, page 10 of 100": {"queries": ten_words[:1000], "page": 10, "size": 100},
        "12 queries, page 10 of 100": {"queries": ten_words[:12], "page": 10, "size": 100},
        "1,024 negated words": {"queries": [f"-z{seed}x{number}" for number in range(1024)], "size": 13},
        "1,024 queries of ten common words": {"queries": ten_words[:1024], "size": 13},
    }
    retrievals: dict[str, object] = {
        "2,560 queries, 3 passages": {"queries": ten_words[:2560], "topk": 3},
        "16,384 queries, 10 passages": {"queries": ten_words, "topk": 10},
        "142 queries, 100 passages": {"queries": ten_words[:142], "topk": 100},
    }
    serper = [{"q": query, "num": 100} for query in ten_words[:100]]
    return [
        *[
            WorstRequest("GET /v1/search", name, build_get(f"/v1/search?{target}&page=10&size=100"))
            for name, target in targets.items()
        ],
        *[WorstRequest("POST /v1/search", name, build_post("/v1/search", body)) for name, body in batches.items()],
        *[WorstRequest("POST /retrieve", name, build_post("/retrieve", body)) for name, body in retrievals.items()],
        WorstRequest("POST /serper/search", "100 queries of 100", build_post("/serper/search", serper, "X-API-KEY: k")),
        WorstRequest("GET /search", "common words, last page for people", build_get(f"/search?q={common}&page=100")),
        _build_mcp_batch("64 searches", "search", [{"query": query} for query in ten_words[:64]]),
        WorstRequest("GET /v1/search", "a policy of 6,000 bytes, page 10 of 100", _build_policy_search(seed, common)),
    ]


def list_readings(seed: int) -> list[WorstRequest]:
    """Return the dearest requests for pages."""
    key = "Authorization: Bearer k"
    fetches = {"urls": [f"{URLS[number % 5]}#{seed}x{number}" for number in range(256)], "format": "markdown"}
    crawl = {"url": URLS[0], "limit": 500, "max_breadth": 500, "max_depth": 5}
    contents = {"urls": URLS * 20, "text": True, "subpages": 10}
    formats = ["markdown", "html", "rawHtml", "links"]
    requests = [WorstRequest("POST /v1/fetch", "256 hostile pages as markdown", build_post("/v1/fetch", fetches))]
    for url, name in zip(URLS, NAMES, strict=True):
        for view in ("text", "markdown", "links", "html"):
            target = f"/v1/fetch?url={url}&format={view}&start={seed}"
            requests.append(WorstRequest("GET /v1/fetch", f"{name}, {view}", build_get(target)))
        scrape = {"url": f"{url}#{seed}", "formats": formats}
        requests += [
            WorstRequest("GET /v1/find", name, build_get(f"/v1/find?url={url}&pattern=e{seed}&limit=200")),
            WorstRequest("POST /firecrawl/v2/scrape", name, build_post("/firecrawl/v2/scrape", scrape, key)),
            WorstRequest("GET /jina/", name, build_get(f"/jina/{url}?{seed}")),
            WorstRequest("GET /jina/", f"{name}, again", build_get(f"/jina/{url}#{seed}")),
        ]
    return [
        *requests,
        _build_mcp_batch("64 hostile pages", "fetch", [{"id": URLS[number % 5]} for number in range(64)]),
        WorstRequest("POST /tavily/extract", "20 hostile", build_post("/tavily/extract", {"urls": URLS * 4}, key)),
        WorstRequest("POST /tavily/crawl", "500 pages from many links", build_post("/tavily/crawl", crawl, key)),
        WorstRequest("POST /exa/contents", "100 hostile", build_post("/exa/contents", contents, "x-api-key: k")),
    ]


def list_others(seed: int) -> list[WorstRequest]:
    """Return the dearest requests for lists and sessions."""
    pattern = f"/cdx/search/cdx?url=*&filter=original:.*({seed}|a+b+c+).*&limit=100000"
    blocked = {
        "texts": [f"who built the pier number {seed} {number}" for number in range(20_000)],
        "urls": [f"http://a{number}.example/{seed}" for number in range(100_000)],
    }
    policy = {"task": str(seed), "blocked": blocked}
    return [
        WorstRequest("CDX", "regular expression over all", build_get(pattern, "web.archive.org")),
        WorstRequest("GET /sitemap.xml", "hostile host", build_get(f"/sitemap.xml?{seed}", HOST)),
        WorstRequest("replay", "many links", build_get(f"/web/20241201000000/{URLS[0]}", "web.archive.org")),
        WorstRequest("POST /v1/sessions", "20,000 texts, 100,000 URLs", build_post("/v1/sessions", policy)),
    ]


def _build_mcp_batch(description: str, tool: str, arguments: list[dict[str, str]]) -> WorstRequest:
    """Return a batch of calls of an MCP tool, in the only version that has batches."""
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": one}}
        for number, one in enumerate(arguments)
    ]
    headers = "Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2025-03-26"
    return WorstRequest("POST /mcp", description, build_post("/mcp", calls, *headers))


def _build_policy_search(seed: int, common: str) -> bytes:
    """Return a search under a policy in its session's name, which no worker has seen before."""
    texts = [f"which ferry sank off point {seed} {number}" for number in range(100)]
    policy = json.dumps({"task": f"t{seed}", "blocked": {"texts": texts}}).encode()
    name = "wp-" + base64.urlsafe_b64encode(policy).decode().rstrip("=")
    request = build_get(f"/v1/search?q={common}&size=100&page=10")
    return request.replace(b"\r\n\r\n", f"\r\nX-Webemu-Session: {name}\r\n\r\n".encode())


@contextmanager
def run_server(root: Path) -> Iterator[tuple[psutil.Process, int]]:
    """Run a server on a free port; yield its process and port."""
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--root", str(root), "--collection", "prices"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        match = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if match is None:
            raise RuntimeError("the server did not start; its error is on standard error")
        yield psutil.Process(process.pid), int(match[1])
    finally:
        process.terminate()
        process.wait(60)


def read_core_seconds(server: psutil.Process) -> float:
    """Return the processor time of the server up to now."""
    times = server.cpu_times()
    return float(times.user + times.system)


def wait_until_idle(server: psutil.Process) -> float:
    """Wait until the server does nothing; return its processor time."""
    before = read_core_seconds(server)
    while True:
        time.sleep(IDLE_SECONDS)
        if (now := read_core_seconds(server)) - before < 0.02:
            return now
        before = now


def send_to_the_end(port: int, request_bytes: bytes) -> tuple[str, int]:
    """Send a request, read all of its answer, and return status and bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=200) as connection:
        connection.sendall(request_bytes.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        head, size = b"", 0
        while piece := connection.recv(1 << 20):
            head = head or piece[:20]
            size += len(piece)
    return head.split(b" ", 2)[1].decode(), size


def send_and_leave(port: int, request_bytes: bytes) -> None:
    """Send a request, reset the connection soon after, and wait for the grace."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(request_bytes)
    time.sleep(LEAVE_SECONDS)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    time.sleep(GRACE_SECONDS)


def build_collection(root: Path) -> None:
    """Make the collection, unless it is there."""
    if (root / "prices").exists():
        return
    command, web = [sys.executable, "-m", "webemu.emulator.cli"], str(root / "web")
    subprocess.run([*command, "generate", web, "--pages", str(PAGES), "--seed", "7", "-q"], check=True)
    write_hostile_pages(root / "web" / "hostile.warc.gz")
    subprocess.run([*command, "ingest", web, "--root", str(root), "--collection", "prices", "-q"], check=True)


def main() -> int:
    """Run the benchmark and print a line for each request."""
    parser = argparse.ArgumentParser("benchmarks.prices", description=__doc__)
    parser.add_argument("--root", type=Path, help="Folder for the collection; a temporary one by default.")
    options = parser.parse_args()
    lists = [[*list_searches(seed), *list_readings(seed), *list_others(seed)] for seed in (1, 2)]
    with tempfile.TemporaryDirectory(prefix="prices-") as folder:
        build_collection(options.root or Path(folder))
        with run_server(options.root or Path(folder)) as (server, port):
            for first, second in zip(*lists, strict=True):
                before = wait_until_idle(server)
                status, size = send_to_the_end(port, first.request_bytes)
                spent = wait_until_idle(server) - before
                send_and_leave(port, second.request_bytes)
                left_at = read_core_seconds(server)
                after = wait_until_idle(server) - left_at
                sent = f"{len(first.request_bytes):>9,} B {status} {size:>11,} B"
                print(f"{first.endpoint:<26} {first.description:<40} {sent} {spent:6.2f} s {after:6.2f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
