"""Outgoing links of a page: the properties links, categories, images and extlinks of `action=query`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.property_page import PageEntry, PropertyPage, paginate
from webemu.api.wiki.titles import namespace_of, title_of
from webemu.emulator import urls
from webemu.emulator.article import Article

NamespacedTitle = tuple[int, str]
"""Namespace number and title."""


def prop_links(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=links`, red links included; a redirect links to its target."""
    namespaces = call.namespaces("plnamespace", "*")
    return paginate(call, "links", "pl", [_sorted_items(_linked_pages(call, entry), namespaces) for entry in entries])


def _linked_pages(call: WikiCall, entry: PageEntry) -> list[NamespacedTitle]:
    if entry.article:
        return internal_pages(call.host, entry.article, entry.article.links)
    return [(entry.page.namespace, entry.page.title)] if entry.page else []


def prop_categories(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=categories`; `clshow` selects hidden or other ones."""
    return paginate(
        call, "categories", "cl", [_sorted_items(_category_pages(call, entry.article)) for entry in entries]
    )


def _category_pages(call: WikiCall, article: Article | None) -> list[NamespacedTitle]:
    if article is None:
        return []
    visibility = call.values("clshow")
    visible = article.categories if "hidden" not in visibility else ()
    hidden = article.hidden_categories if "!hidden" not in visibility else ()
    return internal_pages(call.host, article, (*visible, *hidden))


def prop_images(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=images`."""
    images_by_page = [internal_pages(call.host, e.article, e.article.images) if e.article else [] for e in entries]
    return paginate(call, "images", "im", [_sorted_items(titles) for titles in images_by_page])


def prop_extlinks(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=extlinks`."""
    urls_by_page = [external_links(call.host, entry.article) if entry.article else [] for entry in entries]
    return paginate(call, "extlinks", "el", [[{"url*": url} for url in page_urls] for page_urls in urls_by_page])


def external_links(host: str, article: Article) -> list[str]:
    """Return the URLs outside the wiki that the article links to."""
    return [url for url in article.links if urls.host_of(url) != host]


def internal_pages(host: str, article: Article, page_urls: Iterable[str]) -> list[NamespacedTitle]:
    """Return the distinct pages of the wiki among URLs that stand in the article; special pages are left out."""
    namespace_by_prefix = _local_namespaces(host, article)
    titles = dict.fromkeys(title for url in page_urls if (title := title_of(url, host)))
    namespaced_titles = [
        (namespace_by_prefix.get(title.partition(":")[0], namespace_of(title)), title) for title in titles
    ]
    return [one for one in namespaced_titles if one[0] >= 0]


def _local_namespaces(host: str, article: Article) -> dict[str, int]:
    """Return namespace numbers by local name, such as `Kategorie`, learned from the article's own categories and
    images.
    """
    urls_by_namespace = [(14, article.categories), (14, article.hidden_categories), (6, article.images)]
    titles = [(space, title_of(kind_urls[0], host)) for space, kind_urls in urls_by_namespace if kind_urls]
    return {title.partition(":")[0]: space for space, title in titles if ":" in title}


def _sorted_items(namespaced_titles: Iterable[NamespacedTitle], namespaces: frozenset[int] | None = None) -> list[Tree]:
    return [
        {"ns": space, "title": title}
        for space, title in sorted(namespaced_titles)
        if namespaces is None or space in namespaces
    ]
