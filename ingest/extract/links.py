"""Links of a document: absolute http(s) targets with anchor text, resolved as browsers do (url.spec.whatwg.org)."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.content import size_of, texts_of
from webemu.ingest.extract.types import Link

MAX_LINKS = 5000
"""Links kept per document."""
MAX_ANCHOR = 300
"""Longest anchor text kept, in characters."""
_MAX_HREF = 4096
"""Longest reference that is resolved, in characters; longer ones are dropped."""
_CACHED_HREF = 256
"""Longest reference that is cached, in characters: long ones rarely repeat."""
_DEAD_SCHEMES = ("javascript:", "mailto:", "data:", "tel:")


def join(base: str, reference: str) -> str:
    """Return the absolute http(s) URL of a reference, or an empty string if it has none.

    join_url("http://example.org/a/b", "../c")  # "http://example.org/c"
    """
    try:
        target = str(ada_url.join_url(base, reference))
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://")) else ""


_join_cached = lru_cache(maxsize=65_536)(join)


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """Return the URL that references are relative to: `<base href>`, else the document's own URL."""
    node = tree.css_first("base[href]")
    return (join(url, (node.attributes.get("href") or "").strip()) if node else "") or url


def links_of(tree: LexborHTMLParser, url: str, base: str) -> tuple[list[Link], int]:
    """Return (links in document order, number of non-blank characters of all anchors).

    Repeated links and links to the document itself are left out of the list; their anchors are counted.
    """
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
    """Return the absolute URL of an href, or an empty string if it leads nowhere."""
    reference = href.partition("#")[0].strip()
    if not reference or len(reference) > _MAX_HREF or reference[:11].lower().startswith(_DEAD_SCHEMES):
        return ""
    if reference[0] == "?":
        return join(base, reference)
    # Pages in one folder resolve a reference to the same URL, so a cache by folder joins a site's navigation once.
    return _join_cached(folder, reference) if len(reference) <= _CACHED_HREF else join(folder, reference)


def _described(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """Return the anchor text of a link without text: the description of its image, else its own attributes."""
    image = node.css_first("img[alt]")
    text = (image.attributes.get("alt") if image else None) or attributes.get("alt") or attributes.get("aria-label")
    return " ".join((text or attributes.get("title") or "").split())[:MAX_ANCHOR]
