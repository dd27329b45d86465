"""Every operator that docs/api.md names does what it says there, over a small crawl."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator.query import parse_query
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.conditions import number_patterns
from webemu.index.open import open_world

PAGES = {
    "a": ("https://a.example/", 1, "Harbour", "The old town by the sea, built in 1994."),
    "b": ("https://a.example/map", 5, "Tram lines", "A fast tram runs to the new town in 20 minutes."),
    "c": ("https://news.example/2020/x", 9, "Daily", "The bus and the tram were late, said 75 people."),
    "d": (
        "https://de.news.example/bahn",
        20,
        "Bahn",
        "Die Bahn ist heute leider nicht gekommen, und der Bus auch nicht.",
    ),
    "e": ("https://docs.example/plan.pdf", 28, "Plan", "A bus for the old harbour town, as of 2031."),
}
MATCHES = {
    '"old town"': "a",
    '"the * town"': "ab",
    "+tram": "bc",
    "intext:tram": "bc",
    "-tram": "ade",
    "site:news.example": "cd",
    "-site:news.example": "abe",
    "intitle:tram": "b",
    "inurl:map": "b",
    "filetype:pdf": "e",
    "lang:de": "d",
    "after:2024": "abcde",
    "before:2024-01-31": "abcde",
    "1990..1999": "a",
    "tram OR bus": "bcde",
    "site:a.example OR intitle:tram": "ab",
    '(tram fast) OR "old town"': "abc",
    "-(tram bus)": "abde",
}
"""The names of the pages that each example of the table finds."""
MORE = {
    '-"old town"': "bcde",
    "site:news.example/2020": "c",
    "site:a.example site:docs.example": "abe",
    "(site:a.example OR site:docs.example) town": "abe",
    "lang:de lang:en": "abcde",
    "$50..100": "c",
    "20..75": "bc",
    "2020..2040 OR 1994..1994": "ae",
    "after:2024-01-09 before:2024-01-28": "cd",
    "(after:2024 OR lang:de)": "abcde",
    "before:2023 OR lang:de": "d",
    "-intitle:tram": "acde",
    "-inurl:map -filetype:pdf": "acd",
    "-lang:de -1990..1999": "bce",
    "-(tram OR bus)": "a",
    '-("old town" OR (tram fast))': "cde",
    "tram -(site:news.example OR intitle:harbour)": "b",
    '"old town" OR "new town"': "ab",
    '"old * town"': "e",
    "zebra OR site:a.example": "ab",
    "zebra (bus OR tram)": "bcde",
    "zebra (site:a.example OR intitle:plan)": "",
    "zebra OR (quagga OR okapi)": "",
    "(-site:a.example OR intitle:harbour) +town": "ae",
    "tram (": "bc",
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("conditions")
    records = [
        CaptureSpec(
            url, html(title, text).replace("<html>", '<html lang="de">' if name == "d" else '<html lang="en">'), day
        )
        for name, (url, day, title, text) in PAGES.items()
    ]
    ingest(folder / "c", write(folder / "w.warc.gz", records))
    return open_world(folder / "c")


def names(web: World, text: str) -> list[str]:
    by_url = {url: name for name, (url, *_) in PAGES.items()}
    return [by_url[hit.url] for hit in web.search(Query(text, is_strict=True)).hits]


def documented() -> Iterator[str]:
    text = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    table = text.partition("| operator | finds |")[2].partition("\n\n")[0]
    yield from re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE)


def test_every_operator_of_the_docs_is_tried() -> None:
    assert list(documented()) == list(MATCHES)


@pytest.mark.parametrize(("text", "expected_names"), (MATCHES | MORE).items())
def test_an_operator_does_what_it_says(web: World, text: str, expected_names: str) -> None:
    assert "".join(sorted(names(web, text))) == expected_names


def test_the_best_way_of_a_group_ranks(web: World) -> None:
    alone = {name: hit.score for name, hit in zip(names(web, "tram"), web.search(Query("tram")).hits, strict=True)}
    either = web.search(Query("tram OR zebra")).hits
    assert [hit.score for hit in either] == list(alone.values())
    both = web.search(Query("tram OR tram")).hits
    assert [hit.score for hit in both] == list(alone.values())


def test_a_condition_in_a_group_does_not_rank(web: World) -> None:
    scores = {hit.score for hit in web.search(Query("(site:a.example OR lang:de OR intitle:plan)")).hits}
    assert len(scores) == 1


@pytest.mark.parametrize(("first", "last"), [(0, 0), (7, 7), (0, 17), (95, 1203), (1990, 1999), (999, 99_999)])
def test_patterns_of_a_range_match_its_numbers_and_no_other(first: int, last: int) -> None:
    pattern = re.compile("|".join(number_patterns(first, last)))
    near = {n for edge, step in product((first, last), range(-30, 30)) if (n := edge + step) >= 0}
    assert {n for n in near if pattern.fullmatch(str(n))} == {n for n in near if first <= n <= last}
    assert len(pattern.pattern) < 600


def test_the_longest_queries_are_answered(web: World) -> None:
    for text in (
        "tram OR " * 500,
        "-(a OR b) " * 400,
        '"a * b" ' * 500,
        "1..99999 " * 400,
        "(site:a.example OR x) " * 180,
    ):
        assert web.search(Query(text)).hits == web.search(Query(text)).hits
        assert parse_query(text) == parse_query(text)


def test_dates_before_all_time_find_nothing_and_break_nothing(web: World) -> None:
    for query in ("before:0001-01-01 OR tram", "-(before:0001) tram", "(before:1800 OR after:9999) tram"):
        web.search(Query(query))
    assert {hit.url for hit in web.search(Query("-(after:2000) tram")).hits} == set()


def test_addresses_are_found_in_a_crawl_without_english(tmp_path: Path) -> None:
    german = '<html lang="de"><title>{0}</title><p>Die Bahn ist heute leider nicht gekommen und der Bus auch nicht.'
    records = [CaptureSpec(f"http://a.de/running-{name}", german.format(name)) for name in ("shoes", "trails")]
    ingest(tmp_path / "c", write(tmp_path / "a.warc.gz", records))
    world = open_world(tmp_path / "c")
    for query in ("inurl:running", "site:a.de/running-shoes"):
        assert "http://a.de/running-shoes" in {hit.url for hit in world.search(Query(query)).hits}
