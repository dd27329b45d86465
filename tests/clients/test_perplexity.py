"""`perplexityai`, its search alone: what it returns and what it raises."""

import pytest

from tests.clients.conftest import Server

perplexity = pytest.importorskip("perplexity", reason="perplexityai is not installed")


@pytest.fixture
def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> "perplexity.Perplexity":
    monkeypatch.setenv("PERPLEXITY_BASE_URL", f"{server.url}/perplexity")
    return perplexity.Perplexity(api_key="any")


def test_results(client: "perplexity.Perplexity") -> None:
    response = client.search.create(query="town river", max_results=4, max_tokens_per_page=100)
    assert len(response.results) == 4
    assert all(one.title and one.snippet and one.date for one in response.results)
    assert all(len(one.snippet) <= 400 for one in response.results)
    assert response.id == client.search.create(query="town river", max_results=4, max_tokens_per_page=100).id


def test_several_queries(client: "perplexity.Perplexity") -> None:
    urls = [one.url for one in client.search.create(query=["town", "company"]).results]
    assert len(set(urls)) == 10
    first = client.search.create(query="town", max_results=1).results[0].url
    second = client.search.create(query="company", max_results=1).results[0].url
    assert urls[:2] == [first, second]


def test_domains_and_dates(client: "perplexity.Perplexity") -> None:
    inside = client.search.create(query="town", search_domain_filter=["openlexicon.org"]).results
    outside = client.search.create(query="town", search_domain_filter=["-openlexicon.org"]).results
    assert inside
    assert outside
    assert all("openlexicon.org" in one.url for one in inside)
    assert not any("openlexicon.org" in one.url for one in outside)
    late = client.search.create(query="town", search_after_date_filter="06/01/2024").results
    assert all(one.date >= "2024-06-01" for one in late)


def test_nothing_found(client: "perplexity.Perplexity") -> None:
    assert client.search.create(query="zzyzzyx").results == []


def test_base_url_without_the_prefix(server: Server) -> None:
    assert perplexity.Perplexity(api_key="any", base_url=server.url).search.create(query="town").results


def test_through_the_proxy(web: Server) -> None:
    assert perplexity.Perplexity(api_key="any").search.create(query="town").results


def test_errors(client: "perplexity.Perplexity", keyed_server: Server) -> None:
    with pytest.raises(perplexity.UnprocessableEntityError, match="Field required"):
        client.search.create(query=" ")
    with pytest.raises(perplexity.UnprocessableEntityError, match="MM/DD/YYYY"):
        client.search.create(query="town", search_after_date_filter="yesterday")
    base = f"{keyed_server.url}/perplexity"
    with pytest.raises(perplexity.AuthenticationError, match="Invalid API key"):
        perplexity.Perplexity(api_key="bad", base_url=base).search.create(query="town")
    assert perplexity.Perplexity(api_key="good", base_url=base).search.create(query="town").results
