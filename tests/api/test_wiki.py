"""The APIs of MediaWiki: their wire format over a small wiki, and the client that people use, over a real socket."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import App, create_app
from webemu.emulator.config import Config
from webemu.emulator.session import encode_inline_policy
from webemu.index.open import open_world
from webemu.index.wiki import parse_article

HOST = "https://en.wikipedia.org"
HEAD = '<meta name="generator" content="MediaWiki 1.43.0-wmf.5">'
MOVED = (("Location", f"{HOST}/wiki/Aldmere"),)


def mediawiki(title: str, body: str, categories: str = "", canonical: str = "", space: int = 0) -> str:
    link = f'<link rel="canonical" href="{HOST}/wiki/{canonical or title.replace(" ", "_")}">'
    listed = "".join(
        f'<li><a href="/wiki/Category:{c.replace(" ", "_")}">{c}</a></li>' for c in categories.split("|") if c
    )
    return (
        f'<!DOCTYPE html><html lang="en" dir="ltr"><head><title>{title} - Wikipedia</title>{HEAD}{link}</head>'
        f'<body class="mediawiki ltr ns-{space} ns-subject"><h1 id="firstHeading"><i>{title}</i></h1>'
        '<div id="mw-content-text" class="mw-body-content">'
        f'<div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr">{body}</div></div>'
        '<div id="catlinks" class="catlinks"><div id="mw-normal-catlinks"><a href="/wiki/Help:Category">Categories</a>'
        f": <ul>{listed}</ul></div></div>"
        '<div id="mw-hidden-catlinks">Hidden: <ul><li><a href="/wiki/Category:Good_articles">Good articles</a></li>'
        "</ul></div></body></html>"
    )


def heading(level: int, line: str) -> str:
    anchor = line.replace(" ", "_")
    edit = '<span class="mw-editsection">[<a href="/w/index.php?title=X&amp;action=edit">edit</a>]</span>'
    return f'<div class="mw-heading mw-heading{level}"><h{level} id="{anchor}">{line}</h{level}>{edit}</div>'


ALDMERE = mediawiki(
    "Aldmere",
    '<div class="shortdescription nomobile noexcerpt noprint searchaux" style="display:none">River port</div>'
    '<div role="note" class="hatnote">For the film, see <a href="/wiki/Aldmere_(film)">Aldmere (film)</a>.</div>'
    "<table class='infobox'><tr><th>Population</th><td>4,211</td></tr></table>"
    '<p class="mw-empty-elt"></p>'
    '<p><b>Aldmere</b> is a river port on the <a href="/wiki/Ouse">Ouse</a> &amp; sea.<sup class="reference">'
    '<a href="#cite_note-1">[1]</a></sup> It opened in 1887.</p>\n<p>Ships call there.\nBarges do not.</p>'
    + heading(2, "History")
    + '<p>The harbour was dug by <a href="/w/index.php?title=Ada_Voss&amp;action=edit&amp;redlink=1" class="new">Ada '
    "Voss</a>.</p>" + heading(3, "Early years") + "<ul><li>1887: opened</li><li>1901: burnt</li></ul>"
    + heading(2, "See also")
    + '<ul><li><a href="/wiki/Ouse">Ouse</a></li></ul><a rel="nofollow" class="external" href="https://port.example/a?b=1">'
    'Port</a><a href="/wiki/File:Port.jpg" class="mw-file-description"><img src="//upload.example/p.jpg"></a>',
    "Ports|River towns",
)  # fmt: skip
OLDER = mediawiki("Aldmere", "<p>Aldmere was a village.</p>", "Ports")
OUSE = mediawiki("Ouse", "<p>The Ouse is a river of 120 km.</p>", "Rivers")
FILM = mediawiki("Aldmere (film)", "<p>Aldmere is a film of the harbour.</p>", "Films")
NAMES = mediawiki(
    "Mercury",
    '<p><b>Mercury</b> may refer to:</p><ul><li><a href="/wiki/Aldmere">Aldmere</a>, a port</li>'
    '<li><a href="/wiki/Ouse">Ouse</a></li></ul><div id="disambigbox" class="dmbox dmbox-disambig">…</div>',
)
RECORDS = [
    CaptureSpec(f"{HOST}/wiki/Aldmere", OLDER, day=1),
    CaptureSpec(f"{HOST}/wiki/Aldmere", ALDMERE, day=5),
    CaptureSpec(f"{HOST}/wiki/Ouse", OUSE, day=2),
    CaptureSpec(f"{HOST}/wiki/Aldmere_(film)", FILM, day=2),
    CaptureSpec(f"{HOST}/wiki/Mercury", NAMES, day=2),
    CaptureSpec(f"{HOST}/wiki/Port_of_Aldmere", status="301 Moved Permanently", headers=MOVED, day=2),
    CaptureSpec(f"{HOST}/wiki/River_Ouse", mediawiki("Ouse", "<p>The Ouse is a river of 120 km.</p>", "Rivers"), day=2),
    CaptureSpec(f"{HOST}/wiki/Category:Ports", mediawiki("Category:Ports", "<p>Harbour towns.</p>", space=14), day=2),
    CaptureSpec(f"{HOST}/wiki/Gone", mediawiki("Gone", "<p>gone"), status="404 Not Found"),
    CaptureSpec(f"{HOST}/wiki/Plain", "Aldmere in plain text", mime="text/plain"),
    CaptureSpec(
        "https://blog.example/wiki/Aldmere", html("Aldmere", "A page about the harbour of Aldmere, of no wiki.")
    ),
]
Api = Callable[..., Any]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> App:
    root = tmp_path_factory.mktemp("wiki")
    write(root / "a.warc.gz", RECORDS)
    ingest(root / "c", root / "a.warc.gz")
    return create_app(Config(root=root, collection="c"), open_world(root / "c"))


@pytest.fixture(scope="module")
def ask(app: App) -> Callable[..., httpx.Response]:
    def ask_wiki(path: str, method: str = "GET", host: str = HOST, **options: Any) -> httpx.Response:
        async def run() -> httpx.Response:
            transport = httpx.ASGITransport(app=app.doors.web)
            async with httpx.AsyncClient(transport=transport, base_url=host) as client:
                return await client.request(method, path, **options)

        return asyncio.run(run())

    return ask_wiki


@pytest.fixture(scope="module")
def api(ask: Callable[..., httpx.Response]) -> Api:
    """The JSON of a call of `api.php`."""

    def called(**params: Any) -> Any:
        answer = ask("/w/api.php", params={"action": "query", "format": "json", "formatversion": 2, **params})
        assert answer.status_code == 200
        return answer.json()

    return called


CALLS: dict[str, dict[str, str]] = {
    "search": {"action": "query", "list": "search", "srsearch": "aldmere harbour", "srlimit": "2"},
    "page": {
        "action": "query",
        "titles": "aldmere|Port_of_Aldmere|Mercury|Nowhere|<b>",
        "prop": "info|pageprops|extracts|revisions|links|categories|extlinks|images|description",
        "explaintext": "",
        "exintro": "",
        "inprop": "url|displaytitle",
        "pllimit": "max",
        "cllimit": "max",
        "ellimit": "max",
        "imlimit": "max",
    },
    "redirects": {"action": "query", "titles": "port of Aldmere|River Ouse", "redirects": "", "prop": "extracts"},
    "parse": {"action": "parse", "page": "Aldmere"},
    "missing": {"action": "parse", "page": "Nowhere"},
    "unset": {"action": "query", "list": "search"},
    "continued": {"action": "query", "titles": "Aldmere", "prop": "links|info|nonsense", "pllimit": "1"},
    "siteinfo": {"action": "query", "meta": "siteinfo|userinfo", "siprop": "general|namespaces|statistics"},
    "opensearch": {"action": "opensearch", "search": "ald"},
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("version", [1, 2])
def test_the_json_of_both_versions(
    ask: Callable[..., httpx.Response], golden: Callable[[str, Any], None], name: str, version: int
) -> None:
    answer = ask("/w/api.php", params={**CALLS[name], "format": "json", "formatversion": version})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    golden(f"wiki_{name}_{version}", answer.json())


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("summary", "/api/rest_v1/page/summary/Aldmere"),
        ("summary_disambiguation", "/api/rest_v1/page/summary/mercury"),
        ("summary_missing", "/api/rest_v1/page/summary/No%2Fwhere"),
        ("rest_page", "/w/rest.php/v1/search/page?q=harbour&limit=1"),
        ("rest_title", "/w/rest.php/v1/search/title?q=aldmere&limit=5"),
        ("rest_unset", "/w/rest.php/v1/search/page"),
    ],
)
def test_the_rest_apis(
    ask: Callable[..., httpx.Response], golden: Callable[[str, Any], None], name: str, path: str
) -> None:
    answer = ask(path, follow_redirects=True)
    golden(
        f"wiki_{name}", {"status": answer.status_code, "type": answer.headers["Content-Type"], "body": answer.json()}
    )


def test_rest_redirects_and_html(ask: Callable[..., httpx.Response]) -> None:
    moved = ask("/api/rest_v1/page/html/Port_of_Aldmere")
    assert (moved.status_code, moved.headers["Location"]) == (302, "/api/rest_v1/page/html/Aldmere")
    page = ask(moved.headers["Location"]).text
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert "River port</div>" in page


def test_only_wikis_have_these_apis(ask: Callable[..., httpx.Response]) -> None:
    for path in ("/w/api.php?action=query&format=json", "/api/rest_v1/page/summary/Aldmere"):
        assert ask(path).status_code == 200
        assert ask(path, host="https://blog.example").headers["X-Webemu-Reason"] == "url-not-captured"
        assert ask(path, host="https://nowhere.example").headers["X-Webemu-Reason"] == "host-not-captured"
    assert ask("/w/api.php", "POST", "https://blog.example").status_code == 405
    assert ask("/api/rest_v1/page/summary/Aldmere", "POST").status_code == 405


def test_a_form_may_be_posted_and_answers_are_marked(ask: Callable[..., httpx.Response]) -> None:
    parameters = {"action": "query", "titles": "Aldmere", "format": "json"}
    posted, got = ask("/w/api.php", "POST", data=parameters), ask("/api.php", params=parameters)
    assert posted.json() == got.json()
    assert posted.headers["X-Webemu-Made"] == "mediawiki"
    assert ask("/w/api.php", params=parameters, headers={"X-Webemu-Session": "a;marks=off"}).headers.keys() == {
        "content-type",
        "content-length",
    }


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"action": "edit"}, "badvalue"),
        ({"action": "help"}, "badvalue"),
        ({"format": "xml"}, "badvalue"),
        ({"generator": "allpages"}, "badvalue"),
        ({"list": "search", "srsearch": "a", "srlimit": "many"}, "badinteger"),
        ({"list": "search", "srsearch": "a", "srnamespace": "x"}, "badvalue"),
        ({"titles": "|".join(map(str, range(51)))}, "toomanyvalues"),
        ({"titles": "A", "pageids": "1"}, "multisource"),
        ({"action": "parse"}, "missingparam"),
        ({"action": "parse", "page": "A|[B"}, "invalidtitle"),
        ({"action": "parse", "pageid": "7"}, "nosuchpageid"),
        ({"action": "parse", "page": "Aldmere", "section": "9"}, "nosuchsection"),
        ({"action": "opensearch"}, "missingparam"),
    ],
)
def test_errors_are_answers_with_a_header(
    ask: Callable[..., httpx.Response], params: dict[str, str], code: str
) -> None:
    answer = ask("/w/api.php", params={"action": "query", "format": "json", **params})
    assert (answer.status_code, answer.headers["MediaWiki-API-Error"]) == (200, code)
    if params.get("format") != "xml":
        assert answer.json()["error"]["code"] == code


def test_formats(ask: Callable[..., httpx.Response]) -> None:
    parameters = {"action": "opensearch", "search": "<b>é"}
    called = ask("/w/api.php", params={**parameters, "format": "json", "callback": "a.b(<1>)", "origin": "*"})
    assert called.text == '/**/a.b1(["<b>\\u00e9",[],[],[]])'
    assert called.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert called.headers["Access-Control-Allow-Origin"] == "*"
    assert ask("/w/api.php", params={**parameters, "format": "json", "utf8": ""}).text == '["<b>é",[],[],[]]'
    assert ask("/w/api.php", params=parameters).text == '["<b>\\u00e9",[],[],[]]'
    reply = ask("/w/api.php", params={**parameters, "format": "jsonfm"})
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "&lt;b&gt;é" in reply.text
    assert "<b>é" not in reply.text


def test_a_wikipedia_that_was_not_crawled_has_no_articles(ask: Callable[..., httpx.Response]) -> None:
    host = "https://zh-yue.wikipedia.org"
    reply = ask("/w/api.php", host=host, params={"action": "opensearch", "search": "Aldmere", "profile": "fuzzy"})
    assert reply.json() == ["Aldmere", [], [], []]
    parameters = {"action": "query", "list": "search", "srsearch": "Aldmere", "format": "json"}
    assert ask("/w/api.php", host=host, params=parameters).json()["query"]["search"] == []
    page = ask("/wiki/Aldmere", host=host)
    assert (page.status_code, page.headers["X-Webemu-Reason"]) == (502, "host-not-captured")


def extract(api: Api, **params: Any) -> Any:
    return api(prop="extracts", titles="Aldmere", **params)["query"]["pages"][0]["extract"]


def test_extracts(api: Api) -> None:
    intro = "Aldmere is a river port on the Ouse & sea. It opened in 1887.\nShips call there. Barges do not."
    whole_extract = (
        f"{intro}\n\n\n== History ==\nThe harbour was dug by Ada Voss.\n\n\n=== Early years ===\n1887: opened"
        "\n1901: burnt\n\n\n== See also ==\nOuse\nPort"
    )
    assert extract(api, explaintext=1) == whole_extract
    assert extract(api, explaintext=1, exintro=1) == intro
    assert extract(api, explaintext=1, exsectionformat="plain") == re.sub("=+ (.*) =+", r"\1", whole_extract)
    assert extract(api, explaintext=1, exsentences=3) == intro.removesuffix(" Barges do not.")
    assert extract(api, explaintext=1, exchars=20) == "Aldmere is a river port..."
    paragraph = "<p><b>Aldmere</b> is a river port on the Ouse &amp; sea. It opened in 1887.</p>"
    assert extract(api, exintro=1) == f"{paragraph}\n<p>Ships call there.\nBarges do not.</p>"
    assert extract(api, exsentences=2) == paragraph
    assert extract(api, exchars=12) == "<p>Aldmere is a...</p>"


def test_one_whole_extract_at_a_time(api: Api) -> None:
    first = api(prop="extracts", titles="Aldmere|Ouse", explaintext=1)
    assert first["continue"] == {"excontinue": 1, "continue": "||"}
    assert ["extract" in page for page in first["query"]["pages"]] == [True, False]
    second = api(prop="extracts", titles="Aldmere|Ouse", explaintext=1, **first["continue"])
    assert ["extract" in page for page in second["query"]["pages"]] == [False, True]
    assert "continue" not in second


def test_what_is_left_out_can_be_asked_for(api: Api) -> None:
    parameters = {"prop": "links|info", "titles": "Aldmere|Mercury", "pllimit": 2}
    links: list[tuple[str, str]] = []
    on: dict[str, str] = {}
    for _ in range(9):
        answer = api(**parameters, **on)
        pages = answer["query"]["pages"]
        links += [(page["title"], link["title"]) for page in pages for link in page.get("links", ())]
        assert all(("touched" in page) is (not on) for page in pages)
        assert ("batchcomplete" in answer) is ("continue" not in answer)
        if "continue" not in answer:
            break
        on = answer["continue"]
    every = [("Aldmere", "Ada Voss"), ("Aldmere", "Aldmere (film)"), ("Aldmere", "Ouse")]
    assert links == [*every, ("Mercury", "Aldmere"), ("Mercury", "Ouse")]


def test_search_goes_on_and_its_pages_can_be_asked_about(api: Api) -> None:
    everything = [page["title"] for page in api(list="search", srsearch="aldmere")["query"]["search"]]
    assert everything[0] == "Aldmere"
    first_answer = api(list="search", srsearch="aldmere", srlimit=1)
    assert first_answer["query"]["searchinfo"]["totalhits"] == len(everything)
    two = api(list="search", srsearch="aldmere", srlimit=1, **first_answer["continue"])
    assert [page["title"] for page in two["query"]["search"]] == everything[1:2]
    answer = api(generator="search", gsrsearch="aldmere", gsrlimit=2, prop="extracts", exintro=1, explaintext=1)
    assert answer["continue"] == {"gsroffset": 2, "continue": "gsroffset||"}
    assert [(page["index"], page["title"]) for page in answer["query"]["pages"]] == [
        (1, everything[0]),
        (2, everything[1]),
    ]
    assert all(page["extract"] for page in answer["query"]["pages"])


def test_search_suggests_marks_and_looks_at_one_wiki_and_namespace(api: Api) -> None:
    assert api(list="search", srsearch="Aldnere", srinfo="suggestion")["query"]["searchinfo"] == {
        "suggestion": "aldmere"
    }
    assert "searchinfo" not in api(list="search", srsearch="Aldmere", srinfo="suggestion")["query"]
    hit = api(list="search", srsearch="harbours <script>")["query"]["search"][0]
    assert '<span class="searchmatch">harbour</span>' in hit["snippet"]
    assert [p["title"] for p in api(list="search", srsearch="harbour", srnamespace=14)["query"]["search"]] == [
        "Category:Ports"
    ]
    assert api(list="prefixsearch", pssearch="category:p")["query"]["prefixsearch"][0]["title"] == "Category:Ports"


def test_pages_by_number(api: Api) -> None:
    number = api(titles="Ouse")["query"]["pages"][0]["pageid"]
    assert 0 < number < 2**31
    pages = api(pageids=f"{number}|12345")["query"]["pages"]
    assert pages == [{"pageid": number, "ns": 0, "title": "Ouse"}, {"pageid": 12345, "missing": True}]
    assert api(action="parse", pageid=number, prop="displaytitle")["parse"]["title"] == "Ouse"


def test_the_past_is_what_the_crawl_saw(api: Api, ask: Callable[..., httpx.Response]) -> None:
    page = api(titles="Aldmere", prop="revisions", rvlimit=9, rvprop="ids|timestamp|content", rvparse=1)["query"][
        "pages"
    ][0]
    new, old = page["revisions"]
    assert (new["timestamp"], old["timestamp"]) == ("2024-01-05T12:00:00Z", "2024-01-01T12:00:00Z")
    assert (new["parentid"], old["parentid"]) == (old["revid"], 0)
    assert "It opened in 1887" in new["content"]
    assert "was a village" in old["content"]
    parameters = {"action": "query", "titles": "Aldmere", "prop": "extracts|info", "explaintext": 1, "format": "json"}
    early = ask("/w/api.php", params=parameters, headers={"X-Webemu-Session": "a;at=2024-01-02"}).json()
    (entry,) = early["query"]["pages"].values()
    assert (entry["extract"], entry["lastrevid"]) == ("Aldmere was a village.", old["revid"])


def test_wikitext_is_prose_with_headings(api: Api) -> None:
    parsed = api(action="parse", page="Aldmere", prop="wikitext|text", section=1)["parse"]
    assert (
        parsed["wikitext"]
        == "== History ==\nThe harbour was dug by Ada Voss.\n\n=== Early years ===\n1887: opened\n1901: burnt"
    )
    assert 'id="Early_years"' in parsed["text"]
    assert "See also" not in parsed["text"]
    parameters = {"titles": "Ouse", "prop": "revisions", "rvprop": "content", "rvslots": "main"}
    assert (
        api(**parameters)["query"]["pages"][0]["revisions"][0]["slots"]["main"]["content"]
        == "The Ouse is a river of 120 km."
    )


def test_random_is_the_same_for_the_same_ask(ask: Callable[..., httpx.Response]) -> None:
    def drawn(name: str) -> list[str]:
        parameters = {"action": "query", "list": "random", "rnlimit": 2, "format": "json"}
        answer = ask("/w/api.php", params=parameters, headers={"X-Webemu-Session": name})
        return [page["title"] for page in answer.json()["query"]["random"]]

    assert drawn("a") == drawn("a")
    assert len({tuple(drawn(name)) for name in "abcdefgh"}) > 1
    assert set(drawn("a")) <= {"Aldmere", "Aldmere (film)", "Mercury", "Ouse", "River Ouse"}


@pytest.mark.parametrize(
    "value",
    ["", "|", "\x1f", "a" * 5000, "[[a]]", "../../etc/passwd", "%00", "é|É", "-1", "1e9", "Special:Random", ":", "<"],
)
def test_nothing_that_is_asked_breaks_it(ask: Callable[..., httpx.Response], value: str) -> None:
    for name in (
        "titles",
        "pageids",
        "srsearch",
        "srlimit",
        "prop",
        "exsentences",
        "page",
        "search",
        "continue",
        "gsrsearch",
    ):
        base = (
            {"action": "parse"}
            if name == "page"
            else {"action": "opensearch"}
            if name == "search"
            else {"action": "query"}
        )
        more = {"srsearch": "a", "titles": "Aldmere", "prop": "extracts|links|revisions", "list": "search"}
        assert ask("/w/api.php", params={**more, **base, "format": "json", name: value}).status_code == 200
    path = f"/api/rest_v1/page/summary/{quote(value, safe='')}"
    assert ask(path).status_code in (200, 404)


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 5000 + "deep",
        "<a href='//[' class=new>x</a>" * 100,
        f"<p {' '.join(f'a{n}=1' for n in range(5000))}>",
        "<h2>" * 3000,
        "<section><table><p>" * 900,
        "<p>" * 20_000,
        "",
    ],
)
def test_hostile_markup_is_read(body: str) -> None:
    page = parse_article(f'<div id="mw-content-text"><div class="mw-parser-output">{body}', f"{HOST}/wiki/X")
    assert page is not None
    assert len(page.sections) <= 1000


@pytest.mark.parametrize("page", ["<p>no wiki", "<meta name=generator content='WordPress 6'><p id=content>x", ""])
def test_other_pages_are_no_articles(page: str) -> None:
    assert parse_article(page, f"{HOST}/wiki/X") is None


def test_random_depends_on_the_seed_of_a_policy_and_not_on_its_session(ask: Callable[..., httpx.Response]) -> None:
    def drawn(seed: int, task: str) -> list[str]:
        name = encode_inline_policy(json.dumps({"seed": seed, "task": task}).encode())
        parameters = {"action": "query", "list": "random", "rnlimit": 3, "format": "json"}
        answer = ask("/w/api.php", params=parameters, headers={"X-Webemu-Session": name})
        return [page["title"] for page in answer.json()["query"]["random"]]

    assert drawn(1, "first") == drawn(1, "second")
    assert len({tuple(drawn(seed, "first")) for seed in range(8)}) > 1
