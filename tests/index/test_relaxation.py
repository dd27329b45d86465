"""Phrases and `+words` bind where pages have them, and the answer says which were given up."""

import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.emulator import relaxation
from webemu.emulator.query import parse_query
from webemu.emulator.types import Query, Results
from webemu.emulator.world import World
from webemu.index.open import open_world

STREETS = 30


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("relaxation")
    pages = [
        CaptureSpec(f"http://host{number}.org/", html(f"Street {number}", f"The lamp of street {number} is green."))
        for number in range(STREETS)
    ]
    pages += [
        CaptureSpec("http://bowl.org/", html("Final", "The Super Bowl was the fiftieth final, and Denver won it.")),
        CaptureSpec("http://cup.org/", html("Cup", "Denver lost a final. Super: a bowl of soup was served.")),
        CaptureSpec("http://copy.org/", html("Final", "The Super Bowl was the fiftieth final, and Denver won it.")),
    ]
    ingest(root / "c", write(root / "a.warc.gz", pages))
    return open_world(root / "c")


def search(web: World, text: str, page: int = 1, size: int = 10, is_strict: bool = False) -> Results:
    return web.search(Query(text, page, size, is_strict=is_strict))


def hosts(results: Results) -> list[str]:
    return [hit.url.split("/")[2] for hit in results.hits]


def test_a_phrase_that_a_page_has_comes_first_and_others_follow(web: World) -> None:
    results = search(web, 'Denver "Super Bowl" final')
    assert hosts(results)[0] in ("bowl.org", "copy.org")
    assert hosts(results)[1:] == ["cup.org"], "a duplicate of the first result is no other page"
    assert results.relaxed == ('"Super Bowl"',)


def test_conditions_that_a_page_meets_are_not_tried_one_by_one(web: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr(relaxation, "is_met", lambda *_, phrase="", word="": tried.append(phrase or word))
    met = search(web, '"Super Bowl" "fiftieth final" Denver')
    assert (met.relaxed, tried) == (('"Super Bowl"', '"fiftieth final"'), [])
    search(web, '"Super Bowl" "no such words" Denver')
    assert tried == ["Super Bowl", "no such words"]


def test_a_phrase_that_no_page_has_does_not_empty_the_answer(web: World) -> None:
    results = search(web, 'who won "the great Super Bowl" final')
    assert hosts(results)[0] in ("bowl.org", "copy.org")
    assert results.relaxed == ('"the great Super Bowl"',)


def test_only_the_condition_that_no_page_has_is_given_up_first(web: World) -> None:
    results = search(web, 'green "lamp of street" "no such words" +lamp')
    assert len(results.hits) == 10
    assert all(host.startswith("host") for host in hosts(results))
    assert results.relaxed == ('"no such words"',)


def test_a_phrase_that_many_pages_have_binds(web: World) -> None:
    results = search(web, '"lamp of street" Denver final', size=50)
    assert len(results.hits) == STREETS
    assert results.relaxed == ()


def test_strict_queries_and_hard_operators_bind(web: World) -> None:
    assert hosts(search(web, 'who won "the great Super Bowl" final', is_strict=True)) == []
    assert hosts(search(web, 'who won intext:"the great Super Bowl" final')) == []
    assert hosts(search(web, '"the great Super Bowl" site:cup.org')) == ["cup.org"]
    assert hosts(search(web, '"the great Super Bowl" -soup final'))[0] != "cup.org"
    assert "cup.org" not in hosts(search(web, '"the great Super Bowl" -soup final', size=50))


@pytest.mark.parametrize(
    "text", ['"lamp of street 7" street', '"lamp" +Denver street', '"nothing of this" "nor this" street']
)
def test_pages_of_results_neither_overlap_nor_leave_out(web: World, text: str) -> None:
    expected = search(web, text, size=40)
    for size in (1, 3, 7, 10):
        pages = [search(web, text, page, size) for page in range(1, -(-len(expected.hits) // size) + 1)]
        assert [host for page in pages for host in hosts(page)] == hosts(expected)
        assert [page.more for page in pages] == [True] * (len(pages) - 1) + [False]
        assert pages[-1].relaxed == expected.relaxed != ()


def test_a_page_that_shows_only_what_meets_the_query_names_nothing(web: World) -> None:
    assert search(web, 'Denver "Super Bowl" final', size=1).relaxed == ()
    assert search(web, 'Denver "Super Bowl" final', page=2, size=1).relaxed == ('"Super Bowl"',)


def test_nothing_is_named_where_nothing_is_found(web: World) -> None:
    results = search(web, '"zzz yyy"')
    assert (results.hits, results.relaxed) == ((), ())
    assert parse_query('"zzz yyy"').words == "zzz yyy"
