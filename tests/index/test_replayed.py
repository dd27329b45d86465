"""Replayed documents: nothing in them leads to the web, whatever their authors wrote."""

import re

import pytest

from webemu.index.link_rewriting import rewrite_css_links, rewrite_links

BASE = "http://a.example/d/p.html"


def link(url: str, kind: str) -> str:
    return f"/web/1{kind}/{url}"


def rewritten(markup: str) -> str:
    return re.sub(r"</?(html|head|body)>|<!doctype html>", "", rewrite_links(markup, BASE, link), flags=re.IGNORECASE)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<a href="x?a=1&amp;b=2#f">', '<a href="/web/1/http://a.example/d/x?a=1&amp;b=2#f"></a>'),
        ('<a href="//b.example">', '<a href="/web/1/http://b.example/"></a>'),
        ('<a href="ftp://b.example/f">', '<a href="/web/1/ftp://b.example/f"></a>'),
        ('<a href="http://[bad">', '<a href="#"></a>'),
        ('<a href="/" ping="http://spy.example/">', '<a href="/web/1/http://a.example/"></a>'),
        ('<a href="#top">', '<a href="#top"></a>'),
        ('<a href="mailto:a@b.example">', '<a href="mailto:a@b.example"></a>'),
        ('<img src="i.png">', '<img src="/web/1im_/http://a.example/d/i.png">'),
        (
            '<img srcset="a.png, /b.png 2x,//c.example/d,e.png 3x">',
            '<img srcset="/web/1im_/http://a.example/d/a.png, /web/1im_/http://a.example/b.png 2x,'
            '/web/1im_/http://c.example/d,e.png 3x">',
        ),
        ('<script src="s.js"></script>', '<script src="/web/1js_/http://a.example/d/s.js"></script>'),
        ('<iframe src="/f">', '<iframe src="/web/1if_/http://a.example/f"></iframe>'),
        ('<form action="/find">', '<form action="/web/1/http://a.example/find"></form>'),
        ('<button formaction="/go">', '<button formaction="/web/1/http://a.example/go"></button>'),
        ('<video poster="p.png">', '<video poster="/web/1im_/http://a.example/d/p.png"></video>'),
        ('<object data="o.swf">', '<object data="/web/1oe_/http://a.example/d/o.swf"></object>'),
        (
            '<link rel="stylesheet" href="s.css" integrity="sha1-x" crossorigin>',
            '<link rel="stylesheet" href="/web/1cs_/http://a.example/d/s.css">',
        ),
        (
            '<meta http-equiv="Refresh" content="5; URL=\'next.html\'">',
            '<meta http-equiv="Refresh" content="5; URL=\'/web/1/http://a.example/d/next.html\'">',
        ),
        ('<meta http-equiv="refresh" content="30">', '<meta http-equiv="refresh" content="30">'),
        (
            '<meta http-equiv="Content-Security-Policy" content="default-src https://cdn.example">',
            '<meta http-equiv="" content="default-src https://cdn.example">',
        ),
        (
            "<p style=\"background: url( 'b.png' )\">",
            '<p style="background: url(&quot;/web/1im_/http://a.example/d/b.png&quot;)"></p>',
        ),
        ("<style>a>b{c:url(d.png)}</style>", '<style>a>b{c:url("/web/1im_/http://a.example/d/d.png")}</style>'),
        ('<svg><a xlink:href="/s"></a></svg>', '<svg><a xlink:href="/web/1/http://a.example/s"></a></svg>'),
        (
            '<p><noscript><img src="n.png"></noscript>',
            '<p><noscript><img src="/web/1im_/http://a.example/d/n.png"></noscript></p>',
        ),
    ],
)
def test_what_leads_somewhere_leads_into_the_archive(markup: str, expected: str) -> None:
    assert rewritten(markup) == expected


def test_a_base_is_heeded_and_moved() -> None:
    page = rewritten('<base href="//b.example/e/"><a href="x">')
    assert page == '<base href="/web/1/http://b.example/e/"><a href="/web/1/http://b.example/e/x"></a>'


def test_a_document_inside_a_document() -> None:
    assert "/web/1/http://b.example/" in rewritten("<iframe srcdoc='<a href=\"http://b.example/\">'>")
    deep = "<a href='http://b.example/'>"
    for _ in range(6):
        deep = "<iframe srcdoc='" + deep.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;") + "'>"
    assert 'href="http://b.example' not in rewritten(deep)


def test_a_shadow_tree_is_not_shown() -> None:
    assert "shadowrootmode" not in rewritten(
        '<div><template shadowrootmode="open"><a href="http://b.example/"></template>'
    )


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("@import 'a.css' screen;", '@import "/web/1cs_/http://a.example/d/a.css" screen;'),
        ("@IMPORT url(a.css);", '@import "/web/1cs_/http://a.example/d/a.css";'),
        ("b{c:url(/d.png)}", 'b{c:url("/web/1im_/http://a.example/d.png")}'),
        (r"b{c:url(h\74tp://e.example/)}", 'b{c:url("/web/1im_/http://e.example/")}'),
        ("b{c:url(data:image/png;base64,xx)}", "b{c:url(data:image/png;base64,xx)}"),
        ("b{c:url(#f)}", "b{c:url(#f)}"),
        ("b{c:url('</style><a>')}", 'b{c:url("/web/1im_/http://a.example/d/%3C/style%3E%3Ca%3E")}'),
    ],
)
def test_style_sheets(css: str, expected: str) -> None:
    assert rewrite_css_links(css, BASE, link) == expected


@pytest.mark.parametrize(
    "evil",
    [
        "<style>" + "@import " * 100_000,
        "<style>" + 'url("' * 200_000,
        f"<img srcset='{',a ' * 200_000}'>",
        "<b>" * 100_000,
    ],
    ids=["imports", "urls", "candidates", "depth"],
)
def test_hostile_markup_is_borne(evil: str) -> None:
    assert rewrite_links(evil, BASE, link).startswith("<html>")
