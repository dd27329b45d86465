"""Serper, SerpAPI, Brave, Bing, Google, SearXNG, DuckDuckGo: what goes over the wire, against golden files."""

import asyncio
import csv
import io
import re
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest
from lxml import etree
from lxml import html as lxml_html
from selectolax.lexbor import LexborHTMLParser as HTMLParser

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.api.dialects import DIALECTS
from webemu.api.http.request import Request
from webemu.api.services.registry import build_services
from webemu.emulator.config import Config
from webemu.emulator.errors import BadRequest, EmulatorError, Overloaded, ServiceRefusal
from webemu.emulator.session import Session
from webemu.emulator.world import World
from webemu.index.open import open_world

EVIL = '</a></title><script>alert(1)</script>"\' onmouseover="alert(2)'
EVIL_URL = "https://evil.example/a%22onmouseover=%22alert(3)?x='><script>alert(4)</script>&y=1"
TRAP = "Trap ]);DDG.duckbar.load('news', {});"
PUBLISHED = '<meta property="article:published_time" content="2024-01-03T08:00:00Z">'
RECORDS = [
    CaptureSpec(
        "https://www.aldmere.example/light/house", html("Lighthouse", "The lighthouse of Aldmere & its keeper."), 2
    ),
    CaptureSpec("http://harbour.example/?a=1&b=2", html("", "A lighthouse stands at the old harbour."), 3),
    CaptureSpec("https://papers.example/light.pdf", html("Lamps", "Of the lamps of a lighthouse."), 9),
    CaptureSpec(EVIL_URL, html(EVIL.replace("<", "&lt;"), f"Piracy {EVIL}".replace("<", "&lt;")), 4),
    CaptureSpec("https://gazette.example/storm", html("Storm", "A storm broke the old quay.", head=PUBLISHED), 9),
    CaptureSpec("https://atlas.example/storm", html("Storms", "What a storm is."), 9),
    CaptureSpec("https://trap.example/", html(TRAP, "A trap for scripts."), 9),
    CaptureSpec("https://serpapi.com/blog", html("A blog", "What SerpAPI writes."), 5),
    *(
        CaptureSpec(f"https://n{n}.example/", html(f"Number {n}", f"The number {n} of many numbers."), 6)
        for n in range(30)
    ),
]
Ask = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("light")
    ingest(root / "default", write(root / "light.warc.gz", RECORDS))
    return open_world(root / "default")


@pytest.fixture(scope="module")
def app(world: World, tmp_path_factory: pytest.TempPathFactory) -> App:
    return create_app(Config(root=tmp_path_factory.mktemp("none"), api_keys="good"), world=world)


@pytest.fixture
def ask(app: App) -> Ask:
    def ask(method: str, url: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=app.serve_web, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport) as client:
                return await client.request(method, url, **options)

        return asyncio.run(send())

    return ask


