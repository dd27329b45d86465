"""Sound documents are read: HTML and its declarations, plain text, XML, JSON, PDF."""

from datetime import date

import pytest

from webemu.ingest.extract import Extracted, detect_media_type, extract, extract_html
from webemu.ingest.extract.language import detect_language
from webemu.ingest.extract.non_html import extract_xml

FETCHED = date(2024, 11, 30)
URL = "http://x.org/a/b"
PAGE = """<!doctype html><html lang="en-GB"><head><title> Ashby
  - Atlas</title><base href="/d/">
<meta name="Description" content="A town  on the Elm."><meta name="robots" content="noindex, follow">
<meta property="article:published_time" content="2024-05-06T23:30:00-05:00"></head><body>
<header><a href="/">Atlas</a> <form><input type="search"></form></header>
<nav><ul><li><a href="/menu">Menu of the site</a></li></ul></nav>
<main><h1>Ashby</h1><p>Ashby is a town on the river Elm, with a long history of mills, bridges and floods, and with
a market that has been held on the first Sunday of every month for three hundred years.</p>
<table><tr><th>Founded</th><td>1987</td></tr><tr><td><p>Mayor</p></td><td><div>Ada Bell</div></td></tr></table>
<h2>Sights</h2><ul><li>The mill<li>The bridge</ul><ol><li>First<li>Second</ol>
<pre>a\tb
  c</pre><p>See <a href="../ada#life">Ada
Bell</a>, <a href="?page=2">next</a>, <a rel="nofollow" href="http://other.org/x?y=1">other</a>, <a href="#up">up</a>,
<a href="mailto:a@b.org">mail</a>, <a href="javascript:x()">script</a>, <a href="/map"><img alt="A map" src="m.png"></a>
<script>var hidden = 1</script><style>.hidden {}</style></p></main>
<footer>All rights reserved</footer></body></html>"""


def read(
    body: bytes, mime: str | None, url: str = URL, charset: str | None = None, truncated: str | None = None
) -> tuple[Extracted | None, str, str | None, str | None]:
    return extract(body, mime, charset, url, None, truncated, FETCHED)


def text_of(body: bytes, mime: str) -> str:
    document = read(body, mime)[0]
    assert document is not None
    return document.text


@pytest.fixture(scope="module")
def page() -> Extracted:
    return extract_html(PAGE, URL, FETCHED)


def test_cells_of_a_table_row_are_kept_apart_on_one_line(page: Extracted) -> None:
    assert "Founded | 1987\nMayor | Ada Bell\n" in page.text


def test_headings_and_lists_stand_on_lines_of_their_own(page: Extracted) -> None:
    lines = [line.strip() for line in page.text.splitlines()]
    assert {"Ashby", "Sights", "• The mill", "• The bridge", "1. First", "2. Second"} <= set(lines)
    assert page.headings == "Ashby\nSights"


def test_preformatted_text_keeps_its_blanks(page: Extracted) -> None:
    assert "a\tb\n  c" in page.text


def test_boilerplate_and_code_are_not_text(page: Extracted) -> None:
    for unwanted in ("Menu of the site", "All rights reserved", "hidden", "Atlas"):
        assert unwanted not in page.text
    assert "market that has been held" in page.text


def test_links_are_absolute_with_anchors_and_without_fragments(page: Extracted) -> None:
    assert page.links == [
        ("http://x.org/", "Atlas", ""),
        ("http://x.org/menu", "Menu of the site", ""),
        ("http://x.org/ada", "Ada Bell", ""),
        ("http://x.org/d/?page=2", "next", ""),
        ("http://other.org/x?y=1", "other", "nofollow"),
        ("http://x.org/map", "A map", ""),
    ]
    assert 0 < page.link_density < 0.5


def test_what_the_document_declares(page: Extracted) -> None:
    assert page.title == "Ashby - Atlas"
    assert page.description == "A town on the Elm."
    assert page.language == "en"
    assert page.publish_date == date(2024, 5, 6)
    assert page.is_noindex
    assert page.cut_reason is None
    assert page.word_count == len(page.text.split())


