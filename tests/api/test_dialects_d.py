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
from tests.papers import PORT, RECORDS
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import build_error_response
from webemu.api.http.request import Request
from webemu.emulator.config import Config
from webemu.emulator.session import Session
from webemu.index.open import open_world

BODY_OF_A_SCRAPE = {"zone": "web_unlocker1", "format": "json"}
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
NAMES = "searchapi bocha langsearch zhipu parallel valyu scrapingbee oxylabs brightdata".split()
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
