"""Properties of pages in `action=query`: info, pageprops, description, extracts, revisions.

https://www.mediawiki.org/wiki/API:Properties. Fields that a crawl cannot know (protection, authors, sizes) are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from webemu.api.wiki import extracts, links
from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import Revision, WikiPage, article_at, list_revisions
from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.property_page import MAX_ITEMS, PageEntry, Property, PropertyPage
from webemu.emulator.article import Article


def prop_info(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=info`."""
    return PropertyPage([_info_fields(call, entry) | _url_fields(call, entry) for entry in entries])


def _info_fields(call: WikiCall, entry: PageEntry) -> Tree:
    if entry.page is None:
        return {}
    latest, article = list_revisions(call, entry.page)[0], entry.page.article
    info_fields: Tree = {"contentmodel": "wikitext"}
    if article.language:
        info_fields |= {"pagelanguage": article.language, "pagelanguagehtmlcode": article.language}
    if article.direction:
        info_fields["pagelanguagedir"] = article.direction
    info_fields |= {"touched": latest.timestamp, "lastrevid": latest.number}
    return info_fields | ({"redirect": True} if entry.is_redirect else {})


def _url_fields(call: WikiCall, entry: PageEntry) -> Tree:
    """Return the fields requested by `inprop`; missing pages have URLs too."""
    field_names, url_fields = call.values("inprop"), Tree()
    if "url" in field_names and entry.title and not entry.title_error:
        url = call.page_url(entry.title)
        edit = f"{url.replace('/wiki/', '/w/index.php?title=', 1)}&action=edit"
        url_fields |= {"fullurl": url, "editurl": edit, "canonicalurl": url}
    if "displaytitle" in field_names and entry.title:
        url_fields["displaytitle"] = entry.article.display_title if entry.article else escape(entry.title)
    return url_fields


def prop_pageprops(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=pageprops` with the one property that clients test: if a page is a disambiguation."""
    is_requested = "disambiguation" in call.values("ppprop", "disambiguation")
    are_disambiguations = [
        is_requested and entry.article is not None and entry.article.is_disambiguation for entry in entries
    ]
    return PropertyPage(
        [
            {"pageprops": {"disambiguation": ""}} if is_disambiguation else {}
            for is_disambiguation in are_disambiguations
        ]
    )


def prop_description(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=description`: the short description of each article that has one."""
    descriptions = [entry.article.description if entry.article else "" for entry in entries]
    return PropertyPage([{"description": text, "descriptionsource": "local"} if text else {} for text in descriptions])


def prop_extracts(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=extracts` like TextExtracts: introductions of up to 20 pages, or the beginning or whole of one."""
    # TextExtracts allows several pages for introductions only.
    limit = call.number("exlimit", 20, 1, 20) if call.has("exintro") else 1
    start = call.number("excontinue", 0, maximum=MAX_ITEMS)
    captured_indexes = [index for index, entry in enumerate(entries) if entry.page]
    selected_indexes = set(captured_indexes[start : start + limit])
    fields: list[Tree] = [
        {"extract": _extract_of(call, e)} if n in selected_indexes else {} for n, e in enumerate(entries)
    ]
    return PropertyPage(fields, {"excontinue": start + limit} if len(captured_indexes) > start + limit else {})


def _extract_of(call: WikiCall, entry: PageEntry) -> str:
    """Return one page's extract in the requested format and length; empty without an article."""
    article, intro_only = entry.article, call.has("exintro")
    if article is None:
        return ""
    unit = "sentences" if call.has("exsentences") else "characters" if call.has("exchars") else ""
    count = call.number("exsentences", 1, 1, 10) if unit == "sentences" else call.number("exchars", 1, 1, 1200)
    if not call.has("explaintext"):
        html = extracts.extract_html(article, intro_only)
        return extracts.shorten_html(html, count, unit) if unit else html
    text = extracts.extract_text(article, intro_only, call.text("exsectionformat", "wiki"))
    shorter = extracts.first_sentences if unit == "sentences" else extracts.first_characters
    return shorter(text, count) if unit else text


def prop_revisions(call: WikiCall, entries: Sequence[PageEntry]) -> PropertyPage:
    """Answer `prop=revisions`: captured states, newest first, `rvlimit` of each page."""
    start, limit = call.number("rvcontinue", 0, maximum=MAX_ITEMS), call.number("rvlimit", 1, 1)
    fields: list[Tree] = []
    is_more = False
    for entry in entries:
        newest_first = list_revisions(call, entry.page) if entry.page and not entry.is_redirect else []
        ordered = newest_first[::-1] if call.text("rvdir") == "newer" else newest_first
        shown_revisions = [
            _revision_fields(call, entry.page, one) for one in ordered[start : start + limit] if entry.page
        ]
        fields.append({"revisions": shown_revisions} if shown_revisions else {})
        is_more = is_more or len(ordered) > start + limit
    return PropertyPage(fields, {"rvcontinue": str(start + limit)} if is_more and call.has("rvlimit") else {})


def _revision_fields(call: WikiCall, page: WikiPage, revision: Revision) -> Tree:
    field_names, revision_fields = call.values("rvprop", "ids|timestamp"), Tree()
    if "ids" in field_names:
        revision_fields |= {"revid": revision.number, "parentid": revision.parent}
    if "timestamp" in field_names:
        revision_fields["timestamp"] = revision.timestamp
    if "content" in field_names and (article := article_at(call, page, revision)):
        revision_fields |= _content_fields(call, article)
    return revision_fields


def _content_fields(call: WikiCall, article: Article) -> Tree:
    """Return the page as HTML, or its prose with headings in place of the wikitext, which was not captured."""
    if call.has("rvparse"):
        return {"content*": article.html}
    text: Tree = {
        "contentformat": "text/x-wiki",
        "contentmodel": "wikitext",
        "content*": extracts.extract_text(article),
    }
    return {"slots": {"main": text}} if call.has("rvslots") else text


PROPERTIES: dict[str, Property] = {
    "info": prop_info,
    "pageprops": prop_pageprops,
    "description": prop_description,
    "extracts": prop_extracts,
    "revisions": prop_revisions,
    "links": links.prop_links,
    "categories": links.prop_categories,
    "images": links.prop_images,
    "extlinks": links.prop_extlinks,
}
"""Properties by their name in the API."""
