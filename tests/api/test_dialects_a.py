"""Tavily, Exa, Firecrawl, Perplexity, Linkup, You.com, Kagi: what goes over the wire, against golden files."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest

from tests.api.conftest import Ask, asking
from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect
from webemu.api.dialects.metas import read_icon_url, read_language, read_metas
from webemu.api.dialects.site import is_within, list_pages
from webemu.api.dialects.site_crawl import CrawlLimits, SiteCrawl, list_links
from webemu.api.http.request import Request
from webemu.emulator.config import Config
from webemu.emulator.errors import (
    BadRequest,
    EmulatorError,
    NotCaptured,
    Overloaded,
    PayloadError,
    ServiceRefusal,
    ViewUnavailable,
)
from webemu.emulator.session import Session
from webemu.emulator.world import World
from webemu.index.open import open_world

PORT = "https://www.aldmere.example/"
MENU = (
    '<a href="/harbour#top">Harbour</a> <a href="/harbour">again</a> <a href="/docs/one">One</a> '
    '<a href="/lost">Lost</a><a href="/old">Old</a> <a href="/quay.png">Quay</a> <a href="https://fleet.aldmere.example/">Fleet</a>'
    '<a href="https://river.example/about">River</a> <a href="mailto:port@aldmere.example">Mail</a>'
)
FAKE = "Links: [1] https://www.aldmere.example/secret"
NEW = (
    '<meta property="article:published_time" content="2024-01-01"><meta name="description" content="Ships &amp; more">'
    '<meta name="status_code" content="x"><meta name="error" content="x"><meta name="generator" content="Quill">'
    '<meta property="og:title" content="The harbour"><meta property="og:locale:alternate" content="de_DE">'
    '<meta property="og:locale:alternate" content="fr_FR"><meta name="robots" content="index">'
    '<link rel="shortcut icon" href="/favicon.ico">'
)
TWO = '<a href="/docs/two">Two</a>'
RECORDS = [
    CaptureSpec(PORT, html("Port of Aldmere", "The lighthouse of Aldmere stands at the port.", MENU), 2),
    CaptureSpec(
        f"{PORT}harbour",
        html("Harbour", "The harbour opened in 1887.", '<a href="/docs/two">Two</a>', FAKE, head=NEW),
        3,
    ),
    CaptureSpec(
        f"{PORT}docs/one", html("Docs one", "How ships find the lighthouse.", '<a href="/docs/two?v=1">Two</a>'), 4
    ),
    CaptureSpec(f"{PORT}docs/two", html("Docs two", "How ships leave.", f'<a href="{PORT}">Home</a>'), 5),
    CaptureSpec(f"{PORT}docs/two?v=1", html("Docs two, v1", "How ships left."), 5),
    CaptureSpec(f"{PORT}old", "", 5, "301 Moved Permanently", headers=(("Location", "/harbour"),)),
    CaptureSpec(f"{PORT}gone", html("Gone", "It is gone."), 5, "404 Not Found"),
    CaptureSpec(f"{PORT}quay.png", b"\x89PNG\r\n\x1a\n-quay", 5, mime="image/png"),
    CaptureSpec(f"{PORT}favicon.ico", b"\0\0\1\0", 5, mime="image/vnd.microsoft.icon"),
    CaptureSpec(f"{PORT}secret", html("Secret", "No page links here."), 5),
    CaptureSpec("https://fleet.aldmere.example/", html("Fleet", "Nine ships.", '<a href="/mast">Mast</a>'), 6),
    CaptureSpec("https://fleet.aldmere.example/mast", html("Mast", "Of oak."), 6),
    CaptureSpec("https://river.example/about", html("River", "The river Ouse.", '<a href="/source">Source</a>'), 7),
    CaptureSpec("https://river.example/source", html("Source", "A spring."), 8),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("port")
    write(root / "port.warc.gz", RECORDS)
    ingest(root / "default", root / "port.warc.gz")
    return open_world(root / "default")


@pytest.fixture(scope="module")
def app(world: World, tmp_path_factory: pytest.TempPathFactory) -> App:
    return create_app(Config(root=tmp_path_factory.mktemp("none"), api_keys="good"), world=world)


@pytest.fixture
def ask(app: App) -> Ask:
    return asking(app)


KEYS = {
    "tavily": ("Authorization", "Bearer "),
    "exa": ("x-api-key", ""),
    "firecrawl": ("Authorization", "Bearer "),
    "perplexity": ("Authorization", "Bearer "),
    "linkup": ("Authorization", "Bearer "),
    "you": ("X-API-Key", ""),
    "kagi": ("Authorization", "Bot "),
}
"""The headers with which a client of each service sends its key."""


def key(name: str, value: str = "good") -> dict[str, str]:
    header, scheme = KEYS[name]
    return {header: scheme + value}


TEXT = {"text": {"maxCharacters": 40}, "highlights": True}
CASES: dict[str, tuple[str, dict[str, Any] | None]] = {
    "tavily_search": ("/search", {"query": "lighthouse", "include_favicon": True, "include_usage": True}),
    "tavily_news": (
        "/search",
        {"query": "aldmere harbour ships", "topic": "news", "max_results": 1, "include_raw_content": "text"},
    ),
    "tavily_filtered": (
        "/search",
        {"query": "ships", "exclude_domains": ["aldmere.example"], "start_date": "2024-01-01"},
    ),
    "tavily_empty": ("/search", {"query": "zzyzzyx"}),
    "tavily_bad_request": ("/search", {"query": " "}),
    "tavily_extract": ("/extract", {"urls": [f"{PORT}harbour", f"{PORT}lost"], "format": "text"}),
    "tavily_map": ("/map", {"url": PORT, "max_depth": 2}),
    "tavily_map_inside": (
        "/map",
        {"url": PORT, "max_depth": 2, "allow_external": False, "exclude_paths": ["^/docs/.*"]},
    ),
    "tavily_map_lost": ("/map", {"url": f"{PORT}lost"}),
    "tavily_crawl": ("/crawl", {"url": PORT, "limit": 2, "select_paths": ["/docs/"], "include_favicon": True}),
    "tavily_usage": ("/usage", None),
    "exa_search": ("/search", {"query": "lighthouse", "contents": TEXT}),
    "exa_bare": ("/search", {"query": "lighthouse", "numResults": 1, "excludeText": ["ships"]}),
    "exa_dated": (
        "/search",
        {"query": "ships", "startPublishedDate": "2024-01-05T00:00:00.000Z", "endPublishedDate": "9999-12-31"},
    ),
    "exa_domains": ("/search", {"query": "zzyzzyx", "includeDomains": ["river.example"]}),
    "exa_empty": ("/search", {"query": "zzyzzyx", "contents": {"text": True}}),
    "exa_bad_request": ("/search", {"query": ""}),
    "exa_contents": (
        "/contents",
        {"urls": [f"{PORT}docs/one", f"{PORT}lost"], "text": True, "subpages": 1, "extras": {"links": 1}},
    ),
    "exa_similar": ("/findSimilar", {"url": f"{PORT}docs/one"}),
    "exa_similar_lost": ("/findSimilar", {"url": f"{PORT}lost"}),
    "exa_answer": ("/answer", {"query": "when did the harbour open?"}),
    "firecrawl_scrape": ("/v2/scrape", {"url": f"{PORT}old", "formats": ["markdown", "links", {"type": "json"}]}),
    "firecrawl_scrape_html": ("/v1/scrape", {"url": f"{PORT}harbour", "formats": ["rawHtml"]}),
    "firecrawl_scrape_images": ("/v2/scrape", {"url": PORT, "formats": ["images", "summary"]}),
    "firecrawl_scrape_404": ("/v2/scrape", {"url": f"{PORT}gone"}),
    "firecrawl_lost": ("/v2/scrape", {"url": f"{PORT}lost"}),
    "firecrawl_no_host": ("/v2/scrape", {"url": "https://nowhere.example/"}),
    "firecrawl_picture": ("/v2/scrape", {"url": f"{PORT}quay.png"}),
    "firecrawl_bad_request": ("/v2/scrape", {"formats": ["markdown"]}),
    "firecrawl_news": ("/v2/search", {"query": "harbour", "sources": ["news"]}),
    "firecrawl_search": ("/v2/search", {"query": "lighthouse", "sources": [{"type": "web"}, {"type": "news"}]}),
    "firecrawl_search_scraped": (
        "/v2/search",
        {"query": "lighthouse", "limit": 1, "scrapeOptions": {"formats": ["markdown"]}},
    ),
    "firecrawl_dated": ("/v2/search", {"query": "ships", "tbs": "qdr:d3"}),
    "firecrawl_long_ago": ("/v2/search", {"query": "ships", "tbs": "qdr:y9999", "limit": 1}),
    "firecrawl_empty": ("/v2/search", {"query": "zzyzzyx"}),
    "firecrawl_v1_search": ("/v1/search", {"query": "lighthouse", "limit": 1}),
    "firecrawl_v1_empty": ("/v1/search", {"query": "zzyzzyx"}),
    "firecrawl_map": ("/v2/map", {"url": PORT, "search": "oak"}),
    "firecrawl_map_links": ("/v2/map", {"url": PORT, "sitemap": "skip"}),
    "firecrawl_v1_map": ("/v1/map", {"url": PORT, "includeSubdomains": False, "limit": 6}),
    "perplexity_search": ("/search", {"query": "lighthouse", "max_results": 2, "max_tokens_per_page": 5}),
    "perplexity_many": (
        "/search",
        {"query": ["lighthouse", "river"], "search_domain_filter": ["-fleet.aldmere.example"]},
    ),
    "perplexity_empty": ("/search", {"query": "zzyzzyx"}),
    "perplexity_bad_request": ("/search", {"query": "ships", "search_after_date_filter": "2024-01-01"}),
    "linkup_search": ("/v1/search", {"q": "lighthouse", "depth": "standard", "outputType": "searchResults"}),
    "linkup_sourced": (
        "/v1/search",
        {"q": "lighthouse", "depth": "deep", "outputType": "sourcedAnswer", "maxResults": 1},
    ),
    "linkup_dated": (
        "/v1/search",
        {"q": "lighthouse", "outputType": "searchResults", "fromDate": "2024-01-01", "toDate": "2024-01-02"},
    ),
    "linkup_structured": ("/v1/search", {"q": "lighthouse", "depth": "deep", "outputType": "structured"}),
    "linkup_empty": ("/v1/search", {"q": "zzyzzyx", "depth": "standard", "outputType": "searchResults"}),
    "linkup_fetch": ("/v1/fetch", {"url": f"{PORT}docs/two", "includeRawHtml": True}),
    "linkup_lost": ("/v1/fetch", {"url": f"{PORT}lost"}),
    "linkup_no_host": ("/v1/fetch", {"url": "https://nowhere.example/"}),
    "linkup_picture": ("/v1/fetch", {"url": f"{PORT}quay.png"}),
    "you_search": (
        "/v1/search",
        {"query": "lighthouse", "count": 1, "livecrawl": "web", "livecrawl_formats": "markdown"},
    ),
    "you_empty": ("/v1/search", {"query": "zzyzzyx"}),
    "you_bad_request": ("/v1/search", {"query": "ships", "freshness": "2024-01-99to2024-02-01"}),
    "you_contents": ("/v1/contents", {"urls": [f"{PORT}harbour", f"{PORT}lost"], "formats": ["markdown", "metadata"]}),
    "you_hits": ("/search?query=lighthouse&num_web_results=1", None),
    "kagi_search": ("/api/v0/search?q=lighthouse&limit=1", None),
    "kagi_empty": ("/api/v0/search?q=zzyzzyx", None),
    "kagi_bad_request": ("/api/v0/search", None),
}


def sent(ask: Ask, case: str, headers: dict[str, str]) -> httpx.Response:
    name = case.partition("_")[0]
    path, body = CASES[case]
    options = {} if body is None else {"json": body}
    return ask("GET" if body is None else "POST", f"/{name}{path}", headers=headers, **options)


def summarize(answer: httpx.Response) -> dict[str, Any]:
    reason = answer.headers.get("X-Webemu-Reason")
    return {"status": answer.status_code, **({"reason": reason} if reason else {}), "body": answer.json()}


@pytest.mark.parametrize("case", CASES)
def test_the_wire(case: str, ask: Ask, golden: Callable[[str, Any], None]) -> None:
    golden(case, summarize(sent(ask, case, key(case.partition("_")[0]))))


@pytest.mark.parametrize("name", KEYS)
def test_a_bad_key(name: str, ask: Ask, golden: Callable[[str, Any], None]) -> None:
    case = next(case for case in CASES if case.startswith(f"{name}_"))
    golden(f"{name}_bad_key", summarize(sent(ask, case, key(name, "bad"))))
    assert summarize(sent(ask, case, {}))["reason"] == "bad-key"


def dialect(name: str) -> Dialect:
    return next(one for one in DIALECTS if one.name == name)


def request(path: str, body: bytes = b"", **headers: str) -> Request:
    named = {name.lower().replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Request("POST", "http", "webemu", "webemu", path, "", named, Session(), body)


REFUSED: dict[str, EmulatorError] = {
    "rate_limited": ServiceRefusal("too fast", reason="rate-limited", status=429),
    "out_of_budget": ServiceRefusal("no budget is left", reason="out-of-budget", status=429),
    "bad_request": BadRequest("x is no number", reason="bad-x"),
    "not_captured": NotCaptured("https://a.example/ was not captured"),
    "no_view": ViewUnavailable("a picture has no text"),
    "no_such_route": ServiceRefusal("there is no /x", reason="no-such-route", status=404),
    "outage": Overloaded("too much waits"),
    "too_large": PayloadError("over 1 GB", reason="payload-too-large"),
}


@pytest.mark.parametrize("name", KEYS)
def test_refusals(name: str, golden: Callable[[str, Any], None]) -> None:
    refused_request = request("/v1/search", authorization="Bearer good")
    refusals = {}
    for why, error in REFUSED.items():
        reply = dialect(name).render_error(error, refused_request)
        extra = {n.decode(): v.decode() for n, v in reply.headers if n not in (b"Content-Type", b"Content-Length")}
        refusals[why] = {"status": reply.status, **extra, "body": orjson.loads(reply.body)}
    assert refusals["rate_limited"]["status"] == 429
    assert 500 <= refusals["outage"]["status"] < 600
    golden(f"{name}_refusals", refusals)


def crawled(ask: Ask, version: str, **options: Any) -> dict[str, Any]:
    """The answers to a crawl, joined as clients join them."""
    job = ask("POST", f"/{version}/crawl", headers=key("firecrawl"), json=options).json()
    assert job["url"] == f"http://webemu/{version}/crawl/{job['id']}"
    path, status, documents = f"/{version}/crawl/{job['id']}", {}, []
    while path:
        status = ask("GET", path, headers=key("firecrawl")).json()
        documents += status["data"]
        path = status.get("next", "").removeprefix("http://webemu")
    return {**status, "data": documents}


def urls_of(status: dict[str, Any]) -> list[str]:
    return [one["metadata"]["url"] for one in status["data"]]


def test_a_firecrawl_crawl(ask: Ask, golden: Callable[[str, Any], None]) -> None:
    golden("firecrawl_crawl", crawled(ask, "v2", url=f"{PORT}docs/one", crawlEntireDomain=True, limit=3))
    links_alone = {"url": PORT, "sitemap": "skip"}
    assert urls_of(crawled(ask, "v2", **links_alone)) == [
        PORT, f"{PORT}harbour", f"{PORT}docs/one", f"{PORT}docs/two", f"{PORT}docs/two?v=1",
    ]  # fmt: skip
    assert urls_of(crawled(ask, "v2", **links_alone, maxDiscoveryDepth=1)) == [
        PORT,
        f"{PORT}harbour",
        f"{PORT}docs/one",
    ]
    assert urls_of(crawled(ask, "v2", **links_alone, excludePaths=["^/docs/"])) == [PORT, f"{PORT}harbour"]
    assert urls_of(crawled(ask, "v2", **links_alone, includePaths=["one"])) == [PORT, f"{PORT}docs/one"]
    assert "https://fleet.aldmere.example/mast" in urls_of(crawled(ask, "v2", url=PORT, allowSubdomains=True))
    away = urls_of(crawled(ask, "v2", **links_alone, allowExternalLinks=True))
    assert "https://river.example/about" in away
    assert "https://river.example/source" not in away
    assert f"{PORT}secret" in urls_of(crawled(ask, "v1", url=PORT))
    assert f"{PORT}secret" not in urls_of(crawled(ask, "v1", url=PORT, ignoreSitemap=True))
    assert urls_of(crawled(ask, "v1", url="https://nowhere.example/")) == []


def test_a_crawl_page_by_page(ask: Ask) -> None:
    job = ask("POST", "/v2/crawl", headers=key("firecrawl"), json={"url": PORT, "ignoreQueryParameters": True}).json()[
        "id"
    ]
    status = ask("GET", f"/v2/crawl/{job}", headers=key("firecrawl")).json()
    assert status["total"] == len(status["data"]) == 5
    urls = []
    for skip in range(0, 5, 2):
        part = ask("GET", f"/v2/crawl/{job}?skip={skip}&limit=2", headers=key("firecrawl")).json()
        assert part.get("next") == (f"http://webemu/v2/crawl/{job}?skip={skip + 2}" if skip < 4 else None)
        urls += urls_of(part)
    assert urls == urls_of(status)
    assert ask("DELETE", f"/v2/crawl/{job}", headers=key("firecrawl")).json()["status"] == "cancelled"
    assert ask("GET", f"/v2/crawl/{job}/errors", headers=key("firecrawl")).json() == {"errors": [], "robotsBlocked": []}


@pytest.mark.parametrize("job", ["", "x", "bm90IGpzb24", "W10", "e30", "eyJ1cmwiOjF9", "%00", "é"])
def test_ids_that_are_none(job: str, ask: Ask) -> None:
    answer = ask("GET", f"/v2/crawl/{job}", headers=key("firecrawl"))
    assert (answer.status_code, answer.json()["success"]) in ((404, False), (405, False))


def test_a_hostile_pattern_costs_nothing(ask: Ask) -> None:
    options = {"url": PORT, "select_paths": ["(a+)+$", "(?:(?:a|a)*)*zz"]}
    assert ask("POST", "/tavily/map", headers=key("tavily"), json=options).json()["results"] == [PORT]
    answer = ask("POST", "/tavily/map", headers=key("tavily"), json={"url": PORT, "select_paths": ["("]})
    assert answer.status_code == 400
    assert "is not a valid regular expression" in answer.json()["detail"]["error"]


ODD = (
    *(None, True, -1, 10**30, 1.5, "", "é" * 5000, "2024-99-99", "9999-12-31", "0001-01-01"),
    *([], [None], [[1]], {}, {"type": []}, {"a": {}}),
)


def oddly(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The request with each of its values, and one of each scrape option, made something else."""
    options = body.get("scrapeOptions") or body.get("contents")
    inner = [{**body, "scrapeOptions": odd, "contents": odd} for odd in ODD] if options else []
    deeper = [{**body, "scrapeOptions": {"formats": odd}, "contents": {"text": odd, "extras": odd}} for odd in ODD]
    return [{**body, name: odd} for name in body for odd in ODD] + inner + (deeper if options else [])


