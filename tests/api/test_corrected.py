"""Every door says which words were searched for in another spelling: the native API, vendors, MCP, people's page."""

from typing import Any

import pytest
from lxml import html as lxml_html
from starlette.testclient import TestClient

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.agent_client.responses import parse_search_answer
from webemu.agent_client.tools import format_results
from webemu.api.app import create_app
from webemu.emulator.config import Config
from webemu.index.open import open_world

TYPED, CORRECTED = "lihgthouse keeper", "lighthouse keeper"
NAME, NAME_CORRECTED = "Lihgthouse", "lighthouse"
URL = "https://port.example/"
NOTICE = "Corrected: lihgthouse to lighthouse. A + before a word keeps its spelling."
BRAVE = {"X-Subscription-Token": "k"}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    root = tmp_path_factory.mktemp("corrected")
    pages = [
        CaptureSpec(URL, html("The lighthouse", "The keeper of the lighthouse sleeps by day."), 1),
        CaptureSpec("https://zoo.example/", html("The zoo", "The keeper of the zoo sleeps by night."), 1),
        CaptureSpec("https://late.example/", html("Barometer", "The barometer of the museum is the oldest."), 20),
        CaptureSpec("https://early.example/", html("Notes", "The attention of the readers was given."), 1),
        CaptureSpec("https://later.example/", html("Attentive readers", "The readers were attentive."), 20),
    ]
    ingest(root / "c", write(root / "a.warc.gz", pages))
    return TestClient(create_app(Config(root=root), world=open_world(root / "c")), base_url="http://127.0.0.1")


def ask(http: TestClient, path: str, headers: dict[str, str] | None = None, **params: str) -> Any:
    return http.get(path, params=params, headers=headers).json()


def test_the_native_api_names_the_words(http: TestClient) -> None:
    answer = ask(http, "/v1/search", q=TYPED)
    assert answer["results"][0]["url"] == URL
    assert answer["corrected"] == {"lihgthouse": "lighthouse"}
    assert format_results(parse_search_answer(answer)).splitlines()[1] == NOTICE
    assert "corrected" not in ask(http, "/v1/search", q=CORRECTED)


def test_a_name_is_corrected_only_where_it_finds_nothing(http: TestClient) -> None:
    assert "corrected" not in ask(http, "/v1/search", q=f"{NAME} keeper")
    answer = ask(http, "/v1/search", q=NAME)
    assert answer["corrected"] == {NAME: NAME_CORRECTED}
    assert [result["url"] for result in answer["results"]] == [URL]


def test_strict_searches_and_words_behind_a_plus_keep_their_spelling(http: TestClient) -> None:
    for answer in (ask(http, "/v1/search", q=TYPED, strict="true"), ask(http, "/v1/search", q="+lihgthouse keeper")):
        assert "corrected" not in answer
    assert ask(http, "/v1/search", q="+lihgthouse keeper")["relaxed"] == ["+lihgthouse"]


def test_no_correction_tells_of_later_pages(http: TestClient) -> None:
    assert ask(http, "/v1/search", q="barometre museum")["corrected"] == {"barometre": "barometer"}
    past = ask(http, "/v1/search", q="barometre museum", as_of="2024-01-05")
    assert (past["results"], "corrected" in past) == ([], False)


def test_vendors_name_the_query_in_their_own_fields(http: TestClient) -> None:
    serper = ask(http, "/serper/search", q=TYPED)
    assert serper["searchInformation"] == {"didYouMean": CORRECTED}
    information = ask(http, "/serpapi/search.json", q=TYPED)["search_information"]
    assert information["spelling_fix"] == information["showing_results_for"] == CORRECTED
    assert information["organic_results_state"] == "Some results for exact spelling but showing fixed spelling"
    spelling = ask(http, "/google/customsearch/v1", q=TYPED, cx="c")["spelling"]
    assert spelling == {"correctedQuery": CORRECTED, "htmlCorrectedQuery": "<b><i>lighthouse</i></b> keeper"}
    for kind in ("web", "news"):
        brave = ask(http, f"/brave/res/v1/{kind}/search", BRAVE, q="lihgthouse" if kind == "news" else TYPED)
        assert brave["query"].get("altered") == (CORRECTED if kind == "web" else None), "no page is news"
    context = ask(http, "/bing/v7.0/search", q=TYPED)["queryContext"]
    assert context == {
        "originalQuery": TYPED,
        "alteredQuery": CORRECTED,
        "alterationDisplayQuery": CORRECTED,
        "alterationOverrideQuery": "+lihgthouse keeper",
    }
    assert ask(http, "/searxng/search", q=TYPED, format="json")["corrections"] == [CORRECTED]
    body = {"source": "google_search", "query": TYPED, "parse": True}
    oxylabs = http.post("/oxylabs/v1/queries", json=body).json()["results"][0]["content"]["results"]
    assert oxylabs["search_information"]["showing_results_for"] == CORRECTED
    page = lxml_html.fromstring(http.get("/duckduckgo/html/", params={"q": TYPED}).content)
    assert page.xpath("//div[@id='did_you_mean']//a/text()") == [CORRECTED]


def test_vendors_keep_the_spelling_on_request(http: TestClient) -> None:
    assert "searchInformation" not in ask(http, "/serper/search", q=TYPED, autocorrect="false")
    assert "spelling_fix" not in ask(http, "/serpapi/search.json", q=TYPED, nfpr="1")["search_information"]
    assert "altered" not in ask(http, "/brave/res/v1/web/search", BRAVE, q=TYPED, spellcheck="0")["query"]
    override = ask(http, "/bing/v7.0/search", q="+lihgthouse keeper")
    assert override["queryContext"] == {"originalQuery": "+lihgthouse keeper"}


def test_mcp_says_it(http: TestClient) -> None:
    call = {"name": "search", "arguments": {"query": TYPED}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    answer = http.post("/mcp/browse", json=message, headers=headers).json()
    assert answer["result"]["content"][0]["text"].splitlines()[1] == NOTICE


@pytest.mark.parametrize(("typed", "corrected"), [(TYPED, CORRECTED), (NAME, NAME_CORRECTED)])
def test_the_page_shows_the_corrected_results_and_leads_to_the_typed_ones(
    http: TestClient, typed: str, corrected: str
) -> None:
    page = lxml_html.fromstring(http.get("/search", params={"q": typed}).content)
    (line,) = page.xpath("//p[@class='meant']")
    assert line.text_content() == f"Showing results for {corrected}. Search instead for {typed}."
    assert page.xpath("//h2/a/text()")[0] == "The lighthouse"
    assert page.xpath("//mark/text()")[:1] != []
    typed_page = lxml_html.fromstring(http.get(line.xpath("a/@href")[1]).content)
    assert typed_page.xpath("//p[@class='meant']") == []
    assert "The lighthouse" not in typed_page.xpath("//h2/a/text()")[:1] or "keeper" in typed


def test_a_form_that_only_later_pages_have_is_not_named(http: TestClient) -> None:
    assert ask(http, "/v1/search", q="attnetive")["corrected"] == {"attnetive": "attentive"}
    answer = ask(http, "/v1/search", q="attnetive", as_of="2024-01-10")
    assert "attentive" not in str(answer).replace("attnetive", "")
    assert ask(http, "/v1/search", q="lihgthouse", as_of="2024-01-10")["corrected"] == {"lihgthouse": "lighthouse"}
