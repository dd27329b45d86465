"""`ddgs`, which reads pages of many engines, through `DDGS_PROXY`; its authority is that which `webemu env` names."""

import pytest

from tests.clients.conftest import Server

ddgs = pytest.importorskip("ddgs", reason="ddgs is not installed")

ENGINES = ("brave", "duckduckgo", "mojeek", "startpage", "yahoo")
NOTHING = "^No results found[.]$"


def search(query: str, backend: str = "duckduckgo", **parameters: object) -> list[dict[str, str]]:
    results: list[dict[str, str]] = ddgs.DDGS(timeout=30).text(query, backend=backend, **parameters)
    return results


def backends() -> list[tuple[str, str]]:
    """Every engine of every kind that the installed release has, those that it has switched off left out."""
    from ddgs.engines import ENGINES as found

    return [(kind, name) for kind, engines in sorted(found.items()) for name in ("auto", *sorted(engines))]


def test_results(web: Server) -> None:
    results = search("town river", max_results=10)
    assert len(results) == 10
    assert all(one["title"] and one["href"].startswith("http") and one["body"] for one in results)


def test_pages_do_not_overlap(web: Server) -> None:
    pages = [search("town river", page=page, max_results=None) for page in (1, 2, 3)]
    links = [one["href"] for page in pages for one in page]
    assert [len(page) for page in pages] == [10, 15, 15]
    assert len(set(links)) == 40


@pytest.mark.parametrize("backend", ENGINES)
def test_every_engine_finds_the_same(backend: str, web: Server) -> None:
    first, second = (search("town river", backend, page=page, max_results=7) for page in (1, 2))
    assert {one["href"] for one in first} == {one["href"] for one in search("town river", max_results=7)}
    assert all(one["title"] and one["body"] for one in first)
    assert not {one["href"] for one in first} & {one["href"] for one in second}


def test_news_bear_the_day_on_which_they_were_published(web: Server) -> None:
    news_by_backend = {
        name: ddgs.DDGS(timeout=30).news("town river", backend=name) for name in ("duckduckgo", "bing", "yahoo")
    }
    assert [news["url"] for news in news_by_backend["bing"]] == [news["url"] for news in news_by_backend["duckduckgo"]]
    assert [news["date"] for news in news_by_backend["bing"]] == [news["date"] for news in news_by_backend["yahoo"]]
    for news in news_by_backend["duckduckgo"]:
        assert "1990" < news["date"] < "2025"
        assert news["date"].endswith("T00:00:00+00:00")
        assert news["title"]
        assert news["body"]
        assert news["source"] in news["url"]


def test_a_page_is_read(web: Server) -> None:
    url = search("town river")[0]["href"]
    assert ddgs.DDGS(timeout=30).extract(url)["content"]


@pytest.mark.parametrize(("kind", "backend"), backends())
def test_nothing_found(kind: str, backend: str, web: Server) -> None:
    """Whichever engines are asked, the message says only that there is nothing: agents read it."""
    with pytest.raises(ddgs.exceptions.DDGSException, match=NOTHING):
        getattr(ddgs.DDGS(timeout=30), kind)("zzyzzyx", backend=backend)


@pytest.mark.parametrize("region", ["wt-wt", "cn-zh", "hk-tzh", "id-en"])
def test_nothing_found_in_a_region(region: str, web: Server) -> None:
    with pytest.raises(ddgs.exceptions.DDGSException, match=NOTHING):
        search("zzyzzyx", "auto", region=region)


@pytest.mark.parametrize("kind", ["images", "videos", "books"])
def test_what_a_crawl_of_pages_does_not_know(kind: str, web: Server) -> None:
    with pytest.raises(ddgs.exceptions.DDGSException, match=NOTHING):
        getattr(ddgs.DDGS(timeout=30), kind)("town river")


def test_whatever_engines_it_asks(web: Server) -> None:
    assert len(search("town river", "auto", max_results=20)) == 20
