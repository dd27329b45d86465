"""The content of an HTML document, chosen here for every view: what its markup declares, else what looks like it.

`readable` makes the text that is indexed and shown; `webemu.index.views` prunes its markup to what that text says. Rules were
chosen on news pages with known text and by reading documentation pages (`benchmarks/extraction.py`). Where the content
is declared, or nearly free of links, all of it is taken, elsewhere Resiliparse tells content from boilerplate. It takes
lists for menus, so where it keeps too little, everything outside navigation is taken instead.
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
"""Characters below which a declared content is not believed."""
_MENU_PROSE, _MIN_OUTSIDE = 0.05, 100
"""Share of a declared content up to which text beside links is none, and characters of such text that outdo it."""
_CLEAN_DECLARED, _CLEAN_BODY = 0.15, 0.05
"""Shares of link text up to which everything outside navigation is content."""
_MIN_MAIN, _SHORT_MAIN = 200, 500
_MAX_READ = 16 * MAX_CHARACTERS
"""Characters read to compare elements: some nest a thousand deep around the same text."""
_SURVEYED = "article,main,div,section,ul,nav,footer"
_UNSEEN = "script,style,noscript,template"
_MENUS = frozenset({"nav", "footer"})
_EXTRA = re.compile("related|newsletter|social|share|promo|sponsor")
_EXTRA_TAGS = frozenset({"div", "ul", "section"})
_MAX_EXTRA = 0.3
"""An element named like an extra that holds more of the text than this is the content after all."""
_BOILERPLATE = "[role=navigation],[role=banner],[role=contentinfo],[role=search],header"
_TAB = "\U000f0009"
"""Stands for a tab inside <pre>, since two tabs are how Resiliparse parts table cells."""
_PRE = re.compile(r"<pre[\s>].*?(?:</pre>|\Z)", re.DOTALL)
_HEADING_ANCHOR = re.compile(
    r'(<h[1-6](?:\s[^<>]*)?>[^<]*)<a\s[^<>]*href="#[^"<>]*"[^<>]*>((?:[^<]|<(?!/?a\b)[^<>]*>)*)</a>([^<]*)'
)
_CELL_OPEN = re.compile(r"(<t[dh]\b[^<>]*>)\s*<(?:p|div)(?:\s[^<>]*)?>")
_CELL_CLOSE = re.compile(r"</(?:p|div)>\s*(?=</t[dh]>)")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def size_of(text: str) -> int:
    """Characters that are not blank."""
    return len(text) - text.count(" ") - text.count("\n") - text.count("\t")


@dataclass(slots=True)
class _Survey:
    """Elements of a document that decide what its content is, found in one pass."""

    menus: list[LexborNode] = field(default_factory=list)
    extras: list[LexborNode] = field(default_factory=list)
    """What surrounds articles: related links, sharing, newsletters."""
    roots: tuple[list[LexborNode], ...] = field(default_factory=lambda: tuple([] for _ in range(6)))
    """Candidates for the content: what the markup declares, or the names publishing systems give it, best first."""


def _survey(body: LexborNode) -> _Survey:
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
    """How telling a candidate is, 0 the most; None for no candidate."""
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
    """(text, share of link text in all visible text). A table row is a line, cells parted by ` | `. Spoils the tree."""
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
    """Return the element that holds the content of a document, as `readable` chooses it. Removes its menus."""
    survey = _seen(body)
    root = _root(survey, body) or body
    _drop_extras(survey, size_of(root.text()))
    return root


def _seen(body: LexborNode) -> _Survey:
    """Remove what no reader sees from a document, then survey it."""
    # From the end, since what went with its parent must not be touched again.
    for node in reversed(body.css(_UNSEEN)):
        node.decompose()
    return _survey(body)


def _drop_extras(survey: _Survey, size: int) -> None:
    """Remove menus and extras of a document whose content has so many characters."""
    gone = _drop(survey.menus, size - 1, frozenset())
    _drop(survey.extras, int(_MAX_EXTRA * size), gone)


def tidy(text: str) -> str:
    """Cells parted visibly, at most one blank line between paragraphs."""
    text = text.replace("\t\t", " | ").replace(_TAB, "\t")
    return (_BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text or " \n" in text else text).strip()


def _root(found: _Survey, body: LexborNode) -> LexborNode | None:
    """The one element that is the content."""
    for nodes in found.roots:
        if len(nodes) == 1 and size_of(nodes[0].text()) >= _MIN_ROOT and not _is_menu(nodes[0], body):
            return nodes[0]
    return None


def _is_menu(root: LexborNode, body: LexborNode) -> bool:
    """True if an element is nearly all links, and most of what the document has beside links is elsewhere."""
    prose = _prose(root)
    return prose <= _MENU_PROSE * size_of(root.text()) and _prose(body) - prose >= max(_MIN_OUTSIDE, prose)


def _prose(root: LexborNode) -> int:
    return size_of(root.text()) - linked(root, "a[href]")


def _drop(nodes: list[LexborNode], most: int, before: AbstractSet[int]) -> AbstractSet[int]:
    """Remove elements of at most so many characters, which therefore cannot hold the content.

    `before` has the ids of elements that went before. Returns those that went now: no element may be touched again.
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
    """Yield the text of each element; ends early where nested ones repeat the text of a document too often."""
    left = _MAX_READ
    for node in nodes:
        text = node.text(separator=separator)
        left -= len(text)
        if left < 0:
            return
        yield text


def linked(root: LexborNode | LexborHTMLParser, selector: str) -> int:
    """Return the characters of all elements that a selector of links picks."""
    return size_of("".join(texts_of(root.css(selector))))


def _main(root: LexborNode, prose: int) -> str:
    """What Resiliparse takes for the main content, unless `prose` (characters outside links) says it missed most."""
    text = _render(root, main_content=True)
    size = size_of(text)
    if size >= _MIN_MAIN and size >= (0.2 if size >= _SHORT_MAIN else 0.5) * prose:
        return text
    return max(text, _whole(root), key=len)


def _whole(root: LexborNode) -> str:
    for node in root.css(_BOILERPLATE):
        if node.css_first("h1") is None:
            node.decompose()
    return _render(root, main_content=False)


def _render(root: LexborNode, *, main_content: bool) -> str:
    html = flattened(root.html or "")
    if 'href="#' in html:
        html = _HEADING_ANCHOR.sub(_without_anchor, html)
    if "</td>" in html:
        html = _CELL_CLOSE.sub("", _CELL_OPEN.sub(r"\1", html))
    if "<pre" in html and "\t" in html:
        html = _PRE.sub(lambda block: block[0].replace("\t", _TAB), html)
    # A fragment without <body> would be given a head and a body by guess.
    return extract_plain_text(
        html if html.startswith("<body") else "<body>" + html,
        main_content=main_content,
        comments=False,
        alt_texts=False,
    )


def _without_anchor(heading: re.Match[str]) -> str:
    """A heading that links to itself is a heading, not a menu; its paragraph sign is dropped."""
    inner = heading[2]
    return heading[1] + ("" if inner in ("¶", "#", "§") else inner) + heading[3]