SERPER, SCRAPE = "https://google.serper.dev", "https://scrape.serper.dev"
SERPAPI = "https://serpapi.com/search.json?api_key=good"
BRAVE = "https://api.search.brave.com/res/v1"
BING, BING_PAGES = "https://api.bing.microsoft.com/v7.0/search", "https://www.bing.com/search"
GOOGLE = "https://customsearch.googleapis.com/customsearch/v1?key=good&cx=1"
SEARXNG = "http://localhost/searxng/search"
DUCK, LITE = "https://html.duckduckgo.com/html/", "https://lite.duckduckgo.com/lite/"
DUCK_HOME = "https://duckduckgo.com"
HEADERS = {"X-API-KEY": "good", "X-Subscription-Token": "good", "Ocp-Apim-Subscription-Key": "good"}
CASES: dict[str, tuple[str, str, Any]] = {
    "serper_search": ("POST", f"{SERPER}/search", {"q": "lighthouse", "num": 2, "tbs": "qdr:m", "unknown": 1}),
    "serper_page": ("POST", f"{SERPER}/search", {"q": "number", "num": 3, "page": 2}),
    "serper_news": ("POST", f"{SERPER}/news", {"q": "storm"}),
    "serper_scholar": ("POST", f"{SERPER}/search", {"q": "lamps", "type": "scholar"}),
    "serper_images": ("POST", f"{SERPER}/images", {"q": "lighthouse"}),
    "serper_autocomplete": ("POST", f"{SERPER}/autocomplete", {"q": "lighth"}),
    "serper_several": ("POST", f"{SERPER}/search", [{"q": "lamps"}, {"q": "zzyzzyx"}]),
    "serper_scrape": ("POST", SCRAPE, {"url": "https://www.aldmere.example/light/house", "includeMarkdown": True}),
    "serper_empty": ("POST", f"{SERPER}/search", {"q": "zzyzzyx"}),
    "serper_bad_request": ("POST", f"{SERPER}/search", {"q": " "}),
    "serper_lost": ("POST", SCRAPE, {"url": "https://nowhere.example/"}),
    "serpapi_search": ("GET", f"{SERPAPI}&q=lighthouse&num=2&tbs=cdr:1,cd_min:1/1/2024,cd_max:1/5/2024", None),
    "serpapi_page": ("GET", f"{SERPAPI}&q=number&num=3&start=3&source=python", None),
    "serpapi_news": ("GET", f"{SERPAPI}&q=storm&tbm=nws", None),
    "serpapi_images": ("GET", f"{SERPAPI}&q=lighthouse&tbm=isch", None),
    "serpapi_empty": ("GET", f"{SERPAPI}&q=zzyzzyx", None),
    "serpapi_bad_request": ("GET", f"{SERPAPI}&engine=yahoo&q=lighthouse", None),
    "brave_search": ("GET", f"{BRAVE}/web/search?q=lighthouse&count=2&freshness=2024-01-01to2024-01-05", None),
    "brave_plain": ("GET", f"{BRAVE}/web/search?q=lamps&text_decorations=False&spellcheck=0", None),
    "brave_news": ("GET", f"{BRAVE}/news/search?q=storm&freshness=pm", None),
    "brave_images": ("GET", f"{BRAVE}/images/search?q=lamps", None),
    "brave_suggest": ("GET", f"{BRAVE}/suggest/search?q=lighth&count=2", None),
    "brave_spellcheck": ("GET", f"{BRAVE}/spellcheck/search?q=lighthuose", None),
    "brave_empty": ("GET", f"{BRAVE}/web/search?q=zzyzzyx", None),
    "brave_bad_request": ("GET", f"{BRAVE}/web/search?q=lighthouse&count=50", None),
    "bing_search": ("GET", f"{BING}?q=lighthouse&count=2&freshness=Month", None),
    "bing_html": ("GET", f"{BING}?q=keeper&textDecorations=true&textFormat=HTML", None),
    "bing_marked": ("GET", f"{BING}?q=keeper&textDecorations=True", None),
    "bing_filtered": ("GET", f"{BING}?q=lighthouse&responseFilter=News,Images", None),
    "bing_empty": ("GET", f"{BING}?q=zzyzzyx", None),
    "bing_news": ("GET", f"{BING.replace('search', 'news/search')}?q=storm&count=5&mkt=en-US", None),
    "bing_images": ("GET", f"{BING.replace('search', 'images/search')}?q=storm", None),
    "bing_videos": ("GET", f"{BING.replace('search', 'videos/search')}?q=storm", None),
    "bing_suggestions": ("GET", f"{BING.replace('search', 'suggestions')}?q=lighth", None),
    "bing_news_bad_request": ("GET", BING.replace("search", "news/search"), None),
    "bing_bad_request": ("GET", BING, None),
    "bing_bad_count": ("GET", f"{BING}?q=lighthouse&count=many", None),
    "google_search": ("GET", f"{GOOGLE}&q=lighthouse&num=2&siteSearch=papers.example&siteSearchFilter=e", None),
    "google_page": ("GET", f"{GOOGLE}&q=number&num=3&start=4", None),
    "google_exact": ("GET", f"{GOOGLE}&q=lighthouse&exactTerms=its+keeper&excludeTerms=harbour&dateRestrict=m1", None),
    "google_empty": ("GET", f"{GOOGLE}&q=zzyzzyx", None),
    "google_bad_request": ("GET", f"{GOOGLE}&q=lighthouse&start=100", None),
    "searxng_search": ("GET", f"{SEARXNG}?q=lighthouse&format=json&time_range=month&language=en", None),
    "searxng_engine": ("GET", f"{SEARXNG}?q=lamps&format=json&engines=google,bing&categories=general", None),
    "searxng_news": ("GET", f"{SEARXNG}?q=storm&format=json&categories=news", None),
    "searxng_images": ("GET", f"{SEARXNG}?q=lamps&format=json&categories=images", None),
    "searxng_rss": ("GET", f"{SEARXNG}?q=lamps&format=rss", None),
    "searxng_csv": ("GET", f"{SEARXNG}?q=lamps&format=csv", None),
    "searxng_empty": ("GET", f"{SEARXNG}?q=zzyzzyx&format=json", None),
    "searxng_bad_request": ("GET", f"{SEARXNG}?q=x&format=json&pageno=x", None),
    "searxng_bad_rss": ("GET", f"{SEARXNG}?q=x&format=rss&time_range=century", None),
    "searxng_autocompleter": ("GET", "http://localhost/searxng/autocompleter?q=lighth", None),
    "searxng_config": ("GET", "http://localhost/searxng/config", None),
    "duckduckgo_search": ("GET", f"{DUCK}?q=lighthouse&df=m", None),
    "duckduckgo_page": ("GET", f"{DUCK}?q=number&s=10", None),
    "duckduckgo_lite": ("GET", f"{LITE}?q=lighthouse", None),
    "duckduckgo_lite_page": ("GET", f"{LITE}?q=number&s=10", None),
    "duckduckgo_empty": ("GET", f"{DUCK}?q=zzyzzyx", None),
    "duckduckgo_lite_empty": ("GET", f"{LITE}?q=zzyzzyx", None),
    "duckduckgo_bad_request": ("GET", f"{DUCK}?q=lighthouse&s=far", None),
    "duckduckgo_home": ("GET", f"{DUCK_HOME}/?q=storm&ia=web", None),
    "duckduckgo_deep": ("GET", "https://links.duckduckgo.com/d.js?q=number&s=10&vqd=4-1-2", None),
    "duckduckgo_deep_empty": ("GET", "https://links.duckduckgo.com/d.js?q=zzyzzyx&vqd=4-1-2", None),
    "duckduckgo_news": ("GET", f"{DUCK_HOME}/news.js?q=storm&o=json&vqd=4-1-2", None),
    "duckduckgo_pictures": ("GET", f"{DUCK_HOME}/i.js?q=storm&o=json&vqd=4-1-2", None),
    "duckduckgo_films": ("GET", f"{DUCK_HOME}/v.js?q=storm&o=json&vqd=4-1-2", None),
    "duckduckgo_completions": ("GET", f"{DUCK_HOME}/ac/?q=lighth", None),
    "duckduckgo_instant": ("GET", "https://api.duckduckgo.com/?q=storm&format=json", None),
    "duckduckgo_instant_call": ("GET", "https://api.duckduckgo.com/?q=zzyzzyx&format=json&callback=show", None),
    "engines_brave": ("GET", "https://search.brave.com/search?q=lighthouse&source=web", None),
    "engines_google": ("GET", "https://www.google.com/search?q=lighthouse&num=2", None),
    "engines_google_wml": ("GET", "https://www.google.com/wml/search?q=lighthouse&tbs=qdr:m", None),
    "engines_mojeek": ("GET", "https://www.mojeek.com/search?q=number&s=11", None),
    "engines_yahoo": ("GET", "https://search.yahoo.com/search;_ylt=a;_ylu=b?p=lighthouse&b=1", None),
    "engines_yahoo_news": ("GET", "https://news.search.yahoo.com/search?p=storm", None),
    "engines_yahoo_redirect": (
        "GET",
        "https://r.search.yahoo.com/_ylt=A/RU=https%3A%2F%2Fa.example/RK=2",
        None,
    ),
    "engines_yandex": ("GET", "https://yandex.com/search/site/?text=lighthouse&p=0", None),
    "engines_books": ("GET", "https://annas-archive.gd/search?q=lighthouse&page=1", None),
    "engines_typeahead": ("GET", "https://grokipedia.com/api/typeahead?query=lighthouse&limit=1", None),
    "engines_leta": ("GET", "https://leta.mullvad.net/search/__data.json?q=lamps&engine=google", None),
    "engines_bad_request": ("GET", "https://www.mojeek.com/search?q=lighthouse&s=x", None),
    "startpage_form": ("GET", "https://www.startpage.com/", None),
    "startpage_search": ("POST", "https://www.startpage.com/sp/search", {"query": "lighthouse"}),
    "bing_pages_news": ("GET", "https://www.bing.com/news/infinitescrollajax?q=storm&first=11", None),
    "bing_pages_pictures": ("GET", "https://www.bing.com/images/async?q=storm&first=1", None),
    "bing_pages_search": ("GET", f"{BING_PAGES}?q=lighthouse", None),
    "bing_pages_rss": ("GET", f"{BING_PAGES}?q=lighthouse&format=rss", None),
    "bing_pages_dated": ("GET", f'{BING_PAGES}?q=lighthouse&filters=ex1:"ez5_19723_19725"', None),
    "bing_pages_empty": ("GET", f"{BING_PAGES}?q=zzyzzyx", None),
    "bing_pages_bad_request": ("GET", f"{BING_PAGES}?q=lighthouse&first=x", None),
}


