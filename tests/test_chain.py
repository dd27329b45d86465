"""Whatever a record holds, the whole chain bears it: ingest, snapshot, server, and every way to ask.

Records come from a seed (`tests/mutants.py`). `WEBEMU_CHAIN_CASES=20000 pytest tests/test_chain.py` tries more of them,
`WEBEMU_CHAIN_SEED=x` other ones. A failure names the record: `mutant("x", 17).raw` are the bytes of number 17.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httptools
import pytest

from tests.mutants import GIVES_NO_CAPTURE, GOOD_WORD, Mutant, good, mutant
from webemu.index.catalog import Catalog

pytestmark = pytest.mark.slow

SEED = os.environ.get("WEBEMU_CHAIN_SEED", "webemu")
CASES = int(os.environ.get("WEBEMU_CHAIN_CASES", "4000"))
PER_FILE = 250
VIEWS = ("text", "html", "markdown", "links")
OF_THE_CRAWL = ("payload-undecodable", "payload-too-large")
"""Reasons of a 502 that say what the crawl holds."""
LONGEST_TARGET = 60_000
"""Longer request targets are refused by HTTP servers, ours too."""
OWN_HOST = "webemu"
SAFE = "/:?#[]@!$&'()*+,;=%"
"""Characters of a URL that stay as they are in a request target."""
CAPTURED_TOO = (
    "bad-url bad-date no-date digest-mismatch no-http-head payload-too-large payload-undecodable extractor-crashed "
    "no-text text-too-large markup-too-deep tag-too-large pdf-truncated pdf-too-large pdf-too-long pdf-unreadable"
).split()
"""Reasons under which something is counted of a record that is a capture all the same (`ingest/README.md`)."""
_LOST = f"""
SELECT name, sum(drops.records)::BIGINT FROM drops JOIN sources USING (source_id)
WHERE reason NOT IN ({", ".join(f"'{reason}'" for reason in CAPTURED_TOO)}) GROUP BY 1
"""
_ASKABLE = """
SELECT url, name, warc_record_offset FROM captures JOIN sources USING (source_id)
WHERE url_protocol IN ('http', 'https', 'ftp') ORDER BY 2, 3
"""


@dataclass(slots=True)
class Chain:
    """The written archives, with the place of each record."""

    root: Path
    records: dict[tuple[str, int], Mutant] = field(default_factory=dict)
    """The records by file name and offset."""

    def name(self, file: str, offset: int) -> str:
        record = self.records[file, offset]
        url = f"{record.url[:60]!r}, {len(record.url)} bytes"
        return f"record {record.number} ({record.kind} at {offset} of {file}, {url})"

    def write(self, file: str, records: Sequence[Mutant]) -> Path:
        path, offset = self.root / file, 0
        with path.open("wb") as out:
            for record in records:
                self.records[file, offset] = record
                offset += out.write(record.packed(file.endswith(".gz")))
        return path

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with Catalog(self.root / "c", read_only=True) as catalog:
            return catalog.db.execute(sql).fetchall()


def webemu(command: str, *arguments: str, root: Path) -> subprocess.CompletedProcess[str]:
    line = [
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        *command.split(),
        *arguments,
        "--root",
        str(root),
        "--collection",
        "c",
    ]
    return subprocess.run(line, capture_output=True, text=True, timeout=1200)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    chain = Chain(tmp_path_factory.mktemp("chain"))
    paths = []
    for number, start in enumerate(range(0, CASES, PER_FILE)):
        mutants = [mutant(SEED, case) for case in range(start, min(start + PER_FILE, CASES))]
        records = [good(3 * number), *mutants[:100], good(3 * number + 1), *mutants[100:], good(3 * number + 2)]
        paths.append(chain.write(f"{number}.warc" + ".gz" * (number % 2), records))
    done = webemu("ingest", *map(str, paths), "-q", root=chain.root)
    assert done.returncode == 0, done.stderr[-3000:]
    return chain


def lines(failed: Sequence[object]) -> str:
    return f"{len(failed)} failed\n" + "\n".join(repr(one)[:500] for one in failed[:20])


def test_every_record_is_a_capture_or_a_counted_drop(chain: Chain) -> None:
    captured = set(chain.rows("SELECT name, warc_record_offset FROM captures JOIN sources USING (source_id)"))
    counted = dict(chain.rows(_LOST))
    lost: dict[str, list[str]] = {}
    for place, record in chain.records.items():
        if place not in captured and record.kind not in GIVES_NO_CAPTURE:
            lost.setdefault(place[0], []).append(chain.name(*place))
    wrong = {file: names for file, names in lost.items() if len(names) != counted.get(file, 0)}
    assert not wrong, (counted, lines(list(wrong.items())))
    places = set(chain.rows("SELECT name, first_offset FROM drops JOIN sources USING (source_id)"))
    assert captured | places <= set(chain.records), "a row names an offset where no record begins"


def test_every_good_page_is_a_capture(chain: Chain) -> None:
    captured = {url for (url,) in chain.rows("SELECT url FROM captures")}
    assert [r.url for r in chain.records.values() if r.number < 0 and r.url.decode() not in captured] == []


def test_the_snapshot_is_whole(chain: Chain) -> None:
    done = webemu("snapshots verify", root=chain.root)
    faults = [line for line in done.stdout.splitlines() if line.startswith("fault")]
    assert not faults, lines(faults)
    assert done.returncode == 0, done.stderr[-3000:]


class Asker:
    """One kept connection to the server. Python's own client gives up on long header lines, which crawls hold."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, target: str, body: object = None, host: str = OWN_HOST) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers in lower case, and body."""
        sent = b"" if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(sent)}\r\n\r\n"
        self._socket = self._socket or socket.create_connection(("127.0.0.1", self._port), timeout=120)
        self._socket.sendall(head.encode() + sent)
        answer = Answer()
        parser = httptools.HttpResponseParser(answer)
        if host != OWN_HOST:  # the web's answers are as they were recorded, with control characters too
            parser.set_dangerous_leniencies(lenient_headers=True)
        while not answer.is_whole and (some := self._socket.recv(1 << 20)):
            parser.feed_data(some)
        assert answer.is_whole, (host, target[:300])
        if not parser.should_keep_alive():
            self._socket.close()
            self._socket = None
        return parser.get_status_code(), answer.headers, bytes(answer.body)

    def json(self, target: str, body: object = None) -> Any:
        status, _, answer = self.ask(target, body)
        assert status == 200, (target[:200], status, answer[:300])
        return json.loads(answer)


