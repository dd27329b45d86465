"""`exa-py`: what it returns and what it raises."""

import pytest

from tests.clients.conftest import LEXICON, Server

exa_py = pytest.importorskip("exa_py", reason="exa-py is not installed")

LOST = "https://en.openlexicon.org/wiki/No_such_page"


@pytest.fixture
def exa(server: Server) -> "exa_py.Exa":
    return exa_py.Exa("any", base_url=f"{server.url}/exa")


def test_search_brings_text_unless_told_otherwise(exa: "exa_py.Exa") -> None:
    results = exa.search("town river", num_results=4).results
    assert len(results) == 4
    assert all(one.title and one.text and one.published_date and 0 < one.score < 1 for one in results)
    bare = exa.search("town river", num_results=4, contents=False).results
    assert [(one.url, one.text) for one in bare] == [(one.url, None) for one in results]


def test_highlights_and_short_texts(exa: "exa_py.Exa") -> None:
    results = exa.search("town river", contents={"highlights": True, "text": {"max_characters": 50}}).results
    assert len(results) == 10
    assert all(one.highlights and len(one.text) <= 50 for one in results)


def test_domains_and_words(exa: "exa_py.Exa") -> None:
    inside = exa.search("town", include_domains=["openlexicon.org"], contents=False).results
    assert inside
    assert all("openlexicon.org" in one.url for one in inside)
    worded = exa.search("town", include_text=["river"], contents={"text": True}).results
    assert worded
    assert all("river" in one.text.lower() for one in worded)


def test_nothing_found(exa: "exa_py.Exa") -> None:
    assert exa.search("zzyzzyx").results == []


def test_contents(exa: "exa_py.Exa") -> None:
    response = exa.get_contents([LEXICON, LOST], text=True, subpages=2)
    assert [one.url for one in response.results] == [LEXICON]
    assert response.results[0].text
    assert len(response.results[0].subpages) == 2
    statuses = [(one.id, one.status, one.error and one.error.tag) for one in response.statuses]
    assert statuses == [(LEXICON, "success", None), (LOST, "error", "CRAWL_NOT_FOUND")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_similar(exa: "exa_py.Exa") -> None:
    page = exa.search("town river", num_results=1).results[0].url
    results = exa.find_similar(page, num_results=3, contents=False).results
    assert len(results) == 3
    assert page not in [one.url for one in results]


def test_base_url_without_the_prefix(server: Server) -> None:
    exa = exa_py.Exa("any", base_url=server.url)
    assert exa.search("town").results
    assert exa.get_contents(LEXICON, text=True).results


def test_through_the_proxy(web: Server) -> None:
    assert exa_py.Exa("any").search("town").results


def test_errors(exa: "exa_py.Exa", keyed_server: Server) -> None:
    with pytest.raises(ValueError, match=r"403.*FEATURE_DISABLED"):
        exa.answer("when did the harbour open?")
    with pytest.raises(ValueError, match=r"400.*INVALID_REQUEST_BODY"):
        exa.search(" ")
    with pytest.raises(ValueError, match=r"401.*INVALID_API_KEY"):
        exa_py.Exa("bad", base_url=f"{keyed_server.url}/exa").search("town")
    assert exa_py.Exa("good", base_url=f"{keyed_server.url}/exa").search("town").results


def test_summaries_are_sentences_of_the_page(exa: "exa_py.Exa") -> None:
    page = exa.get_contents([LEXICON], text=True, summary=True).results[0]
    assert 0 < len(page.summary) <= 600
    assert page.summary in " ".join(page.text.split())
    results = exa.search("town river", num_results=3, contents={"summary": {"query": "river"}, "text": True}).results
    assert all(one.summary and one.summary in " ".join(one.text.split()) for one in results)
