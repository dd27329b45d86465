"""Takes a captured MediaWiki page apart: sections, prose, links, categories. Computed from its HTML on request.

Pure functions that raise nothing; hostile markup is cut by `webemu.index.markup`. Prose is what TextExtracts leaves of
a page (its `ExtractsRemoveClasses`): no tables, boxes, images, references. The selectors are those of MediaWiki 1.16
to 1.45 in the skins of Wikimedia and Fandom.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.emulator import urls
from webemu.emulator.article import Article, Section
from webemu.index.markup import limit_markup

MAX_SECTIONS, MAX_LINKS = 1000, 20_000
MAX_TAGS = 200_000
"""Tags of a page that are read; the longest articles of Wikipedia have fewer."""
_MEDIAWIKI_MARKS = re.compile(r"""content=["']MediaWiki |\bmw-content-text\b|\bmw-parser-output\b""")
_GENERATOR = "meta[name=generator][content^=MediaWiki]"
_CONTENT = ("#mw-content-text > .mw-parser-output", "#mw-content-text .mw-parser-output", "#mw-content-text")
_OLD_CONTENT = ("#bodyContent", "#content")
"""Content elements of pages that only the generator identifies as MediaWiki."""
_NOT_CONTENT = "#catlinks, .catlinks, .printfooter, #siteSub, #contentSub, #jump-to-nav, .mw-indicators, script"
_NOT_PROSE = (
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
_BLOCK_SEPARATOR = "\x1e"
"""Separator put between blocks; the result of `limit_markup` does not need the character."""
_NAMESPACE = re.compile(r"(?:^|\s)ns-(-?\d{1,4})(?:\s|$)")


def parse_article(html: str, url: str) -> Article | None:
    """Return the page as MediaWiki made it; None if it is not a MediaWiki page."""
    if not _MEDIAWIKI_MARKS.search(html):
        return None
    tree = LexborHTMLParser(_strip_sections(limit_markup(html)[0]))
    content = _find_content(tree)
    if content is None:
        return None
    categories, hidden = (
        _link_targets(tree.css(f"#mw-{kind}-catlinks li a[href]"), url) for kind in ("normal", "hidden")
    )
    display = _inner_html(tree, "#firstHeading, h1.page-header__title, h1")
    disambiguation = tree.css_first(_DISAMBIGUATION) is not None
    description = _node_text(content.css_first(".shortdescription"))
    # After categories are read: they are inside the elements that are removed here.
    for node in content.css(_NOT_CONTENT):
        node.decompose()
    images = _link_targets(content.css(_PICTURES), url)
    anchors = content.css(f"a[href]:not({_PICTURES})")
    return Article(
        display_title=display,
        canonical_url=_join_url(url, _find_attribute(tree, "link[rel=canonical]", "href")),
        namespace=_find_namespace(tree),
        language=_declared_attribute(content, tree, "lang"),
        direction=_declared_attribute(content, tree, "dir"),
        description=description,
        site=_site_name(tree, display),
        generator=_find_attribute(tree, _GENERATOR, "content"),
        is_disambiguation=disambiguation,
        start_tag=_opening_tag(content),
        sections=tuple(_split_sections(content)),
        links=_link_targets(anchors, url),
        red_links=frozenset(_link_targets([a for a in anchors if _is_red_link(a)], url)),
        images=images,
        categories=categories,
        hidden_categories=hidden,
    )


def _strip_sections(html: str) -> str:
    """Return the markup without `<section>` tags, which would hide headings, cut after MAX_TAGS tags."""
    parts = html.split("<", MAX_TAGS)
    return _SECTION.sub("", html if len(parts) <= MAX_TAGS else "<".join(parts[:-1]))


def _find_content(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the content element; None if there is none."""
    selectors = _CONTENT + (_OLD_CONTENT if tree.css_first(_GENERATOR) else ())
    candidates = (tree.css_first(selector) for selector in selectors)
    return next((node for node in candidates if node is not None), None)


def _opening_tag(content: LexborNode) -> str:
    """Return the opening tag of the content, with its class, language and direction."""
    attributes = {"class": "mw-parser-output", **content.attributes}
    attribute_texts = (
        f'{name}="{escape(attributes[name] or "")}"' for name in ("class", "lang", "dir") if name in attributes
    )
    return f"<div {' '.join(attribute_texts)}>"


def _split_sections(content: LexborNode) -> list[Section]:
    """Return the content split at the headings that are not inside a box."""
    parts: list[tuple[LexborNode | None, list[str]]] = [(None, [])]
    for node in content.iter(include_text=True):
        heading = _find_heading(node)
        if heading is not None and len(parts) < MAX_SECTIONS:
            parts.append((heading, []))
        parts[-1][1].append(node.html or "")
    return [_build_section(heading, pieces) for heading, pieces in parts]


def _find_heading(node: LexborNode) -> LexborNode | None:
    """Return the heading that the node is, or wraps (MediaWiki 1.43); None if it is no heading."""
    if node.tag == "div" and "mw-heading" in (node.attributes.get("class") or "").split():
        return node.css_first("h1, h2, h3, h4, h5, h6")
    return node if _HEADING.fullmatch(node.tag or "") else None


def _build_section(heading: LexborNode | None, pieces: list[str]) -> Section:
    """Return a section from its heading and the markup of its nodes."""
    body = "".join(pieces if heading is None else pieces[1:])
    extract, text = _extract_prose(body)
    if heading is None:
        return Section(0, "", "", body, extract, text)
    level = int((heading.tag or "h2")[1])
    line, anchor = _heading_line(heading)
    return Section(level, line, anchor, "".join(pieces), extract, text)


def _heading_line(heading: LexborNode) -> tuple[str, str]:
    """Return (words, anchor) of a heading, without its edit link."""
    headline = heading.css_first(".mw-headline")
    if headline is not None:
        return _node_text(headline), headline.attributes.get("id") or ""
    words = _node_text(heading)
    for node in heading.css(".mw-editsection, .editsection"):
        words = words.replace(_node_text(node), "", 1).strip()
    return words, heading.attributes.get("id") or words.replace(" ", "_")


def _extract_prose(html: str) -> tuple[str, str]:
    """Return (plain HTML, text) of the prose in a piece of content."""
    tree = LexborHTMLParser(f"<!doctype html><body>{html}")
    for node in tree.css(_NOT_PROSE):
        node.decompose()
    body = tree.body
    if body is None:
        return "", ""
    extract = _INLINE.sub("", body.inner_html or "").strip()
    for node in body.css(_BLOCKS):
        node.insert_before(_BLOCK_SEPARATOR)
        node.insert_after(_BLOCK_SEPARATOR)
    lines = (" ".join(part.split()) for part in body.text().split(_BLOCK_SEPARATOR))
    return extract, "\n".join(line for line in lines if line)


def _link_targets(anchors: Iterable[LexborNode], url: str) -> tuple[str, ...]:
    """Return the distinct absolute URLs of the links, without links into the page itself."""
    distinct_urls: dict[str, None] = {}
    for anchor in anchors:
        reference = anchor.attributes.get("href") or ""
        if not reference.startswith("#") and (target := _join_url(url, reference)).startswith(("http://", "https://")):
            distinct_urls[target] = None
        if len(distinct_urls) == MAX_LINKS:
            break
    return tuple(distinct_urls)


def _join_url(url: str, reference: str) -> str:
    """Return an absolute URL; empty for an empty reference."""
    return urls.resolve(url, reference) if reference else ""


def _is_red_link(anchor: LexborNode) -> bool:
    """True if a link leads to a page that nobody has written (a red link)."""
    return "new" in (anchor.attributes.get("class") or "").split()


def _node_text(node: LexborNode | None) -> str:
    """Return the text of a node with normalised blanks."""
    return " ".join(node.text().split()) if node is not None else ""


def _inner_html(tree: LexborHTMLParser, selector: str) -> str:
    node = tree.css_first(selector)
    return (node.inner_html or "").strip() if node is not None else ""


def _find_attribute(tree: LexborHTMLParser, selector: str, name: str) -> str:
    node = tree.css_first(selector)
    return (node.attributes.get(name) or "").strip() if node is not None else ""


def _declared_attribute(content: LexborNode, tree: LexborHTMLParser, name: str) -> str:
    """Return an attribute of the content, else of an element around it."""
    return content.attributes.get(name) or _find_attribute(tree, f"#mw-content-text[{name}], html[{name}]", name)


def _find_namespace(tree: LexborHTMLParser) -> int | None:
    """Return MediaWiki's namespace number; None if the page does not state it."""
    match = _NAMESPACE.search(_find_attribute(tree, "body[class]", "class"))
    return int(match[1]) if match else None


def _site_name(tree: LexborHTMLParser, display: str) -> str:
    """Return the name of the site: as it states it, else the common ending of its page titles, without a motto."""
    if site_name := _find_attribute(tree, "meta[property='og:site_name']", "content"):
        return site_name
    heading = _node_text(LexborHTMLParser(f"<body>{display}").body)
    title = _node_text(tree.css_first("title"))
    title_rest = title[len(heading) :].strip() if title.startswith(heading) else ""
    return title_rest.lstrip("-–—| ").partition(", ")[0] if title_rest[:1] in ("-", "–", "—", "|") else ""
