"""`webemu record` against live-like sites, and the same commands sealed: the same bytes, and misses that are marked."""

import gzip
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.recorder.recorded_runs import ingest_recordings, lead_to_sites, record, replay
from tests.recorder.sites import BIG, Site
from tests.sealed_runs import needs_network

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ASK = """
import hashlib, json, sys, time
def show(name, status, body): print(name, status, hashlib.sha1(body).hexdigest(), len(body))
PATHS = ["page", "packed", "chunked", "big", "gone", "now", "now", "now?x=1", "moved"]
def payload(q): return {"q": q, "api_key": "sk-" + str(time.time()), "ts": time.time()}
"""
REQUESTS = (
    ASK
    + """
import requests
session = requests.Session()
for scheme in ("http", "https"):
    for path in PATHS:
        answer = session.get(f"{scheme}://shop.example/{path}")
        show(f"{scheme} {path} {answer.url}", answer.status_code, answer.content)
    for q in ("oolong", "oolong", "green"):
        answer = session.post(f"{scheme}://google.serper.dev/search", json=payload(q), headers={"X-API-KEY": "k"})
        show(f"{scheme} {q}", answer.status_code, answer.content)
    answer = session.post(f"{scheme}://api.shop.example/form", data={"q": "tea", "password": "p"})
    show("form", answer.status_code, answer.content)
    answer = session.post(f"{scheme}://api.shop.example/file", files={"f": b"leaf"})
    show("file", answer.status_code, answer.content)
    show("head", session.head(f"{scheme}://shop.example/page").status_code, b"")
    answer = session.get(f"{scheme}://shop.example/big", headers={"Range": "bytes=0-9"})
    show("part", answer.status_code, answer.content)
"""
)
HTTPX = (
    ASK
    + """
import asyncio, httpx
async def main():
    async with httpx.AsyncClient(follow_redirects=True) as client:
        answers = await asyncio.gather(*[client.get(f"https://shop.example/page?n={n}") for n in range(20)])
        show("many", 200, b"".join(one.content for one in answers))
        for path in PATHS:
            answer = await client.get(f"https://shop.example/{path}")
            show(path, answer.status_code, answer.content)
        async with client.stream("GET", "https://shop.example/chunked") as stream:
            show("stream", stream.status_code, b"".join([part async for part in stream.aiter_bytes()]))
        answer = await client.post("https://google.serper.dev/search", json=payload("tea"), headers={"X-API-KEY": "k"})
        show("post", answer.status_code, answer.content)
asyncio.run(main())
"""
)
BROWSER = (
    ASK
    + f"""
import os
from playwright.sync_api import sync_playwright
proxy = os.environ.get("HTTPS_PROXY")
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path={CHROMIUM!r}, proxy={{"server": proxy}} if proxy else None,
        args=["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"])
    page = browser.new_page(ignore_https_errors=True)
    for _ in range(2):
        page.goto("https://shop.example/page", wait_until="networkidle")
        page.wait_for_function("document.title.startsWith('visit')")
        color = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
        show(page.title() + " " + color, 200, page.content().encode())
    browser.close()
"""
)
CLIENTS = {"requests": REQUESTS, "httpx": HTTPX, "chromium": BROWSER}


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    with lead_to_sites(tmp_path_factory.mktemp("live")) as options:
        yield options


def read_records(folder: Path) -> list[tuple[str, str, bytes]]:
    """Return (type, URL, block) of every record."""
    rows = []
    for path in sorted((folder / "recordings").glob("*.warc.gz")):
        with path.open("rb") as file:
            for entry in ArchiveIterator(file, no_record_parse=True):
                url = entry.rec_headers.get_header("WARC-Target-URI") or ""
                rows.append((entry.rec_type, url, entry.content_stream().read()))
    return rows


@needs_network
@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_recorded_run_is_repeated_sealed(client: str, options: list[str], tmp_path: Path) -> None:
    if client == "chromium" and not CHROMIUM:
        pytest.skip("no chromium is installed")
    command = [sys.executable, "-c", CLIENTS[client]]
    live = record(tmp_path, options, "--", *command)
    assert live.returncode == 0, live.stderr
    assert live.stdout.count("\n") >= 2
    ingest_recordings(tmp_path)
    before = len(Site.requests)
    for _ in range(2):  # a run of its own begins anew
        sealed = replay(tmp_path, *command)
        assert sealed.returncode == 0, sealed.stderr
        assert sealed.stdout == live.stdout
    assert len(Site.requests) == before


