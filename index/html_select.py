"""Selects parts of a document for readers: elements by CSS selector, links, images.

Pure functions. Hostile markup is cut by `webemu.index.markup`; a selector that cannot be parsed matches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from webemu.index.content import texts_of
from webemu.index.markup import shown
from webemu.index.views import absolute, anchors, base_of

MAX_SELECTOR = 500
"""Longest selector in characters; a longer one matches nothing."""


def narrowed(html: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str | None:
    """Return the document reduced to the elements that some selectors match, without those that others match.

    Returns None if selectors were given and none of them matches.
    """
    tree = LexborHTMLParser(shown(html)[0])
    for selector in unwanted:
        # One selector after another: a node that was removed with its parent must not be touched again.
        for node in _picked(tree, selector):
            node.decompose()
    if not wanted:
        return tree.html
    found = [node.html or "" for selector in wanted for node in _picked(tree, selector)]
    title = tree.css_first("head title")
    base = tree.css_first("head base[href]")
    head = "".join(node.html or "" for node in (title, base) if node)
    return f"<!doctype html><html><head>{head}</head><body>{''.join(found)}</body></html>" if found else None


def _picked(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Return the outermost elements that a selector matches, never the whole document."""
    try:
        found = tree.css(selector) if len(selector) <= MAX_SELECTOR else []
    except SelectolaxError:
        return []
    ids = {node.mem_id for node in found if node.tag not in ("html", "head", "body")}
    return list(_outermost(tree, ids)) if ids else []


def _outermost(tree: LexborHTMLParser, ids: set[int]) -> Iterator[LexborNode]:
    """Yield the elements of these ids that are not inside another of them, in one walk however deep they nest."""
    node = tree.root
    while node is not None:
        is_picked = node.mem_id in ids
        if is_picked:
            yield node
        below = None if is_picked else node.first_child
        while below is None and node is not None:
            below = node.next
            node = node.parent
        node = below


def targets(html: str, url: str) -> list[tuple[str, str]]:
    """Return (text, absolute URL) of every link of a document, in order."""
    tree = LexborHTMLParser(shown(html)[0])
    found = list(anchors(tree, url))
    words = chain(texts_of((anchor for anchor, _ in found), separator=" "), repeat(""))
    return [(" ".join(text.split()), target) for (_, target), text in zip(found, words, strict=False)]


def pictures(html: str, url: str) -> list[tuple[str, str]]:
    """Return (alternative text, absolute URL) of every image of a document, in order."""
    tree = LexborHTMLParser(shown(html)[0])
    base = base_of(tree, url)
    found = (
        (" ".join((node.attributes.get("alt") or "").split()), node.attributes.get("src")) for node in tree.css("img")
    )
    pairs = [(words, absolute(base, source)) for words, source in found if source]
    return [(words, source) for words, source in pairs if source.startswith(("http://", "https://"))]
