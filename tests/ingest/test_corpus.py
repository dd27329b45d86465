"""Real archives of many writers: every intact answer is given back as it was recorded, whatever stands beside it."""

import base64
import csv
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from benchmarks.views import iter_html_pages, measure_view
from webemu.emulator import urls
from webemu.emulator.types import PageRequest, Payload
from webemu.emulator.world import World
from webemu.index.catalog import Catalog
from webemu.index.http import dechunk
from webemu.index.open import open_world
from webemu.index.payloads import MAX_PAYLOAD
from webemu.index.views import MIN_RECALL, render_links, render_markdown
from webemu.ingest.run import Report, run
from webemu.ingest.sources import expand_sources
from webemu.ingest.times import parse_warc_time

SHARED = os.environ.get("WEBEMU_SHARED")
pytestmark = pytest.mark.skipif(SHARED is None, reason="WEBEMU_SHARED does not name the folder of real archives")
ARCHIVES = Path(SHARED or ".") / "data" / "warc"


@dataclass(frozen=True)
class Recorded:
    """A response as warcio reads it."""

    where: str
    url: str
    time: int
    status: int
    headers: list[tuple[str, str]]
    body: bytes
    digest: str


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    folder = tmp_path_factory.mktemp("corpus") / "c"
    return folder, run(expand_sources([str(ARCHIVES)]).sources, folder, 2, quiet=True)


@pytest.fixture(scope="session")
def web(corpus: tuple[Path, Report]) -> World:
    return open_world(corpus[0])


def sha1(body: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(body).digest()).decode()


def both_read(path: Path) -> bool:
    """Return True if two independent readers found the same records in a file, by the inventory beside the archives."""
    with (ARCHIVES / "INVENTORY.tsv").open(encoding="utf-8") as file:
        rows = {row["path"]: row for row in csv.DictReader(file, delimiter="\t")}
    row = rows.get(path.relative_to(ARCHIVES).as_posix())
    return row is not None and row["records_warcio"] == row["records_fastwarc"] and not row["warcio_error"]


def intact() -> Iterator[Recorded]:
    """Responses whose payload digest verifies, of files that both readers agree on."""
    for path in sorted(ARCHIVES.rglob("*.warc*")):
        if path.suffix not in (".gz", ".warc") or not both_read(path):
            continue
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type != "response" or not record.http_headers:
                    continue
                body = record.raw_stream.read()
                digest = record.rec_headers.get_header("WARC-Payload-Digest") or ""
                time = parse_warc_time(record.rec_headers.get_header("WARC-Date"))
                if time is None or len(body) > MAX_PAYLOAD or digest not in (sha1(body), sha1(dechunk(body) or b"\0")):
                    continue
                yield Recorded(
                    f"{path.name}:{record.rec_headers.get_header('WARC-Target-URI')}",
                    urls.normalize(record.rec_headers.get_header("WARC-Target-URI").strip("<>")),
                    int(time.replace(tzinfo=UTC).timestamp()),
                    int(record.http_headers.get_statuscode()),
                    record.http_headers.headers,
                    body,
                    digest,
                )


def text(value: bytes) -> str:
    try:
        return value.decode().strip()
    except UnicodeDecodeError:
        return value.decode("latin-1").strip()


def same(payload: Payload, recorded: Recorded) -> bool:
    """Return True if a payload is as recorded: status, headers in order, and the bytes its writer hashed."""
    headers = [(text(name), text(value)) for name, value in payload.headers]
    is_same_body = sha1(payload.body) == recorded.digest or payload.body == dechunk(recorded.body)
    return is_same_body and payload.status == recorded.status and headers == recorded.headers


def test_no_archive_stops_the_run_and_every_drop_is_counted(corpus: tuple[Path, Report]) -> None:
    folder, report = corpus
    assert report.failed == []
    assert report.added >= 190
    with Catalog(folder, read_only=True) as catalog:
        rows = catalog.db.execute(
            "SELECT s.name FROM sources s LEFT JOIN drops d USING (source_id) WHERE s.records = 0 AND d.reason IS NULL"
        )
        assert rows.fetchall() == []


def test_every_intact_answer_comes_back_as_recorded(web: World) -> None:
    shelf = web._page_store
    checked, wrong = 0, []
    for recorded in intact():
        captures = [capture for capture in shelf.exact(recorded.url) if capture.time == recorded.time]
        checked += 1
        if not any(same(shelf.payload(capture), recorded) for capture in captures if capture.length):
            wrong.append(recorded.where)
    assert wrong == []
    assert checked > 500


def test_the_recrawl_of_gov_uk_gives_full_bodies(corpus: tuple[Path, Report], web: World) -> None:
    """55 records of the second file say only that nothing changed since the first."""
    with Catalog(corpus[0], read_only=True) as catalog:
        rows = catalog.db.execute(
            "SELECT url, fetch_time, content_digest FROM captures WHERE warc_record_type = 'revisit'"
            " AND url_protocol LIKE 'http%' AND warc_filename LIKE '%gov.uk-revisit%'"
        ).fetchall()
    assert len(rows) == 55
    for url, time, digest in rows:
        at = time.replace(tzinfo=UTC)
        capture, payload = web.payload(PageRequest(url, "raw", at_time=at, follow=False))
        assert (capture.kind, capture.time) == ("revisit", int(at.timestamp()))
        assert sha1(payload.body) == digest or payload.encoding, url


def test_old_common_crawl_bodies_are_read_whatever_their_headers_say(corpus: tuple[Path, Report], web: World) -> None:
    """2014: headers say gzip, bodies are plain, and a mark of truncation stands on whole pages."""
    with Catalog(corpus[0], read_only=True) as catalog:
        rows = catalog.db.execute(
            "SELECT url FROM captures WHERE fetch_status = 200"
            " AND warc_filename LIKE '%WDPS-Group-3/CommonCrawl-sample.warc'"
        ).fetchall()
    claims = []
    for (url,) in rows:
        _, payload = web.payload(PageRequest(url, "raw"))
        claims.append(dict(payload.headers).get(b"Content-Encoding"))
        assert payload.encoding == ""
        assert len(web.fetch(PageRequest(url)).content) > 100
    assert b"gzip" in claims


def test_the_docs_show_these_drops(corpus: tuple[Path, Report]) -> None:
    page = (Path(__file__).parents[2] / "docs/corpus.md").read_text(encoding="utf-8")
    table = page.partition("## By reason")[2].partition("```")[0]
    rows = re.findall(r"^\| ([\w-]+) \| (\d+) \| \d+ \| \d+ \|$", table, re.MULTILINE)
    assert {reason: int(count) for reason, count in rows} == corpus[1].drops
    assert f"| all | {corpus[1].added} | " in page
    assert f" | {corpus[1].captures} | {corpus[1].pages} |\n" in page


@pytest.mark.slow
def test_every_view_of_every_page_has_its_text(web: World) -> None:
    low = []
    for page in iter_html_pages(web):
        for view in (render_markdown, render_links):
            if (figures := measure_view(page, view)).recall < MIN_RECALL:
                low.append((view.__name__, figures))
    assert low == []
