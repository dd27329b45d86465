"""The pages for people, in process: what they say, what they escape, under which policy they go out."""

import asyncio
import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import httpx
import pytest

from tests.crawls import CaptureSpec, html, ingest, write
from webemu.api.app import create_app
from webemu.api.pages.addresses import decode_for_display, replay_url, split_breadcrumbs
from webemu.emulator.config import Config
from webemu.index.open import open_world

Get = Callable[..., httpx.Response]
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
SHEETS = '<link rel="stylesheet" href="here.css"><LINK HREF="https://cdn.example/gone.css" REL="preload stylesheet">'
EVIL_TITLE = EVIL.replace("<", "&lt;")
EVIL_URL = "https://evil.example/a%22onmouseover=%22alert(1)?x='><script>alert(3)</script>&y=1"


def crawl() -> list[CaptureSpec]:
    ports = [
        CaptureSpec(
            f"https://port{number % 9}.example/harbour/{number}",
            html(f"Harbour {number} - Atlas", f"The old harbour {number}."),
        )
        for number in range(70)
    ]
    moved = CaptureSpec(
        "https://port1.example/old", status="301 Moved", headers=(("Location", "https://port1.example/new"),)
    )
    scripted = CaptureSpec(
        "https://port1.example/js", status="302 Found", headers=(("Location", "javascript:alert(1)"),)
    )
    return [
        *ports,
        moved,
        scripted,
        CaptureSpec(
            "https://evil.example/", html(EVIL_TITLE, f"Piracy {EVIL_TITLE}", '<a href="javascript:alert(1)">x</a>')
        ),
        CaptureSpec(EVIL_URL, html("Piracy too", "Piracy again"), headers=(("X-Evil", EVIL),)),
        CaptureSpec("https://a.example/", html("Lighthouse museum", "first", '<a href="/b">on</a>'), day=1),
        CaptureSpec("https://a.example/", html("Lighthouse museum", "second"), day=2),
        CaptureSpec("https://a.example/", html("Gone", "no more"), day=3, status="404 Not Found"),
        CaptureSpec("https://a.example/p.png", b"\x89PNG\r\n\x1a\n0000", mime="image/png"),
        CaptureSpec("https://styled.example/", html("Styled", "Some text", head=SHEETS)),
        CaptureSpec("https://styled.example/here.css", "p{color:red}", mime="text/css"),
        CaptureSpec("https://bare.example/", html("Bare", "Some text", head="<link href=/x.css rel=stylesheet>")),
        CaptureSpec("https://b.example/", html("The lantern fair | Atlas", "Lanterns of the fair")),
        CaptureSpec("https://c.example/", html("Harbour lights | Atlas", "海边的灯塔很高")),
    ]


@pytest.fixture(scope="module")
def get(tmp_path_factory: pytest.TempPathFactory) -> Get:
    root = tmp_path_factory.mktemp("pages")
    ingest(root / "c", write(root / "a.warc.gz", crawl()))
    app = create_app(Config(root=root, collection="c"), open_world(root / "c"))

    def ask(path: str, host: str = "localhost:8800", method: str = "GET", **headers: str) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(send())

    return ask


def search(get: Get, text: str, more: str = "", **options: str) -> str:
    return get(f"/search?q={quote(text)}{more}", **options).text


def titles(page: str) -> list[str]:
    return re.findall(r'<h2><a href="[^"]*" dir="auto">(.*?)</a>', page)


def view(get: Get, url: str, tab: str = "page", more: str = "") -> httpx.Response:
    return get(f"/view?url={quote(url, safe='')}&as={tab}{more}")


PATHS = ["/", "/search?q=harbour", "/search?q=", "/view?url=https://a.example/", "/view?url=https://nowhere.example/"]


