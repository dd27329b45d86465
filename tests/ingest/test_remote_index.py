"""`webemu pick` of a columnar index over HTTP: which parts it reads, and that it finds what a local index gives."""

import gzip
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.ingest import flawed
from webemu.emulator.cli import app
from webemu.emulator.errors import BadRequest, SourceError
from webemu.index.columnar_index import RecordRange, Selection, select_records
from webemu.ingest.pick.range_client import RangeClient
from webemu.ingest.pick.remote_index import Bounds, IndexReport, fetch_matches, may_match

CRAWL = "CC-MAIN-2024-18"
HOSTS = [
    "example.org", "www.example.org", "shop.example.org", "beta.co.uk", "www2.beta.co.uk", "me.github.io",
    "you.github.io", "xn--bcher-kva.example", "192.0.2.7", "zz.example", "a-b.example.net", "0.example.net",
]  # fmt: skip
DOMAINS = {
    "example.org": "example.org", "beta.co.uk": "beta.co.uk", "github.io": "github.io", "192.0.2.7": "192.0.2.7",
    "xn--bcher-kva.example": "xn--bcher-kva.example", "zz.example": "zz.example", "example.net": "example.net",
}  # fmt: skip
"""Registrable domains as Common Crawl has them: by the public part of the list of suffixes alone."""


@dataclass
class FileServer:
    """Files behind URLs, and what was asked of them."""

    files: dict[str, bytes] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    """Statuses of the coming answers instead of 206."""
    cuts: int = 0
    """Coming answers whose connection is dropped half-way."""
    has_ranges: bool = True
    requests: list[tuple[str, int]] = field(default_factory=list)
    """(path, bytes sent) of each request for a range."""
    url: str = ""

    def sent_bytes(self) -> int:
        return sum(size for _, size in self.requests)


def handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            content = server.files.get(self.path.lstrip("/"))
            if content is None:
                self.send_error(404)
                return
            range_match = re.fullmatch(r"bytes=(\d*)-(\d+)", self.headers.get("Range", ""))
            if not range_match or not server.has_ranges:
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                return
            start = int(range_match[1]) if range_match[1] else max(0, len(content) - int(range_match[2]))
            body = content[start : int(range_match[2]) + 1 if range_match[1] else None]
            status = server.statuses.pop(0) if server.statuses else 206
            server.requests.append((self.path.lstrip("/"), len(body) if status == 206 else 0))
            self.send_response(status)
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{start + len(body) - 1}/{len(content)}")
            else:
                self.send_header("Retry-After", "3")
                body = b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            is_cut = status == 206 and server.cuts > 0
            server.cuts -= is_cut
            self.wfile.write(body[: len(body) // 2] if is_cut else body)
            self.close_connection = is_cut

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def surt_of(host: str, path: str) -> str:
    name = re.sub(r"^www\d*\.", "", host)
    return f"{name if name[-1].isdigit() else ','.join(reversed(name.split('.')))}){path}"


def index_rows() -> list[dict[str, object]]:
    """Return rows in Common Crawl's schema, in the order of its index."""
    rows = []
    for number in range(1200):
        host = HOSTS[number % len(HOSTS)]
        path = f"/{number}?q={'x' * (number % 50)}"
        domain = next(value for value in DOMAINS if host == value or host.endswith("." + value))
        rows.append(
            {
                "url_surtkey": surt_of(host, path), "url": f"https://{host}{path}", "url_host_name": host,
                "url_host_tld": host.rpartition(".")[2], "url_host_registered_domain": domain,
                "url_protocol": "https", "url_path": path.partition("?")[0],
                "fetch_time": datetime(2024, 4, 1, tzinfo=UTC) + timedelta(hours=number),
                "fetch_status": 404 if number % 9 == 0 else 200, "content_digest": f"{number:032}",
                "content_mime_type": "text/html",
                "content_mime_detected": "application/pdf" if host == "beta.co.uk" else "text/html",
                "content_languages": ("eng", "deu,eng", None)[number % 3],
                "warc_filename": f"crawl-data/{CRAWL}/warc/{number % 3}.warc.gz",
                "warc_record_offset": 1000 * number, "warc_record_length": 500 + number % 7,
                "warc_segment": "1", "crawl": CRAWL, "subset": "warc",
            }
        )  # fmt: skip
    return sorted(rows, key=lambda row: str(row["url_surtkey"]))


SCHEMA_OF_INTEGERS = {"fetch_status": pa.int16(), "warc_record_offset": pa.int32(), "warc_record_length": pa.int32()}


def write_index(rows: list[dict[str, object]], path: Path, row_group_size: int, **options: object) -> None:
    table = pa.Table.from_pylist(rows)
    for name, integer in SCHEMA_OF_INTEGERS.items():
        number = table.column_names.index(name)
        table = table.set_column(number, name, table[name].cast(integer))
    pq.write_table(table, path, row_group_size=row_group_size, compression="gzip", **options)


@pytest.fixture(scope="module")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rows = tmp_path_factory.mktemp("index"), index_rows()
    for number in range(3):
        write_index(rows[400 * number : 400 * number + 400], folder / f"part-{number}.parquet", 50)
    return folder


@pytest.fixture
def server(index_folder: Path) -> Iterator[FileServer]:
    names = [f"cc-index/table/cc-main/warc/crawl={CRAWL}/subset=warc/part-{number}.gz.parquet" for number in range(3)]
    contents = [(index_folder / f"part-{number}.parquet").read_bytes() for number in range(3)]
    files = dict(zip(names, contents, strict=True))
    lines = [*names, *(name.replace("subset=warc", "subset=crawldiagnostics") for name in names)]
    files[f"crawl-data/{CRAWL}/cc-index-table.paths.gz"] = gzip.compress("\n".join(lines).encode())
    file_server = FileServer(files)
    http_server = ThreadingHTTPServer(("127.0.0.1", 0), handler(file_server))
    thread = threading.Thread(target=http_server.serve_forever, args=(0.01,))
    thread.start()
    file_server.url = f"http://127.0.0.1:{http_server.server_port}"
    yield file_server
    http_server.shutdown()
    thread.join()
    http_server.server_close()


def addresses(server: FileServer) -> list[str]:
    return [f"{server.url}/{name}" for name in server.files if name.endswith(".parquet")]


def fetch(
    server: FileServer, selection: Selection, folder: Path, max_bytes: int = 0, waits: list[float] | None = None
) -> IndexReport:
    with RangeClient(server.url, 0.0, [].append if waits is None else waits.append) as client:
        return fetch_matches(addresses(server), selection, folder, client, max_bytes, quiet=True)


def select(server: FileServer, selection: Selection, folder: Path) -> list[RecordRange]:
    return select_records([str(path) for path in fetch(server, selection, folder).paths], selection)


def local(index_folder: Path, selection: Selection) -> list[RecordRange]:
    return select_records([str(index_folder / "*.parquet")], selection)


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        *(Selection(hosts=[host]) for host in HOSTS),
        *(Selection(domains=[domain]) for domain in [*DOMAINS, "co.uk", "none.example"]),
        Selection(hosts=["zz.example", "example.org"], languages=["deu"]),
        Selection(languages=["eng"], per_host=3),
        Selection(mime_types=["application/pdf"]),
        Selection(since="2024-05-20"),
        Selection(until="2024-04-02"),
        Selection(since="2024-04-10 12:00", until="2024-04-11"),
        Selection(url_pattern=r"/11\d\d\?"),
        Selection(urls=[str(row["url"]) for row in index_rows()[::97]]),
        Selection(max_pages=40),
        Selection(max_bytes=9000, languages=["deu"]),
    ],
)
def test_what_is_found_is_what_a_local_index_gives(
    server: FileServer, index_folder: Path, tmp_path: Path, selection: Selection
) -> None:
    assert select(server, selection, tmp_path) == local(index_folder, selection)


def test_of_a_site_only_its_row_groups_are_read(server: FileServer, tmp_path: Path) -> None:
    report = fetch(server, Selection(domains=["example.net"]), tmp_path / "site")
    assert (report.requests, report.bytes) == (len(server.requests), server.sent_bytes())
    assert report.rows == 200
    footers, of_site = server.requests[:3], server.requests[3:]
    assert {path for path, _ in of_site} < {path for path, _ in footers}
    server.requests.clear()
    fetch(server, Selection(), tmp_path / "all")
    assert sum(size for _, size in of_site) < sum(size for _, size in server.requests[3:]) / 2


def test_columns_that_name_records_are_read_only_where_a_row_matches(server: FileServer, tmp_path: Path) -> None:
    fetch(server, Selection(languages=["isl"]), tmp_path / "none")
    without, server.requests[:] = sum(size for _, size in server.requests[3:]), []
    fetch(server, Selection(languages=["deu"]), tmp_path / "some")
    assert 0 < without < sum(size for _, size in server.requests[3:]) / 2


