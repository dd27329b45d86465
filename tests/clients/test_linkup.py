"""`linkup-sdk`: what it returns and what it raises."""

import pytest

from tests.clients.conftest import LEXICON, Server

linkup = pytest.importorskip("linkup", reason="linkup-sdk is not installed")


@pytest.fixture
def client(server: Server) -> "linkup.LinkupClient":
    return linkup.LinkupClient("any", base_url=f"{server.url}/linkup/v1")


def test_results(client: "linkup.LinkupClient") -> None:
    results = client.search("town river", depth="standard", output_type="searchResults", max_results=4).results
    assert len(results) == 4
    assert all(one.name and one.content and one.url.startswith("http") for one in results)


def test_sources_without_an_answer(client: "linkup.LinkupClient") -> None:
    answer = client.search("town river", depth="deep", output_type="sourcedAnswer")
    assert answer.answer == ""
    assert len(answer.sources) == 10


def test_domains(client: "linkup.LinkupClient") -> None:
    results = client.search(
        "town", depth="fast", output_type="searchResults", include_domains=["openlexicon.org"]
    ).results
    assert results
    assert all("openlexicon.org" in one.url for one in results)


def test_fetch(client: "linkup.LinkupClient") -> None:
    page = client.fetch(LEXICON, include_raw_html=True)
    assert page.markdown
    assert "<html" in page.raw_html


def test_through_the_proxy(web: Server) -> None:
    assert linkup.LinkupClient("any").fetch(LEXICON).markdown


def test_errors(client: "linkup.LinkupClient", keyed_server: Server) -> None:
    with pytest.raises(linkup.LinkupNoResultError):
        client.search("zzyzzyx", depth="standard", output_type="searchResults")
    with pytest.raises(linkup.LinkupInvalidRequestError, match="q should not be empty"):
        client.search("", depth="standard", output_type="searchResults")
    with pytest.raises(linkup.LinkupInvalidRequestError, match="outputType"):
        client.search("town", depth="deep", output_type="structured", structured_output_schema="{}")
    with pytest.raises(linkup.LinkupFetchTargetNotFoundError):
        client.fetch("https://en.openlexicon.org/wiki/No_such_page")
    with pytest.raises(linkup.LinkupFetchTargetUnreachableError):
        client.fetch("https://nowhere.example/")
    with pytest.raises(linkup.LinkupAuthenticationError):
        linkup.LinkupClient("bad", base_url=f"{keyed_server.url}/linkup/v1").fetch(LEXICON)
    assert linkup.LinkupClient("good", base_url=f"{keyed_server.url}/linkup/v1").fetch(LEXICON).markdown
