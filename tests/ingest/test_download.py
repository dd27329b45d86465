"""Downloads against a real server that lays files out as Common Crawl does, breaks off, changes and refuses."""

import gzip
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.ingest import flawed
from webemu.emulator.errors import SourceError
from webemu.ingest.download import ends_with_whole_member, fetch
from webemu.ingest.sources import expand_sources

LISTED = "/crawl-data/CC-MAIN-2024-51/warc.paths.gz"
WARC = "crawl-data/CC-MAIN-2024-51/segments/1733.1/warc/CC-MAIN-20241201-00000.warc.gz"
CONTENT = flawed.packed(*(flawed.response(f"http://{n}.example/", flawed.noise(20000, n)) for n in range(20)))


@dataclass
class Host:
    """A server of files that behaves as a test tells it to."""

    files: dict[str, bytes] = field(default_factory=dict)
    has_ranges: bool = True
    has_validators: bool = True
    has_length: bool = True
    drops: list[int] = field(default_factory=list)
    """The number of bytes of each coming answer after which the connection is dropped."""
    refusals: list[tuple[int, str]] = field(default_factory=list)
    """Status and Retry-After of the coming answers."""
    ranges: list[str | None] = field(default_factory=list)
    """The Range of every request."""
    url: str = ""

    def etag(self, path: str) -> str:
        return f'"{md5(self.files[path], usedforsecurity=False).hexdigest()}"'


def handler(host: Host) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            host.ranges.append(self.headers.get("Range"))
            if host.refusals:
                return self.refuse(*host.refusals.pop(0))
            if self.path not in host.files:
                return self.refuse(404, "")
            return self.answer(host.files[self.path])

        def refuse(self, status: int, retry_after: str) -> None:
            self.send_response(status)
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def answer(self, content: bytes) -> None:
            start = 0
            range_match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            is_same = self.headers.get("If-Range") in (None, host.etag(self.path))
            if range_match and host.has_ranges and is_same:
                start = int(range_match[1])
            if start >= len(content):
                return self.refuse(416, "")
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if host.has_validators:
                self.send_header("ETag", host.etag(self.path))
            if host.has_length:
                self.send_header("Content-Length", str(len(content) - start))
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            body = content[start:]
            if host.drops:
                body = body[: host.drops.pop(0)]
                self.close_connection = True
            self.wfile.write(body)
            return None

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host({f"/{WARC}": CONTENT, LISTED: gzip.compress(f"{WARC}\n".encode())})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(host))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    host.url = f"http://127.0.0.1:{server.server_port}"
    yield host
    server.shutdown()
    thread.join()
    server.server_close()


def fetched(host: Host, target: Path, path: str = f"/{WARC}") -> list[float]:
    """Downloads and answers how long it would have waited each time."""
    waits: list[float] = []
    fetch(host.url + path, target, None, pause=waits.append)
    assert target.read_bytes() == host.files[path]
    assert [one.name for one in target.parent.iterdir()] == [target.name]
    return waits


def test_a_list_at_a_url_leads_to_files_of_the_same_host(host: Host, tmp_path: Path) -> None:
    (source,) = expand_sources([host.url + LISTED]).sources
    assert (source.name, source.url) == (WARC, f"{host.url}/{WARC}")
    assert fetched(host, tmp_path / "x" / source.path.name) == []


def test_a_list_may_name_another_base(host: Host, tmp_path: Path) -> None:
    (source,) = expand_sources([host.url + LISTED], base_url="https://mirror.example/cc").sources
    assert source.url == f"https://mirror.example/cc/{WARC}"
    (tmp_path / WARC).parent.mkdir(parents=True)
    (tmp_path / WARC).write_bytes(CONTENT)
    (source,) = expand_sources([host.url + LISTED], root=tmp_path).sources
    assert (source.path, source.url) == (tmp_path / WARC, None)


def test_a_dropped_connection_is_continued(host: Host, tmp_path: Path) -> None:
    host.drops = [100_000, 50_000, 1]
    waits = fetched(host, tmp_path / "x")
    assert host.ranges == [None, "bytes=100000-", "bytes=150000-", "bytes=150001-"]
    assert len(waits) == 3


@pytest.mark.parametrize("lacks", ["has_ranges", "has_validators"])
def test_without_ranges_or_validators_it_starts_over(lacks: str, host: Host, tmp_path: Path) -> None:
    setattr(host, lacks, False)
    host.drops = [100_000]
    fetched(host, tmp_path / "x")
    assert host.ranges == [None, "bytes=100000-" if lacks == "has_ranges" else None]