@pytest.mark.parametrize(
    ("path", "method", "url"),
    [
        (("relatedSearches", "query"), "POST", f"{SERPER}/search?q=number"),
        (("related_searches", "query"), "GET", f"{SERPAPI}&q=number"),
        (("suggestions",), "GET", f"{SEARXNG}?q=number&format=json"),
        (("relatedSearches", "value", "text"), "GET", f"{BING}?q=number"),
        (("data", -1, "list"), "GET", "https://kagi.com/api/v0/search?q=number"),
    ],
)
def test_related_searches_stand_where_services_have_them(path: Any, method: str, url: str, ask: Ask) -> None:
    value = ask(method, url, headers={**HEADERS, "Authorization": "Bot good"}).json()
    for name in path:
        value = [one[name] for one in value] if isinstance(value, list) and isinstance(name, str) else value[name]
    assert value
    assert all(query.startswith("number ") for query in value)


@pytest.mark.parametrize("name", CASES)
def test_over_the_wire(name: str, ask: Ask, golden: Callable[[str, Any], None]) -> None:
    method, url, body = CASES[name]
    answer = ask(method, url, json=body, headers=HEADERS)
    golden(f"dialect_{name}", summarize(answer.status_code, answer.headers, answer.content))


def summarize(status: int, headers: Any, body: bytes) -> dict[str, Any]:
    kind = headers["content-type"]
    document = orjson.loads(body) if ("json" in kind and body) or body.startswith(b"{") else body.decode().splitlines()
    return {"status": status, "type": kind, "body": document}


