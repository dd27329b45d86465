"""Hostile, damaged and meaningless bytes: read within bounds, cut or refused under a name, never raised on."""

from collections.abc import Iterator
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.processor_time import limited
from tests.shared import cases
from webemu.index.markup import MAX_CHARACTERS
from webemu.ingest.extract import Extracted, extract, extract_html

FETCHED = date(2024, 11, 30)
BEARABLE = 40
"""Times of the fixed work of `limited`, 8 s on a machine that does it in 0.2 s; one document once took 160 s."""
CUTS = {"text-too-large", "markup-too-deep", "tag-too-large", "pdf-too-long", "no-text"}
REFUSALS = {"pdf-truncated", "pdf-too-large", "pdf-unreadable"}


def read(
    body: bytes, mime: str | None, charset: str | None = None, truncated: str | None = None
) -> tuple[Extracted | None, str, str | None, str | None]:
    return extract(body, mime, charset, "http://x.org/a", None, truncated, FETCHED)


def pdf(*pages: str, title: str = "") -> bytes:
    """A whole PDF file with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, line in enumerate(pages):
        stream = f"BT /F1 24 Tf 72 700 Td ({line}) Tj ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    parts, offsets = ["%PDF-1.4\n"], []
    for number, content in enumerate(objects, 1):
        offsets.append(sum(map(len, parts)))
        parts.append(f"{number} 0 obj\n{content}\nendobj\n")
    start, count = sum(map(len, parts)), len(objects) + 1
    parts.append(f"xref\n0 {count}\n0000000000 65535 f \n" + "".join(f"{at:010} 00000 n \n" for at in offsets))
    parts.append(f"trailer\n<< /Size {count} /Root 1 0 R /Info {count - 1} 0 R >>\nstartxref\n{start}\n%%EOF\n")
    return "".join(parts).encode("latin-1")


@pytest.fixture(autouse=True)
def _in_bearable_time() -> Iterator[None]:
    with limited(BEARABLE):
        yield


ATTRIBUTES = " ".join(f"a{n}=1" for n in range(200_000))


@pytest.mark.parametrize(
    ("markup", "text", "cut"),
    [
        ("<p>top</p>" + "<div>" * 200_000 + "bottom", "top", "markup-too-deep"),
        ("<p>top</p>" + "<div>" * 100_000 + "bottom" + "</div>" * 100_000, "top", "markup-too-deep"),
        ("<p>top</p>" + "<font><b><p>" * 20_000, "top", "markup-too-deep"),
        ("<p>top</p>" + "<svg><a>" * 100_000, "top", "markup-too-deep"),
        ("<p>top</p>" + "<table><tr><td>" * 50_000, "top", "markup-too-deep"),
        (f"<p>top</p><p {ATTRIBUTES}>bottom", "top", "tag-too-large"),
        ("<p>top</p><p " + ATTRIBUTES.replace("=1", "='<>'") + ">bottom", "top", "tag-too-large"),
        ("<p>top</p><p title='" + "a" * 3_000_000 + "'>bottom</p>", "top\n\nbottom", None),
        ("<p>top</p><p title='" + " a='" * 100_000 + "'>bottom</p>", "top", "tag-too-large"),
        ("top" + "<!--" * 500_000, "top", None),
        ("top<a href='" + "x" * 500_000, "top", None),
        ("<p>one<table><tr><td>two<td>three<b><i>four", "one\ntwo | threefour", None),
        ("<td>" * 50_000 + "x", "x", None),
        ("t\0op \0<p\0>bottom", "top\n\nbottom", None),
        ("<p>top</p>" + "<script>" + "</" * 500_000, "top", None),
    ],
    ids="open closed formatting svg tables attributes quoted-tags value quotes comments unclosed-tag "
    "unclosed-cells cells NULs script".split(),
)
def test_hostile_markup_is_read_up_to_where_it_is_hostile(markup: str, text: str, cut: str | None) -> None:
    document, kind, _, reason = read(markup.encode(), "text/html")
    assert document is not None
    assert (kind, document.text, document.cut_reason, reason) == ("text/html", text, cut, cut)


@pytest.mark.parametrize(
    "before",
    ["<script>for (i = 0; i <n; i++) x = 'WORDS'</script>", '<a href="/forum>talk</a><p title="x">said "WORDS"'],
    ids=["script", "quote"],
)
def test_what_only_looks_like_a_large_tag_is_not_cut(before: str) -> None:
    document, _, _, reason = read((before.replace("WORDS", "word " * 20_000) + "<p>bottom").encode(), "text/html")
    assert document is not None
    assert (document.text.rpartition("\n")[2], reason) == ("bottom", None)


@pytest.mark.parametrize("mime", ["text/html", "application/xml", "text/plain", "application/json"])
@pytest.mark.parametrize("unit", [b"<", b"&", b"<a ", b"<?", b"<!", b"<![CDATA[", b"<!DOCTYPE a [", b"</", b"[", b'{"'])
def test_megabytes_of_one_thing(unit: bytes, mime: str) -> None:
    document, _, _, reason = read(unit * (5_000_000 // len(unit)), mime)
    assert document is not None
    assert len(document.text) <= MAX_CHARACTERS
    assert reason in {"text-too-large", "markup-too-deep", "tag-too-large", "no-text"}


def test_a_document_over_the_limit_is_read_to_the_limit() -> None:
    document, _, _, reason = read(b"<p>word</p>" * 1_000_000, "text/html")
    assert document is not None
    assert reason == "text-too-large"
    assert document.text.startswith("word\n\nword")
    assert MAX_CHARACTERS // 11 <= document.word_count <= MAX_CHARACTERS // 11 + 1


def test_links_titles_and_descriptions_are_bounded() -> None:
    links = "".join(f'<a href="/{n}">{"x" * 1000}</a>' for n in range(100))
    head = f'<title>{"t" * 5000}</title><meta name="description" content="{"d" * 5000}">'
    document = extract_html(head + "<h1>h</h1>" * 20_000 + links, "http://x.org/")
    assert (len(document.title), len(document.description), len(document.headings)) == (1000, 2000, 10_000)
    assert {len(anchor) for _, anchor, _ in document.links} == {300}
    many = extract_html("".join(f"<a href=/{n}>x</a>" for n in range(6000)), "http://x.org/")
    assert len(many.links) == 5000


@pytest.mark.parametrize("depth", [100, 100_000])
def test_linked_data_of_any_depth(depth: int) -> None:
    data = "[" * depth + '{"datePublished": "2024-01-02"}' + "]" * depth
    document = extract_html(f'<script type="application/ld+json">{data}</script>text', "http://x.org/", FETCHED)
    assert document.publish_date == (date(2024, 1, 2) if depth == 100 else None)
    assert document.text == "text"


def test_json_of_any_depth_and_length() -> None:
    deep, _, _, reason = read(b"[" * 100_000 + b"]" * 100_000, "application/json")
    assert deep is not None
    assert reason in (None, "no-text")
    long, _, _, reason = read(b"[" + b"1," * 200_000 + b"1]", "application/json")
    assert long is not None
    assert (reason, long.text.count("\n")) == ("text-too-large", 99_999)


def test_lone_surrogates_do_not_leave_extraction() -> None:
    for body, mime in [(b'{"a": "\\ud800"}', "application/json"), (b"<p>&#xd800;x&#0;", "text/html")]:
        document = read(body, mime)[0]
        assert document is not None
        assert document.text.encode("utf-8").endswith((b"?", b"\xbdx\xef\xbf\xbd"))


def test_a_pdf_gives_its_title_and_pages() -> None:
    document, kind, charset, reason = read(pdf("Opened in 1911", "By Tom Reed", title="The Bridge"), "application/pdf")
    assert document is not None
    assert (kind, charset, reason) == ("application/pdf", None, None)
    assert (document.title, document.text) == ("The Bridge", "Opened in 1911\n\nBy Tom Reed")


def test_a_pdf_is_known_by_its_bytes() -> None:
    document, kind, _, _ = read(pdf("Opened in 1911"), "text/html")
    assert document is not None
    assert (kind, document.text) == ("application/pdf", "Opened in 1911")


def test_a_pdf_of_many_pages_is_read_to_the_limit() -> None:
    document, _, _, reason = read(pdf(*(f"Page {n}" for n in range(1, 251))), "application/pdf")
    assert document is not None
    assert (reason, document.cut_reason) == ("pdf-too-long", "pdf-too-long")
    assert document.text.endswith("Page 200")


def test_a_pdf_cut_by_the_crawler_is_refused_unless_its_end_is_there() -> None:
    sound = pdf("Opened in 1911")
    assert read(sound[:400], "application/pdf", truncated="length")[0::3] == (None, "pdf-truncated")
    document, _, _, reason = read(sound, "application/pdf", truncated="length")
    assert document is not None
    assert (document.text, reason) == ("Opened in 1911", None)


def test_a_pdf_without_pages_or_without_text() -> None:
    assert read(b"%PDF-1.4\n" + bytes(range(256)) * 100, "application/pdf")[0::3] == (None, "pdf-unreadable")
    document, _, _, reason = read(pdf(""), "application/pdf")
    assert document is not None
    assert (document.text, reason) == ("", "no-text")


def test_binary_bytes_are_no_text_whatever_they_are_called() -> None:
    junk = bytes(range(256)) * 1000
    for mime in (None, "", "text/plain", "application/octet-stream", "image/png"):
        assert read(junk, mime)[0::3] == (None, None)
    assert read(b"", "text/html")[0::3] == (None, None)


MIMES = st.sampled_from(
    "text/html text/plain application/xhtml+xml application/xml application/rss+xml application/json text/css "
    "application/pdf application/octet-stream image/svg+xml image/png".split()
)
CHARSETS = st.sampled_from("utf-8 utf-16 utf-16be shift_jis gbk big5 iso-2022-jp euc-kr x-user-defined none".split())
PIECES = st.sampled_from(
    [
        *(b"<", b">", b"</", b"'", b'"', b" ", b"{", b"}", b'{"a":', b"&#x", b"&lt;", b"\xff\xfe", b"\0"),
        *(b"<p>", b"<td>", b"<table>", b"<html>", b"<nav>", b"<main>", b"<h1>", b"<pre>\t", b"<title>", b"<a href='"),
        *(b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?xml", b"?>", b"<!DOCTYPE html", b"<meta charset=", b"utf-16"),
        *(b"%PDF-1.4\n", b"%%EOF", b"<script type='application/ld+json'>", b"<base href=//[", b"<time datetime="),
        *(b"datePublished", b"2024-01-01", b"&#xd800;"),
    ]
)
BODIES = st.binary() | st.lists(PIECES | st.binary(max_size=8), max_size=60).map(b"".join)


@settings(max_examples=cases(60, 400), deadline=None)
@given(
    body=BODIES,
    mime=MIMES | st.text(max_size=30) | st.none(),
    charset=CHARSETS | st.text(max_size=20) | st.none(),
    hint=CHARSETS | st.text(max_size=20) | st.none(),
    url=st.sampled_from(["http://x.org/a", "http://[", "", "http://x.org/a.json", "ftp://x/"]) | st.text(max_size=30),
    truncated=st.sampled_from([None, "length", "disconnect"]),
)
def test_any_bytes_under_any_header_are_read_or_refused_by_name(
    body: bytes, mime: str | None, charset: str | None, hint: str | None, url: str, truncated: str | None
) -> None:
    document, kind, codec, reason = extract(body, mime, charset, url, hint, truncated, FETCHED)
    assert kind == kind.lower()
    assert codec is None or body.decode(codec, "replace") is not None
    if document is None:
        assert reason is None or reason in REFUSALS
    else:
        assert reason is None or reason in CUTS
        assert (reason == "no-text") <= (not document.text)
        f"{document.title}{document.text}{document.headings}{document.links}".encode()
