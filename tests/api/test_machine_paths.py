"""No failure of the server's disk tells a client more than it may know: paths of the machine stay in the log."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.crawls import CaptureSpec, html, ingest, write
from tests.ingest import flawed

pytestmark = pytest.mark.slow

URL = "http://a.example/page"
PAGE = html("Harbour", "Boats and nets of the harbour town, in enough words to be a page of its own." * 30)
OTHER = "http://a.example/other"


@dataclass(frozen=True)
class Server:
    port: int
    log: Path
    root: Path

    def ask(self, method: str, path: str, **options: object) -> requests.Response:
        return requests.request(method, f"http://127.0.0.1:{self.port}{path}", timeout=60, **options)  # type: ignore[arg-type]

    def proxied(self, url: str) -> requests.Response:
        proxies = {"http": f"http://127.0.0.1:{self.port}"}
        return requests.get(url, proxies=proxies, timeout=60, allow_redirects=False)


@contextmanager
def serving(root: Path) -> Iterator[Server]:
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
    log = root.parent / f"{root.name}.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=dict(os.environ))
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        yield Server(port, log, root)
    finally:
        process.terminate()
        process.wait(60)


def moved(warc: Path) -> None:
    warc.rename(warc.with_suffix(".moved"))


def truncated(warc: Path) -> None:
    os.truncate(warc, warc.stat().st_size // 3)


def emptied(warc: Path) -> None:
    os.truncate(warc, 0)


def made_a_folder(warc: Path) -> None:
    warc.unlink()
    warc.mkdir()


def made_a_ring(warc: Path) -> None:
    warc.unlink()
    warc.symlink_to(warc)


def changed(warc: Path) -> None:
    data = warc.read_bytes()
    warc.write_bytes(b"\x00" * 100 + data[100:])


def flipped(warc: Path) -> None:
    data = bytearray(warc.read_bytes())
    data[len(data) // 2] ^= 0xFF
    warc.write_bytes(data)


def replaced(warc: Path) -> None:
    other = flawed.response("http://b.example/page", PAGE.encode())
    warc.write_bytes(flawed.packed(other) + b"\n" * 5000)


def without_a_length(warc: Path) -> None:
    warc.write_bytes(flawed.response(URL, PAGE.encode(), length="many"))


DAMAGES = (
    moved, truncated, emptied, made_a_folder, made_a_ring, changed, flipped, replaced, without_a_length,
)  # fmt: skip
JSON_ASKS = (
    ("/firecrawl/v1/scrape", {"url": URL, "formats": ["html", "rawHtml", "markdown"]}),
    ("/firecrawl/v2/scrape", {"url": URL, "formats": ["rawHtml"]}),
    ("/tavily/extract", {"urls": [URL]}),
    ("/exa/contents", {"urls": [URL], "text": True}),
)
FETCH = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fetch", "arguments": {"url": URL}}}


def answers_of_doors(server: Server) -> Iterator[tuple[str, requests.Response]]:
    """Every door, asked for a page whose payload may be gone."""
    where = quote(URL, safe="")
    opened = server.ask("POST", "/v1/sessions", json={"task": "t"})
    session = {"X-Webemu-Session": opened.json().get("session", "")}
    for view in ("raw", "html", "markdown", "links"):
        yield f"fetch {view}", server.ask("GET", f"/v1/fetch?format={view}&url={where}")
        yield f"batch {view}", server.ask("POST", "/v1/fetch", json={"urls": [URL], "format": view})
        yield f"session {view}", server.ask("GET", f"/v1/fetch?format={view}&url={where}", headers=session)
    for tab in ("page", "text", "markdown", "links", "headers"):
        yield f"view {tab}", server.ask("GET", f"/view?url={where}&as={tab}")
    yield "proxy", server.proxied(URL)
    for path in (f"/web/2024id_/{URL}", f"/web/2024/{URL}", f"/web/2024if_/{URL}", f"/web/timemap/link/{URL}"):
        yield path, server.ask("GET", path, allow_redirects=True)
    yield "jina", server.ask("GET", f"/jina/{URL}", headers={"X-Return-Format": "html"})
    for path, body in JSON_ASKS:
        yield path, server.ask("POST", path, json=body, headers={"Authorization": "Bearer k", "x-api-key": "k"})
    headers = {"Accept": "application/json, text/event-stream"}
    yield "mcp", server.ask("POST", "/mcp", json=FETCH, headers=headers)
    for path in ("/health", "/v1/stats", "/metrics", "/collinfo.json", f"/cdx/search/cdx?url={where}", "/nowhere"):
        yield path, server.ask("GET", path)
    for archive in json_lines(server.ask("GET", f"/CC-MAIN-2024-01-index?url={where}&output=json").text):
        yield "record", server.ask("GET", f"/{archive['filename']}", headers={"Range": "bytes=0-99"})


def json_lines(text: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def whole_answer(answer: requests.Response) -> str:
    """Everything of an answer as text."""
    lines = [f"{name}: {value}" for each in (*answer.history, answer) for name, value in each.headers.items()]
    return "\n".join([*lines, answer.text])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_warc_file_is_told_without_its_path(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    root, warc = tmp_path / "root", tmp_path / "archives" / "crawl.warc.gz"
    write(warc, [CaptureSpec(URL, PAGE)])
    ingest(root / "c", warc)
    damage(warc)
    with serving(root) as server:
        assert "Boats and nets" in server.ask("GET", f"/v1/fetch?url={quote(URL)}").text
        answers = list(answers_of_doors(server))
        for name, answer in answers:
            assert str(tmp_path) not in whole_answer(answer), name
            assert answer.status_code != 500, name
        kinds = dict(answers)
        for view in ("raw", "html", "markdown", "links"):
            answer = kinds[f"fetch {view}"]
            assert (answer.status_code, answer.headers.get("X-Webemu-Failure")) == (502, "infrastructure")
            assert answer.json()["error"]["reason"] == "payload-missing"
        assert (kinds["proxy"].status_code, kinds["proxy"].headers["X-Webemu-Failure"]) == (502, "infrastructure")
    assert str(warc) in server.log.read_text()


def without_a_snapshot(root: Path) -> None:
    (root / "c" / "CURRENT").unlink()


def with_a_damaged_manifest(root: Path) -> None:
    for manifest in (root / "c" / "snapshots").glob("*/manifest.json"):
        manifest.write_text('{"id": 1')


def of_another_version(root: Path) -> None:
    for manifest in (root / "c" / "snapshots").glob("*/manifest.json"):
        manifest.write_text("{}")


def of_another_format(root: Path) -> None:
    for manifest in (root / "c" / "snapshots").glob("*/manifest.json"):
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 0, "digest": ""}))


def without_the_index(root: Path) -> None:
    for meta in (root / "c" / "snapshots").glob("*/text/meta.json"):
        meta.write_text("{}")


def without_the_lookup(root: Path) -> None:
    for pages in (root / "c" / "snapshots").glob("*/pages.lmdb"):
        pages.write_bytes(b"not LMDB" * 1000)


def without_the_columns(root: Path) -> None:
    for column in (root / "c" / "snapshots").glob("*/columns/*.bin"):
        column.unlink()


def without_the_views(root: Path) -> None:
    for views in (root / "c" / "shards").glob("*/views.*"):
        views.unlink()


SNAPSHOTS = (
    without_a_snapshot, with_a_damaged_manifest, of_another_version, of_another_format, without_the_index,
    without_the_lookup, without_the_columns, without_the_views,
)  # fmt: skip


@pytest.mark.parametrize("damage", SNAPSHOTS)
def test_a_snapshot_that_cannot_be_opened_is_told_without_its_path(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    root = tmp_path / "root"
    ingest(root / "c", write(tmp_path / "crawl.warc.gz", [CaptureSpec(URL, PAGE)]))
    damage(root)
    with serving(root) as server:
        for name, answer in answers_of_doors(server):
            assert str(tmp_path) not in whole_answer(answer), name
        answer = server.ask("GET", "/v1/search?q=harbour")
        assert (answer.status_code, answer.headers["X-Webemu-Failure"]) == (503, "infrastructure")
        assert answer.json()["error"]["reason"] == "snapshot-unavailable"
        assert server.ask("GET", "/health").status_code == 503
    assert str(root) in server.log.read_text()


def test_what_sessions_need_and_have_not_is_told_without_its_path(tmp_path: Path) -> None:
    root = tmp_path / "root"
    first = ingest(root / "c", write(tmp_path / "one.warc.gz", [CaptureSpec(URL, PAGE)])).snapshot
    ingest(root / "c", write(tmp_path / "two.warc.gz", [CaptureSpec(OTHER, PAGE)]))
    (root / "c" / "snapshots" / str(first) / "manifest.json").write_text("{")
    (root / "c" / "sessions").write_text("no folder")
    with serving(root) as server:
        for policy in ({"snapshot": first}, {"snapshot": "0" * 16}, {"snapshot": "../../c"}, {"task": "t"}):
            answer = server.ask("POST", "/v1/sessions", json=policy)
            assert answer.status_code >= 400, policy
            assert str(tmp_path) not in whole_answer(answer)
            assert "Errno" not in whole_answer(answer)
