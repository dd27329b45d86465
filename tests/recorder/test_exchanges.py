"""Recorded exchanges in a collection: their order in a session, what policies hide, what happens to collections."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.crawls import CaptureSpec, build_snapshot, html, ingest, write
from tests.in_process import in_process
from tests.sealed_runs import WEBEMU
from webemu.emulator.cli import app
from webemu.emulator.exchange_keys import make_keys
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.cut import cut_snapshot
from webemu.index.manifest import current_id, read_manifest
from webemu.index.open import open_snapshot, open_world
from webemu.index.removal.rules import parse_rule
from webemu.index.removal.take import remove
from webemu.recorder.archive import Archive, RecordedRequest, ResponseCopy

START = datetime(2024, 3, 1, 12, tzinfo=UTC)
SEARCH = "https://google.serper.dev/search"
NOW = "http://shop.example/now"
JSON = (b"content-type", b"application/json")
WORDS = "Boats and nets of the harbour town, in enough words to be a page of its own."
EXCHANGES = [
    ("GET", NOW, b"", b"visit 1"),
    ("POST", SEARCH, b'{"q": "boats"}', b'{"organic": ["first"]}'),
    ("GET", NOW, b"", b"visit 2"),
    ("POST", SEARCH, b'{"q": "boats", "requestId": "7"}', b'{"organic": ["second"]}'),
    ("POST", SEARCH, b'{"q": "boats"}', b'{"organic": ["third"]}'),
    ("GET", "http://shop.example/page", b"", html("Shop", WORDS).encode()),
]


def write_recording(path: Path) -> Path:
    archive = Archive(path)
    for number, (method, url, body, answer) in enumerate(EXCHANGES):
        mime = b"application/json" if method == "POST" else b"text/html"
        copy = ResponseCopy(200, b"Fine", [(b"Content-Type", mime), (b"Content-Length", b"%d" % len(answer))], "h2")
        copy.add(answer)
        headers = [(b"host", b"x"), JSON] if body else [(b"host", b"x")]
        archive.write(RecordedRequest(method, url, headers, body, START + timedelta(seconds=number)), copy)
        copy.close()
    archive.close()
    return path


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("taped")
    later = write(root / "later.warc.gz", [CaptureSpec("https://a.example/", html("A", WORDS))])
    ingest(root / "c", write_recording(root / "tape.warc.gz"), later)
    return root


@pytest.fixture(scope="module")
def port(root: Path) -> Iterator[int]:
    where = ["--root", str(root), "--collection", "c", "--port", "0"]
    process = subprocess.Popen([*WEBEMU, "serve", *where], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
    process.terminate()
    process.wait(30)


def ask(port: int, url: str, body: bytes = b"", session: str = "") -> tuple[int, str, bytes]:
    """(status, mark, body) of a request that is sent as to a proxy."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json"} if body else {}
    headers |= {"X-Webemu-Session": session} if session else {}
    connection.request("POST" if body else "GET", url.replace("https://", "http://"), body or None, headers)
    response = connection.getresponse()
    return response.status, response.headers.get("X-Webemu-Recorded", ""), response.read()


def open_session(port: int, **policy: Any) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/sessions", json.dumps(policy))
    return str(json.loads(connection.getresponse().read())["session"])


def answers_of(world: World) -> list[list[str]]:
    """URLs of the recorded responses by the keys of each request."""
    headers = dict([JSON])
    keys = [make_keys(method, url, headers if body else {}, body) for method, url, body, _ in EXCHANGES]
    return [[one.url for one in world.page_store.recorded_exchanges(key)] for pair in keys for key in pair]


COMPLETE = [[NOW] * 2, [NOW] * 2, [SEARCH] * 2, [SEARCH] * 3, [NOW] * 2, [NOW] * 2, [SEARCH], [SEARCH] * 3,
            [SEARCH] * 2, [SEARCH] * 3, ["http://shop.example/page"], ["http://shop.example/page"]]  # fmt: skip


