"""REST APIs of wikis: page summaries and HTML (Wikimedia, `/api/rest_v1`), and search (MediaWiki, `rest.php`).

https://en.wikipedia.org/api/rest_v1/, https://www.mediawiki.org/wiki/API:REST_API.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote, unquote

from webemu.api.services.origin import Reply
from webemu.api.wiki import extracts
from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import Found, find, number, proper, revisions
from webemu.api.wiki.params import Ask
from webemu.api.wiki.response import answered, as_json, moved
from webemu.api.wiki.search import search, snippet
from webemu.api.wiki.site import completions
from webemu.api.wiki.titles import NAMESPACES, spelled


def page(ask: Ask, form: str, escaped: str, path: str) -> Reply:
    """Answer `/api/rest_v1/page/{summary|html}/{title}`: the page, a redirect to its target, or 404."""
    title = proper(ask, unquote(escaped))
    found = find(ask, title)
    if found is None:
        return _absent(ask, path)
    if found.title != title:
        return moved(f"/api/rest_v1/page/{form}/{quote(found.title.replace(' ', '_'), safe='')}")
    if form == "summary":
        kind = 'application/json; charset=utf-8; profile="https://www.mediawiki.org/wiki/Specs/Summary/1.4.2"'
        return as_json(_summary(ask, found), kind=kind)
    return answered(_document(found).encode("utf-8", "replace"), "text/html; charset=utf-8")


def _summary(ask: Ask, found: Found) -> Tree:
    """Return the fields of a summary; empty ones are left out, except the extracts."""
    article, latest = found.article, revisions(ask, found)[0]
    text, html = extracts.first_paragraph(article)
    told: Tree = {
        "type": "disambiguation" if article.disambiguation else "standard",
        "title": found.title,
        "displaytitle": article.display,
        "namespace": {"id": found.space, "text": NAMESPACES.get(found.space, "")},
        "titles": {"canonical": found.title.replace(" ", "_"), "normalized": found.title, "display": article.display},
        "pageid": number(ask, found.title),
        "lang": article.language,
        "dir": article.direction,
        "revision": str(latest.number),
        "timestamp": latest.timestamp,
        "description": article.description,
        "content_urls": {"desktop": _addresses(ask, found.title)},
        "extract": text,
        "extract_html": html,
    }
    return {key: value for key, value in told.items() if value or key.startswith("extract")}


def _addresses(ask: Ask, title: str) -> Tree:
    url = ask.address(title)
    return {"page": url, "revisions": f"{url}?action=history", "edit": f"{url}?action=edit"}


def _document(found: Found) -> str:
    title, language = escape(found.title), escape(found.article.language)
    head = f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
    return f"{head}<body>{found.article.html}</body></html>\n"


def _absent(ask: Ask, path: str) -> Reply:
    """Return Wikimedia's 404 for a page that was not captured."""
    told: Tree = {
        "type": "https://mediawiki.org/wiki/HyperSwitch/errors/not_found",
        "title": "Not found.",
        "method": "get",
        "detail": "Page or revision not found.",
        "uri": path.replace("/api/rest_v1", f"/{ask.host}/v1", 1),
    }
    return as_json(told, 404, "application/problem+json")


def found(ask: Ask, kind: str) -> Reply:
    """Answer `/w/rest.php/v1/search/{page|title}`: full-text search, or completion of titles."""
    words = ask.text("q")
    if not words:
        return _unasked()
    limit = ask.number("limit", 50, 1, 100)
    if kind == "title":
        begun = completions(ask.world, ask.host, spelled(words), frozenset({0}), limit)
        return as_json({"pages": [_hit(ask, title, title) for title in begun]})
    matches = search(ask, words, 0, limit, frozenset({0})).shown
    return as_json({"pages": [_hit(ask, match.title, snippet(ask, match, words)) for match in matches]})


def _hit(ask: Ask, title: str, excerpt: str) -> Tree:
    key = title.replace(" ", "_")
    return {"id": number(ask, title), "key": key, "title": title, "excerpt": excerpt, "matched_title": None}


def _unasked() -> Reply:
    """Return MediaWiki's 400 for a search without `q`."""
    told: Tree = {
        "error": "parameter-validation-failed",
        "name": "q",
        "value": None,
        "failureCode": "missingparam",
        "failureData": None,
        "messageTranslations": {"en": 'The "q" parameter must be set.'},
        "httpCode": 400,
        "httpReason": "Bad Request",
    }
    return as_json(told, 400)