@pytest.mark.parametrize("path", [*PATHS, "/favicon.ico", "/opensearch.xml", "/suggest?q=h", "/view"])
def test_nothing_but_our_script_may_run_and_nothing_may_load(get: Get, path: str) -> None:
    answer = get(path)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
    style, script = policy.pop("style-src"), policy.pop("script-src")
    assert policy == {
        "default-src": "'none'",
        "img-src": "'self' data:",
        "form-action": "'self'",
        "frame-src": "'self'",
        "frame-ancestors": "'self'",
        "base-uri": "'none'",
    }
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Webemu-Snapshot"]
    scripts = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    assert len(scripts) == answer.text.count("<script") == answer.text.count("<html")
    assert all(script == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    assert not re.search(r'\b(?:src|href|action)="(?:https?:)?//', answer.text), "it asks elsewhere"
    for sheet in re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL):
        assert style == f"'sha256-{b64encode(sha256(sheet.encode()).digest()).decode()}'"


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_for_everybody(get: Get, path: str) -> None:
    page = get(path).text
    assert '<html lang="en">' in page
    assert all(f"<{landmark}" in page for landmark in ("main", "footer", "h1"))
    assert 'class="skip" href="#main"' in page
    assert 'role="search"' in page
    assert 'rel="search"' in page
    assert page.count('<input id="q"') == 1
    fields = re.findall(r'<(?:input|select)(?! type="hidden")[^>]*\bid="([^"]+)"', page)
    assert sorted(fields) == sorted(re.findall(r'<label[^>]* for="([^"]+)"', page))


def test_the_front_page_says_what_there_is(get: Get) -> None:
    page = get("/").text
    assert "autofocus" in page
    assert re.search(r"<dt>captures</dt><dd>83</dd>", page)
    assert "2024" in page


def test_results_are_numbered_marked_and_paged(get: Get) -> None:
    first, second = search(get, "harbours"), search(get, "harbours", "&page=2")
    assert len(titles(first)) == len(titles(second)) == 10
    assert not set(titles(first)) & set(titles(second))
    assert "<mark>harbour</mark>" in first
    assert '<ol class="results" start="11">' in second
    assert 'rel="prev" href="/search?q=harbours"' in second
    assert 'rel="next" href="/search?q=harbours&amp;page=3"' in second
    assert "Page </span>6</a>" in first, "the block of five and one more"
    last = search(get, "harbours", "&page=8")
    assert titles(last)
    assert 'rel="next"' not in last
    assert "No more pages" in search(get, "harbours", "&page=50")
    assert search(get, "harbours", "&page=x") == first


def test_all_pages_together_hold_every_result_once(get: Get) -> None:
    all_titles = [title for page in range(1, 9) for title in titles(search(get, "harbour", f"&page={page}"))]
    assert len(all_titles) == len(set(all_titles)) == 71


def test_words_of_scripts_without_spaces_are_marked(get: Get) -> None:
    assert "<mark>灯塔</mark>" in search(get, "灯塔")


def test_mistyped_words_are_corrected(get: Get) -> None:
    page = search(get, "lanturn site:b.example")
    assert 'Showing results for <a href="/search?q=lantern+site%3Ab.example">' in page
    assert 'Search instead for <a href="/search?q=%2Blanturn+site%3Ab.example">' in page
    assert "Did you mean" not in search(get, "lantern")
    assert "Did you mean" not in search(get, "qqqqqqq site:lanturn.example -lanturn 12345678")


def test_conditions_are_named_and_can_be_taken_off(get: Get) -> None:
    page = search(get, 'harbour site:port1.example after:2023 -fog "old harbour"')
    chips = re.findall(
        r'<li><a href="([^"]*)" title="Search without this filter"><span>(.*?)</span> <b><bdi>(.*?)<', page
    )
    assert [(name, value) for _, name, value in chips] == [
        ("site", "port1.example"),
        ("since", "2023-01-01"),
        ("without", "fog"),
        ("exactly", "old harbour"),
    ]
    assert chips[2][0] == "/search?q=harbour+site%3Aport1.example+after%3A2023+%22old+harbour%22"
    assert re.findall(r'href="([^"]*)" title="Search without', search(get, "site:port1.example")) == ["/"]


