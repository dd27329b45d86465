"""Pages of results over a crawl whose pages all tie: nothing is shown twice, nothing is left out, whatever the size."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.index_reader import IndexReader
from webemu.index.open import open_world

PAGES = 230


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("paging")
    # Written in an order that is not that of the URLs, each text as long as the others.
    numbers = [number * 97 % PAGES for number in range(PAGES)]
    records = [
        CaptureSpec(
            f"https://site{number % 3}.example/{number:04d}",
            html(f"Page n{number:04d}", f"The same harbour as of n{number:04d}."),
            day=1 + number % 20,
        )
        for number in numbers
    ]
    write(folder / "a.warc.gz", records[:100])
    write(folder / "b.warc.gz", records[100:])
    ingest(folder / "c", folder / "a.warc.gz", folder / "b.warc.gz")
    return open_world(folder / "c")


def pages(web: World, text: str, size: int) -> Iterator[str]:
    for number in range(1, 1000):
        results = web.search(Query(text, page=number, size=size))
        yield from (hit.url for hit in results.hits)
        if not results.more:
            return


@pytest.mark.parametrize(
    "text",
    ["site:example", "site:site1.example", "filetype:html", "harbour", "harbour site:example", "after:2000", "-castle"],
)
def test_every_size_shows_the_same_results_once(web: World, text: str) -> None:
    expected_count = PAGES // 3 if "site1" in text else PAGES
    urls_by_size = {size: list(pages(web, text, size)) for size in (3, 10, 100)}
    assert all(len(set(urls)) == len(urls) for urls in urls_by_size.values())
    assert {len(urls) for urls in urls_by_size.values()} <= {expected_count, expected_count + 1}
    assert urls_by_size[3] == urls_by_size[10] == urls_by_size[100]


def test_many_results_take_one_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [
        CaptureSpec(f"https://site{number}.example/", html(f"Page {number}", "harbour" + " stone" * number))
        for number in range(80)
    ]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    web = open_world(tmp_path / "c")
    expected = [hit.url for number in range(1, 7) for hit in web.search(Query("harbour", number)).hits]
    limits: list[int] = []
    search = IndexReader.search

    def count(reader: IndexReader, query: object, limit: int) -> object:
        limits.append(limit)
        return search(reader, query, limit)  # type: ignore[arg-type]

    monkeypatch.setattr(IndexReader, "search", count)
    assert [hit.url for hit in web.search(Query("harbour", size=60)).hits] == expected
    assert limits == [300]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("before:2000", 0),
        ("after:2000", PAGES),
        ("after:2024-01-01 before:2024-01-03", 24),
        ("-harbour", 0),
        ("-site:site0.example", 153),
        ("-castle before:2030", PAGES),
        ("site:site0.example:8080", 77),
        ("", 0),
        ("-", 0),
    ],
)
def test_operators_alone_find_every_page_that_meets_them(web: World, text: str, count: int) -> None:
    assert len(list(pages(web, text, 100))) == count
