"""One content for text, markdown and links, whatever shape a page has."""

import random
import re
from collections import Counter

import pytest

from webemu.index.views import MIN_RECALL, render_links, render_markdown
from webemu.ingest.extract import extract_html

URL = "http://x.example/d/page"
WORDS = "The river town was founded in 1987 by merchants who traded salt and amber along the northern coast"
MENU = "".join(f'<li><a href="/m{n}">Menu entry {n}</a></li>' for n in range(140))


def text_of(html: str) -> str:
    return extract_html(html, URL).text


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", re.sub(r"\]\([^()\s]*\)", "]", text)))


def share(text: str, rendered: str) -> float:
    expected = words(text)
    return (expected & words(rendered)).total() / expected.total() if expected else 1.0


SHAPES = {
    "aspnet": f"<body><form method=post><h1>Product list</h1><p>price 40</p><p>{WORDS}</p></form></body>",
    "small-form": "<body><form method=post><h1>Product list</h1><p>price 40</p></form></body>",
    "articles": "<body><article>one</article><article>two</article></body>",
    "teaser": "<body><div><h1>Q</h1><p>long answer</p></div><article>teaser</article></body>",
    "empty-main": f"<body><main></main><div><p>{WORDS}</p></div></body>",
    "main-of-menu": f"<body><main><ul>{MENU}</ul></main><div><p>{WORDS}</p><p>{WORDS} again</p></div></body>",
    "parts-of-article": f"<article><header><h1>T</h1></header><p>{WORDS}</p><aside>A</aside><footer>F</footer>",
    "hidden": f"<body><div hidden><p>{WORDS}</p></div><p>plain words</p></body>",
    "display-none": f"<body><div style='display:none'><p>{WORDS}</p></div><p>plain words</p></body>",
    "layout-table": f"<table><tr><td><ul>{MENU}</ul><td><h1>Town</h1><p>{WORDS}</p><p>{WORDS} too</table>",
    "definitions": f"<dl><dt>Founded<dd>1987<dt>Mayor<dd>{WORDS}</dl>",
    "code": "<pre>def f(x):\n    return x\n\n\tTabbed</pre><p><code>inline()</code></p>",
    "nested-lists": "<ul><li>One<ul><li>Two<ol><li>Three</ol></ul><li>Four</ul>",
    "details": f"<details><summary>Question?</summary>{WORDS}</details>",
    "dialog": f"<dialog open><p>{WORDS}</p></dialog>",
    "custom-elements": f"<app-root><page-body><x-par>{WORDS}</x-par></page-body></app-root>",
    "no-body": f"<p>{WORDS}",
    "no-markup": WORDS,
    "xhtml": f'<?xml version="1.0"?><html><head><title/><script src="a.js"/></head><body><p>{WORDS}</p></body></html>',
    "broken": f"<div><p>{WORDS}<table><td>cell<div></p></table><b><i>x</b>y</i></div></span><p>{WORDS} end",
    "old": f"<center><font size=2><b>{WORDS}</font></center>",
    "all-in-nav": f"<nav><p>{WORDS}</p></nav>",
    "all-in-footer": f"<footer><p>{WORDS}</p></footer>",
    "shadow-root": f"<my-page><template shadowrootmode=open><p>{WORDS}</p></template><p>light</p></my-page>",
    "link-around-all": f"<a href=/x><div><h2>Head</h2><p>{WORDS}</p></div></a>",
    "form-in-table": f"<table><form><tr><td>{WORDS}</td></tr></form></table>",
    "japanese": "<p>川の町は<b>商人</b>によって<a href=/a>設立</a>されました。</p><ul><li><a href=/b>関連</a></ul>",
    "deep": "<div>" * 400 + f"<p>{WORDS}</p>",
    "bold": "".join(f"<b>{word[:1]}</b>{word[1:]} " for word in WORDS.split()),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_view_has_the_content(name: str) -> None:
    html = SHAPES[name]
    text = text_of(html)
    assert text
    assert share(text, render_markdown(html, URL, text)) >= MIN_RECALL
    assert share(text, render_markdown(html, URL)) >= MIN_RECALL
    # Numbers of links stand between words, and in Japanese there is no between.
    assert name == "japanese" or share(text, render_links(html, URL, text)) >= MIN_RECALL


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("small-form", "# Product list\n\nprice 40"),
        ("articles", "one\n\ntwo"),
        ("teaser", "# Q\n\nlong answer"),
        ("main-of-menu", WORDS),
        ("code", "```\ndef f(x):\n    return x\n\n\tTabbed\n```"),
        ("nested-lists", "- One\n  * Two\n    1. Three\n- Four"),
        ("xhtml", WORDS),
        ("shadow-root", WORDS),
        ("japanese", "- [関連](http://x.example/b)"),
    ],
)
def test_markdown_keeps_the_structure_of_the_content(name: str, phrase: str) -> None:
    assert phrase in render_markdown(SHAPES[name], URL, text_of(SHAPES[name]))


