"""Pages made to be slow: every view of them takes about a second of processor at most, and says what it leaves out."""

from collections.abc import Callable

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.processor_time import limited
from webemu.index.html_select import images, link_targets, select_elements
from webemu.index.markup import MAX_NESTED, MAX_TAGS, flatten_nesting, limit_markup
from webemu.index.views import render_links, render_markdown
from webemu.ingest.extract import extract_html

pytestmark = pytest.mark.slow

URL = "http://x.example/d/page"
LIMIT = 8
"""Processor time of a view, in times of the fixed work of `limited`."""
MANY = 250_000
FORMATS = "".join(f"<b id={n}>" for n in range(300))

PAGES = {
    "links": "".join(f'<a href="/{n}">x{n}</a>' for n in range(1_000_000)),
    "paragraphs": "<p>word" * MANY,
    "cells": "<table><tr>" + "<td>x" * MANY,
    "rows": "<table>" + "<tr><td>x" * MANY,
    "spans": "<table>" + "<tr><td rowspan=65534 colspan=1000>x" * 60_000,
    "tables": "<table><tr><td>" + "<table><tr><td>a<td>b</table>" * 100_000,
    "deep": ("<div>" * 900 + "w" + "</div>" * 900) * 300,
    "deep-quotes": "<blockquote>" * 900 + "<p>x" * 60_000,
    "deep-lists": "<ul><li>x" * 900 + "<li>y" * 100_000,
    "formatting": "<b><i><u>" * 300 + "<p>x" * 100_000,
    "copied-formatting": f"<p>{FORMATS}</p>" + "<p>x</p>" * 300_000,
    "some-copied-formatting": f"<p>{FORMATS}</p>" + "<p>x</p>" * 280,
    "options": "<select>" + "<option>o" * MANY,
    "bodies": "".join(f"<body a{n}=b>" for n in range(100_000)),
    "attributes": ("<p " + " ".join(f"a{n}" for n in range(1900)) + ">x") * 300,
    "nested-menus": "<nav>" * 900 + "word " * 500_000,
    "nested-extras": "<div class=share>" * 900 + "word " * 500_000,
    "nested-links": "<a href=/1><table><tr><td>" * 240 + "word " * 500_000,
    "text": "<p>" + " ".join(f"w{n}" for n in range(500_000)),
    "headings": "<h1><a href='#x'>t</a>¶</h1>" * 100_000,
    "long-base": f"<base href='/{'a/' * 20_000}'>" + "<a href=../x>y</a>" * 100_000,
    "menu": "<article>" + "real words here. " * 3000 + "</article>" + "<div><a href=/x>menu item</a></div>" * 60_000,
}


@pytest.mark.parametrize("name", PAGES)
def test_no_view_takes_long(name: str) -> None:
    html = PAGES[name]
    text = extract_html(html, URL).text
    views: dict[str, Callable[[], object]] = {
        "markdown": lambda: render_markdown(html, URL, text),
        "markdown of no text": lambda: render_markdown(html, URL),
        "whole": lambda: render_markdown(html, URL, full_document=True, pictures=True),
        "links": lambda: render_links(html, URL, text),
        "targets": lambda: link_targets(html, URL),
        "pictures": lambda: images(html, URL),
        "narrowed": lambda: select_elements(html, ["p", "a"], ["b", "nav"]),
    }
    for view, make in views.items():
        with limited(LIMIT, view):
            make()


def test_what_is_left_out_is_said() -> None:
    html = "<p>word <a href=/x>link</a> " * MAX_TAGS
    note = "[The rest of this page is left out: its markup is too large.]"
    assert render_markdown(html, URL).endswith(note)
    assert render_markdown(html, URL, full_document=True).endswith(note)
    assert note in render_links(html, URL)
    assert note not in render_markdown("<p>word", URL)


def test_a_page_too_large_to_render_is_its_text() -> None:
    html = "<b>word</b> " * MAX_TAGS
    text = extract_html(html, URL).text
    assert render_markdown(html, URL, text) == text


def test_a_whole_page_that_cannot_be_rendered_is_its_text() -> None:
    html = "<div>" * 400 + "<p>deep words"
    assert render_markdown(html, URL, full_document=True) == "deep words"


def test_renamed_tags_keep_all_text() -> None:
    html = f"<p>{FORMATS}</p>" + "".join(f"<p>x{n}</p>" for n in range(5000))
    body = LexborHTMLParser(limit_markup(html)[0]).body
    assert body is not None
    assert len(body.css("*")) < 1_000_000
    assert body.text().split("x")[1:] == [str(n) for n in range(5000)]


def test_lists_nest_to_a_bound() -> None:
    nested = "<ul><li>x" * 30 + "</li></ul>" * 30
    assert flatten_nesting(nested).count("<ul>") == flatten_nesting(nested).count("</ul>") == MAX_NESTED
    assert flatten_nesting("<ul><li>x</li></ul>" * 30).count("<ul>") == 30
