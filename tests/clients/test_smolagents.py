"""The search tools of `smolagents`: SerpAPI, Serper, DuckDuckGo's lite page, Bing's RSS."""

import re

import pytest

from tests.clients.conftest import Server

smolagents = pytest.importorskip("smolagents", reason="smolagents is not installed")
PROVIDERS = ("serpapi", "serper")


@pytest.fixture(params=PROVIDERS)
def google(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> "smolagents.GoogleSearchTool":
    monkeypatch.setenv(f"{request.param}_API_KEY".upper(), "good")
    return smolagents.GoogleSearchTool(provider=request.param)


def test_google(keyed: Server, google: "smolagents.GoogleSearchTool") -> None:
    listing = google.forward("town river")
    assert len(re.findall(r"^\d+\. \[.+\]\(https?://.+\)$", listing, re.MULTILINE)) == 10


def test_google_of_a_year(keyed: Server, google: "smolagents.GoogleSearchTool") -> None:
    dates = re.findall(r"Date published: .+(\d{4})$", google.forward("town", filter_year=2024), re.MULTILINE)
    assert set(dates) == {"2024"}


def test_google_finds_nothing(keyed: Server, google: "smolagents.GoogleSearchTool") -> None:
    if google.provider == "serper":
        assert google.forward("zzyzzyx").startswith("No results found")
    else:
        with pytest.raises(Exception, match="No results found"):
            google.forward("zzyzzyx")


def test_google_with_a_bad_key(keyed: Server, google: "smolagents.GoogleSearchTool") -> None:
    google.api_key = "bad"
    with pytest.raises(ValueError, match=r"Invalid API key|Unauthorized"):
        google.forward("town")


@pytest.mark.parametrize("engine", ["duckduckgo", "bing"])
def test_pages_of_results(web: Server, engine: str) -> None:
    tool = smolagents.WebSearchTool(engine=engine)
    results = tool.search("town river")
    assert len(results) == 10
    assert all(one["title"] and one["link"].startswith("http") and one["description"] for one in results)
    with pytest.raises(Exception, match="No results found"):
        tool.forward("zzyzzyx")


def test_a_result_is_visited(web: Server) -> None:
    pytest.importorskip("markdownify", reason="markdownify is not installed")
    link = smolagents.WebSearchTool().search("town river")[0]["link"]
    assert "Error" not in smolagents.VisitWebpageTool().forward(link)[:200]
