"""Rewrites a captured page for archive replay: everything it links to or loads leads into the archive.

Pure functions that raise nothing; hostile markup is cut by `webemu.index.markup`. Scripts are left as they are: the
server has to forbid them to run, and requests to other hosts, by its headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.markup import limit_markup

LinkRewriter = Callable[[str, str], str]
"""Returns the archive URL of an absolute URL, given the kind of resource: `im_`, `cs_`, `js_`, …"""
_ReferenceRewriter = Callable[[str, str], str]
"""The same for a reference as written in the page; a reference that leads nowhere is returned unchanged."""

_LINK_ATTRIBUTES = frozenset(
    "href xlink:href src action formaction poster data background cite longdesc lowsrc dynsrc codebase".split()
)
_DROPPED_ATTRIBUTES = frozenset("ping integrity crossorigin manifest shadowrootmode".split())
"""Attributes that contact other hosts, check bytes that are changed now, or hide links in another tree."""
_KINDS = {
    "img": "im_",
    "image": "im_",
    "input": "im_",
    "script": "js_",
    "iframe": "if_",
    "frame": "if_",
    "object": "oe_",
    "embed": "oe_",
    "audio": "oe_",
    "video": "oe_",
    "source": "oe_",
    "track": "oe_",
}
_WITH_HOST = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CANDIDATE = re.compile(r"([^\s,]\S*[^\s,]|[^\s,])(\s+[^,]*)?")
_REFRESH = re.compile(r"(?is)([\s\d.]*[;,\s]\s*(?:url\s*=\s*)?[\"']?)([^\"']*)(.*)")
_CSS_URL = re.compile(
    r"""(?i:(?:@import\s+)?url\(\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'()]*))\s*\)|@import\s+(?:"([^"\n]*)"|'([^'\n]*)'))"""
)
_CSS_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))")
_MAX_FRAME_DEPTH = 3
"""Deepest nesting of `srcdoc` documents that is rewritten."""


def rewrite_links(html: str, url: str, link: LinkRewriter) -> str:
    """Return the document with links, forms, images, styles and frames that lead into the archive."""
    return _rewrite_document(html, url, link, _MAX_FRAME_DEPTH)


def rewrite_css_links(css: str, url: str, link: LinkRewriter) -> str:
    """Return a style sheet with URLs that lead into the archive."""
    return _rewrite_css(css, partial(_rewrite_reference, url, link))


def _rewrite_document(html: str, url: str, link: LinkRewriter, frames: int) -> str:
    tree = LexborHTMLParser(limit_markup(html)[0])
    base_node = tree.css_first("base[href]")
    base = _join(url, (base_node.attributes.get("href") or "") if base_node else "") or url
    rewrite = partial(_rewrite_reference, base, link)
    for node in tree.css("*"):
        if node.tag == "meta":
            _rewrite_meta(node, rewrite)
        elif node.tag == "style" and (css := node.text()) and (new_css := _rewrite_css(css, rewrite)) != css:
            node.inner_html = new_css
        if attributes := node.attributes:
            _rewrite_element(node, attributes, rewrite)
            if srcdoc := attributes.get("srcdoc"):
                # Frames may nest in frames: beyond the limit they are emptied.
                node.attrs["srcdoc"] = _rewrite_document(srcdoc, base, link, frames - 1) if frames else ""
    return tree.html or ""


def _rewrite_element(node: LexborNode, attributes: dict[str, str | None], rewrite: _ReferenceRewriter) -> None:
    """Rewrite the attributes of an element."""
    for name, value in attributes.items():
        if name in _DROPPED_ATTRIBUTES:
            del node.attrs[name]
        elif not value:
            continue
        elif name in _LINK_ATTRIBUTES:
            node.attrs[name] = rewrite(value, _resource_kind(node.tag or "", name, attributes))
        elif name in ("srcset", "imagesrcset"):
            node.attrs[name] = _CANDIDATE.sub(lambda match: rewrite(match[1], "im_") + (match[2] or ""), value)
        elif name == "style":
            node.attrs[name] = _rewrite_css(value, rewrite)


def _resource_kind(tag: str, name: str, attributes: dict[str, str | None]) -> str:
    """Return the kind of resource that an attribute refers to; empty for a document."""
    if name in ("poster", "background"):
        return "im_"
    if tag == "link":
        rel = (attributes.get("rel") or "").lower()
        return "cs_" if "stylesheet" in rel else "im_" if "icon" in rel else ""
    return _KINDS.get(tag, "")


def _rewrite_meta(node: LexborNode, rewrite: _ReferenceRewriter) -> None:
    """Rewrite a refresh; disable a content security policy."""
    match (node.attributes.get("http-equiv") or "").strip().lower():
        case "refresh" if match := _REFRESH.fullmatch(node.attributes.get("content") or ""):
            node.attrs["content"] = match[1] + (match[2] and rewrite(match[2], "")) + match[3]
        case "content-security-policy":  # it names hosts of the live web, none of which is contacted here
            node.attrs["http-equiv"] = ""


def _rewrite_css(css: str, rewrite: _ReferenceRewriter) -> str:
    """Return CSS with its URLs and imports rewritten."""

    def rewrite_match(match: re.Match[str]) -> str:
        target = _CSS_ESCAPE.sub(_unescape, next((group for group in match.groups() if group), ""))
        is_import = match[0][0] == "@"
        if (new_url := rewrite(target, "cs_" if is_import else "im_")) == target:
            return match[0]
        quoted = new_url.replace("\\", "%5C").replace('"', "%22").replace("<", "%3C").replace("\n", "")
        return f'@import "{quoted}"' if is_import else f'url("{quoted}")'

    return _CSS_URL.sub(rewrite_match, css)


def _unescape(match: re.Match[str]) -> str:
    """Return the character of a CSS escape."""
    code = int(match[1], 16) if match[1] else 0
    return chr(code) if 0 < code < 0xD800 else match[2] or ""


def _rewrite_reference(base: str, link: LinkRewriter, reference: str, kind: str) -> str:
    """Return the archive URL of a reference in a document with this base URL."""
    reference = reference.strip()
    if not reference or reference.startswith("#"):
        return reference
    target = _join(base, reference)
    if not _WITH_HOST.match(target):  # data:, mailto: and javascript: have no host to be archived
        return reference if target else "#"
    target, hash_mark, fragment = target.partition("#")
    return link(target, kind) + hash_mark + fragment


def _join(base: str, reference: str) -> str:
    """Return an absolute URL; empty if the reference is malformed."""
    try:
        return str(ada_url.join_url(base, reference.strip()))
    except ValueError:
        return ""