class Answer:
    """An answer as httptools reads it."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.is_whole = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.is_whole = True


@pytest.fixture(scope="module")
def asker(chain: Chain) -> Iterator[Asker]:
    errors = chain.root / "errors.txt"
    with served(chain.root, errors) as port:
        yield Asker(port)
    assert "Traceback" not in errors.read_text(errors="replace"), errors


@contextmanager
def served(root: Path, errors: Path) -> Iterator[int]:
    command = [
        sys.executable,
        "-m",
        "webemu.emulator.cli",
        "serve",
        "--root",
        str(root),
        "--collection",
        "c",
        "--port",
        "0",
    ]
    with errors.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://127.0.0.1:" in line, errors.read_text()[-3000:]
        yield int(line.partition("http://127.0.0.1:")[2].partition(" ")[0])
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def captured(chain: Chain) -> dict[str, list[str]]:
    """Every URL that can be asked for, with the names of its records."""
    named: dict[str, list[str]] = {}
    for url, file, offset in chain.rows(_ASKABLE):
        named.setdefault(url, []).append(chain.name(file, offset))
    return named


def is_failure(error: dict[str, Any], names: Sequence[str]) -> bool:
    """Return True unless an error says what the asker did, or what the crawl truly lacks."""
    repeats = any("(revisit" in name for name in names) and "not in the crawl" in error["message"]
    return error["status"] >= 500 and error["reason"] not in OF_THE_CRAWL and not repeats


def test_good_pages_are_found_and_read_in_every_format(chain: Chain, asker: Asker) -> None:
    for record in [record for record in chain.records.values() if record.number < 0][:30]:
        url, number = record.url.decode(), -record.number - 1
        answer = asker.json(f"/v1/search?q={GOOD_WORD}+number{number}&size=5")
        assert answer["results"][0]["url"] == url
        for view in VIEWS:
            assert GOOD_WORD in asker.json(f"/v1/fetch?format={view}&url={quote(url, safe='')}")["content"]
        status, headers, raw = asker.ask(f"/v1/fetch?format=raw&url={quote(url, safe='')}")
        assert (status, headers["x-webemu-status"]) == (200, "200 OK")
        assert GOOD_WORD.encode() in raw


@pytest.mark.parametrize("view", VIEWS)
def test_every_captured_url_is_answered_in_a_view(asker: Asker, captured: dict[str, list[str]], view: str) -> None:
    urls, failed = list(captured), []
    for start in range(0, len(urls), 50):
        some = urls[start : start + 50]
        answers = asker.json("/v1/fetch", {"urls": some, "format": view, "length": 200})["answers"]
        for url, answer in zip(some, answers, strict=True):
            if "error" in answer and is_failure(answer["error"], captured[url]):
                failed.append((captured[url], answer["error"]))
    assert not failed, lines(failed)


def test_every_captured_url_is_answered_raw(asker: Asker, captured: dict[str, list[str]]) -> None:
    failed = []
    for url, names in captured.items():
        if len(escaped := quote(url, safe="")) < LONGEST_TARGET:
            status, _, body = asker.ask(f"/v1/fetch?format=raw&url={escaped}")
            if status != 200 and is_failure(json.loads(body)["error"], names):
                failed.append((names, status, body[:300]))
    assert not failed, lines(failed)


def test_the_proxy_door_answers_as_the_web(asker: Asker, captured: dict[str, list[str]]) -> None:
    failed = []
    for url, names in captured.items():
        target, host = quote(url, safe=SAFE), host_of(url)
        if url.startswith("http://") and host and len(target) < LONGEST_TARGET:
            status, headers, body = asker.ask(target, host=host)
            if "x-webemu-failure" in headers and b"not in the crawl" not in body:
                failed.append((names, status, body[:300]))
    for host in {host_of(url) for url in captured} - {""}:
        status, headers, body = asker.ask(f"http://{host}/sitemap.xml", host=host)
        if "x-webemu-failure" in headers:
            failed.append(([host], status, body[:300]))
    assert not failed, lines(failed)


def host_of(url: str) -> str:
    """Return what a client would write into `Host`, or nothing if it cannot."""
    try:
        host = urlsplit(url).netloc
    except ValueError:
        return ""
    return host if host.isascii() and host.isprintable() and " " not in host else ""


def test_archives_suggestions_and_search_answer(asker: Asker, captured: dict[str, list[str]]) -> None:
    failed = []
    for url, names in list(captured.items())[::3]:
        escaped = quote(url, safe="")
        if len(escaped) > LONGEST_TARGET:
            continue
        for target in (
            f"/cdx/search/cdx?output=json&limit=5&url={escaped}",
            f"/wayback/available?url={escaped}",
            f"/web/timemap/json/{quote(url, safe=SAFE)}",
            f"/v1/find?pattern=words&url={escaped}",
            f"/suggest?q={quote(url[:100], safe='')}",
            f"/v1/search?q={quote(url[:500], safe='')}",
        ):
            status, _, body = asker.ask(target)
            if status >= 500 and b"not in the crawl" not in body:
                failed.append((names, target[:100], status, body[:300]))
            elif status == 200:
                json.loads(body)
    assert not failed, lines(failed)
    for target in ("/collinfo.json", "/v1/stats"):
        asker.json(target)
