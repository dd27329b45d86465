"""Takes a captured MediaWiki page apart: sections, prose, links, categories. Computed from its HTML on request.

Pure functions that raise nothing; hostile markup is cut by `webemu.index.markup`. Prose is what TextExtracts leaves of a page
(its `ExtractsRemoveClasses`): no tables, boxes, images, references. The selectors are those of MediaWiki 1.16 to 1.45
in the skins of Wikimedia and Fandom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.emulator import urls
from webemu.emulator.article import Article, Section
from webemu.index.markup import bounded

MAX_SECTIONS, MAX_LINKS = 1000, 20_000
MAX_TAGS = 200_000
"""Tags of a page that are read; the longest articles of Wikipedia have fewer."""
_MARKS = re.compile(r"""content=["']MediaWiki |\bmw-content-text\b|\bmw-parser-output\b""")
_GENERATOR = "meta[name=generator][content^=MediaWiki]"
_CONTENT = ("#mw-content-text > .mw-parser-output", "#mw-content-text .mw-parser-output", "#mw-content-text")
_OLD_CONTENT = ("#bodyContent", "#content")
"""Content elements of pages that only the generator identifies as MediaWiki."""
_FOREIGN = "#catlinks, .catlinks, .printfooter, #siteSub, #contentSub, #jump-to-nav, .mw-indicators, script"
_NO_PROSE = (
    "table, div, aside, figure, img, script, input, style, link, ul.gallery, .mw-editsection, .editsection, "
    "sup.reference, ol.references, .error, .nomobile, .noprint, .noexcerpt, .sortkey, .mw-empty-elt"
)
_BLOCKS = "p, li, dt, dd, blockquote, pre, br, center, h1, h2, h3, h4, h5, h6"
_SECTION = re.compile(r"</?section\b[^<>]*+>", re.IGNORECASE)
_INLINE = re.compile(r"""</?(?:a|span|font)(?:\s(?:[^">]|"[^"]*+")*+)?>""")
"""Inline tags, removed as text: unwrapping nested elements takes quadratic time. A serializer quotes with `"` alone."""
_HEADING = re.compile("h[1-6]")
_PICTURES = "a.image[href], a.mw-file-description[href]"
_DISAMBIGUATION = "#disambigbox, .dmbox-disambig, .disambigbox, .disambig, [id^=disambig]"
_PARTING = "\x1e"
"""Separator put between blocks; the result of `limit_markup` does not need the character."""
_NAMESPACE = re.compile(r"(?:^|\s)ns-(-?\d{1,4})(?:\s|$)")


def article(html: str, url: str) -> Article | None:
    """Return the page as MediaWiki made it; None if it is not a MediaWiki page."""
    if not _MARKS.search(html):
        return None
    tree = LexborHTMLParser(_flat(bounded(html)[0]))
    content = _content(tree)
    if content is None:
        return None
    categories, hidden = (_targets(tree.css(f"#mw-{kind}-catlinks li a[href]"), url) for kind in ("normal", "hidden"))
    display = _inner(tree, "#firstHeading, h1.page-header__title, h1")
    disambiguation = tree.css_first(_DISAMBIGUATION) is not None
    description = _text(content.css_first(".shortdescription"))
    # After categories are read: they are inside the elements that are removed here.
    for node in content.css(_FOREIGN):
        node.decompose()
    images = _targets(content.css(_PICTURES), url)
    anchors = content.css(f"a[href]:not({_PICTURES})")
    return Article(
        display=display,
        canonical=_join(url, _attribute(tree, "link[rel=canonical]", "href")),
        namespace=_namespace(tree),
        language=_declared(content, tree, "lang"),
        direction=_declared(content, tree, "dir"),
        description=description,
        site=_site(tree, display),
        generator=_attribute(tree, _GENERATOR, "content"),
        disambiguation=disambiguation,
        opening=_opening(content),
        sections=tuple(_sections(content)),
        links=_targets(anchors, url),
        unwritten=frozenset(_targets([a for a in anchors if _is_unwritten(a)], url)),
        images=images,
        categories=categories,
        hidden_categories=hidden,
    )


def _flat(html: str) -> str:
    """Return the markup without `<section>` tags, which would hide headings, cut after MAX_TAGS tags."""
    parts = html.split("<", MAX_TAGS)
    return _SECTION.sub("", html if len(parts) <= MAX_TAGS else "<".join(parts[:-1]))


