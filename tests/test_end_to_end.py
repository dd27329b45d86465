"""The way from a generated crawl to an agent's answers, as processes: generate, ingest, serve, the client's tools."""

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from webemu.agent_client import AsyncClient, Browser, Client, NotCaptured, PageAnswer, call
from webemu.index.catalog import Catalog

pytestmark = pytest.mark.slow

WIKI = "https://en.openlexicon.org"


def webemu(*arguments: str) -> str:
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@dataclass(frozen=True)
class Web:
    folder: Path
    root: Path
    server: str
    tasks: list[dict[str, Any]]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    root = tmp_path_factory.mktemp("whole")
    webemu("generate", str(root / "web"), "--pages", "600", "--seed", "9", "-q")
    webemu("ingest", str(root / "web"), "--root", str(root), "-q")
    tasks = [json.loads(line) for line in (root / "web/tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield Web(root / "web", root, "http://" + line.partition("http://")[2].partition(" ")[0], tasks)
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def client(web: Web) -> Iterator[Client]:
    with Client(web.server) as client:
        yield client


def rows(web: Web, sql: str) -> list[tuple[Any, ...]]:
    with Catalog(web.root / "default", read_only=True) as catalog:
        return catalog.db.execute(sql).fetchall()


def test_the_scripted_agent_answers_every_question(web: Web) -> None:
    output = webemu("quiz", str(web.folder / "tasks.jsonl"), "--server", web.server)
    assert output.rstrip().endswith(f"score: {len(web.tasks)} / {len(web.tasks)}")


def test_every_capture_is_kept_and_every_page_opens(web: Web, client: Client) -> None:
    recorded = 0
    for path in web.folder.rglob("*.warc.gz"):
        with path.open("rb") as file:
            recorded += sum(record.rec_type in ("response", "revisit") for record in ArchiveIterator(file))
    assert rows(web, "SELECT count(*) FROM captures") == [(recorded,)]
    assert rows(web, "SELECT * FROM drops") == []
    urls = [url for (url,) in rows(web, "SELECT DISTINCT url FROM captures ORDER BY url")]
    for url, answer in zip(urls, client.open_many(urls, length=500), strict=True):
        assert isinstance(answer, PageAnswer), (url, answer)
        assert answer.content, url


def test_sync_and_async_clients_see_the_same(web: Web, client: Client) -> None:
    names = [f"mayor {name}" for (name,) in rows(web, "SELECT title FROM pages ORDER BY url LIMIT 40")]

    async def ask() -> tuple[list[object], list[object]]:
        async with AsyncClient(web.server) as other:
            answers = await asyncio.gather(*(other.search(name) for name in names))
            return list(answers), list(await other.search_many(names))

    one_by_one, at_once = asyncio.run(ask())
    assert one_by_one == at_once == [client.search(name) for name in names] == client.search_many(names)


def test_changed_pages_differ_by_day_and_revisits_have_bodies(web: Web, client: Client) -> None:
    task = next(task for task in web.tasks if task["id"] == "demo-11")
    title, new = task["question"].partition(" of ")[2].partition(" in December")[0], task["answers"]
    url = f"{WIKI}/wiki/{title.replace(' ', '_')}"
    assert new[0] in client.open(url).content
    assert new[0] not in client.open(url, at="2024-12-01").content
    revisit_rows = rows(web, "SELECT url, fetch_time, fetch_status FROM captures WHERE warc_record_type = 'revisit'")
    assert {status for _, _, status in revisit_rows} == {200, 304}
    for revisited, time, _ in revisit_rows:
        raw = client.raw(revisited, at=time.strftime("%Y-%m-%dT%H:%M:%SZ"))
        assert b"</html>" in raw.body


def test_what_is_no_page_answers_as_recorded(client: Client) -> None:
    assert client.raw(f"{WIKI}/robots.txt").body.startswith(b"User-agent: *\nDisallow: /w/")
    assert dict(client.raw(f"{WIKI}/robots.txt").headers)["content-type"] == "text/plain"
    moved = client.raw(f"{WIKI}/")
    assert (moved.status, dict(moved.headers)["location"]) == (301, f"{WIKI}/wiki/Main_Page")
    home = client.open("http://en.openlexicon.org")
    assert (home.final_url, len(home.redirects)) == (f"{WIKI}/wiki/Main_Page", 2)
    assert client.open(f"{WIKI}/wiki/Deleted_page").status == 404
    with pytest.raises(NotCaptured):
        client.open(f"{WIKI}/wiki/Nobody_was_here")


def test_encodings_and_languages(web: Web, client: Client) -> None:
    private = [url for (url,) in rows(web, "SELECT url FROM captures WHERE content_charset LIKE '%1252'")]
    assert private
    assert all("Homepage" in client.open(url).title for url in private)
    for url, language in rows(web, "SELECT url, language FROM pages WHERE url LIKE '%/zh/_%' OR url LIKE '%/ja/_%'"):
        assert language == url.split("/")[3]
        words = {"zh": "最好乘火车前往", "ja": "二泊するのがおすすめ"}[language]
        assert url in [hit.url for hit in client.search(words, size=50).results]


def test_the_tools_show_what_a_model_reads(client: Client) -> None:
    assert "OpenLexicon, the free encyclopedia" in call(client, "search", {"query": "OpenLexicon free encyclopedia"})
    assert "]Portal:Cartography" in call(client, "open", {"url": f"{WIKI}/wiki/Main_Page", "format": "links"})
    page = client.open(f"{WIKI}/wiki/Main_Page", format="markdown").content
    assert "# Welcome to OpenLexicon" in page
    assert "[Portal:Cartography](https://en.openlexicon.org/wiki/Portal:Cartography)" in page
    assert "featured article" in call(client, "find", {"url": f"{WIKI}/wiki/Main_Page", "pattern": "featured"})


def test_the_commands_print_for_people_and_for_programs(web: Web) -> None:
    assert "https://en.openlexicon.org" in webemu("search", "encyclopedia", "main", "page", "--server", web.server)
    answer = json.loads(webemu("search", "--json", "--size", "2", "council notices", "--server", web.server))
    assert len(answer["results"]) == 2
    assert "Welcome to OpenLexicon" in webemu("fetch", f"{WIKI}/wiki/Main_Page", "--server", web.server)
    assert webemu("sql", "SELECT 1 AS one", "--root", str(web.root), "--format", "csv").split() == ["one", "1"]
    assert "captures     1," in webemu("stat", "--root", str(web.root))
    assert gzip.decompress(next(web.folder.rglob("warc.paths.gz")).read_bytes()).startswith(b"crawl-data/")


def mcp(server: str, *lines: str) -> list[dict[str, Any]]:
    """Return the answers that `webemu mcp` writes to the lines it reads."""
    command = [sys.executable, "-m", "webemu.emulator.cli", "mcp", "--tools", "browse", "--server", server]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_mcp_over_pipes(web: Web, client: Client) -> None:
    open_call = {"name": "open", "arguments": {"url": f"{WIKI}/wiki/Main_Page"}}
    answers = mcp(
        web.server,
        '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        "",
        "no JSON",
        json.dumps({"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": open_call}),
    )
    assert [answer["id"] for answer in answers] == [1, None, "two"]
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[1]["error"]["code"] == -32700
    assert answers[2]["result"]["content"][0]["text"] == call(client, "open", open_call["arguments"])
    lost = mcp(
        "http://127.0.0.1:9", '{"jsonrpc": "2.0", "id": 3, "method": "ping"}', '{"jsonrpc": "2.0", "method": "x"}'
    )
    assert [(answer["id"], answer["error"]["data"]) for answer in lost] == [(3, {"failure": "infrastructure"})]


def test_the_cursor_browser_reads_real_markdown(client: Client) -> None:
    browser = Browser(client)
    view = browser.call("open", {"id": f"{WIKI}/wiki/Main_Page"})
    assert view.startswith(f"[0] OpenLexicon, the free encyclopedia ({WIKI}/wiki/Main_Page)\n**viewing lines [0 - ")
    assert "†Portal:Cartography】" in view
    assert browser.call("open", {"id": 0}).startswith("[1] ")
    assert "](http" not in view
