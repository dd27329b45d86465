"""Facts about the wiki itself: `meta=siteinfo` and `meta=userinfo` (https://www.mediawiki.org/wiki/API:Siteinfo)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import find_page
from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.site import list_titles
from webemu.api.wiki.titles import NAMESPACES

MetaModule: TypeAlias = Callable[[WikiCall], Tree]
"""Computes the answer to one `meta` value."""


def meta_siteinfo(call: WikiCall) -> Tree:
    """Answer `meta=siteinfo` with the requested groups of `siprop`."""
    group_names = call.values("siprop", "general")
    return {name: build_group(call) for name, build_group in _SITEINFO_GROUPS.items() if name in group_names}


def _general_info(call: WikiCall) -> Tree:
    """Return name, generator and language as the first captured article shows them, and the wiki's paths."""
    articles = list_titles(call.world, call.host).articles
    page = find_page(call, articles[0]) if articles else None
    site_fields: Tree = {}
    if page:
        article = page.article
        site_fields = {"sitename": article.site, "generator": article.generator, "lang": article.language}
        site_fields |= {"rtl": article.direction == "rtl"}
    path_fields: Tree = {
        "articlepath": "/wiki/$1",
        "scriptpath": "/w",
        "script": "/w/index.php",
        "variantarticlepath": False,
    }
    server_fields: Tree = {"server": f"https://{call.host}", "servername": call.host}
    return {key: value for key, value in site_fields.items() if value != ""} | path_fields | server_fields


def _namespace_info(call: WikiCall) -> Tree:
    """Return the namespaces by their English names, which every wiki understands."""
    return {str(number): _namespace_fields(number, name) for number, name in NAMESPACES.items()}


def _namespace_fields(number: int, name: str) -> Tree:
    namespace_fields: Tree = {"id": number, "case": "first-letter", "name*": name}
    return namespace_fields | {"subpages": False, "canonical": name} if number else namespace_fields


def _statistics_info(call: WikiCall) -> Tree:
    """Return how many pages and articles were captured."""
    wiki_titles = list_titles(call.world, call.host)
    return {"pages": len(wiki_titles.title_by_id), "articles": len(wiki_titles.articles)}


def meta_userinfo(call: WikiCall) -> Tree:
    """Answer `meta=userinfo`: the client is always anonymous."""
    return {"userinfo": {"id": 0, "name": "127.0.0.1", "anon": True}}


_SITEINFO_GROUPS: dict[str, Callable[[WikiCall], Tree]] = {
    "general": _general_info,
    "namespaces": _namespace_info,
    "statistics": _statistics_info,
}
METAS: dict[str, MetaModule] = {"siteinfo": meta_siteinfo, "userinfo": meta_userinfo}
"""Modules by their `meta` value."""