@pytest.mark.parametrize("name", KEYS)
def test_odd_requests_are_refused_or_answered(name: str, app: App) -> None:
    """A defect would be a 500 marked as ours."""
    cases = [
        (f"/{name}{path}", odd)
        for case, (path, body) in CASES.items()
        if case.startswith(f"{name}_") and body
        for odd in oddly(body)
    ]

    async def answers() -> list[tuple[int, str, Any]]:
        transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://webemu", headers=key(name)) as client:
            sent = [(await client.post(path, json=odd), path, odd) for path, odd in cases]
        return [(one.status_code, path, odd) for one, path, odd in sent if "X-Webemu-Failure" in one.headers]

    assert asyncio.run(answers()) == []


ROOT: list[tuple[str, str, dict[str, str], dict[str, Any]]] = [
    ("tavily", "/search", {"authorization": "Bearer good"}, {"query": "ships"}),
    ("tavily", "/search", {}, {"query": "ships", "api_key": "good"}),
    ("tavily", "/search", {"x_tavily_access_mode": "keyless"}, {"query": "ships"}),
    ("tavily", "/extract", {"authorization": "Bearer good"}, {"urls": [PORT]}),
    ("tavily", "/crawl", {"authorization": "Bearer good"}, {"url": PORT}),
    ("perplexity", "/search", {"authorization": "Bearer good"}, {"query": "ships", "max_tokens_per_page": 9}),
    ("perplexity", "/search", {"authorization": "Bearer good", "x_stainless_lang": "python"}, {"query": "ships"}),
    ("exa", "/search", {"x_api_key": "good"}, {"query": "q", "numResults": 3}),
    ("exa", "/contents", {"x_api_key": "good"}, {"urls": [PORT]}),
    ("serper", "/search", {"x_api_key": "good"}, {"q": "ships"}),
    ("firecrawl", "/v2/scrape", {}, {"url": PORT}),
    ("firecrawl", "/v1/map", {}, {"url": PORT}),
    ("you", "/v1/contents", {"x_api_key": "good"}, {"urls": [PORT]}),
    ("kagi", "/api/v0/search", {}, {}),
    ("", "/search", {}, {"query": "ships", "topn": 3}),
    ("", "/", {"authorization": "Bearer good"}, {"query": "ships"}),
]
"""Requests without a prefix, each with the service it belongs to; the name is empty if it belongs to none of these."""


