"""Outgoing links of a page: the properties links, categories, images and extlinks of `action=query`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.params import Ask
from webemu.api.wiki.property_page import Entry, Filled, portioned
from webemu.api.wiki.titles import namespace, title_of
from webemu.emulator import urls
from webemu.emulator.article import Article

Named = tuple[int, str]
"""Namespace number and title."""


def links(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=links`, red links included; a redirect links to its target."""
    spaces = ask.namespaces("plnamespace", "*")
    return portioned(ask, "links", "pl", [_items(_links(ask, entry), spaces) for entry in entries])


def _links(ask: Ask, entry: Entry) -> list[Named]:
    if entry.article:
        return inside(ask.host, entry.article, entry.article.links)
    return [(entry.found.space, entry.found.title)] if entry.found else []


def categories(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=categories`; `clshow` selects hidden or other ones."""
    return portioned(ask, "categories", "cl", [_items(_categories(ask, entry.article)) for entry in entries])


def _categories(ask: Ask, article: Article | None) -> list[Named]:
    if article is None:
        return []
    shown = ask.values("clshow")
    normal = article.categories if "hidden" not in shown else ()
    hidden = article.hidden_categories if "!hidden" not in shown else ()
    return inside(ask.host, article, (*normal, *hidden))


def images(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=images`."""
    found = [inside(ask.host, e.article, e.article.images) if e.article else [] for e in entries]
    return portioned(ask, "images", "im", [_items(titles) for titles in found])


def extlinks(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=extlinks`."""
    found = [outside(ask.host, entry.article) if entry.article else [] for entry in entries]
    return portioned(ask, "extlinks", "el", [[{"url*": url} for url in of_page] for of_page in found])


def outside(host: str, article: Article) -> list[str]:
    """Return the URLs outside the wiki that the article links to."""
    return [url for url in article.links if urls.host(url) != host]


def inside(host: str, article: Article, addresses: Iterable[str]) -> list[Named]:
    """Return the distinct pages of the wiki among URLs that stand in the article; special pages are left out."""
    spaces = _own_names(host, article)
    titles = dict.fromkeys(title for url in addresses if (title := title_of(url, host)))
    found = [(spaces.get(title.partition(":")[0], namespace(title)), title) for title in titles]
    return [one for one in found if one[0] >= 0]


def _own_names(host: str, article: Article) -> dict[str, int]:
    """Return namespace numbers by local name, such as `Kategorie`, learned from the article's own categories and
    images.
    """
    shown = [(14, article.categories), (14, article.hidden_categories), (6, article.images)]
    titles = [(space, title_of(of_kind[0], host)) for space, of_kind in shown if of_kind]
    return {title.partition(":")[0]: space for space, title in titles if ":" in title}


def _items(named: Iterable[Named], spaces: frozenset[int] | None = None) -> list[Tree]:
    return [{"ns": space, "title": title} for space, title in sorted(named) if spaces is None or space in spaces]
