"""Real clients meet a rate limit: a session whose every request is limited, given as the API key or by proxy."""

import asyncio
import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.conftest import Server, _entered


@pytest.fixture(scope="module")
def limited(server: Server) -> str:
    """A session that is always over the rate."""
    body = json.dumps({"weather": {"rate_limits": 1.0, "retry_after": 1}}).encode()
    request = urllib.request.Request(f"{server.url}/v1/sessions", body, {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
        return str(json.load(answer)["session"])


def tavily(server: Server, key: str) -> Any:
    client = pytest.importorskip("tavily").TavilyClient(key, api_base_url=f"{server.url}/tavily")
    return client.search("town")


def exa(server: Server, key: str) -> Any:
    return pytest.importorskip("exa_py").Exa(key, base_url=f"{server.url}/exa").search("town")


def firecrawl(server: Server, key: str) -> Any:
    return pytest.importorskip("firecrawl").Firecrawl(api_key=key, api_url=server.url).search("town")


def linkup(server: Server, key: str) -> Any:
    client = pytest.importorskip("linkup").LinkupClient(key, base_url=f"{server.url}/linkup/v1")
    return client.search("town", depth="standard", output_type="searchResults")


def perplexity(server: Server, key: str) -> Any:
    client = pytest.importorskip("perplexity").Perplexity(
        api_key=key, base_url=f"{server.url}/perplexity", max_retries=0
    )
    return client.search.create(query="town")


def google(server: Server, key: str) -> Any:
    discovery = pytest.importorskip("googleapiclient.discovery")
    options = {"api_endpoint": f"{server.url}/google/"}
    service = discovery.build("customsearch", "v1", developerKey=key, client_options=options, static_discovery=True)
    return service.cse().list(q="town", cx="any").execute(num_retries=0)


@pytest.mark.parametrize(
    ("ask", "raised"),
    [
        (tavily, "UsageLimitExceededError"),
        (exa, "ValueError"),
        (firecrawl, "RateLimitError"),
        (linkup, "LinkupTooManyRequestsError"),
        (perplexity, "RateLimitError"),
        (google, "HttpError"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_clients_with_keys(server: Server, limited: str, ask: Callable[[Server, str], Any], raised: str) -> None:
    with pytest.raises(Exception) as error:
        ask(server, limited)
    assert type(error.value).__name__ == raised, error.value
    assert ask(server, "any")


def test_serpapi(server: Server, limited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    serpapi = pytest.importorskip("serpapi")
    monkeypatch.setattr(serpapi.SerpApiClient, "BACKEND", f"{server.url}/serpapi")
    answer = serpapi.GoogleSearch({"q": "town", "api_key": limited}).get_dict()
    assert answer["error"] == "Your account has run out of searches."


def test_ddgs_by_its_proxys_user_name(server: Server, limited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ddgs = pytest.importorskip("ddgs")
    _entered(server, monkeypatch)
    proxy = server.url.replace("://", f"://{limited}:any@")
    with pytest.raises(pytest.importorskip("ddgs.exceptions").DDGSException):
        ddgs.DDGS(timeout=30, proxy=proxy).text("town river", backend="duckduckgo")
    assert ddgs.DDGS(timeout=30).text("town river", backend="duckduckgo")


def test_brave_by_name(web: Server, limited: str) -> None:
    brave = pytest.importorskip("brave_search_python_client")
    request = brave.WebSearchRequest(q="town river")
    with pytest.raises(Exception, match="429"):
        asyncio.run(brave.BraveSearch(api_key=limited).web(request, retries=0))
    assert asyncio.run(brave.BraveSearch(api_key="any").web(request)).web.results


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("serper/search", {"q": "town"}),
        ("retrieve", {"queries": ["town"]}),
        ("asearcher/access", {"urls": ["https://en.openlexicon.org/wiki/Main_Page"]}),
    ],
)
def test_plain_requests_with_the_session_in_their_path(server: Server, limited: str, path: str, body: object) -> None:
    requests = pytest.importorskip("requests")
    answer = requests.post(f"{server.url}/s/{limited}/{path}", json=body, proxies={"http": ""})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
    assert requests.post(f"{server.url}/{path}", json=body, proxies={"http": ""}).status_code == 200