@pytest.mark.parametrize(("name", "path", "headers", "body"), ROOT)
def test_whose_a_request_at_the_root_is(name: str, path: str, headers: dict[str, str], body: dict[str, Any]) -> None:
    sent_request = request(path, orjson.dumps(body), **headers)
    named_dialects = {*KEYS, "serper"}
    recognized = next(
        (
            one.name
            for one in DIALECTS
            if one.name in named_dialects and one.is_meant_at_root and one.is_meant_at_root(sent_request)
        ),
        "",
    )
    assert recognized == name


def test_pages_for_people_stay_theirs(ask: Ask) -> None:
    assert ask("GET", "/search?q=lighthouse").headers["Content-Type"].startswith("text/html")
    assert ask("GET", "/v1/search?q=lighthouse").status_code == 401
    assert ask("GET", "/v1/search?q=lighthouse", headers={"X-API-Key": "good"}).json()["results"]


def test_ids_name_the_request(ask: Ask) -> None:
    def number(query: str) -> str:
        answer = ask("POST", "/tavily/search", headers=key("tavily"), json={"query": query}).json()
        return str(UUID(answer["request_id"]))

    assert number("ships") == number("ships") != number("port")


def test_a_session_sees_its_day(ask: Ask) -> None:
    """Pages that were captured later are neither found nor mapped."""
    then = {**key("firecrawl"), "X-Webemu-Session": "a;at=2024-01-04T00:00:00Z"}
    links = ask("POST", "/v2/map", headers=then, json={"url": PORT, "sitemap": "only"}).json()["links"]
    assert [one["url"] for one in links] == [PORT, f"{PORT}harbour"]
    hits = ask("POST", "/v2/search", headers=then, json={"query": "lighthouse"}).json()["data"]["web"]
    assert [one["url"] for one in hits] == [PORT]


