"""Views made at serve time: markdown and numbered links, of any markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webemu.index.markup import MAX_DEPTH, limit_markup
from webemu.index.views import MAX_LINKS, render_links, render_markdown

PAGE = (
    '<html><head><title>T</title><base href="/d/"><style>p{}</style></head><body><nav><a href="/menu">Menu</a></nav>'
    '<main><h1>Town</h1><p>Its mayor is <a href="../ada">Ada</a>, says <a href="/news?a=1">the news</a>.'
    '<a href="#x">up</a>'
    "<table><tr><th>Founded</th><td>1987</td></tr></table><pre>a  b</pre></main>"
    '<a href="javascript:evil()">j</a><a href="mailto:x@y">m</a><a href="/menu">again</a></body>'
)


def test_markdown_has_headings_tables_code_and_absolute_links() -> None:
    text = render_markdown(PAGE, "http://x.org/a/b")
    assert text.startswith("# Town")
    assert "[Ada](http://x.org/ada)" in text
    assert "| Founded | 1987 |" in text
    assert "a  b" in text
    assert "Menu" not in text
    assert "p{}" not in text


def test_links_are_numbered_once_and_listed() -> None:
    text = render_links(PAGE, "http://x.org/a/b")
    body, _, listed = text.partition("\n\nLinks:\n")
    assert "[1]Menu" in body
    assert "[2]Ada" in body
    assert "[1]again" in body
    assert listed.splitlines() == ["[1] http://x.org/menu", "[2] http://x.org/ada", "[3] http://x.org/news?a=1"]


def test_links_are_bounded() -> None:
    text = render_links("".join(f'<a href="/{n}">x</a>' for n in range(MAX_LINKS + 50)), "http://x.org/")
    assert text.count("\n[") == MAX_LINKS


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "deep",
        '<a href="/x"><div>' * 50_000,
        "<" * 100_000,
        "\ud800<a href='x'>y</a>\0",
        '<a href="http://[">q</a>',
        "<table>" * 3000,
        "",
    ],
    ids=["divs", "links", "brackets", "surrogates", "bad-url", "tables", "empty"],
)
def test_hostile_markup_is_survived(html: str) -> None:
    render_markdown(html, "http://x.org/").encode()
    render_links(html, "not a url").encode()


def test_markup_is_cut_where_it_grows_too_deep() -> None:
    html, why = limit_markup("<div>" * 100_000)
    assert why == "markup-too-deep"
    assert html.count("<div>") <= MAX_DEPTH + 1


@given(st.text(st.characters(codec=None)))
def test_any_text_is_markup(html: str) -> None:
    render_markdown(html, "http://x.org/")
    render_links(html, "http://x.org/")