@needs_network
@pytest.mark.slow
def test_what_was_not_recorded_is_marked(options: list[str], tmp_path: Path) -> None:
    curl = ["curl", "-sS", "-D", "-", "-o", "/dev/null", "-H", "X-API-KEY: a", "-H", "Content-Type: application/json"]
    ask = [*curl, "-d", '{"q": "oolong", "requestId": "1"}', "https://google.serper.dev/search"]
    assert record(tmp_path, options, "--", *ask).returncode == 0
    record(tmp_path, options, "--", "curl", "-sS", "https://shop.example/page")
    ingest_recordings(tmp_path)

    def mark(*command: str) -> str:
        match = re.search(r"(?im)^x-webemu-recorded: (.*?)\r?$", replay(tmp_path, *command).stdout)
        return match[1] if match else ""

    assert mark(*ask) == "exact 1/1"
    other_key = [word.replace("X-API-KEY: a", "X-API-KEY: b") for word in ask]
    assert mark(*other_key) == "exact 1/1"
    other_id = [word.replace('"1"', '"2"') for word in ask]
    assert mark(*other_id) == "near 1/1"
    other_query = [word.replace("oolong", "tea shop") for word in ask]
    assert mark(*other_query) == "none"
    assert mark(*curl, "https://shop.example/nowhere") == "none"


def test_what_is_written(options: list[str], tmp_path: Path) -> None:
    code = """
import requests
secret = {"Authorization": "Bearer S3CRET", "Cookie": "S3CRET", "X-API-Key": "S3CRET"}
requests.get("https://shop.example/page?api_key=S3CRET", headers=secret)
requests.post("https://api.shop.example/form", data={"q": "tea", "password": "S3CRET"})
requests.post("https://api.shop.example/json", json={"q": "tea", "api_key": "S3CRET"}, headers=secret)
print(requests.get("https://shop.example/private/now").status_code)
print(requests.get("https://shop.example/cut", stream=True).status_code)
print(requests.get("http://closed.example/").status_code)
print(requests.get("https://shop.example/big").content == bytes(range(256)) * 12_000)
"""
    done = record(tmp_path, options, "--", sys.executable, "-c", code)
    assert done.stdout == "403\n200\n502\nTrue\n", done.stderr
    assert "recorded 5 exchanges with 2 hosts" in done.stderr
    for reason in ("cut-short", "robots-disallowed", "unreachable"):
        assert f"1 not recorded: {reason}" in done.stderr
    records = read_records(tmp_path)
    assert b"S3CRET" not in b"".join(block for _, _, block in records)
    assert b"S3CRET" not in gzip.decompress(b"".join(map(Path.read_bytes, (tmp_path / "recordings").iterdir())))
    responses = {url: block for kind, url, block in records if kind == "response"}
    assert responses["https://shop.example/big"].endswith(BIG)
    assert "https://shop.example/page?api_key=REDACTED" in responses
    assert not any("private" in url or "cut" in url for url in responses)
    bodies = [block.partition(b"\r\n\r\n")[2] for kind, url, block in records if kind == "request" and "json" in url]
    assert [json.loads(body) for body in bodies] == [{"q": "tea", "api_key": "REDACTED"}]


def test_robots_may_be_ignored(options: list[str], tmp_path: Path) -> None:
    command = ["--ignore-robots", "--", "curl", "-sS", "https://shop.example/private/now"]
    assert record(tmp_path, options, *command).stdout.startswith("visit ")


def test_http2(options: list[str], tmp_path: Path) -> None:
    done = record(tmp_path, options, "--ignore-robots", "--", "curl", "-sS", "https://two.example/")
    assert done.stdout == "over two.\n", done.stderr
    (path,) = (tmp_path / "recordings").iterdir()
    assert b"WARC-Protocol: h2" in gzip.decompress(path.read_bytes())


def test_the_collection_answers_what_it_has(options: list[str], tmp_path: Path) -> None:
    ask = ["--", "curl", "-sS", "https://shop.example/now"]
    first = record(tmp_path, options, *ask)
    ingest_recordings(tmp_path)
    again = record(tmp_path, options, *ask)
    assert again.stdout == first.stdout
    assert "1 requests were answered by the collection taped" in again.stderr
    assert record(tmp_path, options, "--fresh", *ask).stdout != first.stdout


def test_the_exit_status_is_passed_on(options: list[str], tmp_path: Path) -> None:
    assert record(tmp_path, options, "--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7
    missing = record(tmp_path, options, "--", str(tmp_path / "nothing"))
    assert (missing.returncode, "cannot run" in missing.stderr) == (127, True)


@pytest.mark.parametrize("text", ["shop.example", "shop.example:80", "shop.example:http:127.0.0.1", "a:80:127.0.0.1:x"])
def test_a_bad_address_is_refused(text: str, tmp_path: Path) -> None:
    done = record(tmp_path, ["--resolve", text], "--", "true")
    assert (done.returncode, "--resolve" in done.stderr) == (2, True)