def test_a_walk(world: World) -> None:
    def walked(depth: int = 9, breadth: int = 9, limit: int = 99, also: tuple[str, ...] = ()) -> list[str]:
        bounds = CrawlLimits(depth, breadth, limit, lambda url: "aldmere" in url)
        return [page.url for page in SiteCrawl(world, bounds, None).crawl("www.aldmere.example", also)]

    urls = walked()
    assert urls[:4] == [PORT, f"{PORT}harbour", f"{PORT}docs/one", "https://fleet.aldmere.example/"]
    assert len(urls) == len(set(urls)) == 7
    assert walked(depth=0) == [PORT]
    assert walked(breadth=1) == [PORT, f"{PORT}harbour", f"{PORT}docs/two"]
    assert walked(limit=3) == urls[:3]
    assert walked(depth=1, breadth=0, also=(f"{PORT}secret", f"{PORT}lost")) == [PORT, f"{PORT}secret"]


def test_links_are_real_ones(world: World) -> None:
    assert list_links(world, f"{PORT}harbour", None) == [f"{PORT}docs/two"]
    assert list_links(world, f"{PORT}docs/two?v=1", None) == []
    assert list_links(world, f"{PORT}quay.png", None) == list_links(world, f"{PORT}lost", None) == []
    assert len(list_links(world, PORT, None)) == 7