@pytest.mark.parametrize(
    "html",
    [f"<noscript><p>{WORDS}</p></noscript><script>x()</script>", f"<template></template><noscript>{WORDS}</noscript>"],
)
def test_a_page_without_scripts_alone_is_shown_as_markdown(html: str) -> None:
    assert WORDS in render_markdown(html, URL)


def test_a_frameset_is_its_frames() -> None:
    html = "<frameset><frame src=menu.html name=menu><frame src=/main.html title='Main page'><frame></frameset>"
    expected = "- [menu](http://x.example/d/menu.html)\n- [Main page](http://x.example/main.html)"
    assert render_markdown(html, URL) == render_links(html, URL) == expected


def test_an_article_is_not_swamped_by_menus_and_buttons() -> None:
    article = "".join(f"<p>Paragraph {n} says that {WORDS.lower()}, and more of it.</p>" for n in range(20))
    page = f"<div class=side><ul>{MENU}</ul></div><div>{article}</div><div><button>Subscribe now</button></div>"
    rendered = render_markdown(page, URL, text_of(page))
    assert "Paragraph 19" in rendered
    assert "Menu entry" not in rendered
    assert "Subscribe" not in rendered


def test_the_whole_page_is_rendered_where_it_is_asked_for() -> None:
    page = f"<nav><a href=/a>Menu</a></nav><main><p>{WORDS}</p></main><form>Sign in</form><p hidden>secret</p>"
    rendered = render_markdown(page, URL, full_document=True)
    assert "[Menu](http://x.example/a)" in rendered
    assert "Sign in" in rendered
    assert "secret" not in rendered
    assert "Menu" not in render_markdown(page, URL)


def test_tables_are_not_padded() -> None:
    table = f"<table><tr><th>a<th>b<tr><td>{'w' * 200}<td>c</table>"
    assert render_markdown(table, URL) == f"| a | b |\n| --- | --- |\n| {'w' * 200} | c |"


BLOCKS = (
    "div p section article main aside header footer nav form ul ol li table td dl dd blockquote pre center details "
    "dialog figure fieldset font x-box span a b template noscript button label h1 h2"
).split()
ATTRIBUTES = ("", "", "", " hidden", " style='display:none'", " class=related", " id=content", " role=main", " href=/x")


def page(seed: int) -> str:
    """A document of random shape: nested, unclosed and misplaced elements with words, links and menus in them."""
    draw = random.Random(seed)
    parts, opened = [], []
    for _ in range(draw.randint(1, 120)):
        kind = draw.random()
        if kind < 0.35:
            opened.append(draw.choice(BLOCKS))
            parts.append(f"<{opened[-1]}{draw.choice(ATTRIBUTES)}>")
        elif kind < 0.6 and opened:
            parts.append(f"</{opened.pop(draw.choice((-1, -1, -1, 0)))}>")
        elif kind < 0.7:
            parts.append("".join(f"<li><a href=/{n}>entry {n}</a></li>" for n in range(draw.randint(1, 40))))
        else:
            parts.append(" ".join(f"w{draw.randint(1, 3000)}" for _ in range(draw.randint(1, 60))))
    return "".join(parts)


def test_markdown_has_the_words_of_the_text_whatever_the_shape() -> None:
    for seed in range(400):
        html = page(seed)
        text = text_of(html)
        assert share(text, render_markdown(html, URL, text)) >= MIN_RECALL, f"seed {seed}"
        assert share(text, render_links(html, URL, text)) >= MIN_RECALL, f"seed {seed}"
