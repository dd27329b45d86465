"""A session with `as_of` sees no file, date or length of a later crawl."""

import asyncio
import gzip
from dataclasses import dataclass
from pathlib import Path

import httpx
import orjson
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.emulator.dates import parse_time
from webemu.index.cut import cut_snapshot
from webemu.index.open import open_world

CUTOFF = "2024-06-01"
PAGE = html("Harbour", "Boats and nets of the harbour town, in enough words to be a page of its own.")
FILES = "https://data.commoncrawl.org"


@dataclass(frozen=True)
class LateCapture(CaptureSpec):
    """A capture made more than a year after the others, in May 2025."""

    @property
    def date(self) -> str:
        return f"2025-05-{self.day:02d}T12:00:00Z"


EARLY = [CaptureSpec("https://open.example/early", PAGE, 10)]
MIXED = [CaptureSpec("https://open.example/mixed", PAGE, 12), LateCapture("https://open.example/mixed-late", PAGE, 5)]
LATE = [LateCapture("https://open.example/late", PAGE, 6)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder = tmp_path_factory.mktemp("later")
    paths = [
        write(folder / f"{name}.warc.gz", records)
        for name, records in (("early", EARLY), ("mixed", MIXED), ("quibbledock", LATE))
    ]
    collection: Path = folder / "guard"
    ingest(collection, *paths)
    return create_app(Config(root=folder, collection="guard"), open_world(collection))


class Client:
    """Asks a server in this process, in a session or without one."""

    def __init__(self, app: App, **policy: object) -> None:
        self._app = app
        self._headers: dict[str, str] = {}
        if policy:
            reply = self.ask("http://webemu/v1/sessions", "POST", json=policy)
            self._headers = {"X-Webemu-Session": reply.json()["session"]}

    def ask(self, url: str, method: str = "GET", json: object = None, span: str = "") -> httpx.Response:
        """Return the answer; `span` is a range of bytes such as `0-99`."""
        is_native = url.startswith("http://webemu")
        transport = httpx.ASGITransport(app=self._app if is_native else self._app.doors.web)
        headers = self._headers | ({"Range": f"bytes={span}"} if span else {})

        async def request() -> httpx.Response:
            async with httpx.AsyncClient(transport=transport) as client:
                return await client.request(method, url, json=json, headers=headers)

        return asyncio.run(request())

    def file_names(self) -> list[str]:
        """Return the paths of all WARC files of the newest crawl."""
        crawl = self.ask("https://index.commoncrawl.org/collinfo.json").json()[0]["id"]
        listed = self.ask(f"{FILES}/crawl-data/{crawl}/warc.paths.gz").content
        return gzip.decompress(listed).decode().split()


@pytest.fixture(scope="module")
def session(app: App) -> Client:
    return Client(app, as_of=CUTOFF)


@pytest.fixture(scope="module")
def plain(app: App) -> Client:
    return Client(app)


def test_the_list_of_crawls_ends_by_the_cutoff(session: Client, plain: Client) -> None:
    url = "https://index.commoncrawl.org/collinfo.json"
    assert "2025" in plain.ask(url).text
    entry = session.ask(url).json()[0]
    assert (entry["name"], entry["from"][:10], entry["to"][:10]) == ("January/June 2024 Index", "2024-01-10", CUTOFF)
    assert "2025" not in session.ask(url).text


def test_files_begun_later_do_not_exist(session: Client, plain: Client) -> None:
    assert [name.rpartition("/")[2] for name in plain.file_names()] == [
        "early.warc.gz",
        "mixed.warc.gz",
        "quibbledock.warc.gz",
    ]
    names = session.file_names()
    assert [name.rpartition("/")[2] for name in names] == ["early.warc.gz", "mixed.warc.gz"]
    late_name = names[0].replace("early", "quibbledock")
    assert session.ask(f"{FILES}/{late_name}", "HEAD").status_code == 404


def test_the_length_of_a_continued_file_is_not_shown(session: Client, plain: Client) -> None:
    early, mixed = session.file_names()
    assert session.ask(f"{FILES}/{early}", "HEAD").status_code == 200
    length = len(plain.ask(f"{FILES}/{plain.file_names()[1]}").content)
    for span in ("", "0-", "-100", f"{length}-{length + 9}", f"0-{length - 1}"):
        reply = session.ask(f"{FILES}/{mixed}", span=span)
        assert reply.status_code == 404, span
        assert str(length) not in reply.text + str(reply.headers), span
    assert session.ask(f"{FILES}/{mixed}", "HEAD").status_code == 404
    assert session.ask(f"{FILES}/{mixed}", span=f"{length + 5}-{length + 5}").content == b"\0"


def test_a_record_by_the_cutoff_is_read_as_the_index_lists_it(session: Client) -> None:
    crawl = session.ask("https://index.commoncrawl.org/collinfo.json").json()[0]["id"]
    row = session.ask(f"https://index.commoncrawl.org/{crawl}-index?url=open.example/mixed&output=json").json()
    first, length = int(row["offset"]), int(row["length"])
    reply = session.ask(f"{FILES}/{row['filename']}", span=f"{first}-{first + length - 1}")
    assert (reply.status_code, reply.headers["Content-Range"]) == (206, f"bytes {first}-{first + length - 1}/*")
    assert b"Boats and nets" in gzip.decompress(reply.content)


def test_the_front_page_ends_by_the_cutoff(session: Client, plain: Client) -> None:
    assert "2024–2025" in plain.ask("http://webemu/").text
    assert "–2025" not in session.ask("http://webemu/").text


TWICE = [CaptureSpec("https://twice.example/", PAGE, 12), LateCapture("https://twice.example/", html("Quibbledock"), 5)]
"""A page that was captured again later, into the same file."""


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> App:
    folder = tmp_path_factory.mktemp("twice")
    ingest(folder / "guard", write(folder / "twice.warc.gz", TWICE), write(folder / "late.warc.gz", LATE))
    cut_snapshot(folder / "guard", parse_time(CUTOFF))
    return create_app(Config(root=folder, collection="guard"), open_world(folder / "guard"))


def records(client: Client) -> list[tuple[str, str]]:
    """Return the file and the range of each record that the index lists."""
    crawl = client.ask("https://index.commoncrawl.org/collinfo.json").json()[0]["id"]
    lines = client.ask(f"https://index.commoncrawl.org/{crawl}-index?url=twice.example/&output=json").text.splitlines()
    rows = [orjson.loads(line) for line in lines]
    return [(row["filename"], f"{row['offset']}-{int(row['offset']) + int(row['length']) - 1}") for row in rows]


@pytest.mark.parametrize("way", ["as of a day", "the snapshot of the day"])
def test_of_a_page_that_was_captured_again_the_earlier_record_is_read(twice: App, way: str) -> None:
    cut = cut_snapshot(Path(twice._live_snapshot._folder), parse_time(CUTOFF))
    policy = {"as_of": CUTOFF} if way == "as of a day" else {"snapshot": cut}
    session, (early, late) = Client(twice, **policy), records(Client(twice))
    assert [span for _, span in records(session)] == [early[1]]
    file = records(session)[0][0]
    assert b"Boats and nets" in gzip.decompress(session.ask(f"{FILES}/{file}", span=early[1]).content)
    for span in (late[1], f"{early[1].partition('-')[0]}-{late[1].partition('-')[2]}", "", "-200"):
        reply = session.ask(f"{FILES}/{file}", span=span)
        assert reply.status_code == 404, span
        assert b"Quibbledock" not in reply.content
    assert session.ask(f"{FILES}/{file}", "HEAD").status_code == 404
    assert b"Quibbledock" in gzip.decompress(Client(twice).ask(f"{FILES}/{late[0]}", span=late[1]).content)