def test_links_without_base_and_with_a_broken_one() -> None:
    markup = '<a href="../c">c</a><a href="//y.org/d">d</a><a href="http://[::1">e</a><a href="/a/b#self">self</a>'
    expected_links = [("http://x.org/c", "c", ""), ("http://y.org/d", "d", "")]
    assert extract_html(markup, URL).links == expected_links
    assert extract_html('<base href="http://[bad">' + markup, URL).links == expected_links


def test_the_same_link_with_the_same_anchor_counts_once() -> None:
    markup = '<a href="/c">c</a><a href="/c#x"> c </a><a href="/c">another</a>'
    assert [anchor for _, anchor, _ in extract_html(markup, URL).links] == ["c", "another"]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ('<meta property="og:title" content="Open">', "Open"),
        ("<title> </title><h1>Heading <b>one</b></h1>", "Heading one"),
        ("<title>a &amp; b</title><svg><title>icon</title></svg>", "a & b"),
        ("<p>no title", ""),
    ],
)
def test_the_title_is_taken_from_what_there_is(head: str, expected: str) -> None:
    assert extract_html(head, URL).title == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<meta name="citation_publication_date" content="2019/3/4">', date(2019, 3, 4)),
        ('<time itemprop="datePublished" datetime="2018-02-01">', date(2018, 2, 1)),
        ("<article><time datetime='Tue, 05 Mar 2019 10:00:00 GMT'>", date(2019, 3, 5)),
        (
            '<script type="application/ld+json">[{"@graph":[{"datePublished":"2017-01-02T00:00"}]}]</script>',
            "2017-01-02",
        ),
        (
            '<script type="application/ld+json">{"datePublished":</script><meta name="pubdate" content="5 May 2016">',
            "2016-05-05",
        ),
        ('<meta name="pubdate" content="2031-01-01">', None),
        ('<meta name="pubdate" content="0001-01-01">', None),
        ('<meta name="pubdate" content="2024-02-31">', None),
        ("<p>On 2018-02-01 it was opened", None),
    ],
)
def test_publication_dates_are_declared_and_plausible(markup: str, expected: date | str | None) -> None:
    expected_date = date.fromisoformat(expected) if isinstance(expected, str) else expected
    assert extract_html(markup, URL, FETCHED).publish_date == expected_date


def test_the_language_is_declared_or_detected() -> None:
    german = "<p>Die Stadt liegt an einem kleinen Fluss und ist für ihre alten Brücken bekannt. " * 5
    assert extract_html(german, URL).language == "de"
    assert extract_html('<html lang="pt_BR">' + german, URL).language == "pt"
    assert extract_html('<meta http-equiv="content-language" content="fr, de">' + german, URL).language == "fr"
    assert extract_html("<p>ok", URL).language is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The bridge was built by the town in 1902 and is the oldest of those that are left. ", "en"),
        ("The café was built by the town — and it is “the oldest” of those that are left. ", "en"),
        ("De brug is of was de oudste van de stad, en to the is of that. ", "nl"),
        ("BESTAND is of was een map of is een lijst of is leeg. ", "nl"),
        ("It fjild is fereaske. Der is gjin bestân of it is leech, en it is net op it web. ", "fy"),
        ("この橋は the of and is 町でいちばん古い橋です。", "ja"),
    ],
)
def test_english_is_told_by_its_small_words_and_by_its_letters(text: str, language: str) -> None:
    assert detect_language(text * 4) == language


def test_robots_none_and_index() -> None:
    assert extract_html('<meta name="ROBOTS" content="NONE">', URL).is_noindex
    assert not extract_html(
        '<meta name="robots" content="index,nofollow"><meta name="a" content="noindex">', URL
    ).is_noindex


def test_pages_without_declared_content_lose_their_menus_not_their_facts() -> None:
    menu = "".join(f'<li><a href="/m{n}">Menu entry {n}</a></li>' for n in range(30))
    prose = "<p>" + "The bridge of Ashby was built by Tom Reed in the year of the great flood. " * 8 + "</p>"
    facts = "<table><tr><th>Opened</th><td>1911</td></tr></table>"
    text = extract_html(f"<body><div><ul>{menu}</ul></div><div>{prose}{facts}</div></body>", URL).text
    assert "built by Tom Reed" in text
    assert "Opened | 1911" in text
    assert "Menu entry 7" not in text


