"""The archives with the clients that use them: cdx_toolkit, requests, and Chromium for a hostile page."""

import hashlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
from playwright.sync_api import sync_playwright
from warcio.archiveiterator import ArchiveIterator

from tests.api.archived import BODY, FILES, HARBOUR, collection
from tests.crawls import CaptureSpec, html
from webemu.api.proxy.programs import configure_cdx_toolkit

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SITE = "https://shown.example/"
HOSTILE = html(
    "Shown",
    "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">",
    '<img id="quay" src="quay.svg" srcset="http://spy.example/large.svg 3x"><b>styled</b>',
    '<link rel="dns-prefetch" href="http://spy.example/"><link rel="preload" as="image" href="//spy.example/p.png">',
    '<iframe src="http://spy.example/frame"></iframe><embed src="http://spy.example/e">',
    "<p style=\"background: image-set('http://spy.example/i.png' 1x)\">deep</p>",
    '<meta http-equiv="refresh" content="0; url=http://spy.example/next"><a href="http://spy.example/">out</a>',
    head='<link rel="stylesheet" href="shown.css" crossorigin="anonymous">',
)
SHEET = "@font-face { font-family: f; src: url(f.woff2) } b { color: rgb(1, 2, 3); font-family: f }"
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"><circle r="3"/></svg>'
LISTED = """
import cdx_toolkit, hashlib, json, sys
asked = json.loads(sys.argv[1])
fetcher = cdx_toolkit.CDXFetcher(**asked["fetcher"])
for capture in fetcher.iter(asked["url"], **asked["iter"]):
    record = capture.fetch_warc_record()
    told = {"url": capture["url"], "status": capture["status"], "timestamp": capture["timestamp"]}
    told["body"] = hashlib.sha1(record.content_stream().read()).hexdigest()
    told["head"] = record.http_headers.statusline if record.http_headers else ""
    print(json.dumps(told))
"""


