"""`webemu pick` against a real server of files and an index in Common Crawl's schema; it refuses, cuts and changes."""

import gzip
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner
from warcio.archiveiterator import ArchiveIterator

from tests.ingest import flawed
from webemu.emulator.cli import app
from webemu.emulator.errors import BadRequest, SourceError
from webemu.index.columnar_index import RecordRange, Selection, select_records
from webemu.ingest.pick.cdx_client import CdxReport, Scope, download_index
from webemu.ingest.pick.plan import Plan, build_plan
from webemu.ingest.pick.range_client import RangeClient
from webemu.ingest.pick.run import fetch_records


@dataclass
class Crawl:
    """A served crawl of 3 files with 20 pages each, and its index."""

    index: str
    files: dict[str, bytes] = field(default_factory=dict)
    refusals: list[int] = field(default_factory=list)
    """Statuses of the coming answers."""
    cuts: list[int] = field(default_factory=list)
    """The number of bytes of each coming answer after which the connection is dropped; negative for the whole."""
    has_ranges: bool = True
    requests: list[str] = field(default_factory=list)
    url: str = ""


def handler(crawl: Crawl) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            crawl.requests.append(self.path)
            content = crawl.files[self.path.lstrip("/")]
            first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())  # type: ignore[union-attr]
            body = content[first : last + 1] if crawl.has_ranges else content
            status = crawl.refusals.pop(0) if crawl.refusals else 206 if crawl.has_ranges else 200
            self.send_response(status)
            if status == 206:
                self.send_header("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(content)}")
            elif status != 200:
                self.send_header("Retry-After", "7")
                body = b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            cut = crawl.cuts.pop(0) if status == 206 and crawl.cuts else -1
            self.wfile.write(body if cut < 0 else body[:cut])
            self.close_connection = cut >= 0

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def index_row(
    url: str, host: str, language: str, filename: str, offset: int, length: int, number: int
) -> dict[str, object]:
    return {
        "url": url, "url_host_name": host, "url_host_registered_domain": ".".join(host.split(".")[-2:]),
        "fetch_time": datetime(2024, 5, 1 + number), "fetch_status": 200 if number else 404,
        "content_mime_detected": "text/html", "content_languages": language, "warc_filename": filename,
        "warc_record_offset": offset, "warc_record_length": length,
    }  # fmt: skip


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    crawl, rows = Crawl(str(tmp_path / "index" / "*.parquet")), []
    for file_number in range(3):
        name, content = f"crawl-data/CC/warc/{file_number}.warc.gz", b""
        for number in range(20):
            host = f"{'ab'[number % 2]}.site{file_number}.example"
            url = f"http://{host}/{number}"
            member = gzip.compress(flawed.response(url, flawed.noise(2000, 20 * file_number + number)))
            rows.append(index_row(url, host, ("eng", "deu,eng")[number % 2], name, len(content), len(member), number))
            content += member
        crawl.files[name] = content
    (tmp_path / "index").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "index" / "part-0.parquet")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(crawl))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    crawl.url = f"http://127.0.0.1:{server.server_port}"
    yield crawl
    server.shutdown()
    thread.join()
    server.server_close()


def select(crawl: Crawl, selection: Selection) -> list[RecordRange]:
    return select_records([crawl.index], selection)


def urls_in(folder: Path) -> list[str]:
    urls = []
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            urls += [record.rec_headers.get_header("WARC-Target-URI") for record in ArchiveIterator(file)]
    return urls


def fetched(crawl: Crawl, plan: Plan, out: Path) -> list[float]:
    """Fetch a plan, and return how long the client would have waited each time."""
    waits: list[float] = []
    with RangeClient(crawl.url, 0.6, waits.append) as client:
        fetch_records(plan, client, out, quiet=True)
    return waits


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (Selection(), 57),
        (Selection(hosts=["a.site0.example"]), 9),
        (Selection(domains=["site1.example"]), 19),
        (Selection(languages=["deu"]), 30),
        (Selection(mime_types=["application/pdf"]), 0),
        (Selection(since="2024-05-20"), 3),
        (Selection(until="2024-05-03"), 3),
        (Selection(url_pattern="/1[0-4]$"), 15),
        (Selection(urls=["http://b.site2.example/7", "http://b.site2.example/none"]), 1),
        (Selection(per_host=2), 12),
        (Selection(max_pages=6), 6),
        (Selection(domains=["site1.example"], languages=["deu"], per_host=3), 3),
    ],
)
def test_each_condition_of_a_selection_binds(crawl: Crawl, selection: Selection, count: int) -> None:
    assert len(select(crawl, selection)) == count