REFUSALS = {
    "bad_key": ServiceRefusal("the API key is not one of those configured", reason="bad-key", status=401),
    "rate_limited": ServiceRefusal("ten a second at most", reason="rate-limited", status=429),
    "out_of_budget": ServiceRefusal("all ten searches are made", reason="out-of-budget", status=429),
    "bad_request": BadRequest("x is no whole number", reason="bad-x"),
    "no_such_route": ServiceRefusal("there is no /x", reason="no-such-route", status=404),
    "method_not_allowed": ServiceRefusal("/search does not take PUT", reason="method-not-allowed", status=405),
    "outage": Overloaded("too much waits"),
}
NAMES = ("serper", "serpapi", "brave", "bing", "google", "searxng", "duckduckgo", "bing-pages", "engines", "startpage")


@pytest.mark.parametrize("name", NAMES)
def test_refusals(name: str, golden: Callable[[str, Any], None]) -> None:
    dialect = next(one for one in DIALECTS if one.name == name)
    request = Request("GET", "https", "x.example", "x.example", "/search", "q=x&format=json", {}, Session())

    def refused(error: EmulatorError) -> dict[str, Any]:
        reply = dialect.render_error(error, request)
        return summarize(
            reply.status, {key.decode().lower(): value.decode() for key, value in reply.headers}, reply.body
        )

    golden(f"dialect_{name}_refusals", {reason: refused(error) for reason, error in REFUSALS.items()})


