"""Services of papers, services in Bing's shape, and scrapers: what goes over the wire, against golden files."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from lxml import etree

from tests.crawls import ingest, write
from tests.errors import ERRORS, OWN_WORDS
from tests.papers import DOI, PORT, RECORDS, metas
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import build_error_response
from webemu.api.dialects.papers import read_paper
from webemu.api.http.request import Request
from webemu.emulator.config import Config
from webemu.emulator.session import Session
from webemu.index.open import open_world

BODY_OF_A_SCRAPE = {"zone": "web_unlocker1", "format": "json"}
S2_FIELDS = "title,abstract,venue,year,authors,externalIds,isOpenAccess,openAccessPdf,publicationDate,citationCount"
EUTILS = "/pubmed/entrez/eutils"
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "brave_context": ("GET", "/brave/res/v1/llm/context?q=tide&count=2", {}),
    "brave_context_none": ("GET", "/brave/res/v1/llm/context?q=zzyzzyx", {}),
    "brave_context_bounds": ("GET", "/brave/res/v1/llm/context?q=tide&maximum_number_of_tokens=12", {}),
    "searchapi_search": ("GET", "/searchapi/api/v1/search?engine=google&q=chalk+tide&num=2&api_key=x", {}),
    "searchapi_none": ("GET", "/searchapi/api/v1/search?engine=google&q=zzyzzyx", {}),
    "searchapi_no_engine": ("GET", "/searchapi/api/v1/search?q=tide", {}),
    "bocha_search": ("POST", "/bocha/v1/web-search", {"json": {"query": "chalk tide", "summary": True, "count": 2}}),
    "bocha_none": ("POST", "/bocha/v1/web-search", {"json": {"query": "zzyzzyx"}}),
    "bocha_no_query": ("POST", "/bocha/v1/web-search", {"json": {}}),
    "langsearch_search": (
        "POST",
        "/langsearch/v1/web-search",
        {"json": {"query": "chalk tide", "count": 2, "summary": True}},
    ),
    "langsearch_texts": (
        "POST",
        "/langsearch/v1/web-search",
        {"json": {"query": "kelp", "count": 1, "contents": {"text": {"max_characters": 12}}}},
    ),
    "langsearch_too_many": ("POST", "/langsearch/v1/web-search", {"json": {"query": "kelp", "count": 51}}),
    "zhipu_search": (
        "POST",
        "/zhipu/api/paas/v4/web_search",
        {"json": {"search_query": "chalk tide", "search_engine": "search_std", "count": 2, "search_intent": True}},
    ),
    "zhipu_no_query": ("POST", "/zhipu/api/paas/v4/web_search", {"json": {"search_engine": "search_std"}}),
    "parallel_search": (
        "POST",
        "/parallel/v1/search",
        {"json": {"search_queries": ["lanterns", "kelp"], "objective": "x", "advanced_settings": {"max_results": 3}}},
    ),
    "parallel_extract": (
        "POST",
        "/parallel/v1/extract",
        {
            "json": {
                "urls": [PORT, f"{PORT}lost", "https://nowhere.example/"],
                "advanced_settings": {"full_content": True},
            }
        },
    ),
    "parallel_no_query": ("POST", "/parallel/v1/search", {"json": {}}),
    "valyu_search": ("POST", "/valyu/v1/search", {"json": {"query": "chalk lighthouse", "max_num_results": 2}}),
    "valyu_datasets": (
        "POST",
        "/valyu/v1/search",
        {"json": {"query": "chalk", "included_sources": ["valyu/valyu-arxiv"]}},
    ),
    "valyu_contents": ("POST", "/valyu/v1/contents", {"json": {"urls": [PORT, f"{PORT}lost"]}}),
    "arxiv_query": ("GET", "/arxiv/api/query?search_query=all:lanterns+AND+ti:tide&max_results=5", {}),
    "arxiv_ids": ("GET", "/arxiv/api/query?id_list=2101.00001v1,2101.99999", {}),
    "arxiv_none": ("GET", "/arxiv/api/query?search_query=all:zzyzzyx", {}),
    "arxiv_bad_id": ("GET", "/arxiv/api/query?id_list=no+id", {}),
    "s2_search": ("GET", f"/semantic-scholar/graph/v1/paper/search?query=tide&limit=2&fields={S2_FIELDS}", {}),
    "s2_none": ("GET", "/semantic-scholar/graph/v1/paper/search?query=zzyzzyx", {}),
    "s2_match": ("GET", "/semantic-scholar/graph/v1/paper/search/match?query=model+of+the+tide", {}),
    "s2_paper": ("GET", f"/semantic-scholar/graph/v1/paper/DOI:{DOI}?fields=title,year,journal", {}),
    "s2_batch": (
        "POST",
        "/semantic-scholar/graph/v1/paper/batch?fields=title",
        {"json": {"ids": ["ARXIV:2101.00001", "PMID:1", "PMID:12345678"]}},
    ),
    "s2_lost": ("GET", "/semantic-scholar/graph/v1/paper/ARXIV:9999.99999", {}),
    "s2_bad_field": ("GET", "/semantic-scholar/graph/v1/paper/search?query=tide&fields=title,colour", {}),
    "openalex_works": ("GET", "/openalex/works?search=model+tide&per-page=1", {}),
    "openalex_none": ("GET", "/openalex/works?search=zzyzzyx", {}),
    "openalex_work": ("GET", f"/openalex/works/https://doi.org/{DOI}?select=id,doi,title", {}),
    "openalex_lost": ("GET", "/openalex/works/W1", {}),
    "crossref_works": ("GET", "/crossref/works?query=model+tide&rows=1", {}),
    "crossref_none": ("GET", "/crossref/works?query=zzyzzyx", {}),
    "crossref_work": ("GET", f"/crossref/works/{quote(DOI, safe='')}", {}),
    "crossref_lost": ("GET", "/crossref/works/10.1/lost", {}),
    "crossref_bad": ("GET", "/crossref/works?query=tide&rows=5000", {}),
    "pubmed_search": ("GET", f"{EUTILS}/esearch.fcgi?db=pubmed&term=fevers[Title]+AND+keepers&retmode=json", {}),
    "pubmed_search_xml": ("GET", f"{EUTILS}/esearch.fcgi?db=pubmed&term=fevers&usehistory=y", {}),
    "pubmed_none": ("GET", f"{EUTILS}/esearch.fcgi?db=pubmed&term=zzyzzyx&retmode=json", {}),
    "pubmed_summary": ("GET", f"{EUTILS}/esummary.fcgi?db=pubmed&id=12345678&retmode=json", {}),
    "pubmed_summary_xml": ("GET", f"{EUTILS}/esummary.fcgi?db=pubmed&id=12345678", {}),
    "pubmed_fetch": ("GET", f"{EUTILS}/efetch.fcgi?db=pubmed&id=12345678,1&retmode=xml", {}),
    "pubmed_medline": ("GET", f"{EUTILS}/efetch.fcgi?db=pubmed&id=12345678&rettype=medline&retmode=text", {}),
    "pubmed_text": ("GET", f"{EUTILS}/efetch.fcgi?db=pubmed&id=12345678&rettype=abstract&retmode=text", {}),
    "pmc_search": ("GET", f"{EUTILS}/esearch.fcgi?db=pmc&term=chalk+dust&retmode=json", {}),
    "pmc_fetch": ("GET", f"{EUTILS}/efetch.fcgi?db=pmc&id=7654321&retmode=xml", {}),
    "scrapingbee_page": ("GET", f"/scrapingbee/api/v1/?url={quote(PORT)}old&json_response=True", {}),
    "scrapingbee_markdown": ("GET", f"/scrapingbee/api/v1/?url={quote(PORT)}&return_page_markdown=True", {}),
    "scrapingbee_gone": ("GET", f"/scrapingbee/api/v1/?url={quote(PORT)}gone", {}),
    "scrapingbee_shut": ("GET", f"/scrapingbee/api/v1/?url={quote(PORT)}shut", {}),
    "scrapingbee_nowhere": ("GET", "/scrapingbee/api/v1/?url=https://nowhere.example/", {}),
    "scrapingbee_no_url": ("GET", "/scrapingbee/api/v1/", {}),
    "scrapingbee_google": ("GET", "/scrapingbee/api/v1/store/google?search=chalk+lighthouse&nb_results=2", {}),
    "oxylabs_page": ("POST", "/oxylabs/v1/queries", {"json": {"source": "universal", "url": PORT}}),
    "oxylabs_nowhere": (
        "POST",
        "/oxylabs/v1/queries",
        {"json": {"source": "universal", "url": "https://nowhere.example/"}},
    ),
    "oxylabs_google": (
        "POST",
        "/oxylabs/v1/queries",
        {"json": {"source": "google_search", "query": "chalk lighthouse", "parse": True, "limit": 2}},
    ),
    "oxylabs_no_source": ("POST", "/oxylabs/v1/queries", {"json": {}}),
    "brightdata_page": ("POST", "/brightdata/request", {"json": {**BODY_OF_A_SCRAPE, "url": PORT}}),
    "brightdata_markdown": (
        "POST",
        "/brightdata/request",
        {"json": {"zone": "z", "format": "raw", "data_format": "markdown", "url": PORT}},
    ),
    "brightdata_nowhere": (
        "POST",
        "/brightdata/request",
        {"json": {**BODY_OF_A_SCRAPE, "url": "https://nowhere.example/"}},
    ),
    "brightdata_google": (
        "POST",
        "/brightdata/request",
        {"json": {"zone": "z", "url": "https://www.google.com/search?q=chalk+lighthouse&num=2&brd_json=1"}},
    ),
    "brightdata_zones": ("GET", "/brightdata/zone/get_active_zones", {}),
}
NAMES = (
    "searchapi bocha langsearch zhipu parallel valyu arxiv semantic-scholar openalex crossref pubmed scrapingbee "
    "oxylabs brightdata"
).split()
Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root: Path = tmp_path_factory.mktemp("tide")
    ingest(root / "default", write(root / "tide.warc.gz", RECORDS))
    return create_app(Config(root=tmp_path_factory.mktemp("none")), world=open_world(root / "default"))


@pytest.fixture(scope="module")
def ask(app: App) -> Ask:
    def ask(method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://webemu") as client:
                return await client.request(method, path, **options)

        return asyncio.run(send())

    return ask


def summarize(answer: httpx.Response) -> dict[str, Any]:
    """Status, type and body, readable in a diff."""
    kind = answer.headers["content-type"]
    body = answer.json() if kind == "application/json" else answer.text.split("\n")
    return {"status": answer.status_code, "type": kind, "body": body}


@pytest.mark.parametrize("name", CASES)
def test_the_wire_format_is_the_golden_one(name: str, ask: Ask, golden: Callable[[str, Any], None]) -> None:
    method, path, options = CASES[name]
    answer = ask(method, path, **options)
    golden(name, summarize(answer))
    assert OWN_WORDS.search(answer.text.replace("dateLastCrawled", "")) is None
    if "xml" in answer.headers["content-type"]:
        etree.fromstring(answer.content)


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_in_the_words_of_the_service(name: str, golden: Callable[[str, Any], None]) -> None:
    dialect = next(one for one in DIALECTS if one.name == name)
    request = Request("POST", "http", "service.example", "service.example", "/", "", {}, Session())
    errors = {}
    for kind, error in ERRORS.items():
        reply = build_error_response(dialect, error, request)
        is_json = dict(reply.headers)[b"Content-Type"] == b"application/json"
        body = json.loads(reply.body) if is_json else reply.body.decode().split("\n")
        errors[kind] = {"status": reply.status, "body": body}
        assert OWN_WORDS.search(reply.body.decode()) is None
    golden(f"{name.replace('-', '_')}_errors", errors)


def test_pages_of_papers_do_not_overlap(ask: Ask) -> None:
    def titles(path: str, *names: str) -> list[str]:
        value = ask("GET", path).json()
        for name in names:
            value = value[name]
        return [one["title"] if isinstance(one["title"], str) else one["title"][0] for one in value]

    for first, second, names in (
        ("/openalex/works?search=kelp&per-page=7&page=1", "/openalex/works?search=kelp&per-page=7&page=2", ["results"]),
        ("/crossref/works?query=kelp&rows=7", "/crossref/works?query=kelp&rows=7&offset=7", ["message", "items"]),
        (
            "/semantic-scholar/graph/v1/paper/search?query=kelp&limit=7",
            "/semantic-scholar/graph/v1/paper/search?query=kelp&limit=7&offset=7",
            ["data"],
        ),
    ):
        both = titles(first, *names), titles(second, *names)
        assert [len(one) for one in both] == [7, 5]
        assert len({*both[0], *both[1]}) == 12


def test_a_history_of_searches_needs_no_server(ask: Ask) -> None:
    reply = ask("GET", f"{EUTILS}/esearch.fcgi?db=pubmed&term=fevers&retmode=json&usehistory=y").json()["esearchresult"]
    path = f"{EUTILS}/efetch.fcgi?db=pubmed&query_key={reply['querykey']}&WebEnv={reply['webenv']}&retmode=xml"
    assert etree.fromstring(ask("GET", path).content).findtext(".//PMID") == "12345678"


def test_dates_bind(ask: Ask) -> None:
    years = ask("GET", "/openalex/works?search=tide&filter=publication_year:2022").json()["results"]
    assert [one["title"] for one in years] == ["A model of the tide"]
    assert ask("GET", "/crossref/works?query=tide&filter=from-pub-date:2023").json()["message"]["items"] == []
    assert "<entry>" not in ask("GET", "/arxiv/api/query?search_query=all:tide+AND+cat:cs.CV").text
    assert "<entry>" in ask("GET", "/arxiv/api/query?search_query=all:tide+AND+cat:cs.*").text


def test_what_a_search_returns_is_looked_up_by_its_identifier(ask: Ask) -> None:
    for work in ask("GET", "/openalex/works?search=tide").json()["results"]:
        for name in (work["id"], work["id"].rpartition("/")[2]):
            assert ask("GET", f"/openalex/works/{quote(name, safe='')}").json()["title"] == work["title"]
    for paper in ask("GET", "/semantic-scholar/graph/v1/paper/search?query=tide").json()["data"]:
        assert ask("GET", f"/semantic-scholar/graph/v1/paper/{paper['paperId']}").json() == paper
    for path in ("/openalex/works/W4999999999", f"/semantic-scholar/graph/v1/paper/{'f' * 40}"):
        assert ask("GET", path).status_code == 404


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/openalex/works?search=tide&sort=publication_date:{}", ["results"]),
        ("/crossref/works?query=tide+kelp&sort=published&order={}&filter=until-pub-date:2025", ["message", "items"]),
        ("/semantic-scholar/graph/v1/paper/search/bulk?query=tide&fields=year&sort=publicationDate:{}", ["data"]),
    ],
)
def test_papers_are_ordered_by_day(path: str, names: list[str], ask: Ask) -> None:
    def years(direction: str) -> list[int]:
        value = ask("GET", path.format(direction)).json()
        for name in names:
            value = value[name]
        day = [one.get("publication_year") or one.get("year") or one["issued"]["date-parts"][0][0] for one in value]
        return [int(one) for one in day]

    assert len(set(years("asc"))) > 1
    assert years("asc") == sorted(years("asc"))
    assert years("desc") == sorted(years("desc"), reverse=True)


def test_a_scraper_returns_what_is_no_text_as_it_was_recorded(ask: Ask) -> None:
    picture = RECORDS[4].body
    scraped = ask("GET", f"/scrapingbee/api/v1/?url={quote(PORT)}quay.png")
    assert (scraped.content, scraped.headers["content-type"]) == (picture, "image/png")
    raw = ask("POST", "/brightdata/request", json={"zone": "z", "url": f"{PORT}quay.png", "format": "raw"})
    assert raw.content == picture


@pytest.mark.parametrize("engine", ["www.google.com", "search.brave.com"])
def test_a_scraper_reads_result_pages_of_engines(engine: str, ask: Ask) -> None:
    url = f"https://{engine}/search?q=chalk+lighthouse"
    assert PORT in ask("POST", "/brightdata/request", json={"zone": "z", "url": url, "format": "raw"}).text


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024/1/31", (2024, 1, 31)),
        ("2024-01", (2024, 1)),
        ("2024", (2024,)),
        ("2024-01-31T12:00:00Z", (2024, 1, 31)),
        ("2019 May 13", (2019, 5, 13)),
        ("2020 Mar", (2020, 3)),
        ("09/14/2007", (2007, 9, 14)),
        ("Jul 11, 2019", (2019, 7, 11)),
        ("July 2019", (2019, 7)),
        ("31 January 2024", (2024, 1, 31)),
        ("2024/13/45", (2024,)),
        ("0000", ()),
        ("soon", ()),
    ],
)
def test_dates_of_publishers_are_read(text: str, day: tuple[int, ...]) -> None:
    read = read_paper(f"<html><head>{metas(title='T', date=text)}</head>", "https://a.example/")
    assert read is not None
    assert read.day == day


def test_what_arxiv_and_pubmed_have_beside_the_elements_is_read() -> None:
    span = (
        '<span class="identifier pmc"><a href="https://pmc.ncbi.nlm.nih.gov/articles/PMC6851403/">PMC6851403</a></span>'
    )
    read = read_paper(f"<head>{metas(title='T', arxiv_id='2608.23179v2')}</head>{span}", "https://a.example/")
    assert read is not None
    assert (read.arxiv_id, read.pmcid) == ("2608.23179", "PMC6851403")


@pytest.mark.parametrize(
    "head", ["", "<meta name=citation_author content=Nobody>", '<meta name="citation_title" content="">']
)
def test_a_page_without_a_title_of_a_paper_is_none(head: str) -> None:
    assert read_paper(f"<html><head><title>T</title>{head}</head>", "https://a.example/") is None
