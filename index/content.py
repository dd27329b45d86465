"""Chooses the content of an HTML document for every view: what its markup declares, else what looks like content.

`extract_text` returns the text that is indexed and shown; `webemu.index.views` prunes the markup to what that text has. The
rules were chosen on news pages with known text and by reading documentation pages (`benchmarks/extraction.py`).
Content that is declared, or nearly free of links, is taken entirely; elsewhere Resiliparse separates content from
boilerplate. It mistakes lists for menus, so if it keeps too little, everything outside navigation is taken instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.markup import MAX_CHARACTERS, flattened

_ROOT_CLASSES = frozenset(
    "entry entry-content post-content post-body article-body article-content article-text articleBody "
    "story-body".split()
)
_ROOT_IDS = frozenset("article article-body article-content articleBody articleText story story-body".split())
_LATE_ROOT_IDS = frozenset("content main-content bodyContent mw-content-text".split())
_MIN_ROOT = 200
"""Shortest declared content that is believed, in characters."""
_MENU_PROSE, _MIN_OUTSIDE = 0.05, 100
"""Share of text outside links up to which declared content is a menu, and such characters elsewhere that confirm it."""
_CLEAN_DECLARED, _CLEAN_BODY = 0.15, 0.05
"""Shares of link text up to which everything outside navigation is content, if declared and if not."""
_MIN_MAIN, _SHORT_MAIN = 200, 500
"""Characters below which Resiliparse's main content is not believed, or only if it is half of the prose."""
_MAX_READ = 16 * MAX_CHARACTERS
"""Characters read to compare elements: some documents nest a thousand elements around the same text."""
_SURVEYED = "article,main,div,section,ul,nav,footer"
_UNSEEN = "script,style,noscript,template"
_MENUS = frozenset({"nav", "footer"})
_EXTRA = re.compile("related|newsletter|social|share|promo|sponsor")
_EXTRA_TAGS = frozenset({"div", "ul", "section"})
_MAX_EXTRA = 0.3
"""Share of the text above which an element that is named like an extra is the content after all."""
_BOILERPLATE = "[role=navigation],[role=banner],[role=contentinfo],[role=search],header"
_TAB = "\U000f0009"
"""Stands for a tab inside <pre>, since Resiliparse separates table cells by two tabs."""
_PRE = re.compile(r"<pre[\s>].*?(?:</pre>|\Z)", re.DOTALL)
_HEADING_ANCHOR = re.compile(
    r'(<h[1-6](?:\s[^<>]*)?>[^<]*)<a\s[^<>]*href="#[^"<>]*"[^<>]*>((?:[^<]|<(?!/?a\b)[^<>]*>)*)</a>([^<]*)'
)
_CELL_OPEN = re.compile(r"(<t[dh]\b[^<>]*>)\s*<(?:p|div)(?:\s[^<>]*)?>")
_CELL_CLOSE = re.compile(r"</(?:p|div)>\s*(?=</t[dh]>)")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def size_of(text: str) -> int:
    """Return the number of characters of a text that are not blank."""
    return len(text) - text.count(" ") - text.count("\n") - text.count("\t")


@dataclass(slots=True)
class _Survey:
    """Elements of a document that decide what its content is, collected in one pass."""

    menus: list[LexborNode] = field(default_factory=list)
    """Navigation and footers."""
    extras: list[LexborNode] = field(default_factory=list)
    """Surroundings of articles: related links, sharing, newsletters."""
    roots: tuple[list[LexborNode], ...] = field(default_factory=lambda: tuple([] for _ in range(6)))
    """Candidates for the content by rank: declared in the markup, or named as publishing systems name it; best rank
    first.
    """


def _survey(body: LexborNode) -> _Survey:
    """Return the survey of a document."""
    found = _Survey()
    for node in body.css(_SURVEYED):
        tag = node.tag
        if tag in _MENUS:
            found.menus.append(node)
        else:
            attributes = node.attributes
            rank = _rank(tag, attributes) if attributes or tag in ("article", "main") else None
            if rank is not None:
                found.roots[rank].append(node)
            if tag in _EXTRA_TAGS and _EXTRA.search(attributes.get("class") or ""):
                found.extras.append(node)
    return found


def _rank(tag: str | None, attributes: dict[str, str | None]) -> int | None:
    """Return the rank of a candidate for the content, 0 the best; None if the element is no candidate."""
    if "articleBody" in (attributes.get("itemprop") or ""):
        return 0
    names = (attributes.get("class") or "").split()
    if not _ROOT_CLASSES.isdisjoint(names):
        return 1
    name = attributes.get("id")
    if name in _ROOT_IDS:
        return 2
    if tag == "article":
        return 3
    if tag == "main" or attributes.get("role") == "main":
        return 4
    return 5 if name in _LATE_ROOT_IDS or "markdown-body" in names else None


def readable(tree: LexborHTMLParser, link_characters: int) -> tuple[str, float]:
    """Return (text, share of link text in all visible text). Changes the tree.

    A table row is one line, its cells separated by ` | `.
    """
    body = tree.body
    if body is None:
        return "", 0.0
    survey = _seen(body)
    size = size_of(body.text())
    density = min(1.0, link_characters / size) if size else 0.0
    root = _root(survey, body)
    links = link_characters
    if root is not None:
        size, links = size_of(root.text()), linked(root, "a[href]")
    _drop_extras(survey, size)
    clean = links <= (_CLEAN_BODY if root is None else _CLEAN_DECLARED) * size
    root = root or body
    return tidy(_whole(root) if clean else _main(root, size - links)), density


