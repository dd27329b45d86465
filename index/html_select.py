"""Selects parts of a document for readers: elements by CSS selector, links, images.

Pure functions. Hostile markup is cut by `webemu.index.markup`; a selector that cannot be parsed matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from webemu.index.content import iter_texts
from webemu.index.markup import limit_for_display
from webemu.index.views import find_base, iter_links, resolve_url

MAX_SELECTOR = 500
"""Longest selector in characters; a longer one matches nothing."""


def select_elements(html: str, include: Sequence[str], exclude: Sequence[str]) -> str | None:
    """Return the document reduced to the elements that some selectors match, without those that others match.

    Returns None if selectors were given and none of them matches.
    """
    tree = LexborHTMLParser(limit_for_display(html)[0])
    for selector in exclude:
        # One selector after another: a node that was removed with its parent must not be touched again.
        for node in _select_outermost(tree, selector):
            node.decompose()
    if not include:
        return tree.html
    selected_html = [node.html or "" for selector in include for node in _select_outermost(tree, selector)]
    title = tree.css_first("head title")
    base = tree.css_first("head base[href]")
    head = "".join(node.html or "" for node in (title, base) if node)
    return (
        f"<!doctype html><html><head>{head}</head><body>{''.join(selected_html)}</body></html>"
        if selected_html
        else None
    )


def _select_outermost(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return the outermost elements that a selector matches, never the whole document."""
    try:
        selected_nodes = tree.css(selector) if len(selector) <= MAX_SELECTOR else []
    except SelectolaxError:
        return []
    ids = {node.mem_id for node in selected_nodes if node.tag not in ("html", "head", "body")}
    return list(_iter_outermost(tree, ids)) if ids else []


def _iter_outermost(tree: LexborHTMLParser, ids: set[int]) -> Iterator[LexborNode]:
    """Yield the elements of these ids that are not inside another of them, in one walk however deep they nest."""
    node = tree.root
    while node is not None:
        is_picked = node.mem_id in ids
        if is_picked:
            yield node
        next_node = None if is_picked else node.first_child
        while next_node is None and node is not None:
            next_node = node.next
            node = node.parent
        node = next_node


def link_targets(html: str, url: str) -> list[tuple[str, str]]:
    """Return (text, absolute URL) of every link of a document, in order."""
    tree = LexborHTMLParser(limit_for_display(html)[0])
    links = list(iter_links(tree, url))
    words = chain(iter_texts((anchor for anchor, _ in links), separator=" "), repeat(""))
    return [(" ".join(text.split()), target) for (_, target), text in zip(links, words, strict=False)]


def images(html: str, url: str) -> list[tuple[str, str]]:
    """Return (alternative text, absolute URL) of every image of a document, in order."""
    tree = LexborHTMLParser(limit_for_display(html)[0])
    base = find_base(tree, url)
    texts_and_sources = (
        (" ".join((node.attributes.get("alt") or "").split()), node.attributes.get("src")) for node in tree.css("img")
    )
    pairs = [(words, resolve_url(base, source)) for words, source in texts_and_sources if source]
    return [(words, source) for words, source in pairs if source.startswith(("http://", "https://"))]