def test_finding_nothing_says_how_to_go_on(get: Get) -> None:
    page = search(get, "lantern site:a.example")
    assert "Nothing found" in page
    assert '<a href="/search?q=lantern">Search without' in page
    assert '<a href="/search?q=The+lantern+fair" dir="auto">The lantern fair</a>' in page
    assert "None of these words" in search(get, "qqqqq")


def test_a_result_leads_to_the_page_and_its_views(get: Get) -> None:
    page = search(get, "museum")
    for tab in ("", "&amp;as=page", "&amp;as=markdown", "&amp;as=links", "&amp;as=headers"):
        assert f'href="/view?url=https%3A%2F%2Fa.example%2F{tab}"' in page


def test_through_the_proxy_a_result_is_its_own_address(get: Get) -> None:
    page = search(get, "museum", host="webemu")
    assert '<h2><a href="https://a.example/"' in page
    assert 'href="/view?url=https%3A%2F%2Fa.example%2F&amp;as=page"' in page


def test_filters_become_operators_of_the_query(get: Get) -> None:
    page = get("/search?q=harbour&site=https%3A%2F%2Fport1.example&lang=en&after=2020-01-01&before=&filetype=html").text
    assert 'value="harbour site:port1.example after:2020-01-01 lang:en filetype:html"' in page
    assert "<span>site</span> <b><bdi>port1.example</bdi></b>" in page
    assert get("/search?q=&site=port1.example").text.count("<article>") == 8
    assert 'value="x site:&#34;a  b&#34;"' in get("/search?q=x&site=a%22+b").text, "a quote ends no operator"


def test_results_are_counted(get: Get) -> None:
    assert "8 pages</p>" in search(get, "harbour site:port1.example")
    assert "1 page</p>" in search(get, "museum")
    assert re.search(r"More than 50 pages, page 1 of at least \d</p>", search(get, "harbour"))
    assert "No page matches" in search(get, "qqqqq")


def test_the_web_of_an_earlier_day_is_searched(get: Get) -> None:
    assert "no page matches" in search(get, "second", "&at=2024-01-01").lower()
    page = search(get, "first", "&at=2024-01-01")
    assert "as captured up to 2024-01-01" in page
    assert '<a href="/search?q=first" title="Search without this filter"><span>as of</span>' in page
    assert 'href="/view?url=https%3A%2F%2Fa.example%2F&amp;at=2024-01-01"' in page
    assert '<input type="hidden" name="at" value="2024-01-01">' in page
    assert get("/search?q=first&at=soon").status_code == 400
    past = {"X-Webemu-Session": "a;at=2023-01-01"}
    assert "Nothing found" in get("/search?q=first&at=2024-01-05", **past).text, (
        "a page looks no later than its session"
    )


def test_an_engine_can_be_chosen(get: Get) -> None:
    page = search(get, "harbour", "&engine=plain&page=2")
    assert 'href="/search?q=harbour&amp;engine=plain&amp;page=3"' in page
    assert "<span>engine</span> <b><bdi>plain</bdi></b>" in page
    assert get("/search?q=harbour&engine=none").status_code == 400


def test_a_page_opens_as_text_and_what_has_none_as_it_is(get: Get) -> None:
    page = get("/view?url=https://a.example/").text
    assert "second</pre>" in page
    assert 'as=page">Show the original page</a>' in page
    assert "<iframe" in get("/view?url=https://a.example/p.png").text


def test_a_bare_page_says_which_styles_are_missing(get: Get) -> None:
    page = view(get, "https://styled.example/").text
    assert "1 of this page&#39;s 2 style sheets were not captured" in page.replace("'", "&#39;")
    assert "None of this page's 1 style sheet was captured" in view(get, "https://bare.example/").text
    assert "style sheet" not in view(get, "https://a.example/").text.partition("<main")[2]


def test_the_front_page_leads_to_every_part(get: Get) -> None:
    page = get("/").text
    for path in ("/dashboard", "/dashboard#sessions-list", "/docs", "/openapi.json"):
        assert f'<a href="{path}"><b>' in page
    assert "http://localhost:8800/v1/search" in page