WITHOUT_KEY = {
    "serper": (f"{SERPER}/search?q=lamps", 403),
    "serpapi": ("https://serpapi.com/search?q=lamps", 401),
    "brave": (f"{BRAVE}/web/search?q=lamps", 422),
    "bing": (f"{BING}?q=lamps", 401),
    "google": ("https://www.googleapis.com/customsearch/v1?cx=1&q=lamps", 400),
    "searxng": (f"{SEARXNG}?q=lamps&format=json", 200),
    "duckduckgo": (f"{DUCK}?q=lamps", 200),
    "bing-pages": (f"{BING_PAGES}?q=lamps", 200),
    "engines": ("https://search.brave.com/search?q=lamps", 200),
    "startpage": ("https://www.startpage.com/sp/search?query=lamps", 200),
}


@pytest.mark.parametrize("name", NAMES)
def test_without_a_key(name: str, ask: Ask) -> None:
    url, status = WITHOUT_KEY[name]
    assert ask("GET", url).status_code == status


@pytest.mark.parametrize("way", ["json", "query", "get", "form"])
def test_the_ways_to_ask_serper(way: str, ask: Ask) -> None:
    parameters = {"q": "lamps", "gl": "us"}
    answer = {
        "json": lambda: ask("POST", f"{SERPER}/search", json=parameters, headers=HEADERS),
        "query": lambda: ask("POST", f"{SERPER}/search", params=parameters, headers=HEADERS),
        "get": lambda: ask("GET", f"{SERPER}/search", params={**parameters, "api_key": "good"}),
        "form": lambda: ask("POST", f"{SERPER}/search", data=parameters, headers=HEADERS),
    }[way]()
    assert [one["title"] for one in answer.json()["organic"]] == ["Lamps"]


