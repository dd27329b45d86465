"""A server of a small world, in process; and a collection with real snapshots for servers on a real socket.

The in-process world is a `World` whose answers are written down here and which enters through the server's own seam,
`create_app(config, world)`: wire formats and errors are tested with exact values, whatever the ranking does. The tests
over sockets (`test_served.py`) run the whole server over snapshots that `index` builds.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.crawls import build_snapshot
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.emulator.errors import NotCaptured, PayloadError, ViewUnavailable
from webemu.emulator.types import Capture, Hit, Match, Page, PageRequest, Payload, Query, Results
from webemu.emulator.world import World
from webemu.emulator.world_hooks import NO_HOOKS
from webemu.index.catalog import Catalog
from webemu.index.schema import MARKER, TABLES

TEXT = 'Überschrift\n\nThe river port of Aldmere.\nIt opened in 1887.\nShips "and" barges\tcall there.\n\nThe end'
TIME = int(datetime(2024, 11, 30, 12, tzinfo=UTC).timestamp())


class SmallWorld(World):
    """Finds as many pages as the query has words, and holds one page."""

    def __init__(self, snapshot: str = "5d0c0ffee5d0c0ff") -> None:
        self.snapshot = snapshot
        self.hooks = NO_HOOKS
        self.searched: list[Query] = []

    def search(self, query: Query) -> Results:
        self.searched.append(query)
        if query.text == "defect":
            raise ZeroDivisionError("a defect")
        hits = [
            Hit(i, 7.31 / (i + 1), b"https://a.example/%d" % i, b'Port \\"%d\\"' % i, "Fähre\\n".encode(), "2024-11-30")
            for i in range(len(query.text.split()))
        ]
        first = (query.page - 1) * query.size
        page_hits = tuple(hits[first : first + query.size])
        return Results(query, page_hits, first + query.size < len(hits), self.snapshot)

    is_remote = False
    has_exchanges = False

    def is_slow(self, query: Query) -> bool:
        return False

    def duplicate_urls(self, results: Results) -> list[list[str]]:
        return [[] for _ in results.hits]

    def prefetch(self, queries: Iterable[Query]) -> None:
        """Do nothing: no query is waited for."""

    def fetch(self, request: PageRequest, wait: bool = True) -> Page:
        capture = self._capture(request)
        if capture.mime == "image/png":
            raise ViewUnavailable(f"{request.url} is image/png and has no text view", action="ask for format=raw")
        marked = {"text": TEXT, "html": f"<p>{TEXT}", "markdown": f"# {TEXT}", "links": f"{TEXT} [1]"}
        redirects = (request.url,) if request.url != capture.url else ()
        return Page(request, capture, redirects, "Aldmere", marked[request.view], self.snapshot)

    def payload(self, request: PageRequest, wait: bool = True) -> tuple[Capture, Payload]:
        headers = (
            (b"Content-Type", b"text/html; charset=utf-8"),
            (b"X-Crawler-Content-Encoding", b"gzip"),
            (b"Set-Cookie", b"a=1"),
            (b"Set-Cookie", b"b=2"),
            (b"Bad Name(", b"line\r\nSet-Cookie: injected\x00"),
            (b"X-Latin", b"caf\xe9"),
        )
        return self._capture(request), Payload(404, "Not Found", headers, b"\x1f\x8b\x00payload", "gzip")

    def find(self, request: PageRequest, pattern: str, limit: int) -> tuple[Page, int, tuple[Match, ...]]:
        page = self.fetch(request)
        matches = (Match(17, 2, "The river port of Aldmere."), Match(40, 3, "It opened in 1887."))
        return page, 2, matches[:limit]

    def figures(self) -> dict[str, object]:
        names = ("documents", "pages", "captures", "urls", "hosts", "sources")
        return {"collection": "small", **{name: number for number, name in enumerate(names)}}

    def _capture(self, request: PageRequest) -> Capture:
        if "gone" in request.url:
            raise NotCaptured(f"{request.url} was not captured", action="search with site:a.example")
        if "lost" in request.url:
            raise PayloadError("the file crawl.warc.gz is gone", action="put it back")
        if "bomb" in request.url:
            raise PayloadError(f"{request.url} unpacks to over 1 GB", reason="payload-too-large")
        mime = "image/png" if request.url.endswith(".png") else "text/html"
        url = "https://a.example/mün%20chen" if "old" in request.url else request.url
        return Capture(url, TIME, 200, mime, "utf-8", "", "", "length", "response", "f", 0, 9, 0)


Ask = Callable[..., httpx.Response]


def asking(app: App) -> Ask:
    """`ask(method, path, ...)` in process, without a socket."""

    def ask(method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://webemu") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    return ask


@pytest.fixture
def small() -> SmallWorld:
    return SmallWorld()


@pytest.fixture
def app(small: SmallWorld, tmp_path: Path) -> App:
    return create_app(Config(root=tmp_path), world=small)


@pytest.fixture
def ask(app: App) -> Ask:
    return asking(app)


@pytest.fixture
def ask_without_snapshot(tmp_path: Path) -> Ask:
    return asking(create_app(Config(root=tmp_path)))


@pytest.fixture
def page_text() -> str:
    return TEXT


@pytest.fixture(scope="session")
def grow() -> Callable[[Path, int, str], str]:
    return add_source


def add_source(folder: Path, number: int, words: str, pages: int = 40) -> str:
    """Put a source of pages that say the words into the collection; return the id of the snapshot built of it all."""
    staging = folder / "staging" / str(number)
    staging.mkdir(parents=True)
    time = datetime(2024, 1, number)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    rows["sources"].append({"source_id": number, "name": f"{number}.warc", "path": "/none", "pages": pages})
    for page in range(pages):
        host = f"site{page % 9}-{number}.example"
        at = {"source_id": number, "warc_record_offset": page}
        url = f"https://{host}/{page}"
        capture = {"url": url, "url_surtkey": url, "url_host_name": host, "url_host_registered_domain": host}
        capture["url_protocol"] = "https"
        recorded = {"fetch_time": time, "fetch_status": 200, "content_mime_detected": "text/html"}
        record = {"content_charset": "utf-8", "warc_record_type": "response", "warc_record_length": 9}
        rows["captures"].append({**at, **capture, **recorded, **record})
        text = f"Page {page} tells of {words} and of number {page * page}."
        page_row = {"url": url, "title": f"{words} {page}", "text": text, "text_hash": hash((number, page))}
        rows["pages"].append({**at, **page_row, "searchable": True})
    for name, schema in TABLES.items():
        table = {field.name: [row.get(field.name) for row in rows[name]] for field in schema}
        pq.write_table(pa.table(table, schema=schema), staging / f"{name}.parquet")
    (staging / MARKER).write_text("{}")
    with Catalog(folder) as catalog:
        catalog.import_staging(staging)
    return build_snapshot(folder)