def test_the_page_is_framed_without_scripts(get: Get) -> None:
    page = view(get, "https://a.example/").text
    frame = re.search(r"<iframe (.*?)>", page)
    assert frame
    assert 'src="/web/20240102120000if_/https://a.example/"' in frame[1]
    assert 'sandbox="allow-same-origin"' in frame[1]
    assert '<a href="/web/20240102120000/https://a.example/">' in page
    assert '<h1 dir="auto">Lighthouse museum</h1>' in page


def test_every_capture_can_be_chosen(get: Get) -> None:
    page = view(get, "https://a.example/", "text").text
    matches = re.findall(r'<li><a href="(/view[^"]*at=\d{14})"( aria-current="true")?>', page)
    assert [bool(current) for _, current in matches] == [False, True, False]
    texts = [re.findall(r"<pre.*?>(.*?)</pre>", get(href.replace("&amp;", "&")).text, re.DOTALL) for href, _ in matches]
    assert ["first" in texts[0][0], "second" in texts[1][0], "no more" in texts[2][0]] == [True, True, True]


def test_headers_are_shown_as_recorded(get: Get) -> None:
    page = view(get, "https://a.example/", "headers", "&at=20240104").text
    assert "404 Not Found</pre>" in page
    assert '<th scope="row">Content-Type</th><td>text/html; charset=utf-8</td>' in page
    assert "a.warc.gz, bytes" in page


def test_links_are_links_of_ours(get: Get) -> None:
    page = view(get, "https://a.example/", "links", "&at=20240101").text
    assert '<a href="/view?url=https%3A%2F%2Fa.example%2Fb">' in page
    assert "[1]on" in page


def test_redirects_are_told_and_not_followed(get: Get) -> None:
    page = view(get, "https://port1.example/old").text
    assert 'answered 301 and led to <a href="/view?url=https%3A%2F%2Fport1.example%2Fnew">' in page
    assert "<iframe" not in page


def test_what_has_no_text_says_so(get: Get) -> None:
    answer = view(get, "https://a.example/p.png", "text")
    assert answer.status_code == 406
    assert "has no text view" in answer.text
    assert "<iframe" in view(get, "https://a.example/p.png").text


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/view?url=https://a.example/none", 404, "site%3Aa.example"),
        ("/view?url=https://nowhere.example/", 404, "This site was not crawled"),
        ("/view", 400, "The parameter url is missing"),
        ("/view?url=https://a.example/&as=%3Cb%3E", 400, "&#39;&lt;b&gt;&#39; is not a view"),
        ("/view?url=https://a.example/&at=soon", 400, "is not a time"),
    ],
)
def test_problems_are_pages_too(get: Get, path: str, status: int, message: str) -> None:
    answer = get(path)
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert answer.headers["X-Webemu-Reason"]
    assert message in answer.text


def test_hostile_texts_are_escaped(get: Get) -> None:
    pages = [search(get, "piracy"), search(get, f'piracy -"{EVIL}"'), search(get, EVIL)]
    pages += [
        view(get, url, tab).text for url in ("https://evil.example/", EVIL_URL) for tab in ("page", "text", "links")
    ]
    pages += [view(get, EVIL_URL, tab).text for tab in ("markdown", "headers")]
    pages += [view(get, "https://port1.example/js").text, view(get, f"https://evil.example/{EVIL}").text]
    for page in pages:
        assert page.count("<script>") == 1
        assert not re.search(r"<(script [^>]|img)|\son\w+=\"|href=\"javascript", page)
        assert page.count("<iframe") <= 1
    assert "&lt;script&gt;alert(1)" in pages[0]
    assert "&lt;script&gt;alert(1)" in pages[-3]