@pytest.mark.parametrize("body", [b"[{}", b"{", b"[1]", b"7", b'[{"q": "x"}, {}]', b'{"q": ["x"]}', b"\xff"])
def test_serper_cannot_read_it(body: bytes, ask: Ask) -> None:
    answer = ask("POST", f"{SERPER}/search", content=body, headers={**HEADERS, "Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["statusCode"]) == (400, 400)


def test_pages_that_libraries_read_are_what_forms_ask_for(ask: Ask) -> None:
    for url in (DUCK, LITE):
        assert ask("POST", url, data={"q": "number", "s": "10"}).text == ask("GET", f"{url}?q=number&s=10").text


PAGES = {
    **dict.fromkeys((DUCK, LITE, BING_PAGES, f"{SEARXNG}?format=rss", f"{BING_PAGES}?format=rss"), "q"),
    **dict.fromkeys(("https://search.brave.com/search", "https://www.google.com/search"), "q"),
    **dict.fromkeys(("https://www.google.com/wml/search", "https://www.mojeek.com/search"), "q"),
    **{"https://www.startpage.com/sp/search": "query", "https://search.yahoo.com/search": "p"},
    **{"https://yandex.com/search/site/": "text"},
}
"""Pages and feeds of results, and what each calls the query."""


@pytest.mark.parametrize("url", PAGES)
def test_what_was_crawled_stays_text(url: str, ask: Ask) -> None:
    for query in ("piracy", f'piracy {EVIL}"'):
        body = ask("GET", str(httpx.URL(url).copy_merge_params({PAGES[url]: query}))).content
        tree = etree.fromstring(body) if "rss" in url else lxml_html.document_fromstring(body)
        assert EVIL in "".join(tree.itertext())
        names = {element.tag for element in tree.iter(etree.Element)}
        attributes = {name for element in tree.iter(etree.Element) for name in element.attrib}
        assert "script" not in names
        assert "onmouseover" not in attributes


def test_a_link_of_any_other_kind_is_left_out(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    real = World._run_search

    def searched(self: World, query: Any) -> Any:
        results = real(self, query)
        hits = [hit._replace(url_json=b"javascript:alert(1)") for hit in results.hits]
        return type(results)(results.query, tuple(hits), results.more, results.snapshot)

    monkeypatch.setattr(World, "_run_search", searched)
    for url, name in PAGES.items():
        if "rss" not in url:
            assert "alert" not in ask("GET", f"{url}?{name}=number+quay").text
    for url in (f"{DUCK_HOME}/news.js", "https://links.duckduckgo.com/d.js", f"{DUCK_HOME}/?format=json"):
        assert "alert" not in ask("GET", str(httpx.URL(url).copy_merge_params({"q": "storm quay"}))).text


@pytest.mark.parametrize(
    "text", ["\0\x08", "\ufffe", "𝔘 é", "a\r\nb", "%", "q" * 5000, '"', "site:", "-", "()[]{}*:\\"]
)
def test_any_query_is_answered(text: str, ask: Ask) -> None:
    urls = [SERPER + "/search", SERPAPI, GOOGLE, BING, f"{BRAVE}/web/search", *PAGES]
    urls += [f"{DUCK_HOME}/{name}" for name in ("", "d.js", "news.js", "i.js", "ac/", "?format=json")]
    formats = [f"{SEARXNG}?format={one}" for one in ("json", "csv", "rss", "html")]
    for url in (*urls, *formats):
        parameters = {PAGES.get(url, "q"): text}
        answer = ask("GET", str(httpx.URL(url).copy_merge_params(parameters)), headers=HEADERS)
        assert answer.status_code == (422 if len(text) > 400 and BRAVE in url else 200), url
        if "rss" in url:
            etree.fromstring(answer.content)


def test_a_page_cannot_end_the_script_that_it_is_in(ask: Ask) -> None:
    body = ask("GET", "https://links.duckduckgo.com/d.js?q=trap&vqd=4-1-2").text
    assert body.count("DDG.") == 6
    rows = re.search(r"DDG\.pageLayout\.load\('d',(\[.+\])\);DDG\.duckbar\.load", body)
    assert rows is not None
    assert orjson.loads(rows[1])[0]["t"] == TRAP


@pytest.mark.parametrize("target", ["RU=javascript%3Aalert(1)", "RU=", "RU=https%3A%2F%2Fa.example%2F%0D%0AX: y", "x"])
def test_a_redirect_leads_to_pages_alone(target: str, ask: Ask) -> None:
    answer = ask("GET", f"https://r.search.yahoo.com/_ylt=A/{target}/RK=2")
    assert (answer.status_code, "location" in answer.headers) == (404, False)


def test_spans_of_time_are_never_a_defect(ask: Ask) -> None:
    spans = ["qdr:y999", "qdr:y9999", "cdr:1,cd_min:13/40/2024,cd_max:12/31/9999", "cdr:1,cd_max:1/1/0001", "qdr:", "x"]
    for span in spans:
        assert ask("GET", f"{SERPAPI}&q=lamps&tbs={span}").status_code == 200, span
    for url in (f"{GOOGLE}&q=lamps&dateRestrict=y999", f'{BING_PAGES}?q=lamps&filters=ex1:"ez5_999999_999999"'):
        assert ask("GET", url).status_code == 200


def test_a_session_sees_the_web_of_its_day(ask: Ask) -> None:
    early = {**HEADERS, "X-Webemu-Session": "one;at=2024-01-02T13:00:00Z"}
    hits = ask("GET", f"{BRAVE}/web/search?q=lighthouse", headers=early).json()["web"]["results"]
    assert [one["url"] for one in hits] == ["https://www.aldmere.example/light/house"]
    fresh = ask("GET", f"{SERPAPI}&q=lighthouse&tbs=qdr:d", headers=early).json()
    assert [one["position"] for one in fresh["organic_results"]] == [1]
    assert fresh["search_metadata"]["created_at"] == "2024-01-02 00:00:00 UTC"


def test_other_pages_of_a_service_are_those_of_the_crawl(ask: Ask) -> None:
    assert "What SerpAPI writes." in ask("GET", "https://serpapi.com/blog").text
    assert ask("GET", "https://serpapi.com/pricing").status_code == 404
    unknown = ask("GET", f"{SERPER}/blog", headers=HEADERS)
    assert (unknown.status_code, unknown.json()["statusCode"]) == (404, 404)


ROOTS = {
    "serper": ("POST", "/search", {"json": {"q": "lamps"}, "headers": {"X-API-KEY": "good"}}),
    "serper by GET": ("GET", "/news?q=lamps", {"headers": {"X-API-KEY": "good"}}),
    "searxng": ("GET", "/search?q=lamps&format=json", {}),
    "searxng by form": ("POST", "/search", {"data": {"q": "lamps", "format": "json"}}),
    "searxng at /": ("GET", "/?q=lamps&format=csv", {}),
    "people": ("GET", "/search?q=lamps", {}),
}
WHOSE = {
    "searchParameters": "serper", "number_of_results": "searxng", "title,url,content": "searxng", "<!doctype": "people"
}  # fmt: skip


@pytest.mark.parametrize("who", ROOTS)
def test_who_answers_at_the_root(who: str, ask: Ask) -> None:
    method, path, options = ROOTS[who]
    body = ask(method, f"http://localhost{path}", **options).text.lower()
    services = {name for sign, name in WHOSE.items() if sign.lower() in body[:300]}
    assert services == {who.partition(" ")[0]}


def test_the_html_of_searxng_is_its_simple_theme(ask: Ask) -> None:
    first, second = (HTMLParser(ask("GET", f"{SEARXNG}?q=number&pageno={page}").text) for page in (1, 2))
    titles = [[link.text() for link in page.css("article.result > h3 > a")] for page in (first, second)]
    assert titles[0]
    assert titles[0] != titles[1]
    assert first.css_first("form.next_page input[name=pageno]").attributes["value"] == "2"
    assert [link.attributes["href"] for link in first.css("article a.url_header")] == [
        row["url"] for row in ask("GET", f"{SEARXNG}?q=number&format=json").json()["results"]
    ]
    assert "No results were found" in ask("GET", f"{SEARXNG}?q=zzyzzyx").text
    assert HTMLParser(ask("GET", "http://localhost/searxng/").text).css_first("form#search input[name=q]") is not None


def test_csv_is_a_table(ask: Ask) -> None:
    rows = list(csv.DictReader(io.StringIO(ask("GET", f"{SEARXNG}?q=lighthouse&format=csv").text)))
    assert {row["host"] for row in rows} == {"www.aldmere.example", "harbour.example", "papers.example"}


def test_services_of_a_name_are_found_by_it() -> None:
    hosts = build_services(frozenset()).hosts
    assert {host for dialect in DIALECTS for host in dialect.hosts} <= hosts.keys()


@pytest.mark.parametrize("form", ["json", "csv", "rss", "html"])
@pytest.mark.parametrize(
    "parameters", ["categories=images", "categories=Videos,files", "category_images=1", "engines=bing images"]
)
def test_searxng_has_pages_alone(parameters: str, form: str, ask: Ask) -> None:
    reply = ask("GET", f"{SEARXNG}?q=lighthouse&format={form}&{parameters}")
    assert reply.status_code == 200
    assert "aldmere.example" not in reply.text
    assert "aldmere.example" in ask("GET", f"{SEARXNG}?q=lighthouse&format={form}&{parameters}&category_general=1").text


def test_the_account_of_serpapi(ask: Ask) -> None:
    account = ask("GET", "https://serpapi.com/account.json?api_key=good").json()
    assert account["total_searches_left"] == 30_000
    assert account["api_key"] == "good"
    assert ask("GET", "https://serpapi.com/account?api_key=bad").status_code == 401


@pytest.mark.parametrize("name", ["serper", "tavily", "exa", "firecrawl", "brave"])
def test_what_is_not_served_does_not_say_where_the_asker_is(name: str, ask: Ask) -> None:
    answer = ask("POST", f"http://localhost/{name}/v2/unheard-of", headers={**HEADERS, "Authorization": "Bearer good"})
    assert answer.status_code == 404
    assert "Cannot POST /v2/unheard-of" in answer.text
    assert not re.search("offline|crawl|emul", answer.text)
