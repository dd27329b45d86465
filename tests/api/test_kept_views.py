"""Pages as markdown and with links are converted once and kept beside the collection, where a restart finds them."""

from pathlib import Path

import pytest

from tests.api.test_sessions import Server, serving
from tests.crawls import CaptureSpec, html, ingest, write
from tests.seeds import every_nth
from webemu.index.kept_texts import FOLDER
from webemu.index.removal.rules import Rules, parse_rule
from webemu.ingest.purge import purge

PAGES = 8
DOORS = [
    "/v1/fetch?url={url}&format=markdown",
    "/v1/fetch?url={url}&format=links",
    "/s/{session}/v1/fetch?url={url}&format=markdown",
]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    specs = [
        CaptureSpec(
            url_of(n), html(f"Page {n}", f'The harbour <b>number</b> {n}, and <a href="/{n + 1}">the next</a>.')
        )
        for n in range(PAGES)
    ]
    return write(tmp_path / "a.warc.gz", specs)


def url_of(number: int) -> str:
    return f"https://a.example/{number}"


def read_pages(server: Server, numbers: range) -> list[tuple[int, bytes]]:
    _, opened = server.json("POST", "/v1/sessions", {})
    targets = [door.format(url=url_of(n), session=opened["session"]) for n in numbers for door in DOORS]
    answers = [server.ask("GET", target) for target in targets]
    return [(status, body.replace(opened["session"].encode(), b"")) for status, _, body in answers]


@pytest.mark.parametrize("workers", every_nth(["2", "1"], 2))
def test_a_page_that_was_read_is_read_again_without_its_document(tmp_path: Path, archive: Path, workers: str) -> None:
    collection = tmp_path / "web"
    ingest(collection, archive)
    with serving(collection, "--workers", workers) as server:
        first = read_pages(server, range(PAGES - 1))
        assert [status for status, _ in first] == [200] * len(first)
        assert b"**number** 3" in first[3 * len(DOORS)][1]
        assert b'"title":"Page 3"' in first[3 * len(DOORS)][1]
    archive.rename(tmp_path / "elsewhere.warc.gz")
    with serving(collection, "--workers", workers) as server:
        assert read_pages(server, range(PAGES - 1)) == first
        assert server.ask("GET", DOORS[0].format(url=url_of(PAGES - 1)))[0] == 502
        assert server.ask("GET", f"/v1/fetch?url={url_of(0)}&format=raw")[0] == 502


def test_nothing_is_kept_where_no_space_is_given(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBEMU_VIEWS_MB", "0")
    collection = tmp_path / "web"
    ingest(collection, archive)
    with serving(collection) as server:
        assert {status for status, _ in read_pages(server, range(PAGES))} == {200}
    assert not (collection / FOLDER).exists()


def test_a_purge_deletes_what_was_kept(tmp_path: Path, archive: Path) -> None:
    collection = tmp_path / "web"
    ingest(collection, archive)
    with serving(collection) as server:
        read_pages(server, range(PAGES))
    assert list((collection / FOLDER).rglob("data.mdb"))
    purge(collection, Rules((parse_rule("url", url_of(3), "court order", "2026-11-26T00:00:00Z"),)))
    assert not (collection / FOLDER).exists()


def test_a_collection_that_was_built_anew_shows_its_new_documents(tmp_path: Path) -> None:
    """The two pages have one URL, time, place in the archive, and number in their shard."""
    collection, archive = tmp_path / "web", tmp_path / "b.warc.gz"
    for word in ("harbour", "railway"):
        if collection.exists():
            old = collection.rename(tmp_path / "old")
            collection.mkdir()
            (old / FOLDER).rename(collection / FOLDER)
        write(archive, [CaptureSpec(url_of(0), html("Page", f"The <b>{word}</b> of the town in this year."))])
        ingest(collection, archive)
        with serving(collection) as server:
            status, _, body = server.ask("GET", DOORS[0].format(url=url_of(0)))
            assert (status, f"**{word}**".encode() in body) == (200, True)
    assert (collection / FOLDER).exists()