def test_a_budget_is_kept_and_spread_over_the_hosts(crawl: Crawl) -> None:
    assert len({record.host for record in select(crawl, Selection(max_pages=6))}) == 6
    records = select(crawl, Selection(max_bytes=20_000))
    total = sum(record.length for record in records)
    assert 20_000 - max(record.length for record in select(crawl, Selection())) < total <= 20_000


def test_neighbours_are_joined_up_to_the_gap(crawl: Crawl) -> None:
    records = select(crawl, Selection(languages=["deu"]))
    assert len(build_plan(records, 0).requests) == 30
    joined = build_plan(records, 5000)
    assert (len(joined.requests), joined.records, joined.files) == (3, 30, 3)
    assert joined.record_bytes < joined.download_bytes < sum(map(len, crawl.files.values()))


def test_records_arrive_byte_for_byte_and_paced(crawl: Crawl, tmp_path: Path) -> None:
    records = select(crawl, Selection(languages=["deu"]))
    assert fetched(crawl, build_plan(records, 5000), tmp_path / "out") == [0.6, 0.6]
    (path,) = (tmp_path / "out").glob("*.warc.gz")
    expected = [crawl.files[record.filename][record.offset : record.offset + record.length] for record in records]
    assert path.read_bytes() == b"".join(expected)
    assert urls_in(tmp_path / "out") == [record.url for record in records]


def test_a_server_that_asks_to_wait_or_cuts_is_asked_again(crawl: Crawl, tmp_path: Path) -> None:
    crawl.refusals, crawl.cuts = [429, 503], [100]
    plan = build_plan(select(crawl, Selection()), 5000)
    waits = fetched(crawl, plan, tmp_path / "out")
    assert waits.count(7.0) == 2
    assert (len(crawl.requests), len(urls_in(tmp_path / "out"))) == (6, 57)


def test_an_interrupted_pick_continues_where_it_stopped(crawl: Crawl, tmp_path: Path) -> None:
    plan = build_plan(select(crawl, Selection()), 0)
    single = build_plan(select(crawl, Selection(languages=["deu"])), 0)
    assert len(single.requests) == 30
    for _ in range(5):
        crawl.refusals = [206] * 4 + [403]
        with pytest.raises(SourceError, match="403"):
            fetched(crawl, single, tmp_path / "out")
        with (tmp_path / "out/pick-00001.warc.gz").open("ab") as file:
            file.write(b"torn")
        with (tmp_path / "out/journal.jsonl").open("ab") as file:
            file.write(b'{"request": "to')
    fetched(crawl, single, tmp_path / "out")
    assert sorted(urls_in(tmp_path / "out")) == sorted(r.url for one in single.requests for r in one.records)
    assert len(crawl.requests) == 30 + 5
    with pytest.raises(SourceError, match="another plan"):
        fetched(crawl, plan, tmp_path / "out")


def test_a_changed_file_gives_no_page(crawl: Crawl, tmp_path: Path) -> None:
    records = select(crawl, Selection(domains=["site0.example"]))
    content = bytearray(crawl.files[records[0].filename])
    content[records[0].offset : records[0].offset + records[0].length] = bytes(records[0].length)
    content[records[1].offset + 300] ^= 255
    other = gzip.compress(flawed.response("http://other.example/", b"x"))
    content[records[2].offset : records[2].offset + len(other)] = other
    crawl.files[records[0].filename] = bytes(content)
    fetched(crawl, build_plan(records, 0), tmp_path / "out")
    assert urls_in(tmp_path / "out") == [record.url for record in records[3:]]


def test_a_server_without_ranges_is_refused(crawl: Crawl, tmp_path: Path) -> None:
    crawl.has_ranges = False
    with pytest.raises(SourceError, match="ignores byte ranges"):
        fetched(crawl, build_plan(select(crawl, Selection()), 0), tmp_path / "out")


