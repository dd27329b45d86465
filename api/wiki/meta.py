"""Facts about the wiki itself: `meta=siteinfo` and `meta=userinfo` (https://www.mediawiki.org/wiki/API:Siteinfo)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import find
from webemu.api.wiki.params import Ask
from webemu.api.wiki.site import titles
from webemu.api.wiki.titles import NAMESPACES

Meta: TypeAlias = Callable[[Ask], Tree]
"""Computes the answer to one `meta` value."""


def siteinfo(ask: Ask) -> Tree:
    """Answer `meta=siteinfo` with the requested groups of `siprop`."""
    wanted = ask.values("siprop", "general")
    return {name: tell(ask) for name, tell in _TOLD.items() if name in wanted}


def _general(ask: Ask) -> Tree:
    """Return name, generator and language as the first captured article shows them, and the wiki's paths."""
    articles = titles(ask.world, ask.host).articles
    found = find(ask, articles[0]) if articles else None
    said: Tree = {}
    if found:
        article = found.article
        said = {"sitename": article.site, "generator": article.generator, "lang": article.language}
        said |= {"rtl": article.direction == "rtl"}
    place: Tree = {"articlepath": "/wiki/$1", "scriptpath": "/w", "script": "/w/index.php", "variantarticlepath": False}
    server: Tree = {"server": f"https://{ask.host}", "servername": ask.host}
    return {key: value for key, value in said.items() if value != ""} | place | server


def _namespaces(ask: Ask) -> Tree:
    """Return the namespaces by their English names, which every wiki understands."""
    return {str(number): _namespace(number, name) for number, name in NAMESPACES.items()}


def _namespace(number: int, name: str) -> Tree:
    told: Tree = {"id": number, "case": "first-letter", "name*": name}
    return told | {"subpages": False, "canonical": name} if number else told


def _statistics(ask: Ask) -> Tree:
    """Return how many pages and articles were captured."""
    held = titles(ask.world, ask.host)
    return {"pages": len(held.numbers), "articles": len(held.articles)}


def userinfo(ask: Ask) -> Tree:
    """Answer `meta=userinfo`: the client is always anonymous."""
    return {"userinfo": {"id": 0, "name": "127.0.0.1", "anon": True}}


_TOLD: dict[str, Callable[[Ask], Tree]] = {
    "general": _general,
    "namespaces": _namespaces,
    "statistics": _statistics,
}
METAS: dict[str, Meta] = {"siteinfo": siteinfo, "userinfo": userinfo}
"""Modules by their `meta` value."""