def test_a_page_that_is_all_links_keeps_them() -> None:
    entries = "".join(f'<li><a href="/p{n}">Person number {n}</a></li>' for n in range(50))
    assert "Person number 49" in extract_html(f"<body><h1>People</h1><ul>{entries}</ul></body>", URL).text


def test_xhtml_with_empty_elements_is_read_to_its_end() -> None:
    body = (
        b'<?xml version="1.0" encoding="iso-8859-15"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>\xa4</title>'
        b'<script src="x.js"/></head><body><div class="a"/><p>After the script</p></body></html>'
    )
    document, kind, charset, reason = read(body, "application/xhtml+xml")
    assert (kind, charset, reason) == ("application/xhtml+xml", "iso-8859-15", None)
    assert document is not None
    assert (document.title, document.text) == ("€", "After the script")


def test_a_feed_is_its_texts() -> None:
    body = (
        b'<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY x "y">]><rss><channel><title>News &amp; more</title><!-- no -->'
        b"<item><description><![CDATA[<p>Hello <b>there</b></p>]]></description><n>5 &lt; 6</n></item></channel></rss>"
    )
    document, kind, _, reason = read(body, "text/xml")
    assert document is not None
    assert (kind, reason, document.title) == ("text/xml", None, "News & more")
    assert document.text.splitlines() == ["News & more", "Hello there", "5 < 6"]


def test_json_becomes_labelled_lines() -> None:
    text = text_of(
        b'{"name": "Ada", "born": 1911, "towns": [{"x": "Ashby"}, "Elm"], "none": null, "ok": true}', "application/json"
    )
    assert text.splitlines() == ["name: Ada", "born: 1911", "towns:", "  x: Ashby", "  Elm", "ok: True"]
    assert text_of(b'{"name": "Ada", ', "application/json") == '{"name": "Ada",'


def test_plain_text_stays_as_it_is_but_for_line_ends_and_control_characters() -> None:
    assert text_of(b"\xef\xbb\xbfone\r\n  two\rthree <b>\x07\n\n", "text/plain") == "one\n  two\nthree <b>"


@pytest.mark.parametrize(
    ("body", "header", "kind"),
    [
        (b"<!DOCTYPE html><p>x", "text/html; charset=utf-8", "text/html"),
        (b"<!DOCTYPE html><p>x", "text/html charset=utf-8", "text/html"),
        (b"hello", "TEXT/HTML,text/plain", "text/html"),
        (b"\n <html>", None, "text/html"),
        (b"<!-- c --><table>", "application/octet-stream", "text/html"),
        (b"<b>", "text/css", "text/css"),
        (b"%PDF-1.4", "text/html", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "text/plain", "image/png"),
        (b"PK\x03\x04", "application/epub+zip", "application/epub+zip"),
        (b"<?xml version='1.0'?><feed>", "text/html", "application/atom+xml"),
        (b"a\0b", "", "application/octet-stream"),
        (b"words", "", "text/plain"),
    ],
)
def test_the_kind_is_what_the_bytes_are(body: bytes, header: str | None, kind: str) -> None:
    assert detect_media_type(body, header, URL) == kind


def test_the_name_decides_where_nothing_else_does() -> None:
    assert detect_media_type(b"a,b\n1,2", None, "http://x.org/t.CSV?x=.json") == "text/csv"


@pytest.mark.parametrize("mime", ["text/css", "application/javascript", "image/svg+xml", "image/png", "font/woff"])
def test_what_bears_no_text_gives_none_and_is_no_drop(mime: str) -> None:
    document, kind, _, reason = read(b"body { color: red }", mime)
    assert (document, kind, reason) == (None, mime, None)


@pytest.mark.parametrize(
    ("root", "hidden"), [("urlset", True), ("sitemapindex", True), ("s:urlset", True), ("rss", False), ("urls", False)]
)
def test_a_sitemap_is_no_result(root: str, hidden: bool) -> None:
    source = f'<?xml version="1.0"?>\n<!-- made --><{root} xmlns="x"><loc>https://a.example/</loc></{root}>'
    assert extract_xml(source).is_noindex is hidden