def content_root(body: LexborNode) -> LexborNode:
    """Return the element that holds the content of a document, as `extract_text` chooses it. Removes its menus."""
    survey = _seen(body)
    root = _root(survey, body) or body
    _drop_extras(survey, size_of(root.text()))
    return root


def _seen(body: LexborNode) -> _Survey:
    """Remove invisible elements from a document, then survey it."""
    # From the end: a node that was removed with its parent must not be touched again.
    for node in reversed(body.css(_UNSEEN)):
        node.decompose()
    return _survey(body)


def _drop_extras(survey: _Survey, size: int) -> None:
    """Remove menus and extras of a document whose content has `size` characters."""
    gone = _drop(survey.menus, size - 1, frozenset())
    _drop(survey.extras, int(_MAX_EXTRA * size), gone)


def tidy(text: str) -> str:
    """Return text with visible cell separators and at most one blank line between paragraphs."""
    text = text.replace("\t\t", " | ").replace(_TAB, "\t")
    return (_BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text or " \n" in text else text).strip()


def _root(found: _Survey, body: LexborNode) -> LexborNode | None:
    """Return the one element that is the content; None if no candidate is unique and long enough."""
    # Several elements of one rank are teasers of a list, not the content.
    for nodes in found.roots:
        if len(nodes) == 1 and size_of(nodes[0].text()) >= _MIN_ROOT and not _is_menu(nodes[0], body):
            return nodes[0]
    return None


def _is_menu(root: LexborNode, body: LexborNode) -> bool:
    """True if an element is nearly all links, and most text outside links is elsewhere in the document."""
    prose = _prose(root)
    return prose <= _MENU_PROSE * size_of(root.text()) and _prose(body) - prose >= max(_MIN_OUTSIDE, prose)


def _prose(root: LexborNode) -> int:
    """Return the number of characters outside links."""
    return size_of(root.text()) - linked(root, "a[href]")


def _drop(nodes: list[LexborNode], most: int, before: AbstractSet[int]) -> AbstractSet[int]:
    """Remove elements of at most `limit` characters, which therefore cannot hold the content.

    `before` has the ids of elements that were removed earlier. Returns the ids removed now: they must not be touched
    again.
    """
    gone: set[int] = set()
    left = [node for node in nodes if node.mem_id not in before]
    doomed = []
    for node, text in zip(left, texts_of(left), strict=False):
        if node.mem_id not in gone and size_of(text) <= most:
            gone.update(inner.mem_id for inner in node.css("*"))
            doomed.append(node)
    for node in doomed:
        node.decompose()
    return gone


def texts_of(nodes: Iterable[LexborNode], separator: str = "") -> Iterator[str]:
    """Yield the text of each element; end early if nested elements repeat the text of a document too often."""
    left = _MAX_READ
    for node in nodes:
        text = node.text(separator=separator)
        left -= len(text)
        if left < 0:  # hostile: a thousand nested elements with the same text
            return
        yield text


def linked(root: LexborNode | LexborHTMLParser, selector: str) -> int:
    """Return the number of characters of all elements that a selector of links matches."""
    return size_of("".join(texts_of(root.css(selector))))


def _main(root: LexborNode, prose: int) -> str:
    """Return Resiliparse's main content, or all text if that is too short for `prose` characters outside links."""
    text = _render(root, main_content=True)
    size = size_of(text)
    if size >= _MIN_MAIN and size >= (0.2 if size >= _SHORT_MAIN else 0.5) * prose:
        return text
    return max(text, _whole(root), key=len)


def _whole(root: LexborNode) -> str:
    """Return all text of an element, without boilerplate that the markup declares."""
    for node in root.css(_BOILERPLATE):
        # A header with the main heading belongs to the content.
        if node.css_first("h1") is None:
            node.decompose()
    return _render(root, main_content=False)


def _render(root: LexborNode, *, main_content: bool) -> str:
    """Return the text of an element, after repairs of markup that Resiliparse misreads."""
    html = flattened(root.html or "")
    if 'href="#' in html:
        html = _HEADING_ANCHOR.sub(_without_anchor, html)
    if "</td>" in html:
        html = _CELL_CLOSE.sub("", _CELL_OPEN.sub(r"\1", html))
    if "<pre" in html and "\t" in html:
        html = _PRE.sub(lambda block: block[0].replace("\t", _TAB), html)
    # Without <body> the parser would guess where the head of the fragment ends.
    return extract_plain_text(
        html if html.startswith("<body") else "<body>" + html,
        main_content=main_content,
        comments=False,
        alt_texts=False,
    )


def _without_anchor(heading: re.Match[str]) -> str:
    """Return a heading without its link to itself, which would make it look like a menu; its paragraph sign is
    dropped.
    """
    inner = heading[2]
    return heading[1] + ("" if inner in ("¶", "#", "§") else inner) + heading[3]