def test_the_command_plans_fetches_and_says_what_is_next(crawl: Crawl, tmp_path: Path) -> None:
    out = tmp_path / "picked"
    arguments = ["pick", crawl.index, "--base-url", crawl.url, "--out", str(out), "--delay", "0", "-q"]
    planned = CliRunner().invoke(app, [*arguments, "--per-host", "2", "--dry-run"])
    assert planned.output.startswith("records   12 of 6 hosts,")
    assert not out.exists()
    done = CliRunner().invoke(app, [*arguments, "--per-host", "2"])
    assert f"next      webemu ingest {out}" in done.output
    assert len(urls_in(out)) == 12
    none = CliRunner().invoke(app, [*arguments, "--host", "no.example"])
    assert (none.exit_code, str(none.exception)) == (1, "no page of the index matches")


LINES = [
    {"url": "https://a.example.org/1", "timestamp": "20240501120000", "status": "200", "mime-detected": "text/html",
     "languages": "eng,deu", "filename": "one.warc.gz", "offset": "0", "length": "10"},
    {"url": "https://a.example.org/2", "timestamp": "20240502120000", "status": "404", "mime": "text/html",
     "filename": "one.warc.gz", "offset": "10", "length": "10"},
    {"url": "https://b.example.org/", "timestamp": "20240503120000", "status": "200", "mime": "text/plain",
     "filename": "two.warc.gz", "offset": "5", "length": "7"},
    {"url": "https://b.example.org/odd", "timestamp": "2024"},
]  # fmt: skip


class CdxServer(BaseHTTPRequestHandler):
    """Answers as a CDX server with two lines a page, and refuses the first request of all."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    queries: ClassVar[list[dict[str, str]]] = []

    def do_GET(self) -> None:
        query = dict(parse_qsl(self.path.partition("?")[2]))
        self.queries.append(query)
        status, text = 200, ""
        if len(self.queries) == 1:
            status = 503
        elif query["url"] == "none.example":
            status, text = 404, '{"message": "No Captures found for: none.example"}\n'
        elif query["url"] == "html.example":
            text = "<html>"
        elif "showNumPages" in query:
            text = json.dumps({"pages": 2, "pageSize": 5, "blocks": 2})
        else:
            start = 2 * int(query["page"])
            text = "".join(json.dumps(line) + "\n" for line in LINES[start : start + 2])
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def cdx_server() -> Iterator[str]:
    CdxServer.queries.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), CdxServer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/CC-MAIN-2024-18-index"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_cdx_server_is_an_index(cdx_server: str, tmp_path: Path) -> None:
    waits: list[float] = []
    scopes = [Scope("example.org", "domain"), Scope("none.example", "host")]
    report = download_index(cdx_server, scopes, tmp_path / "i.parquet", 0.5, waits.append)
    assert report == CdxReport(3, 1)
    assert len(waits) == 3, "one wait for the refusal, and one before each page"
    records = select_records([str(tmp_path / "i.parquet")], Selection(domains=["example.org"], languages=["deu"]))
    assert list(records) == [RecordRange("https://a.example.org/1", "a.example.org", "one.warc.gz", 0, 10)]
    assert {query["matchType"] for query in CdxServer.queries} == {"domain", "host"}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "lists no whole crawl"),
        (["x.parquet", "--host", "a.example.org"], 2, "the only index"),
        (["--host", "html.example"], 1, "does not say how many pages"),
        (["--host", "none.example"], 1, "no page of the index matches"),
    ],
)
def test_what_a_cdx_server_cannot_answer(
    arguments: list[str], status: int, message: str, cdx_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    CdxServer.queries.append({})
    with pytest.raises((BadRequest, SourceError), match=message) as caught:
        CliRunner().invoke(app, ["pick", cdx_server, *arguments], catch_exceptions=False)
    assert isinstance(caught.value, BadRequest) == (status == 2)


def test_a_dry_run_of_a_cdx_server(cdx_server: str) -> None:
    CdxServer.queries.append({})
    arguments = ["pick", cdx_server, "--domain", "example.org", "--delay", "0", "--dry-run"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "index     3 captures" in result.output
    assert "1 unreadable lines" in result.output
    assert "records   2 of 2 hosts" in result.output
