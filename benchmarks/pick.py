"""Measures `webemu pick` against a server of files on this machine: requests and bytes beside the ideal, and kills.

python -m benchmarks.pick [--kills 20]

40 WARC files of 500 records each and an index of them are generated; 5,000 records are picked. The command is killed
with SIGKILL again and again while the server answers, then runs to its end. Ideal are the bytes of the records, and one
request for each run of neighbours. It is checked that each record arrived once, byte for byte.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from webemu.index.columnar_index import Selection, select_records

FILES, RECORDS_PER_FILE, PAGES = 40, 500, 5000
HOSTS_PER_FILE = 10
"""Hosts of a file; their records are mixed, as in a crawl."""
MAX_PAGE_BYTES = 12_000
"""Largest page; pages are random bytes in hexadecimal, so that gzip halves them."""


class FileServer(ThreadingHTTPServer):
    """A server of byte ranges that counts what it sends."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), RangeHandler)
        self.files = files
        self.requests = self.bytes = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that were killed."""


class RangeHandler(BaseHTTPRequestHandler):
    """Answers one range of a file."""

    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_GET(self) -> None:
        """Answer a request for a range."""
        content = self.server.files[self.path.lstrip("/")]
        first, last = map(int, re.findall(r"\d+", self.headers["Range"]))
        body = content[first : last + 1]
        self.server.requests += 1
        self.server.bytes += len(body)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def build_record(url: str, body: bytes) -> bytes:
    """Return a gzip member with a response."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-01T00:00:00Z\r\n"
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    return gzip.compress(head.encode() + block + b"\r\n\r\n", compresslevel=1, mtime=0)


def build_crawl(index_path: Path) -> dict[str, bytes]:
    """Write the index of a crawl, and return its files by name."""
    generator, files, rows = random.Random(7), {}, []
    for file_number in range(FILES):
        name, members, offset = f"crawl-data/{file_number:05}.warc.gz", [], 0
        for number in range(RECORDS_PER_FILE):
            host = f"h{generator.randrange(HOSTS_PER_FILE)}.site{file_number}.example"
            url = f"http://{host}/{number}"
            member = build_record(
                url, generator.randbytes(generator.randrange(200, MAX_PAGE_BYTES // 2)).hex().encode()
            )
            rows.append(
                {
                    "url": url, "url_host_name": host, "url_host_registered_domain": f"site{file_number}.example",
                    "fetch_time": datetime(2024, 5, 1), "fetch_status": 200, "content_mime_detected": "text/html",
                    "content_languages": "eng", "warc_filename": name, "warc_record_offset": offset,
                    "warc_record_length": len(member),
                }
            )  # fmt: skip
            members.append(member)
            offset += len(member)
        files[name] = b"".join(members)
    pq.write_table(pa.Table.from_pylist(rows), index_path)
    return files


def build_command(server: FileServer, index_path: Path, out: Path) -> list[str]:
    """Return the command that picks the records."""
    address = f"http://127.0.0.1:{server.server_port}/"
    return [
        sys.executable, "-m", "webemu.emulator.cli", "pick", str(index_path), "--max-pages", str(PAGES), "--out",
        str(out), "--base-url", address, "--delay", "0.002", "--quiet",
    ]  # fmt: skip


def kill_after(command: list[str], server: FileServer, requests: int) -> None:
    """Run the command and kill it after the server has answered a number of requests more."""
    target = server.requests + requests
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while server.requests < target and process.poll() is None:
            time.sleep(0.01)
        process.kill()


def find_expected(index_path: Path, files: dict[str, bytes]) -> tuple[list[bytes], int, int]:
    """Return the picked records in order, their bytes, and the number of runs of neighbours."""
    records = select_records([str(index_path)], Selection(max_pages=PAGES))
    ends = {(record.filename, record.offset + record.length) for record in records}
    runs = sum((record.filename, record.offset) not in ends for record in records)
    members = [files[record.filename][record.offset : record.offset + record.length] for record in records]
    return members, sum(map(len, members)), runs


def main() -> None:
    """Measure, print, and fail if a record is missing, doubled or changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    kills = parser.parse_args().kills
    with tempfile.TemporaryDirectory() as folder:
        index_path, out = Path(folder) / "index.parquet", Path(folder) / "picked"
        files = build_crawl(index_path)
        members, record_bytes, runs = find_expected(index_path, files)
        server = FileServer(files)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        generator = random.Random(8)
        command = build_command(server, index_path, out)
        for _ in range(kills):
            kill_after(command, server, generator.randrange(1, 120))
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")
        server.shutdown()
        content = b"".join(path.read_bytes() for path in sorted(out.glob("*.warc.gz")))
    print(f"killed    {kills} times; all runs: {server.requests:,} requests, {server.bytes / 1e6:,.1f} MB sent")
    print(f"ideal     {runs:,} requests without gaps, {record_bytes / 1e6:,.1f} MB")
    if content != b"".join(members):
        raise SystemExit("the records differ from those of the crawl")
    print("records   each once, byte for byte")


if __name__ == "__main__":
    main()