@dataclass(frozen=True)
class Server:
    root: Path
    port: int
    env: dict[str, str]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> requests.Response:
        return requests.get(self.origin + path, headers=headers, timeout=30, allow_redirects=False)

    def captures(self, url: str, /, fetcher: dict[str, str], **iterated: str) -> list[dict[str, str]]:
        """Return what cdx_toolkit sees in a process that has the environment of `webemu env`."""
        order = json.dumps({"url": url, "fetcher": fetcher, "iter": iterated})
        completed = subprocess.run([sys.executable, "-c", LISTED, order], env=self.env, capture_output=True, text=True)
        assert completed.returncode == 0, completed.stderr
        return [json.loads(line) for line in completed.stdout.splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("archives")
    pages = [
        CaptureSpec(SITE, HOSTILE),
        CaptureSpec(f"{SITE}shown.css", SHEET, mime="text/css"),
        CaptureSpec(f"{SITE}quay.svg", DRAWING, mime="image/svg+xml"),
        CaptureSpec(f"{SITE}f.woff2", b"wOF2", mime="font/woff2"),
    ]
    collection(root, *pages)
    command = [sys.executable, "-m", "webemu.emulator.cli"]
    with ExitStack() as ends:
        process = ends.enter_context(
            subprocess.Popen([*command, "serve", "--root", str(root), "--port", "0"], stdout=subprocess.PIPE, text=True)
        )
        ends.callback(process.terminate)
        assert process.stdout is not None
        port = int(process.stdout.readline().partition("http://127.0.0.1:")[2].partition(" ")[0])
        named = [*command, "env", "--root", str(root), "--server", f"http://127.0.0.1:{port}"]
        exports = subprocess.run(named, capture_output=True, text=True, check=True).stdout
        env = {**os.environ, **dict(re.findall(r"^export (\w+)=(.*)$", exports, re.MULTILINE))}
        yield Server(root, port, env)


def recorded(server: Server) -> list[dict[str, str]]:
    """All captures of the harbour, as the WARC files have them."""
    captures = []
    for name in FILES:
        with (server.root / name).open("rb") as file:
            for record in ArchiveIterator(file):
                url = record.rec_headers["WARC-Target-URI"]
                if url.partition("://")[2].startswith(("www.harbour.example/", "harbour.example/")):
                    body = hashlib.sha1(record.content_stream().read()).hexdigest()
                    stamp = re.sub(r"\D", "", record.rec_headers["WARC-Date"])
                    line = record.http_headers.statusline if record.http_headers else ""
                    captures.append({"url": url, "timestamp": stamp, "body": body, "head": line})
    return sorted(captures, key=lambda capture: (capture["timestamp"], capture["url"]))


def without_status(captures: list[dict[str, str]]) -> list[dict[str, str]]:
    stripped = [{name: text for name, text in one.items() if name != "status"} for one in captures]
    return sorted(stripped, key=lambda capture: (capture["timestamp"], capture["url"]))


@pytest.mark.parametrize("through", ["proxy", "own name"])
def test_cdx_toolkit_on_common_crawl(server: Server, through: str) -> None:
    mirror = {} if through == "proxy" else {"cc_mirror": server.origin, "warc_download_prefix": server.origin}
    captures = server.captures("harbour.example/*", {"source": "cc", **mirror}, from_ts="202312", to="202402")
    assert without_status(captures) == recorded(server)
    assert {one["status"] for one in captures} == {"200", "301", "304", "404"}


@pytest.mark.slow
def test_cdx_toolkit_without_dates_asks_for_the_last_year_of_the_crawl(server: Server) -> None:
    start = time.monotonic()
    assert without_status(server.captures("harbour.example/*", {"source": "cc"})) == recorded(server)
    assert server.captures("nowhere.example/*", {"source": "cc"}) == []
    assert time.monotonic() - start < 60


def test_a_server_that_is_not_there_tells_cdx_toolkit_no_day() -> None:
    for server in ("http://127.0.0.1:9", "http://127.0.0.1:port", "http://"):
        environment = configure_cdx_toolkit(server)
        assert "CDXT_MOCK_TIME" not in environment
        assert "CDXT_CC_INDEX_MIN_RETRY_INTERVAL" in environment


def test_a_server_is_asked_for_its_day_whoever_asks(server: Server) -> None:
    named = server.origin.replace("//", "//rollout-17;at=2024-01-01:@")
    assert configure_cdx_toolkit(named)["CDXT_MOCK_TIME"] == configure_cdx_toolkit(server.origin)["CDXT_MOCK_TIME"]


@pytest.mark.parametrize("through", ["proxy", "own name"])
def test_cdx_toolkit_on_the_wayback_machine(server: Server, through: str) -> None:
    endpoints = {"source": f"{server.origin}/cdx/search/cdx", "wb": f"{server.origin}/web"}
    captures = server.captures("harbour.example/*", {"source": "ia"} if through == "proxy" else endpoints)
    expected = recorded(server)
    assert [(one["timestamp"], one["url"]) for one in without_status(captures)] == [
        (one["timestamp"], one["url"]) for one in expected
    ]
    bodies = {one["body"] for one in expected if one["body"] != hashlib.sha1(b"").hexdigest()}
    assert {one["body"] for one in captures} == bodies
    assert {one["status"] for one in captures} == {"200", "301", "404", "-"}


def test_a_filter_of_cdx_toolkit(server: Server) -> None:
    captures = server.captures("*.harbour.example", {"source": "cc", "crawl": "2024"}, filter="!=status:200")
    assert {one["status"] for one in captures} == {"301", "304", "404"}


def test_a_record_is_read_by_its_range(server: Server) -> None:
    crawl = server.get("/collinfo.json").json()[0]["id"]
    line = json.loads(server.get(f"/{crawl}-index?url={HARBOUR}&output=json&limit=1").text)
    start, end = int(line["offset"]), int(line["offset"]) + int(line["length"])
    reply = server.get("/" + line["filename"], Range=f"bytes={start}-{end - 1}")
    assert (reply.status_code, reply.content) == (206, (server.root / FILES[0]).read_bytes()[start:end])
    record = next(ArchiveIterator(io.BytesIO(reply.content)))
    assert (record.http_headers.statusline, record.content_stream().read().decode()) == ("200 OK", BODY)


def test_the_way_from_a_question_to_a_page(server: Server) -> None:
    body = server.get("/wayback/available?url=www.harbour.example&timestamp=20240102").json()
    closest = body["archived_snapshots"]["closest"]
    assert requests.get(closest["url"], timeout=30).text.startswith("<!DOCTYPE html>")
    followed = requests.get(f"{server.origin}/web/2023/http://harbour.example/", timeout=30)
    assert [reply.status_code for reply in followed.history] == [302, 302, 302]
    assert followed.headers["Memento-Datetime"] == "Mon, 01 Jan 2024 12:00:00 GMT"
    assert server.get("/cdx/search/cdx?url=x&from=nonsense").status_code == 400
    assert server.get(f"/web/{HARBOUR}", **{"Accept-Datetime": "nonsense"}).status_code == 400
    assert server.get("/web/2024/http://nowhere.example/").status_code == 404


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
def test_a_hostile_page_in_chromium(server: Server) -> None:
    with ExitStack() as ends:
        spy = ends.enter_context(socket.create_server(("127.0.0.1", 0)))
        spy.settimeout(0.5)
        rules = f"--host-resolver-rules=MAP *.example 127.0.0.1:{spy.getsockname()[1]}"
        playwright = ends.enter_context(sync_playwright())
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", rules]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        ends.callback(browser.close)
        page = browser.new_page()
        finished: list[str] = []
        page.on("requestfinished", lambda request: finished.append(request.url))
        page.goto(f"{server.origin}/web/20240101120000/{SITE}", wait_until="networkidle")
        assert page.title() == "Shown"
        assert page.evaluate("getComputedStyle(document.querySelector('b')).color") == "rgb(1, 2, 3)"
        assert page.evaluate("document.querySelector('#quay').naturalWidth") == 7
        assert any(url.endswith("/f.woff2") for url in finished)
        assert page.evaluate("self.origin") == "null"
        assert {url.partition("/web/")[0] for url in finished} == {server.origin}
        page.click("text=out")
        assert page.url == f"{server.origin}/web/20240101120000/http://spy.example/"
        with pytest.raises(TimeoutError):
            spy.accept()
