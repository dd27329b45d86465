"""No part of this server shows what a policy blocks, and every part shows it without the policy."""

import asyncio
import gzip
import io
from pathlib import Path

import httpx
import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.api.leaking import (
    BLOCKED,
    CLEAN,
    OPEN,
    POLICY,
    SOURCE,
    TOKEN,
    Probe,
    archives,
    leaking,
    native_probes,
    of_route,
    paths,
    shows,
    wiki,
)
from webemu.api.app import App
from webemu.api.dialects import DIALECTS

HERE = "http://webemu"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    return leaking(tmp_path_factory.mktemp("leaks"))


class Asker:
    """Asks the server, or its web, with and without a session."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def ask(self, probe: Probe, session: str = "") -> httpx.Response:
        is_own = probe.url.startswith(HERE)
        transport = httpx.ASGITransport(app=self._app if is_own else self._app.doors.web, raise_app_exceptions=False)
        headers = {**dict(probe.headers), **({"X-Webemu-Session": session} if session else {})}
        async with httpx.AsyncClient(transport=transport) as client:
            if probe.body is not None:
                return await client.request(probe.method, probe.url, json=probe.body, headers=headers)
            return await client.request(probe.method, probe.url, headers=headers)

    def open(self, **policy: object) -> str:
        reply = asyncio.run(self.ask(Probe("", "POST", f"{HERE}/v1/sessions", policy or POLICY)))
        assert reply.status_code == 201, reply.text
        return str(reply.json()["session"])

    def both(self, probes: list[Probe]) -> tuple[list[Probe], list[str]]:
        """Return the probes that show something without a policy, and the names of those that do with one."""
        session = self.open()

        async def hunt() -> tuple[list[Probe], list[str]]:
            open_to_all, leaks = [], []
            for probe in probes:
                if shows(probe, await self.ask(probe)):
                    open_to_all.append(probe)
                if shows(probe, reply := await self.ask(probe, session)):
                    leaks.append(f"{probe.method} {probe.url} {probe.body}: {reply.text[:3000]}")
            return open_to_all, leaks

        return asyncio.run(hunt())


@pytest.fixture(scope="module")
def asker(app: App) -> Asker:
    return Asker(app)


@pytest.mark.parametrize("probes", [native_probes, archives, wiki])
def test_nothing_leaks_from_what_is_ours(asker: Asker, probes: object) -> None:
    probe_list = list(probes())  # type: ignore[operator]
    open_to_all, leaks = asker.both(probe_list)
    assert leaks == []
    assert {probe.who for probe in probe_list} - {probe.who for probe in open_to_all} == set()


@pytest.mark.parametrize(
    "dialect", [one for one in DIALECTS if not one.name.startswith("mcp-")], ids=lambda dialect: dialect.name
)
def test_nothing_leaks_from_a_service(asker: Asker, dialect: object) -> None:
    base = f"{HERE}/{dialect.name}"  # type: ignore[attr-defined]
    routes = [(route, path) for route in dialect.routes for path in paths(route.path)]  # type: ignore[attr-defined]
    probes = [probe for route, path in routes for probe in of_route(path, base, route.methods, path)]
    open_to_all, leaks = asker.both(probes)
    assert leaks == []
    assert open_to_all, "no probe reaches anything of this service: tests/api/leaking.py has not its words"


def test_no_tool_tells(asker: Asker) -> None:
    """MCP: every tool of every set, by the names of its arguments."""
    accept = (("Accept", "application/json, text/event-stream"),)
    probes = []
    paths_of_tools = ("/mcp", "/mcp/browse", "/mcp/documents", "/mcp-tavily/mcp", "/mcp-exa/mcp")
    for path in paths_of_tools:
        listed = Probe("", "POST", HERE + path, _call("tools/list", {}), accept)
        for tool in asyncio.run(asker.ask(listed)).json()["result"]["tools"]:
            for arguments in _arguments(tool["inputSchema"]["properties"]):
                call = _call("tools/call", {"name": tool["name"], "arguments": arguments})
                probes.append(Probe(path, "POST", HERE + path, call, accept))
    open_to_all, leaks = asker.both(probes)
    assert leaks == []
    assert {probe.who for probe in open_to_all} == set(paths_of_tools)


def _call(method: str, params: dict[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _arguments(properties: dict[str, dict[str, object]]) -> list[dict[str, object]]:
    word: dict[str, object] = {}
    page: dict[str, object] = {}
    for name, schema in properties.items():
        is_list = schema.get("type") == "array"
        if "quer" in name or name == "q":
            word[name] = ["harbour bell"] if is_list else "harbour bell"
        if "url" in name or "id" in name or name == "source":
            page[name] = [f"{OPEN}/text/{TOKEN}"] if is_list else f"{OPEN}/text/{TOKEN}"
    return [one for one in (word, page, {**word, **page}) if one]


def test_no_spelling_opens_a_blocked_page(asker: Asker) -> None:
    session = asker.open()
    path = f"/url/{TOKEN}"
    for url in (
        f"{OPEN}{path}", f"http://open.example{path}", f"https://www.open.example{path}", f"{OPEN}{path}/",
        f"{OPEN}{path.upper()}", f"{OPEN}{path}?utm_source=x", f"{OPEN}{path}#top", f"{OPEN}:443{path}",
        f"https://OPEN.example{path}", f"{OPEN}/./x/..{path}", f"{OPEN}/url/%71uillmarble", f"open.example{path}",
        f"https://blocked.example/{TOKEN}", f"https://blocked.example./{TOKEN}", f"https://www.blocked.example/{TOKEN}",
    ):  # fmt: skip
        probe = Probe("", "GET", str(httpx.URL(f"{HERE}/v1/fetch", params={"url": url})))
        assert asyncio.run(asker.ask(probe)).status_code in (200, 404), url
        reply = asyncio.run(asker.ask(probe, session))
        assert reply.status_code == 404, (url, reply.text[:200])
        assert "told of here" not in reply.text


def test_a_redirect_to_it_ends_nowhere(asker: Asker) -> None:
    session = asker.open()
    probe = Probe("", "GET", f"{HERE}/v1/fetch?url={OPEN}/moved")
    reply = asyncio.run(asker.ask(probe, session))
    assert (reply.status_code, reply.json()["error"]["reason"]) == (404, "redirect-not-captured")


def test_a_wholly_blocked_host_has_no_name(asker: Asker) -> None:
    session = asker.open()
    url = "https://blocked.example/anything"
    assert asyncio.run(asker.ask(Probe("", "GET", url))).status_code == 404
    assert asyncio.run(asker.ask(Probe("", "GET", url), session)).status_code == 502


def test_bytes_of_the_archives_are_whole_clean_records(asker: Asker, app: App) -> None:
    """Every record of both files by its range, the file as a whole, and ranges that begin inside a record."""
    session = asker.open()

    async def read_range(name: str, first: int, last: int) -> httpx.Response:
        headers = (("Range", f"bytes={first}-{last}"),)
        return await asker.ask(Probe("", "GET", f"https://data.commoncrawl.org/{name}", headers=headers), session)

    def read_names(session: str) -> list[str]:
        """Return the names of the files, which bear the crawl's: it is named for its end, or for the session's day."""
        collinfo = Probe("", "GET", "https://index.commoncrawl.org/collinfo.json")
        crawl = asyncio.run(asker.ask(collinfo, session)).json()[0]["id"]
        listed = Probe("", "GET", f"https://data.commoncrawl.org/crawl-data/{crawl}/warc.paths.gz")
        return gzip.decompress(asyncio.run(asker.ask(listed, session)).content).decode().split()

    urls: list[str] = []
    for plain_name, name in zip(read_names(""), read_names(session), strict=True):
        archive = asyncio.run(asker.ask(Probe("", "GET", f"https://data.commoncrawl.org/{plain_name}"))).content
        places = _places(archive)
        for url, offset, length in places:
            reply = asyncio.run(read_range(name, offset, offset + length - 1))
            if reply.status_code == 206:
                urls.append(url)
            else:
                assert reply.status_code == 404
        for first, last in ((0, len(archive) - 1), (places[0][1] + 1, len(archive) - 1), (12, 40)):
            reply = asyncio.run(read_range(name, first, last))
            assert reply.status_code == 404 or (reply.status_code == 206 and "clean" in name)
        single = asyncio.run(read_range(name, 30, 30))
        assert single.content in (b"\0", b"")
    assert sorted(urls) == sorted(capture.url for capture in CLEAN)
    assert len(BLOCKED) > 8


def _places(archive: bytes) -> list[tuple[str, int, int]]:
    records = ArchiveIterator(io.BytesIO(archive))
    places = []
    for record in records:
        url, offset = record.rec_headers.get_header("WARC-Target-URI"), records.get_record_offset()
        record.content_stream().read()
        places.append((url, offset, records.get_record_length()))
    return places


@pytest.mark.parametrize("path", ["/suggest?q=harb", f"/search?q={TOKEN[:-1]}q"])
def test_neither_suggestion_nor_correction_tells(asker: Asker, path: str) -> None:
    """The session has no day, since suggestions and corrections are off in sessions that have one."""
    blocked = {**POLICY["blocked"], "urls": [*POLICY["blocked"]["urls"], f"{OPEN}/late/{TOKEN}"]}
    session = asker.open(blocked=blocked)
    probe = Probe("", "GET", HERE + path)
    assert shows(probe, asyncio.run(asker.ask(probe)))
    assert not shows(probe, asyncio.run(asker.ask(probe, session)))


@pytest.mark.parametrize("view", ["text", "html", "markdown", "links", "raw"])
def test_a_page_that_says_it_in_its_source_is_not_opened(asker: Asker, view: str) -> None:
    probe = Probe("", "GET", f"{HERE}/v1/fetch?format={view}&url={SOURCE.url}")
    assert asyncio.run(asker.ask(probe)).status_code == 200
    assert asyncio.run(asker.ask(probe, asker.open())).status_code == 404


def test_a_session_is_not_told_of_sessions(asker: Asker) -> None:
    session = asker.open()
    path = f"/v1/sessions/{session}"
    assert asyncio.run(asker.ask(Probe("", "GET", HERE + path))).status_code == 200
    assert asyncio.run(asker.ask(Probe("", "GET", HERE + path), session)).status_code == 404
    assert asyncio.run(asker.ask(Probe("", "GET", f"{HERE}/s/{session}{path}"))).status_code == 404


def test_what_is_not_blocked_is_there(asker: Asker) -> None:
    session = asker.open()
    for capture in CLEAN:
        reply = asyncio.run(asker.ask(Probe("", "GET", capture.url), session))
        assert reply.status_code == int(capture.status[:3])
    body = asyncio.run(asker.ask(Probe("", "GET", f"{HERE}/v1/search?q=harbour"), session)).json()
    assert {hit["url"] for hit in body["results"]} == {capture.url for capture in CLEAN if capture.status[:3] == "200"}


def test_the_webs_pages_are_the_same_files(tmp_path: Path) -> None:
    """The hunt would find nothing where nothing is: every blocked page is there without a policy."""
    app = leaking(tmp_path)
    for capture in BLOCKED:
        reply = asyncio.run(Asker(app).ask(Probe("", "GET", capture.url)))
        assert TOKEN in reply.text, capture.url
