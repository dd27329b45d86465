"""Properties of pages in `action=query`: info, pageprops, description, extracts, revisions.

https://www.mediawiki.org/wiki/API:Properties. Fields that a crawl cannot know (protection, authors, sizes) are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from webemu.api.wiki import extracts, links
from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import Found, Revision, as_of, revisions
from webemu.api.wiki.params import Ask
from webemu.api.wiki.property_page import MAX_ITEMS, Entry, Filled, Property
from webemu.emulator.article import Article


def info(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=info`."""
    return Filled([_info(ask, entry) | _addresses(ask, entry) for entry in entries])


def _info(ask: Ask, entry: Entry) -> Tree:
    if entry.found is None:
        return {}
    latest, article = revisions(ask, entry.found)[0], entry.found.article
    told: Tree = {"contentmodel": "wikitext"}
    if article.language:
        told |= {"pagelanguage": article.language, "pagelanguagehtmlcode": article.language}
    if article.direction:
        told["pagelanguagedir"] = article.direction
    told |= {"touched": latest.timestamp, "lastrevid": latest.number}
    return told | ({"redirect": True} if entry.moved else {})


def _addresses(ask: Ask, entry: Entry) -> Tree:
    """Return the fields requested by `inprop`; missing pages have URLs too."""
    wanted, told = ask.values("inprop"), Tree()
    if "url" in wanted and entry.title and not entry.invalid:
        url = ask.address(entry.title)
        edit = f"{url.replace('/wiki/', '/w/index.php?title=', 1)}&action=edit"
        told |= {"fullurl": url, "editurl": edit, "canonicalurl": url}
    if "displaytitle" in wanted and entry.title:
        told["displaytitle"] = entry.article.display if entry.article else escape(entry.title)
    return told


def pageprops(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=pageprops` with the one property that clients test: if a page is a disambiguation."""
    is_asked = "disambiguation" in ask.values("ppprop", "disambiguation")
    known = [is_asked and entry.article is not None and entry.article.disambiguation for entry in entries]
    return Filled([{"pageprops": {"disambiguation": ""}} if is_known else {} for is_known in known])


def description(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=description`: the short description of each article that has one."""
    said = [entry.article.description if entry.article else "" for entry in entries]
    return Filled([{"description": text, "descriptionsource": "local"} if text else {} for text in said])


def extract(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=extracts` like TextExtracts: introductions of up to 20 pages, or the beginning or whole of one."""
    # TextExtracts allows several pages for introductions only.
    most = ask.number("exlimit", 20, 1, 20) if ask.has("exintro") else 1
    start = ask.number("excontinue", 0, most=MAX_ITEMS)
    there = [place for place, entry in enumerate(entries) if entry.found]
    shown = set(there[start : start + most])
    fields: list[Tree] = [{"extract": _extract(ask, e)} if n in shown else {} for n, e in enumerate(entries)]
    return Filled(fields, {"excontinue": start + most} if len(there) > start + most else {})


def _extract(ask: Ask, entry: Entry) -> str:
    """Return one page's extract in the requested format and length; empty without an article."""
    article, intro = entry.article, ask.has("exintro")
    if article is None:
        return ""
    by = "sentences" if ask.has("exsentences") else "characters" if ask.has("exchars") else ""
    count = ask.number("exsentences", 1, 1, 10) if by == "sentences" else ask.number("exchars", 1, 1, 1200)
    if not ask.has("explaintext"):
        html = extracts.html_of(article, intro)
        return extracts.cut(html, count, by) if by else html
    text = extracts.text_of(article, intro, ask.text("exsectionformat", "wiki"))
    shorter = extracts.sentences if by == "sentences" else extracts.characters
    return shorter(text, count) if by else text


def past(ask: Ask, entries: Sequence[Entry]) -> Filled:
    """Answer `prop=revisions`: captured states, newest first, `rvlimit` of each page."""
    start, limit = ask.number("rvcontinue", 0, most=MAX_ITEMS), ask.number("rvlimit", 1, 1)
    fields: list[Tree] = []
    is_more = False
    for entry in entries:
        every = revisions(ask, entry.found) if entry.found and not entry.moved else []
        ordered = every[::-1] if ask.text("rvdir") == "newer" else every
        shown = [_revision(ask, entry.found, one) for one in ordered[start : start + limit] if entry.found]
        fields.append({"revisions": shown} if shown else {})
        is_more = is_more or len(ordered) > start + limit
    return Filled(fields, {"rvcontinue": str(start + limit)} if is_more and ask.has("rvlimit") else {})


def _revision(ask: Ask, found: Found, revision: Revision) -> Tree:
    wanted, told = ask.values("rvprop", "ids|timestamp"), Tree()
    if "ids" in wanted:
        told |= {"revid": revision.number, "parentid": revision.parent}
    if "timestamp" in wanted:
        told["timestamp"] = revision.timestamp
    if "content" in wanted and (article := as_of(ask, found, revision)):
        told |= _content(ask, article)
    return told


def _content(ask: Ask, article: Article) -> Tree:
    """Return the page as HTML, or its prose with headings in place of the wikitext, which was not captured."""
    if ask.has("rvparse"):
        return {"content*": article.html}
    text: Tree = {"contentformat": "text/x-wiki", "contentmodel": "wikitext", "content*": extracts.text_of(article)}
    return {"slots": {"main": text}} if ask.has("rvslots") else text


PROPERTIES: dict[str, Property] = {
    "info": info,
    "pageprops": pageprops,
    "description": description,
    "extracts": extract,
    "revisions": past,
    "links": links.links,
    "categories": links.categories,
    "images": links.images,
    "extlinks": links.extlinks,
}
"""Properties by their name in the API."""
