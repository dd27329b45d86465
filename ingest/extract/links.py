"""Links of a document: absolute http(s) targets with anchor text, resolved as browsers do (url.spec.whatwg.org)."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat

import ada_url
from selectolax.lexbor import LexborHTMLParser, LexborNode

from webemu.index.content import iter_texts, visible_size
from webemu.ingest.extract.types import Link

MAX_LINKS = 5000
"""Links kept per document."""
MAX_ANCHOR = 300
"""Longest anchor text kept, in characters."""
_MAX_HREF = 4096
"""Longest reference that is resolved, in characters; longer ones are dropped."""
_MAX_CACHED_HREF = 256
"""Longest reference that is cached, in characters: long ones rarely repeat."""
_DEAD_SCHEMES = ("javascript:", "mailto:", "data:", "tel:")


def join_url(base: str, reference: str) -> str:
    """Return the absolute http(s) URL of a reference, or an empty string if it has none.

    join_url("http://example.org/a/b", "../c")  # "http://example.org/c"
    """
    try:
        target = str(ada_url.join_url(base, reference))
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://")) else ""


_join_url_cached = lru_cache(maxsize=65_536)(join_url)


def find_base_url(tree: LexborHTMLParser, url: str) -> str:
    """Return the URL that references are relative to: `<base href>`, else the document's own URL."""
    node = tree.css_first("base[href]")
    return (join_url(url, (node.attributes.get("href") or "").strip()) if node else "") or url


def collect_links(tree: LexborHTMLParser, url: str, base: str) -> tuple[list[Link], int]:
    """Return (links in document order, number of non-blank characters of all anchors).

    Repeated links and links to the document itself are left out of the list; their anchors are counted.
    """
    folder = join_url(base, ".") or base
    own_url = url.partition("#")[0]
    rels: dict[tuple[str, str], str] = {}
    texts: list[str] = []
    nodes = tree.css("a[href],area[href]")
    for node, text in zip(nodes, chain(iter_texts(nodes), repeat("")), strict=False):
        texts.append(text)
        attributes = node.attributes
        target = _resolve_href(base, folder, attributes["href"] or "")
        if not target or target == own_url or len(rels) >= MAX_LINKS:
            continue
        anchor = " ".join(text.split())[:MAX_ANCHOR] or _describe_link(node, attributes)
        rels.setdefault((target, anchor), attributes.get("rel") or "")
    return [(target, anchor, rel) for (target, anchor), rel in rels.items()], visible_size("".join(texts))


def _resolve_href(base: str, folder: str, href: str) -> str:
    """Return the absolute URL of an href, or an empty string if it leads nowhere."""
    reference = href.partition("#")[0].strip()
    if not reference or len(reference) > _MAX_HREF or reference[:11].lower().startswith(_DEAD_SCHEMES):
        return ""
    if reference[0] == "?":
        return join_url(base, reference)
    # Pages in one folder resolve a reference to the same URL, so a cache by folder joins a site's navigation once.
    return _join_url_cached(folder, reference) if len(reference) <= _MAX_CACHED_HREF else join_url(folder, reference)


def _describe_link(node: LexborNode, attributes: dict[str, str | None]) -> str:
    """Return the anchor text of a link without text: the description of its image, else its own attributes."""
    image = node.css_first("img[alt]")
    text = (image.attributes.get("alt") if image else None) or attributes.get("alt") or attributes.get("aria-label")
    return " ".join((text or attributes.get("title") or "").split())[:MAX_ANCHOR]