def test_pages_of_a_site(world: World) -> None:
    urls = [page.url for page in list_pages(world, "aldmere.example", False, None)]
    assert len(urls) == 6
    assert all(url.startswith(PORT) for url in urls)
    assert len(list(list_pages(world, "aldmere.example", True, None))) == 8
    assert list(list_pages(world, "nowhere.example", True, None)) == []


def test_hosts_of_a_site() -> None:
    assert is_within("www.a.example", "a.example", False)
    assert is_within("b.a.example", "a.example", True)
    assert not is_within("b.a.example", "a.example", False)
    assert not is_within("nota.example", "a.example", True)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('<link rel=icon href="/a.png">', f"{PORT}a.png"),
        ('<LINK HREF="b.ico" REL="Shortcut Icon">', f"{PORT}b.ico"),
        ('<link rel="icon" href="data:image/png;base64,AA">', ""),
        ('<link rel="icon" href="javascript:alert(1)">', ""),
        ('<link rel="stylesheet" href="/icon.css">', ""),
        ("<link rel=icon" + " a" * 40_000, ""),
    ],
)
def test_the_icon_of_a_document(head: str, expected: str) -> None:
    assert read_icon_url(head, PORT) == expected


def test_a_head_of_any_kind_is_read() -> None:
    hostile = "<meta " + "a" * 4000 + "><meta name=x content=&#xD800;>" + "<meta name='y' content='1'>" * 5000
    metas = read_metas(hostile)
    assert metas[0] == ("x", "\ufffd")
    assert {name for name, _ in metas[1:]} == {"y"}
    assert read_language('<html data-x="1" lang=pt-BR>') == "pt-BR"


def test_firecrawl_gives_the_whole_page_on_request(ask: Ask) -> None:
    options_base = {"url": "https://river.example/about", "formats": ["markdown"]}
    content, page_markdown = (
        ask("POST", "/v2/scrape", headers=key("firecrawl"), json=options_base | options).json()["data"]["markdown"]
        for options in ({}, {"onlyMainContent": False})
    )
    assert "The river Ouse." in content
    assert "The river Ouse." in page_markdown
    assert "[Source](https://river.example/source)" in page_markdown