def test_repeats_come_in_order_within_a_session(port: int) -> None:
    for session in (open_session(port), open_session(port)):
        answers = [ask(port, NOW, session=session) for _ in range(3)]
        assert answers == [
            (200, "exact 1/2", b"visit 1"),
            (200, "exact 2/2", b"visit 2"),
            (200, "exact 2/2", b"visit 2"),
        ]
    assert ask(port, NOW) == ask(port, NOW) == (200, "exact 2/2", b"visit 2")


def test_another_scheme_is_another_request(port: int) -> None:
    assert ask(port, SEARCH, b'{"q": "boats"}', open_session(port))[1] == "none"


def test_a_session_without_debug_headers_says_nothing(port: int) -> None:
    assert ask(port, NOW, session=open_session(port, marks=False))[1] == ""


def test_a_budget_is_charged(port: int) -> None:
    session = open_session(port, budget={"fetches": 1})
    assert [ask(port, NOW, session=session)[0] for _ in range(2)] == [200, 429]


def test_a_policy_that_blocks_pages_hides_recorded_answers(port: int) -> None:
    session = open_session(port, blocked={"domains": ["other.example"]})
    assert ask(port, NOW, session=session)[1] == ""
    early = open_session(port, as_of="2024-02-01")
    assert ask(port, NOW, session=early)[2] != b"visit 1"


def test_lookup(root: Path) -> None:
    world = open_world(root / "c")
    assert world.has_exchanges
    assert answers_of(world) == COMPLETE
    assert world.knows_host("google.serper.dev")
    manifest = read_manifest(root / "c" / "snapshots" / str(current_id(root / "c")))
    assert manifest.exchanges == len(EXCHANGES)


def test_an_answer_of_an_api_is_no_result(root: Path) -> None:
    with Catalog(root / "c", read_only=True) as catalog:
        rows = catalog.db.execute("SELECT url FROM pages WHERE searchable ORDER BY url").fetchall()
    assert [SEARCH] not in [list(row) for row in rows]


def test_an_export_has_them(root: Path, tmp_path: Path) -> None:
    for name in ("out.warc.gz", "out.wacz"):
        target = tmp_path / name
        arguments = ["export", str(target), "--root", str(root), "--collection", "c", "-q"]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        ingest(tmp_path / name.partition(".")[2], target)
        assert answers_of(open_world(tmp_path / name.partition(".")[2])) == COMPLETE


def test_removed_ones_are_gone(root: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "c", root / "tape.warc.gz")
    remove(tmp_path / "c", [parse_rule("host", "google.serper.dev", "test", "2024-01-01")])
    build_snapshot(tmp_path / "c")
    urls = {url for urls in answers_of(open_world(tmp_path / "c")) for url in urls}
    assert urls == {NOW, "http://shop.example/page"}


def test_a_merge_takes_them(root: Path) -> None:
    ingest(root / "d", write(root / "b.warc.gz", [CaptureSpec("https://b.example/", html("B", WORDS))]))
    result = CliRunner().invoke(app, ["merge", "d", "c", "--root", str(root), "-q"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert answers_of(open_world(root / "d")) == COMPLETE


def test_a_cut_has_the_early_ones(root: Path) -> None:
    with in_process():
        world = open_snapshot(root / "c", cut_snapshot(root / "c", START + timedelta(seconds=1)))
    assert [len(urls) for urls in answers_of(world)] == [1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0]


def test_a_catalog_of_an_older_version_has_none(root: Path, tmp_path: Path) -> None:
    ingest(tmp_path / "c", root / "later.warc.gz")
    with Catalog(tmp_path / "c") as catalog:
        catalog.db.execute("DROP TABLE exchanges")
    build_snapshot(tmp_path / "c")
    assert not open_world(tmp_path / "c").has_exchanges
    ingest(tmp_path / "c", root / "tape.warc.gz")
    assert open_world(tmp_path / "c").has_exchanges
