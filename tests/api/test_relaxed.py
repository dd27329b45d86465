"""Every door says which phrases were given up: the native API, the client's tools, MCP and the page for people."""

import pytest
from starlette.testclient import TestClient

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.agent_client.responses import parse_search_answer
from webemu.agent_client.tools import format_results
from webemu.api.app import create_app
from webemu.emulator.config import Config
from webemu.index.open import open_world

QUERY = 'Denver "won the great final"'
NOTICE = 'Few pages have "won the great final". Pages without follow those.'


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    root = tmp_path_factory.mktemp("relaxed")
    page = CaptureSpec("http://bowl.org/", html("Final", "Denver won the final in the fog of the year."))
    ingest(root / "c", write(root / "a.warc.gz", [page]))
    return TestClient(create_app(Config(root=root), world=open_world(root / "c")), base_url="http://127.0.0.1")


def test_the_native_api_names_the_condition(http: TestClient) -> None:
    answer = http.get("/v1/search", params={"q": QUERY}).json()
    assert [result["url"] for result in answer["results"]] == ["http://bowl.org/"]
    assert answer["relaxed"] == ['"won the great final"']
    assert format_results(parse_search_answer(answer)).splitlines()[1] == NOTICE
    assert "relaxed" not in http.get("/v1/search", params={"q": "Denver"}).json()


def test_a_strict_search_finds_nothing(http: TestClient) -> None:
    assert http.get("/v1/search", params={"q": QUERY, "strict": "true"}).json()["results"] == []
    batch = http.post("/v1/search", json={"queries": [QUERY, {"q": QUERY, "strict": False}], "strict": True}).json()
    assert [len(answer["results"]) for answer in batch["answers"]] == [0, 1]


def test_a_session_is_strict_if_its_policy_is(http: TestClient) -> None:
    for policy, expected in ((b'{"strict": true}', 0), (b"{}", 1)):
        session = http.post("/v1/sessions", content=policy).json()["session"]
        answer = http.get("/v1/search", params={"q": QUERY}, headers={"X-Webemu-Session": session}).json()
        assert len(answer["results"]) == expected


def test_mcp_and_the_page_for_people_say_it(http: TestClient) -> None:
    call = {"name": "search", "arguments": {"query": QUERY}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    answer = http.post("/mcp/browse", json=message, headers=headers)
    assert NOTICE in answer.json()["result"]["content"][0]["text"]
    page = http.get("/search", params={"q": QUERY}).text
    assert "Few pages have" in page
    assert "showing others too" in page
    assert "&#34;won the great final&#34;" in page


UNQUOTED = "Denver won the great final"


def test_vendors_with_a_field_for_it_name_the_query_without_quotes(http: TestClient) -> None:
    information = http.get("/serpapi/search.json", params={"q": QUERY, "api_key": "k"}).json()["search_information"]
    assert information["organic_results_state"] == "Showing results for query without quotes"
    assert (information["query_displayed"], information["showing_results_for"]) == (QUERY, UNQUOTED)
    met = http.get("/serpapi/search.json", params={"q": '"won the final"', "api_key": "k"}).json()
    assert met["search_information"]["organic_results_state"] == "Results for exact spelling"
    body = {"source": "google_search", "query": QUERY, "parse": True}
    content = http.post("/oxylabs/v1/queries", json=body).json()["results"][0]["content"]
    assert content["results"]["search_information"]["showing_results_for"] == UNQUOTED


@pytest.mark.parametrize(
    ("path", "row_path"),
    [
        ("/serper/search", ("organic", 0, "link")),
        ("/serpapi/search.json", ("organic_results", 0, "link")),
        ("/google/customsearch/v1", ("items", 0, "link")),
        ("/brave/res/v1/web/search", ("web", "results", 0, "url")),
        ("/bing/v7.0/search", ("webPages", "value", 0, "url")),
        ("/searxng/search", ("results", 0, "url")),
    ],
)
def test_services_go_on_without_a_phrase_that_no_page_has(
    http: TestClient, path: str, row_path: tuple[str | int, ...]
) -> None:
    params = {"q": QUERY, "cx": "c", "key": "k", "api_key": "k", "format": "json"}
    answer = http.get(path, params=params, headers={"X-Subscription-Token": "k"}).json()
    for step in row_path:
        answer = answer[step]
    assert answer == "http://bowl.org/"


def test_a_phrase_that_a_service_requires_binds(http: TestClient) -> None:
    params = {"q": "Denver", "exactTerms": "won the great final", "key": "k", "cx": "c"}
    assert "items" not in http.get("/google/customsearch/v1", params=params).json()
