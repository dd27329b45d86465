"""Laws over all dialects: they rank alike, what they find opens, and each says in its own words what is wrong."""

import asyncio
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules
from typing import Any, cast

import httpx
import orjson
import pytest
from lxml import html as lxml_html

from tests.crawls import CaptureSpec, html, ingest, write
from tests.errors import ERRORS, OWN_WORDS
from webemu.api import dialects
from webemu.api.app import create_app
from webemu.api.bench.request_factory import SEARCH_REQUESTS
from webemu.api.dialects import DIALECTS
from webemu.api.dialects.dialect import Dialect, build_error_response
from webemu.api.http.request import Request
from webemu.emulator.config import Config
from webemu.emulator.errors import SnapshotError
from webemu.emulator.ports import Ranker, SearchPlan
from webemu.emulator.query import ParsedQuery
from webemu.emulator.session import Session
from webemu.emulator.types import Query
from webemu.emulator.world import World
from webemu.index.open import open_world

QUERY = "lighthouse harbour"
NOTHING = "zzyzzyx"
COUNT = 5
WORDS = ("lighthouse", "harbour", "ships", "river", "keeper")
KEYED = dict.fromkeys(("X-API-KEY", "X-Subscription-Token", "Ocp-Apim-Subscription-Key"), "good")  # fmt: skip
WITH_PASSWORD = {"oxylabs"}
"""The services whose key is a password."""
SCHEMES = {"kagi": "Bot"}
"""The word before the key in `Authorization`; services that are not here use `Bearer`."""


def at(*names: str, link: str = "url") -> Callable[[httpx.Response], list[str]]:
    """The links of a JSON list; an absent list has none."""

    def links(answer: httpx.Response) -> list[str]:
        value = answer.json()
        for name in names:
            value = value.get(name, {}) if isinstance(value, dict) else value
        return [one[link] for one in value]

    return links


def hrefs(path: str) -> Callable[[httpx.Response], list[str]]:
    return lambda answer: list(lxml_html.document_fromstring(answer.text).xpath(path))


def scored(answer: httpx.Response) -> list[str]:
    return [one["document"]["url"] for one in answer.json()["result"][0]]


def in_first(answer: httpx.Response) -> list[str]:
    return [one["url"] for one in answer.json()["result"][0]]


def in_text(answer: httpx.Response) -> list[str]:
    return [one["link"] for one in orjson.loads(answer.json()["search_results"]).get("items", [])]


def in_base64(answer: httpx.Response) -> list[str]:
    return [orjson.loads(b64decode(one))["URL"] for one in answer.json()["results"]]


def in_content(answer: httpx.Response) -> list[str]:
    return [one["url"] for one in answer.json()["results"][0]["content"]["results"]["organic"]]


LINKS = {
    "serper": at("organic", link="link"),
    "serpapi": at("organic_results", link="link"),
    "brave": at("web", "results"),
    "bing": at("webPages", "value"),
    "google": at("items", link="link"),
    "searxng": at("results"),
    "duckduckgo": hrefs("//a[@class='result__a']/@href"),
    "bing-pages": hrefs("//li[@class='b_algo']//a/@href"),
    "engines": hrefs("//div[@data-type='web']//a/@href"),
    "startpage": hrefs("//a[contains(@class, 'result-link')]/@href"),
    "exa": at("results"),
    "perplexity": at("results"),
    "tavily": at("results"),
    "firecrawl": at("data", "web"),
    "linkup": at("results"),
    "you": at("results", "web"),
    "kagi": at("data"),
    "jina-search": at("data"),
    "search-r1": scored,
    "asearcher": in_first,
    "browsecomp-plus": at("result", link="docid"),
    "openresearcher": at("results"),
    "deepresearchgym": in_base64,
    "nemo-gym": in_text,
    "searchapi": at("organic_results", link="link"),
    "bocha": at("data", "webPages", "value"),
    "langsearch": at("data", "webPages", "value"),
    "zhipu": at("search_result", link="link"),
    "parallel": at("results"),
    "valyu": at("results"),
    "scrapingbee": at("organic_results"),
    "oxylabs": in_content,
}
"""The path to the links in the answer to each of `webemu.api.bench.request_factory.SEARCH_REQUESTS`."""
WITHOUT_SEARCH = {
    "jina",
    "brightdata",
    "arxiv",
    "crossref",
    "mcp-exa",
    "mcp-tavily",
    "openalex",
    "pubmed",
    "semantic-scholar",
}
"""Services that read pages, those that search only such pages as are papers, and servers of MCP."""
ANY_PATH = {"jina", "jina-search"}
"""The services whose path is the URL or query itself."""
SAYS_NOTHING = {"jina-search": 422, "linkup": 400}
"""Statuses of those to whom no result is an error of the asker's."""
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}