def test_the_same_pick_asks_no_file_twice(server: FileServer, tmp_path: Path) -> None:
    selection = Selection(hosts=["zz.example"])
    first = select(server, selection, tmp_path)
    request_count = len(server.requests)
    assert select(server, selection, tmp_path) == first
    assert len(server.requests) == request_count
    fetch(server, Selection(hosts=["zz.example"], per_host=1), tmp_path)
    assert len(server.requests) == request_count, "a sample is drawn of the same rows"
    fetch(server, Selection(hosts=["0.example.net"]), tmp_path)
    assert len(server.requests) > request_count


def test_an_interrupted_pick_goes_on_with_the_files_that_are_left(
    server: FileServer, index_folder: Path, tmp_path: Path
) -> None:
    selection = Selection(languages=["deu"])
    server.statuses = [206] * 25 + [403]
    with pytest.raises(SourceError, match="403"):
        fetch(server, selection, tmp_path)
    finished = len(list(tmp_path.glob("*.parquet")))
    assert 0 < finished < 3
    server.requests.clear()
    assert select(server, selection, tmp_path) == local(index_folder, selection)
    assert len({path for path, _ in server.requests}) == 3 - finished


def test_a_server_that_asks_to_wait_or_cuts_is_asked_again(
    server: FileServer, index_folder: Path, tmp_path: Path
) -> None:
    server.statuses, server.cuts, waits = [429, 503], 2, list[float]()
    report = fetch(server, Selection(domains=["beta.co.uk"]), tmp_path, waits=waits)
    assert waits.count(3.0) == 2
    assert report.rows == len(local(index_folder, Selection(domains=["beta.co.uk"])))


def test_more_than_the_limit_is_not_read(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="MB of the index would be read") as caught:
        fetch(server, Selection(url_pattern="x"), tmp_path, max_bytes=10_000)
    assert "--index-megabytes" in caught.value.action
    assert len(server.requests) == 3, "only the footers"


def test_a_long_footer_is_read_whole(server: FileServer, tmp_path: Path) -> None:
    write_index(index_rows()[:50], tmp_path / "long.parquet", 1)
    content = (tmp_path / "long.parquet").read_bytes()
    assert int.from_bytes(content[-8:-4], "little") > 64 << 10
    server.files = {"long.parquet": content}
    selection = Selection(hosts=["192.0.2.7"])
    assert select(server, selection, tmp_path / "found") == select_records([str(tmp_path / "long.parquet")], selection)


@pytest.mark.parametrize(
    "options",
    [
        {"use_deprecated_int96_timestamps": True},  # as older versions of Spark write them
        {"write_statistics": False},
        {"use_dictionary": False, "data_page_version": "2.0"},
        {"coerce_timestamps": "ms"},
    ],
)
def test_files_of_other_writers(server: FileServer, tmp_path: Path, options: dict[str, object]) -> None:
    write_index(index_rows()[:400], tmp_path / "other.parquet", 50, **options)
    server.files = {"other.parquet": (tmp_path / "other.parquet").read_bytes()}
    for selection in (Selection(hosts=["zz.example"]), Selection(since="2024-04-20", until="2024-05-01 06:00")):
        expected = select_records([str(tmp_path / "other.parquet")], selection)
        assert select(server, selection, tmp_path / "found") == expected
        assert expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>no such file</html>", "is no Parquet file"),
        (b"x" * 100 + b"\xff\xff\xff\x7fPAR1", "is no Parquet file"),
        (b"x" * 100 + b"\x10\0\0\0PAR1", "the footer cannot be read"),
    ],
)
def test_what_is_no_parquet_file(server: FileServer, tmp_path: Path, content: bytes, message: str) -> None:
    server.files = {"a.parquet": content}
    with pytest.raises(SourceError, match=message):
        fetch(server, Selection(), tmp_path)


