"""Chooses the content of an HTML document for every view: what its markup declares, else what looks like content.

`extract_text` returns the text that is indexed and shown; `webemu.index.views` prunes the markup to what that text
has. The rules were chosen on news pages with known text and by reading documentation pages
(`benchmarks/extraction.py`). Content that is declared, or nearly free of links, is taken entirely; elsewhere
Resiliparse separates content from boilerplate. It mistakes lists for menus, so if it keeps too little, everything
outside navigation is taken instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.markup import MAX_CHARACTERS, flatten_nesting

_ROOT_CLASSES = frozenset(
    "entry entry-content post-content post-body article-body article-content article-text articleBody "
    "story-body".split()
)
_ROOT_IDS = frozenset("article article-body article-content articleBody articleText story story-body".split())
_LATE_ROOT_IDS = frozenset("content main-content bodyContent mw-content-text".split())
_MIN_ROOT_CHARACTERS = 200
"""Shortest declared content that is believed, in characters."""
_MAX_MENU_PROSE_SHARE, _MIN_OUTSIDE_CHARACTERS = 0.05, 100
"""Share of text outside links up to which declared content is a menu, and such characters elsewhere that confirm it."""
_MAX_DECLARED_LINK_SHARE, _MAX_BODY_LINK_SHARE = 0.15, 0.05
"""Shares of link text up to which everything outside navigation is content, if declared and if not."""
_MIN_MAIN_CHARACTERS, _SHORT_MAIN_CHARACTERS = 200, 500
"""Characters below which Resiliparse's main content is not believed, or only if it is half of the prose."""
_MAX_READ_CHARACTERS = 16 * MAX_CHARACTERS
"""Characters read to compare elements: some documents nest a thousand elements around the same text."""
_SURVEYED_TAGS = "article,main,div,section,ul,nav,footer"
_INVISIBLE_TAGS = "script,style,noscript,template"
_MENUS = frozenset({"nav", "footer"})
_EXTRA_NAMES = re.compile("related|newsletter|social|share|promo|sponsor")
_EXTRA_TAGS = frozenset({"div", "ul", "section"})
_MAX_EXTRA_SHARE = 0.3
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


def visible_size(text: str) -> int:
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
    survey = _Survey()
    for node in body.css(_SURVEYED_TAGS):
        tag = node.tag
        if tag in _MENUS:
            survey.menus.append(node)
        else:
            attributes = node.attributes
            rank = _rank_candidate(tag, attributes) if attributes or tag in ("article", "main") else None
            if rank is not None:
                survey.roots[rank].append(node)
            if tag in _EXTRA_TAGS and _EXTRA_NAMES.search(attributes.get("class") or ""):
                survey.extras.append(node)
    return survey


def _rank_candidate(tag: str | None, attributes: dict[str, str | None]) -> int | None:
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


def extract_text(tree: LexborHTMLParser, link_characters: int) -> tuple[str, float]:
    """Return (text, share of link text in all visible text). Changes the tree.

    A table row is one line, its cells separated by ` | `.
    """
    body = tree.body
    if body is None:
        return "", 0.0
    survey = _survey_visible(body)
    size = visible_size(body.text())
    density = min(1.0, link_characters / size) if size else 0.0
    root = _find_root(survey, body)
    links = link_characters
    if root is not None:
        size, links = visible_size(root.text()), link_size(root, "a[href]")
    _drop_extras(survey, size)
    is_clean = links <= (_MAX_BODY_LINK_SHARE if root is None else _MAX_DECLARED_LINK_SHARE) * size
    root = root or body
    return tidy(_full_text(root) if is_clean else _main_text(root, size - links)), density


def find_content_root(body: LexborNode) -> LexborNode:
    """Return the element that holds the content of a document, as `extract_text` chooses it. Removes its menus."""
    survey = _survey_visible(body)
    root = _find_root(survey, body) or body
    _drop_extras(survey, visible_size(root.text()))
    return root


def _survey_visible(body: LexborNode) -> _Survey:
    """Remove invisible elements from a document, then survey it."""
    # From the end: a node that was removed with its parent must not be touched again.
    for node in reversed(body.css(_INVISIBLE_TAGS)):
        node.decompose()
    return _survey(body)


