"""Serving asks nobody: while every route and door answers, no socket is connected and no name is looked up."""

import asyncio
import socket
import sys
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.index.open import open_world

LEADING_OUT = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}
PAGE = html("Harbour", '<a href="https://other.example/">out</a>', '<img src="https://cdn.example/x.png">')
met: list[tuple[str, object]] = []
listening = False


def hook(event: str, arguments: object) -> None:
    if listening and event in LEADING_OUT:
        met.append((event, arguments))


sys.addaudithook(hook)


@pytest.fixture
def outbound() -> Iterator[list[tuple[str, object]]]:
    global listening
    met.clear()
    listening = True
    yield met
    listening = False


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("sealed")
    write(
        root / "a.warc.gz",
        [
            CaptureSpec("https://a.example/", PAGE),
            CaptureSpec("https://a.example/moved", status="302 Found", headers=(("Location", "https://b.example/"),)),
            CaptureSpec("https://a.example/data.json", '{"see": "https://c.example/"}', mime="application/json"),
            CaptureSpec("https://a.example/gone", PAGE, status="404 Not Found"),
        ],
    )
    ingest(root / "c", root / "a.warc.gz")
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


def ask(app: object, paths: list[str], host: str) -> list[int]:
    async def run() -> list[int]:
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url=host) as client:
            return [(await client.get(path)).status_code for path in paths]

    return asyncio.run(run())


def test_the_hook_would_notice(outbound: list[tuple[str, object]]) -> None:
    with socket.socket() as client, pytest.raises(OSError):
        client.connect(("127.0.0.1", 9))
    assert outbound


def test_no_route_of_the_api_asks_anybody(app: App, outbound: list[tuple[str, object]]) -> None:
    urls = ["https://a.example/", "https://a.example/moved", "https://a.example/data.json", "https://b.example/x"]
    fetches = [
        f"/v1/fetch?url={quote(url, safe='')}&format={view}&follow={follow}"
        for url in urls
        for view in ("text", "markdown", "html", "links", "raw")
        for follow in (0, 1)
    ]
    searches = ["/v1/search?q=harbour", "/v1/search?q=site:a.example", "/v1/search?q=site:münchen.de"]
    other_requests = [
        "/health",
        "/v1/stats",
        "/docs",
        "/openapi.json",
        "/nothing",
        *("/", "/search?q=harbour", "/view?url=https://a.example/", "/suggest?q=h", "/opensearch.xml", "/favicon.ico"),
        "/v1/find?url=https://a.example/&pattern=out",
    ]
    assert set(ask(app, fetches + searches + other_requests, "http://localhost")) == {200, 404, 406}
    assert outbound == []


def test_no_door_to_the_web_asks_anybody(app: App, outbound: list[tuple[str, object]]) -> None:
    paths = ["/", "/moved", "/data.json", "/gone", "/nowhere", "/sitemap.xml", "/w/api.php?action=query&meta=siteinfo"]
    assert ask(app.doors.web, paths, "https://a.example") == [200, 302, 200, 404, 404, 200, 404]
    archived = ["/web/2024/https://a.example/", "/cdx/search/cdx?url=*.example", "/web/timemap/link/https://a.example/"]
    assert ask(app.doors.web, archived, "https://web.archive.org") == [302, 200, 200]
    assert ask(app.doors.web, ["/collinfo.json"], "https://index.commoncrawl.org") == [200]
    assert ask(app.doors.web, ["/search?q=harbour&api_key=k"], "https://google.serper.dev") == [200]
    assert ask(app.doors.web, ["/"], "https://b.example") == [502]
    assert app.doors.tls_context("a.example") is app.doors.tls_context("a.example")
    assert outbound == []