def test_a_file_without_a_column_is_named(server: FileServer, tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": ["https://a.example/"]}), tmp_path / "a.parquet")
    server.files = {"a.parquet": (tmp_path / "a.parquet").read_bytes()}
    with pytest.raises(SourceError, match=r"a\.parquet has no column content_languages, fetch_status"):
        fetch(server, Selection(languages=["eng"]), tmp_path)


def test_damaged_columns_are_refused(server: FileServer, tmp_path: Path) -> None:
    name = next(iter(server.files))
    content = server.files[name]
    server.files[name] = content[:4] + bytes(5_000) + content[5_004:]
    with pytest.raises(SourceError, match="cannot be read"):
        fetch(server, Selection(), tmp_path)


def test_a_server_without_ranges_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.has_ranges = False
    with pytest.raises(SourceError, match="ignores byte ranges"):
        fetch(server, Selection(), tmp_path)


@pytest.mark.parametrize(
    ("bounds", "selection", "expected"),
    [
        ({}, Selection(hosts=["a.example"]), True),
        ({"fetch_status": Bounds(301, 404)}, Selection(), False),
        ({"fetch_status": Bounds(200, 200)}, Selection(), True),
        ({"url_surtkey": Bounds("com,b)/", "com,d)/")}, Selection(domains=["c.com"]), True),
        ({"url_surtkey": Bounds("com,b)/", "com,d)/")}, Selection(domains=["e.com"]), False),
        ({"url_surtkey": Bounds("com,c,x)/", "com,d)/")}, Selection(hosts=["www3.c.com"]), True),
        ({"url_host_registered_domain": Bounds("github.io", "github.io")}, Selection(hosts=["me.github.io"]), True),
        ({"url_host_registered_domain": Bounds("a.io", "b.io")}, Selection(urls=["https://me.github.io/"]), False),
        ({"fetch_time": Bounds(datetime(2024, 5, 1), datetime(2024, 5, 2))}, Selection(since="2024-05-03"), False),
        ({"fetch_time": Bounds(datetime(2024, 5, 1), datetime(2024, 5, 2))}, Selection(until="2024-05-01"), False),
        ({"fetch_time": Bounds(datetime(2024, 5, 1), datetime(2024, 5, 2))}, Selection(until="soon"), True),
    ],
)
def test_bounds_rule_out_only_what_cannot_match(
    bounds: dict[str, Bounds], selection: Selection, expected: bool
) -> None:
    assert may_match(bounds, selection) == expected


def test_the_command_takes_the_name_of_a_crawl(server: FileServer, tmp_path: Path) -> None:
    offset, members, rows = 0, [], []
    for number in range(4):
        url = f"https://site{number % 2}.example/{number}"
        member = gzip.compress(flawed.response(url, flawed.noise(300, number)))
        row = index_rows()[0] | {
            "url": url, "url_host_name": f"site{number % 2}.example", "warc_record_offset": offset,
            "url_host_registered_domain": f"site{number % 2}.example", "warc_record_length": len(member),
            "warc_filename": "crawl-data/one.warc.gz", "fetch_status": 200,
            "url_surtkey": surt_of(f"site{number % 2}.example", f"/{number}"),
        }  # fmt: skip
        rows.append(row)
        members.append(member)
        offset += len(member)
    write_index(sorted(rows, key=lambda row: str(row["url_surtkey"])), tmp_path / "one.parquet", 2)
    for name in [name for name in server.files if name.endswith("part-1.gz.parquet")]:
        server.files[name] = (tmp_path / "one.parquet").read_bytes()
    server.files["crawl-data/one.warc.gz"] = b"".join(members)
    out = tmp_path / "picked"
    arguments = ["pick", CRAWL, "--domain", "site1.example", "--base-url", server.url, "--out", str(out), "-q"]
    planned = CliRunner().invoke(app, [*arguments, "--delay", "0", "--dry-run"], catch_exceptions=False)
    assert "index     1 parts of 3 files may match, 0.0 MB at most" in planned.output
    assert "index     2 captures; this run: " in planned.output
    done = CliRunner().invoke(app, [*arguments, "--delay", "0"], catch_exceptions=False)
    assert "index     2 captures; this run: 0 requests, 0.0 MB" in done.output
    assert "fetched   2 records" in done.output
    assert (out / "pick-00001.warc.gz").read_bytes() == members[1] + members[3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["https://index.example/CC-MAIN-2024-18-index", "{url}/a.parquet"], "is no Parquet file, no list of them"),
        (["{url}/empty.paths"], "lists no Parquet file"),
        (["{url}/gone.parquet"], "HTTP 404"),
    ],
)
def test_what_names_no_index(server: FileServer, tmp_path: Path, arguments: list[str], message: str) -> None:
    server.files["empty.paths"] = b"crawl-data/a.warc.gz\n"
    words = [one.replace("{url}", server.url) for one in arguments]
    with pytest.raises((BadRequest, SourceError), match=message):
        CliRunner().invoke(app, ["pick", *words, "--out", str(tmp_path / "o"), "-q"], catch_exceptions=False)


@pytest.mark.parametrize(
    "index", [CRAWL, "http://127.0.0.1:9/a.parquet", "http://127.0.0.1:9/index --domain a.example"]
)
def test_a_machine_that_never_answers_is_given_up_soon(tmp_path: Path, index: str) -> None:
    words = ["pick", *index.split(), "--base-url", "http://127.0.0.1:9/", "--out", str(tmp_path / "o"), "-q"]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, SourceError)
    assert "3 times in a row" in str(result.exception)
    assert "check the address and the network" in result.exception.action