def _drop_extras(survey: _Survey, size: int) -> None:
    """Remove menus and extras of a document whose content has `size` characters."""
    removed_ids = _remove_small(survey.menus, size - 1, frozenset())
    _remove_small(survey.extras, int(_MAX_EXTRA_SHARE * size), removed_ids)


def tidy(text: str) -> str:
    """Return text with visible cell separators and at most one blank line between paragraphs."""
    text = text.replace("\t\t", " | ").replace(_TAB, "\t")
    return (_BLANK_LINES.sub("\n\n", text) if "\n\n\n" in text or " \n" in text else text).strip()


def _find_root(survey: _Survey, body: LexborNode) -> LexborNode | None:
    """Return the one element that is the content; None if no candidate is unique and long enough."""
    # Several elements of one rank are teasers of a list, not the content.
    for nodes in survey.roots:
        if len(nodes) == 1 and visible_size(nodes[0].text()) >= _MIN_ROOT_CHARACTERS and not _is_menu(nodes[0], body):
            return nodes[0]
    return None


def _is_menu(root: LexborNode, body: LexborNode) -> bool:
    """True if an element is nearly all links, and most text outside links is elsewhere in the document."""
    prose = _prose_size(root)
    return prose <= _MAX_MENU_PROSE_SHARE * visible_size(root.text()) and _prose_size(body) - prose >= max(
        _MIN_OUTSIDE_CHARACTERS, prose
    )


def _prose_size(root: LexborNode) -> int:
    """Return the number of characters outside links."""
    return visible_size(root.text()) - link_size(root, "a[href]")


def _remove_small(nodes: list[LexborNode], limit: int, before: AbstractSet[int]) -> AbstractSet[int]:
    """Remove elements of at most `limit` characters, which therefore cannot hold the content.

    `before` has the ids of elements that were removed earlier. Returns the ids removed now: they must not be touched
    again.
    """
    removed_ids: set[int] = set()
    remaining = [node for node in nodes if node.mem_id not in before]
    small_nodes = []
    for node, text in zip(remaining, iter_texts(remaining), strict=False):
        if node.mem_id not in removed_ids and visible_size(text) <= limit:
            removed_ids.update(inner.mem_id for inner in node.css("*"))
            small_nodes.append(node)
    for node in small_nodes:
        node.decompose()
    return removed_ids


def iter_texts(nodes: Iterable[LexborNode], separator: str = "") -> Iterator[str]:
    """Yield the text of each element; end early if nested elements repeat the text of a document too often."""
    remaining = _MAX_READ_CHARACTERS
    for node in nodes:
        text = node.text(separator=separator)
        remaining -= len(text)
        if remaining < 0:  # hostile: a thousand nested elements with the same text
            return
        yield text


def link_size(root: LexborNode | LexborHTMLParser, selector: str) -> int:
    """Return the number of characters of all elements that a selector of links matches."""
    return visible_size("".join(iter_texts(root.css(selector))))


def _main_text(root: LexborNode, prose: int) -> str:
    """Return Resiliparse's main content, or all text if that is too short for `prose` characters outside links."""
    text = _render(root, main_content=True)
    size = visible_size(text)
    if size >= _MIN_MAIN_CHARACTERS and size >= (0.2 if size >= _SHORT_MAIN_CHARACTERS else 0.5) * prose:
        return text
    return max(text, _full_text(root), key=len)


def _full_text(root: LexborNode) -> str:
    """Return all text of an element, without boilerplate that the markup declares."""
    for node in root.css(_BOILERPLATE):
        # A header with the main heading belongs to the content.
        if node.css_first("h1") is None:
            node.decompose()
    return _render(root, main_content=False)


def _render(root: LexborNode, *, main_content: bool) -> str:
    """Return the text of an element, after repairs of markup that Resiliparse misreads."""
    html = flatten_nesting(root.html or "")
    if 'href="#' in html:
        html = _HEADING_ANCHOR.sub(_strip_self_link, html)
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


def _strip_self_link(heading: re.Match[str]) -> str:
    """Return a heading without its link to itself, which would make it look like a menu; its paragraph sign is
    dropped.
    """
    inner = heading[2]
    return heading[1] + ("" if inner in ("¶", "#", "§") else inner) + heading[3]