def _content(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the content element; None if there is none."""
    selectors = _CONTENT + (_OLD_CONTENT if tree.css_first(_GENERATOR) else ())
    found = (tree.css_first(selector) for selector in selectors)
    return next((node for node in found if node is not None), None)


def _opening(content: LexborNode) -> str:
    """Return the opening tag of the content, with its class, language and direction."""
    attributes = {"class": "mw-parser-output", **content.attributes}
    said = (f'{name}="{escape(attributes[name] or "")}"' for name in ("class", "lang", "dir") if name in attributes)
    return f"<div {' '.join(said)}>"


def _sections(content: LexborNode) -> list[Section]:
    """Return the content split at the headings that are not inside a box."""
    parts: list[tuple[LexborNode | None, list[str]]] = [(None, [])]
    for node in content.iter(include_text=True):
        heading = _heading(node)
        if heading is not None and len(parts) < MAX_SECTIONS:
            parts.append((heading, []))
        parts[-1][1].append(node.html or "")
    return [_section(heading, pieces) for heading, pieces in parts]


def _heading(node: LexborNode) -> LexborNode | None:
    """Return the heading that the node is, or wraps (MediaWiki 1.43); None if it is no heading."""
    if node.tag == "div" and "mw-heading" in (node.attributes.get("class") or "").split():
        return node.css_first("h1, h2, h3, h4, h5, h6")
    return node if _HEADING.fullmatch(node.tag or "") else None


def _section(heading: LexborNode | None, pieces: list[str]) -> Section:
    """Return a section from its heading and the markup of its nodes."""
    body = "".join(pieces if heading is None else pieces[1:])
    extract, text = _prose(body)
    if heading is None:
        return Section(0, "", "", body, extract, text)
    level = int((heading.tag or "h2")[1])
    line, anchor = _line(heading)
    return Section(level, line, anchor, "".join(pieces), extract, text)


def _line(heading: LexborNode) -> tuple[str, str]:
    """Return (words, anchor) of a heading, without its edit link."""
    headline = heading.css_first(".mw-headline")
    if headline is not None:
        return _text(headline), headline.attributes.get("id") or ""
    words = _text(heading)
    for node in heading.css(".mw-editsection, .editsection"):
        words = words.replace(_text(node), "", 1).strip()
    return words, heading.attributes.get("id") or words.replace(" ", "_")


def _prose(html: str) -> tuple[str, str]:
    """Return (plain HTML, text) of the prose in a piece of content."""
    tree = LexborHTMLParser(f"<!doctype html><body>{html}")
    for node in tree.css(_NO_PROSE):
        node.decompose()
    body = tree.body
    if body is None:
        return "", ""
    extract = _INLINE.sub("", body.inner_html or "").strip()
    for node in body.css(_BLOCKS):
        node.insert_before(_PARTING)
        node.insert_after(_PARTING)
    lines = (" ".join(part.split()) for part in body.text().split(_PARTING))
    return extract, "\n".join(line for line in lines if line)


def _targets(anchors: Iterable[LexborNode], url: str) -> tuple[str, ...]:
    """Return the distinct absolute URLs of the links, without links into the page itself."""
    found: dict[str, None] = {}
    for anchor in anchors:
        reference = anchor.attributes.get("href") or ""
        if not reference.startswith("#") and (target := _join(url, reference)).startswith(("http://", "https://")):
            found[target] = None
        if len(found) == MAX_LINKS:
            break
    return tuple(found)


def _join(url: str, reference: str) -> str:
    """Return an absolute URL; empty for an empty reference."""
    return urls.resolve(url, reference) if reference else ""


def _is_unwritten(anchor: LexborNode) -> bool:
    """True if a link leads to a page that nobody has written (a red link)."""
    return "new" in (anchor.attributes.get("class") or "").split()


def _text(node: LexborNode | None) -> str:
    """Return the text of a node with normalised blanks."""
    return " ".join(node.text().split()) if node is not None else ""


def _inner(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    return (node.inner_html or "").strip() if node is not None else ""


def _attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node is not None else ""


def _declared(content: LexborNode, tree: LexborHTMLParser, name: str) -> str:
    """Return an attribute of the content, else of an element around it."""
    return content.attributes.get(name) or _attribute(tree, f"#mw-content-text[{name}], html[{name}]", name)


def _namespace(tree: LexborHTMLParser) -> int | None:
    """Return MediaWiki's namespace number; None if the page does not state it."""
    found = _NAMESPACE.search(_attribute(tree, "body[class]", "class"))
    return int(found[1]) if found else None


def _site(tree: LexborHTMLParser, display: str) -> str:
    """Return the name of the site: as it states it, else the common ending of its page titles, without a motto."""
    if named := _attribute(tree, "meta[property='og:site_name']", "content"):
        return named
    heading = _text(LexborHTMLParser(f"<body>{display}").body)
    title = _text(tree.css_first("title"))
    rest = title[len(heading) :].strip() if title.startswith(heading) else ""
    return rest.lstrip("-–—| ").partition(", ")[0] if rest[:1] in ("-", "–", "—", "|") else ""
