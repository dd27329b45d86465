"""The links of a document: absolute http(s) targets with anchor text, resolved as browsers do (url.spec.whatwg.org)."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.content import size_of, texts_of
from webemu.ingest.extract.types import Link

MAX_LINKS = 5000
MAX_ANCHOR = 300
_MAX_HREF = 4096
_CACHED_HREF = 256
_DEAD_SCHEMES = ("javascript:", "mailto:", "data:", "tel:")


def join(base: str, reference: str) -> str:
    """Absolute http(s) URL of a reference, empty if there is none."""
    try:
        target = str(ada_url.join_url(base, reference))
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://")) else ""


_join_cached = lru_cache(maxsize=65_536)(join)


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """What references are relative to: <base href>, else the document's own URL."""
    node = tree.css_first("base[href]")
    return (join(url, (node.attributes.get("href") or "").strip()) if node else "") or url


def links_of(tree: LexborHTMLParser, url: str, base: str) -> tuple[list[Link], int]:
    """(links in document order without repeats or links to itself, non-blank characters of all anchors)."""
    folder = join(base, ".") or base
    own = url.partition("#")[0]
    found: dict[tuple[str, str], str] = {}
    texts: list[str] = []
    nodes = tree.css("a[href],area[href]")
    for node, text in zip(nodes, chain(texts_of(nodes), repeat("")), strict=False):
        texts.append(text)
        attributes = node.attributes
        target = _target(base, folder, attributes["href"] or "")
        if not target or target == own or len(found) >= MAX_LINKS:
            continue
        anchor = " ".join(text.split())[:MAX_ANCHOR] or _described(node, attributes)
        found.setdefault((target, anchor), attributes.get("rel") or "")
    return [(target, anchor, rel) for (target, anchor), rel in found.items()], size_of("".join(texts))


def _target(base: str, folder: str, href: str) -> str:
    reference = href.partition("#")[0].strip()
    if not reference or len(reference) > _MAX_HREF or reference[:11].lower().startswith(_DEAD_SCHEMES):
        return ""
    if reference[0] == "?":
        return join(base, reference)
    # All pages of a folder resolve a reference alike, so a site's navigation is joined once.
    return _join_cached(folder, reference) if len(reference) <= _CACHED_HREF else join(folder, reference)


def _described(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """Anchor text of a link without text: its image's description, else its own."""
    image = node.css_first("img[alt]")
    text = (image.attributes.get("alt") if image else None) or attributes.get("alt") or attributes.get("aria-label")
    return " ".join((text or attributes.get("title") or "").split())[:MAX_ANCHOR]