def test_a_killed_download_is_continued_by_the_next_run(host: Host, tmp_path: Path) -> None:
    host.drops = [100_000]

    def killed(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(f"{host.url}/{WARC}", tmp_path / "x", None, pause=killed)
    assert not (tmp_path / "x").exists()
    assert (tmp_path / "x.part").stat().st_size == 100_000
    fetched(host, tmp_path / "x")
    assert host.ranges[-1] == "bytes=100000-"


def test_a_changed_file_is_begun_again(host: Host, tmp_path: Path) -> None:
    host.drops = [100_000]

    def change(_: float) -> None:
        host.files[f"/{WARC}"] = CONTENT[: len(CONTENT) // 2] + flawed.sound_gzip()

    fetch(f"{host.url}/{WARC}", tmp_path / "x", None, pause=change)
    assert (tmp_path / "x").read_bytes() == host.files[f"/{WARC}"]
    assert host.ranges == [None, "bytes=100000-"]


def test_a_part_of_another_file_is_not_continued(host: Host, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(b"something else")
    fetched(host, tmp_path / "x")
    assert host.ranges == [None]


def test_a_part_that_is_whole_already_is_only_renamed(host: Host, tmp_path: Path) -> None:
    host.drops = [100_000]

    def finish(_: float) -> None:
        (tmp_path / "x.part").write_bytes(CONTENT)

    fetch(f"{host.url}/{WARC}", tmp_path / "x", None, pause=finish)
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert host.ranges == [None]


@pytest.mark.parametrize(("status", "after", "wait"), [(429, "7", 7.0), (503, "", 1.0), (503, "9999", 120.0)])
def test_refusals_are_waited_for_as_asked(status: int, after: str, wait: float, host: Host, tmp_path: Path) -> None:
    host.refusals = [(status, after)]
    assert fetched(host, tmp_path / "x") == [wait]


def test_a_date_to_retry_after(host: Host, tmp_path: Path) -> None:
    host.refusals = [(503, "Wed, 21 Oct 2015 07:28:00 GMT"), (503, "nonsense")]
    assert fetched(host, tmp_path / "x") == [0.0, 2.0]


def test_a_server_that_keeps_failing_is_given_up(host: Host, tmp_path: Path) -> None:
    host.refusals = [(500, "")] * 8
    waits: list[float] = []
    with pytest.raises(SourceError, match="HTTP 500, 8 times") as refused:
        fetch(f"{host.url}/{WARC}", tmp_path / "x", None, pause=waits.append)
    assert waits == sorted(waits)
    assert len(waits) == 7
    assert refused.value.action


def test_a_missing_file_is_an_error_at_once(host: Host, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="HTTP 404"):
        fetch(f"{host.url}/nothing.warc.gz", tmp_path / "x", None)
    with pytest.raises(SourceError, match="HTTP 404"):
        expand_sources([f"{host.url}/nothing.paths.gz"])


def test_an_answer_without_length_is_checked_by_its_gzip(host: Host, tmp_path: Path) -> None:
    host.has_length = host.has_validators = False
    host.drops = [len(CONTENT) - 100]
    fetched(host, tmp_path / "x")
    assert host.ranges == [None, None]


def test_a_file_cut_at_its_origin_is_taken_as_it_is(host: Host, tmp_path: Path) -> None:
    host.files[f"/{WARC}"] = CONTENT[:-100]
    fetched(host, tmp_path / "x")
    assert host.ranges == [None, None]


def test_progress_is_told(host: Host, tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    fetch(f"{host.url}/{WARC}", tmp_path / "x", lambda *numbers: progress.append(numbers))
    assert progress[-1] == (len(CONTENT), len(CONTENT))
    assert progress == sorted(progress)


@pytest.mark.parametrize(
    ("data", "is_whole"),
    [
        (CONTENT, True),
        (CONTENT[:-1], False),
        (CONTENT + b"\0", False),
        (flawed.records_share_a_member(), True),
        (flawed.records_share_a_member()[:-1], False),
        (gzip.compress(flawed.noise(3 << 20)), True),
        (gzip.compress(flawed.noise(3 << 20))[:-9], False),
        (gzip.compress(b"\x1f\x8b\x08\0" * 99 + flawed.noise(99)), True),
        (b"no gzip", True),
        (b"", True),
    ],
)
def test_whether_a_gzip_file_ends_whole(data: bytes, is_whole: bool, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    assert ends_with_whole_member(tmp_path / "x") == is_whole
