"""Services of papers, services in Bing's shape, and scrapers: what goes over the wire, against golden files."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
}
NAMES = "searchapi bocha langsearch zhipu parallel valyu".split()
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
