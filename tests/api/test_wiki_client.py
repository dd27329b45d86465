"""The package `wikipedia` as it is, over a real socket and through the proxy that `webemu env` tells it of."""

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator

import httpx
import pytest
import wikipedia
from bs4 import GuessedAtParserWarning
from wikipedia.exceptions import DisambiguationError, PageError, RedirectError

from tests.crawls import CaptureSpec, write
from webemu.worlds.graph import Graph, Town
from webemu.worlds.invent import invent_graph
from webemu.worlds.site_directory import assign_addresses

PAGES, SEED = 400, 3
LEXICON = "http://en.openlexicon.org/w/api.php"
HOST = "https://en.wikipedia.org"
BODY = '<div id="mw-content-text"><div class="mw-parser-output"><p>A harbour is a shelter for ships.</p></div></div>'
WIKIPEDIA = [
    CaptureSpec(
        f"{HOST}/wiki/Harbour",
        "<title>Harbour - Wikipedia</title>" + BODY.format("<p>A harbour is a shelter for ships."),
    ),
    CaptureSpec(f"{HOST}/wiki/Haven", status="301 Moved Permanently", headers=(("Location", "/wiki/Harbour"),)),
]


def webemu(*arguments: str) -> str:
    command = [sys.executable, "-m", "webemu.emulator.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module", autouse=True)
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server of both wikis, and this process told of it as of its proxy."""
    root = tmp_path_factory.mktemp("wikis")
    webemu("generate", str(root / "web"), "--pages", str(PAGES), "--seed", str(SEED), "-q")
    write(root / "web" / "wikipedia.warc.gz", WIKIPEDIA)
    webemu("ingest", str(root / "web"), "--root", str(root), "-q")
    command = [sys.executable, "-m", "webemu.emulator.cli", "serve", "--root", str(root), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        server = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert server is not None
        with httpx.Client(trust_env=False) as client:
            assert client.get(f"{server[0]}/health", timeout=30).status_code == 200
        with pytest.MonkeyPatch.context() as patch:
            exports = webemu("env", "--root", str(root), "--server", server[0])
            for name, value in re.findall(r"^export (\w+)=(.*)$", exports, re.MULTILINE):
                patch.setenv(name, value)
            yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(autouse=True)
def lexicon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The generated encyclopedia; what the package remembers of other tests is forgotten."""
    monkeypatch.setattr(wikipedia.wikipedia, "API_URL", LEXICON)
    for remembers in (wikipedia.search, wikipedia.suggest, wikipedia.summary):
        remembers.clear_cache()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessedAtParserWarning)
        yield


@pytest.fixture(scope="module")
def graph() -> Graph:
    return invent_graph(SEED, PAGES)


@pytest.fixture(scope="module")
def town(graph: Graph) -> Town:
    """A town of a name of its own, with people born there."""
    natives = assign_addresses(graph, 0).people_born_in
    return next(town for town in graph.towns if town.title == town.name and natives.get(town.key))


def test_search_and_suggest(town: Town) -> None:
    assert wikipedia.search(town.title)[0] == town.title
    assert len(wikipedia.search("town river", results=5)) == 5
    assert wikipedia.search("zzyzzyx") == []
    assert wikipedia.suggest("disambiguatoin") == "disambiguation"


def test_a_page(graph: Graph, town: Town) -> None:
    page = wikipedia.page(town.title, auto_suggest=False)
    assert (page.title, page.url) == (town.title, f"https://en.openlexicon.org/wiki/{town.title.replace(' ', '_')}")
    region = graph.regions[town.region]
    assert region.title in page.links
    assert page.categories == ["Towns"]
    assert page.sections[:2] == ["History", "Government"]
    assert town.name in page.summary
    assert page.content.startswith(page.summary)
    assert "\n\n\n== History ==\n" in page.content
    assert page.section("History") in page.content.partition("== History ==")[2]
    assert f"{town.population[3]:,}" in page.html()
    assert "<table" in page.html()
    assert page.images == []
    assert (page.revision_id > 0, page.parent_id) == (True, 0)
    assert wikipedia.page(pageid=page.pageid).title == town.title


def test_links_to_other_sites(graph: Graph) -> None:
    company = graph.companies[0]
    assert any("openlexicon" not in url for url in wikipedia.page(company.title, auto_suggest=False).references)


def test_summaries(town: Town) -> None:
    summary = wikipedia.summary(town.title)
    assert summary == wikipedia.page(town.title).summary
    assert wikipedia.summary(town.title, sentences=1) == summary[: summary.index(". ") + 1]
    assert len(wikipedia.summary(town.title, chars=60)) < 90


def test_a_name_of_many(graph: Graph) -> None:
    entity = next(entity for entity in (*graph.towns, *graph.people) if entity.title != entity.name)
    with pytest.raises(DisambiguationError) as raised:
        wikipedia.page(f"{entity.name} (disambiguation)", auto_suggest=False)
    assert entity.title in raised.value.options


def test_redirects() -> None:
    assert wikipedia.page("mainpage", auto_suggest=False).title == "Main Page"
    with pytest.raises(RedirectError):
        wikipedia.page("Mainpage", auto_suggest=False, redirect=False)


def test_pages_that_are_not_there() -> None:
    with pytest.raises(PageError):
        wikipedia.page("No such place", auto_suggest=False)
    with pytest.raises(PageError):
        wikipedia.page("zzyzzyx qqxqq")
    with pytest.raises(PageError):
        wikipedia.page(pageid=1)


def test_random() -> None:
    assert len(set(wikipedia.random(5))) == 5


def test_wikipedia_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikipedia.wikipedia, "API_URL", "http://en.wikipedia.org/w/api.php")
    assert wikipedia.summary("harbour") == "A harbour is a shelter for ships."
    assert wikipedia.page("Haven", auto_suggest=False).url == f"{HOST}/wiki/Harbour"
    assert wikipedia.search("ships") == ["Harbour"]


def test_other_clients_find_it_by_tls() -> None:
    with httpx.Client() as client:
        body = client.get(f"{HOST}/api/rest_v1/page/summary/Haven", follow_redirects=True).json()
        assert (body["type"], body["title"]) == ("standard", "Harbour")
        answer = client.get(f"{HOST}/w/api.php", params={"action": "opensearch", "search": "harb", "format": "json"})
        assert json.loads(answer.text) == ["harb", ["Harbour"], [""], [f"{HOST}/wiki/Harbour"]]
