"""Rewrites a captured page for archive replay: everything it links to or loads leads into the archive.

Pure functions that raise nothing; hostile markup is cut by `webemu.index.markup`. Scripts are left as they are: the server
has to forbid them to run, and requests to other hosts, by its headers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.markup import bounded

Link = Callable[[str, str], str]
"""Returns the archive URL of an absolute URL, given the kind of resource: `im_`, `cs_`, `js_`, …"""
_Rewrite = Callable[[str, str], str]
"""The same for a reference as written in the page; a reference that leads nowhere is returned unchanged."""

_LEADING = frozenset(
    "href xlink:href src action formaction poster data background cite longdesc lowsrc dynsrc codebase".split()
)
_DROPPED = frozenset("ping integrity crossorigin manifest shadowrootmode".split())
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
_FRAMES = 3
"""Deepest nesting of `srcdoc` documents that is rewritten."""


def replayed(html: str, url: str, link: Link) -> str:
    """Return the document with links, forms, images, styles and frames that lead into the archive."""
    return _document(html, url, link, _FRAMES)


def replayed_css(css: str, url: str, link: Link) -> str:
    """Return a style sheet with URLs that lead into the archive."""
    return _css(css, partial(_rewritten, url, link))


def _document(html: str, url: str, link: Link, frames: int) -> str:
    tree = LexborHTMLParser(bounded(html)[0])
    base_node = tree.css_first("base[href]")
    base = _join(url, (base_node.attributes.get("href") or "") if base_node else "") or url
    rewrite = partial(_rewritten, base, link)
    for node in tree.css("*"):
        if node.tag == "meta":
            _meta(node, rewrite)
        elif node.tag == "style" and (css := node.text()) and (new := _css(css, rewrite)) != css:
            node.inner_html = new
        if attributes := node.attributes:
            _element(node, attributes, rewrite)
            if srcdoc := attributes.get("srcdoc"):
                # Frames may nest in frames: beyond the limit they are emptied.
                node.attrs["srcdoc"] = _document(srcdoc, base, link, frames - 1) if frames else ""
    return tree.html or ""


def _element(node: LexborNode, attributes: dict[str, str | None], rewrite: _Rewrite) -> None:
    """Rewrite the attributes of an element."""
    for name, value in attributes.items():
        if name in _DROPPED:
            del node.attrs[name]
        elif not value:
            continue
        elif name in _LEADING:
            node.attrs[name] = rewrite(value, _kind(node.tag or "", name, attributes))
        elif name in ("srcset", "imagesrcset"):
            node.attrs[name] = _CANDIDATE.sub(lambda found: rewrite(found[1], "im_") + (found[2] or ""), value)
        elif name == "style":
            node.attrs[name] = _css(value, rewrite)


def _kind(tag: str, name: str, attributes: dict[str, str | None]) -> str:
    """Return the kind of resource that an attribute refers to; empty for a document."""
    if name in ("poster", "background"):
        return "im_"
    if tag == "link":
        rel = (attributes.get("rel") or "").lower()
        return "cs_" if "stylesheet" in rel else "im_" if "icon" in rel else ""
    return _KINDS.get(tag, "")


def _meta(node: LexborNode, rewrite: _Rewrite) -> None:
    """Rewrite a refresh; disable a content security policy."""
    match (node.attributes.get("http-equiv") or "").strip().lower():
        case "refresh" if found := _REFRESH.fullmatch(node.attributes.get("content") or ""):
            node.attrs["content"] = found[1] + (found[2] and rewrite(found[2], "")) + found[3]
        case "content-security-policy":  # it names hosts of the live web, none of which is contacted here
            node.attrs["http-equiv"] = ""


def _css(css: str, rewrite: _Rewrite) -> str:
    """Return CSS with its URLs and imports rewritten."""

    def moved(found: re.Match[str]) -> str:
        target = _CSS_ESCAPE.sub(_unescaped, next((group for group in found.groups() if group), ""))
        is_import = found[0][0] == "@"
        if (new := rewrite(target, "cs_" if is_import else "im_")) == target:
            return found[0]
        quoted = new.replace("\\", "%5C").replace('"', "%22").replace("<", "%3C").replace("\n", "")
        return f'@import "{quoted}"' if is_import else f'url("{quoted}")'

    return _CSS_URL.sub(moved, css)


def _unescaped(found: re.Match[str]) -> str:
    """Return the character of a CSS escape."""
    code = int(found[1], 16) if found[1] else 0
    return chr(code) if 0 < code < 0xD800 else found[2] or ""


def _rewritten(base: str, link: Link, reference: str, kind: str) -> str:
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
