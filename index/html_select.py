"""Parts of a document as readers of pages ask for them: what CSS selectors pick, where it leads, what it shows.

Pure functions; hostile markup is cut by `webemu.index.markup`, a selector that cannot be read picks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from webemu.index.content import texts_of
from webemu.index.markup import shown
from webemu.index.views import absolute, anchors, base_of

MAX_SELECTOR = 500
"""Characters of a selector that is heeded."""


def narrowed(html: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str | None:
    """The document with nothing but what some selectors pick, and without what others do; None where none is picked."""
    tree = LexborHTMLParser(shown(html)[0])
    for selector in unwanted:
        # One selector after another: what was removed with its parent must not be touched again.
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
    """Outermost elements that a selector picks; those inside of one go with it. Never the whole document."""
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
    """(words, absolute URL) of every link of a document, in order."""
    tree = LexborHTMLParser(shown(html)[0])
    found = list(anchors(tree, url))
    words = chain(texts_of((anchor for anchor, _ in found), separator=" "), repeat(""))
    return [(" ".join(text.split()), target) for (_, target), text in zip(found, words, strict=False)]


def pictures(html: str, url: str) -> list[tuple[str, str]]:
    """(alternative text, absolute URL) of every picture of a document, in order."""
    tree = LexborHTMLParser(shown(html)[0])
    base = base_of(tree, url)
    found = (
        (" ".join((node.attributes.get("alt") or "").split()), node.attributes.get("src")) for node in tree.css("img")
    )
    pairs = [(words, absolute(base, source)) for words, source in found if source]
    return [(words, source) for words, source in pairs if source.startswith(("http://", "https://"))]