def test_urls_are_shown_as_people_read_them() -> None:
    assert decode_for_display("https://a.example/caf%C3%A9") == "https://a.example/café"
    assert decode_for_display("https://a.example/%E2%80%AEgpj.exe") == "https://a.example/%E2%80%AEgpj.exe"
    assert decode_for_display("https://a.example/%FF") == "https://a.example/%FF"
    assert split_breadcrumbs("https://a.example/1/2/3/4/5/6/") == ["a.example", "1", "2", "…", "5", "6"]
    assert split_breadcrumbs("javascript:alert(1)") == ["javascript:alert(1)"]
    assert replay_url("javascript:alert(1)", "20240101000000") == ""
    assert replay_url("https://a.example/ \"#'", "20240101000000") == "/web/20240101000000/https://a.example/%20%22%23'"


def test_related_searches_are_links(get: Get) -> None:
    related = search(get, "harbour lights").partition("Related searches</h2>")[2]
    assert re.match(r'\s*<ul>\s*<li><a href="/search\?q=harbour\+\d+" dir="auto">harbour \d+</a>', related)
    assert "Related searches" not in search(get, "zebra")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("harbour (site:port1.example OR intitle:atlas)", "any of", "site:port1.example OR intitle:atlas"),
        ("harbour 1..20", "a number from", "1 to 20"),
        ("harbour lang:en", "language", "en"),
        ("harbour -intitle:gone", "without", "intitle:gone"),
        ("harbour +old", "with", "old"),
        ("harbour intext:old", "in the text", "old"),
    ],
)
def test_every_filter_can_be_taken_off(get: Get, text: str, name: str, value: str) -> None:
    page = search(get, text)
    assert f"<span>{name}</span> <b><bdi>{value}</bdi></b>" in page
    assert '<li><a href="/search?q=harbour' in page


def test_suggestions_are_titles(get: Get) -> None:
    answer = get("/suggest?q=light")
    assert answer.headers["Content-Type"] == "application/x-suggestions+json"
    prefix, suggestions, descriptions, links = answer.json()
    assert (prefix, suggestions, descriptions) == ("light", ["Lighthouse museum", "Harbour lights"], ["", ""])
    assert links[0] == "http://localhost:8800/search?q=Lighthouse+museum"
    assert get("/suggest?q=Lantern%20F").json()[1] == ["The lantern fair"], "the name of the site is left out"
    assert get("/suggest?q=harbour").json()[1][:2] == ["Harbour 0", "Harbour 1"]
    assert get("/suggest?q=harbours").json()[1] == []
    assert get("/suggest?q=").json() == get("/suggest").json() == ["", [], [], []]


def test_a_day_of_the_past_is_told_no_later_titles(get: Get) -> None:
    past = {"X-Webemu-Session": "a;at=2023-01-01"}
    assert get("/suggest?q=light", **past).json()[1] == []
    assert "Nothing found" in get("/search?q=museum", **past).text
    assert "Did you mean" not in get("/search?q=lanturn", **past).text


def test_browsers_learn_how_to_search_here(get: Get) -> None:
    space = "{http://a9.com/-/spec/opensearch/1.1/}"
    root = ElementTree.fromstring(get("/opensearch.xml", host="127.0.0.1:8800").content)
    templates = {url.get("type"): url.get("template") for url in root.iter(f"{space}Url")}
    assert templates["text/html"] == "http://127.0.0.1:8800/search?q={searchTerms}&page={startPage?}"
    assert templates["application/x-suggestions+json"] == "http://127.0.0.1:8800/suggest?q={searchTerms}"
    assert len(root.findtext(f"{space}ShortName") or "") <= 16
    assert get("/favicon.ico").headers["Content-Type"] == "image/svg+xml"


def test_the_same_page_has_the_same_bytes_and_head_has_none(get: Get) -> None:
    assert get("/search?q=harbour").content == get("/search?q=harbour").content
    assert get("/search?q=harbour", method="HEAD").content == b""
    assert get("/", method="POST").status_code in (404, 405)


def test_templates_are_installed_with_the_package() -> None:
    folder = Path(__file__).parents[2] / "api/pages/templates"
    assert {path.suffix for path in folder.iterdir()} == {".html", ".css", ".svg", ".xml", ".js"}