def crawl() -> Iterator[CaptureSpec]:
    for number in range(40):
        sentence = " ".join(word for place, word in enumerate(WORDS) if number % (place + 2) == 0)
        yield CaptureSpec(
            f"https://site{number % 17}.example/{number}", html(f"Page {number}", f"It tells of {sentence}."), 2
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("laws")
    ingest(root / "default", write(root / "a.warc.gz", list(crawl())))
    return open_world(root / "default")


Asking = Callable[..., httpx.Response]


def asking(world: World, root: Any, keys: str) -> Asking:
    app = create_app(Config(root=root, api_keys=keys), world=world)

    def ask(method: str, url: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=app.serve_web, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport) as client:
                return await client.request(method, url, **options)

        return asyncio.run(send())

    return ask


@pytest.fixture(scope="module")
def ask(world: World, tmp_path_factory: pytest.TempPathFactory) -> Asking:
    return asking(world, tmp_path_factory.mktemp("none"), "good")


def question(ask: Asking, name: str, query: str, key: str = "good", **more: Any) -> httpx.Response:
    """A search through a dialect, below its prefix."""
    how = SEARCH_REQUESTS[name]
    url, parameters = f"http://localhost/{name}{how.path}", how.parameters(query, COUNT) | more
    headers = dict.fromkeys(KEYED, key) | {"Authorization": f"{SCHEMES.get(name, 'Bearer')} {key}"}
    if name in WITH_PASSWORD:
        headers["Authorization"] = f"Basic {b64encode(f'user:{key}'.encode()).decode()}"
    headers["Accept"] = "application/json"
    if how.method == "GET":
        both = {**parameters, "api_key": key, "key": key}
        return ask("GET", url, params=both, headers=headers)
    return ask("POST", url, headers=headers, **{"data" if how.is_form else "json": parameters})


@pytest.fixture(params=list(SEARCH_REQUESTS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_dialect_is_asked() -> None:
    assert set(BY_NAME) == set(SEARCH_REQUESTS) | WITHOUT_SEARCH
    assert set(LINKS) == set(SEARCH_REQUESTS)


def test_a_file_and_a_line_are_all_that_a_dialect_is() -> None:
    modules = [import_module(f"webemu.api.dialects.{one.name}") for one in iter_modules(dialects.__path__)]
    defined = [value for one in modules for value in vars(one).values() if isinstance(value, Dialect)]
    assert {one.name for one in defined} == BY_NAME.keys()


def test_names_and_hosts_are_nobody_elses() -> None:
    counted = Counter(chain((one.name for one in DIALECTS), *(one.hosts for one in DIALECTS)))
    assert {name: times for name, times in counted.items() if times > 1} == {}
    assert all(re.fullmatch("[a-z0-9-]+", one.name) and one.service and one.setup_hint for one in DIALECTS)


def test_all_rank_as_the_world_does(name: str, ask: Asking, world: World) -> None:
    answer = question(ask, name, QUERY)
    assert answer.status_code == 200, answer.text
    ranked = [hit.url for hit in world.search(Query(QUERY, 1, COUNT)).hits]
    assert LINKS[name](answer)[:COUNT] == ranked
    assert question(ask, name, QUERY).content == answer.content


def test_what_is_found_opens(name: str, ask: Asking) -> None:
    links = LINKS[name](question(ask, name, QUERY))
    assert links
    assert {ask("GET", link).status_code for link in links} == {200}


def test_nothing_found_is_no_failure(name: str, ask: Asking) -> None:
    answer = question(ask, name, NOTHING)
    assert "X-Webemu-Failure" not in answer.headers
    assert answer.status_code == SAYS_NOTHING.get(name, 200)
    assert name in SAYS_NOTHING or LINKS[name](answer) == []


def test_members_that_nobody_knows_are_ignored(name: str, ask: Asking) -> None:
    answer = question(ask, name, QUERY, origin="sdk", integration="", unknown_option="x")
    assert LINKS[name](answer) == LINKS[name](question(ask, name, QUERY))


def own_shape(answer: httpx.Response) -> bool:
    """Return True if a refusal does not have the shape of this server's own."""
    is_ours = b'"snapshot"' in answer.content or b'"action"' in answer.content
    return bool(answer.content) and not is_ours and not answer.headers["Content-Type"].startswith("text/plain")


def test_a_bad_key(name: str, ask: Asking) -> None:
    answer = question(ask, name, QUERY, key="bad")
    if BY_NAME[name].read_key is None:
        assert answer.status_code == 200
    else:
        assert (answer.headers["X-Webemu-Reason"], own_shape(answer)) == ("bad-key", True)
        assert 400 <= answer.status_code < 500


@pytest.mark.parametrize("name", [name for name in SEARCH_REQUESTS if name not in ANY_PATH])
def test_an_unknown_path(name: str, world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    ask = asking(world, tmp_path_factory.mktemp("none"), "any")
    answer = ask("GET", f"http://localhost/{name}/no/such/path?format=json")
    assert (answer.status_code, answer.headers["X-Webemu-Reason"]) == (404, "no-such-route")
    assert own_shape(answer)


def test_a_method_that_is_not_taken(name: str, world: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    ask = asking(world, tmp_path_factory.mktemp("none"), "any")
    answer = ask("PATCH", f"http://localhost/{name}{SEARCH_REQUESTS[name].path}?format=json")
    assert (answer.status_code, answer.headers["X-Webemu-Reason"]) == (405, "method-not-allowed")
    assert own_shape(answer)


class Broken:
    """A finder whose disk is gone."""

    def __init__(self, finder: Ranker) -> None:
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)

    def plan(self, parsed: ParsedQuery) -> SearchPlan:
        raise SnapshotError("the disk is gone")


@pytest.fixture(scope="module")
def broken(world: World, tmp_path_factory: pytest.TempPathFactory) -> Asking:
    broken_world = World(world.snapshot, cast(Ranker, Broken(world.ranker)), world.page_store, world.figures())
    return asking(broken_world, tmp_path_factory.mktemp("none"), "good")


def test_an_outage_is_marked_as_ours(name: str, broken: Asking) -> None:
    answer = question(broken, name, QUERY)
    assert 500 <= answer.status_code < 600
    assert answer.headers["X-Webemu-Failure"] == "infrastructure"
    assert own_shape(answer)


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_no_refusal_tells_an_agent_where_it_is(dialect: Dialect, kind: str) -> None:
    request = Request("GET", "https", "service.example", "service.example", "/", "", {}, Session())
    assert OWN_WORDS.search(build_error_response(dialect, ERRORS[kind], request).body.decode()) is None


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one.hosts], ids=lambda dialect: dialect.name)
def test_by_name_as_below_its_prefix(dialect: Dialect, ask: Asking) -> None:
    for host in dialect.hosts:
        by_name = ask("OPTIONS", f"https://{host}/no/such/path")
        below = ask("OPTIONS", f"http://localhost/{dialect.name}/no/such/path")
        assert (by_name.status_code, by_name.headers.get("X-Webemu-Reason")) == (
            below.status_code,
            below.headers.get("X-Webemu-Reason"),
        )
