"""REST APIs of wikis: page summaries and HTML (Wikimedia, `/api/rest_v1`), and search (MediaWiki, `rest.php`).

https://en.wikipedia.org/api/rest_v1/, https://www.mediawiki.org/wiki/API:REST_API.
"""

from __future__ import annotations

from html import escape
from urllib.parse import quote, unquote

from webemu.api.http.response import Response
from webemu.api.wiki import extracts
from webemu.api.wiki.format_version import Tree
from webemu.api.wiki.page import WikiPage, canonical_title, find_page, list_revisions, page_id_of
from webemu.api.wiki.params import WikiCall
from webemu.api.wiki.response import json_response, make_response, redirect_response
from webemu.api.wiki.search import search_wiki, snippet_html
from webemu.api.wiki.site import complete_titles
from webemu.api.wiki.titles import NAMESPACES, normalize_title


def answer_page(call: WikiCall, view: str, escaped_title: str, path: str) -> Response:
    """Answer `/api/rest_v1/page/{summary|html}/{title}`: the page, a redirect to its target, or 404."""
    title = canonical_title(call, unquote(escaped_title))
    wiki_page = find_page(call, title)
    if wiki_page is None:
        return _page_not_found(call, path)
    if wiki_page.title != title:
        return redirect_response(f"/api/rest_v1/page/{view}/{quote(wiki_page.title.replace(' ', '_'), safe='')}")
    if view == "summary":
        content_type = 'application/json; charset=utf-8; profile="https://www.mediawiki.org/wiki/Specs/Summary/1.4.2"'
        return json_response(_summary_fields(call, wiki_page), content_type=content_type)
    return make_response(_html_document(wiki_page).encode("utf-8", "replace"), "text/html; charset=utf-8")


def _summary_fields(call: WikiCall, page: WikiPage) -> Tree:
    """Return the fields of a summary; empty ones are left out, except the extracts."""
    article, latest = page.article, list_revisions(call, page)[0]
    text, html = extracts.first_paragraph(article)
    fields: Tree = {
        "type": "disambiguation" if article.is_disambiguation else "standard",
        "title": page.title,
        "displaytitle": article.display_title,
        "namespace": {"id": page.namespace, "text": NAMESPACES.get(page.namespace, "")},
        "titles": {
            "canonical": page.title.replace(" ", "_"),
            "normalized": page.title,
            "display": article.display_title,
        },
        "pageid": page_id_of(call, page.title),
        "lang": article.language,
        "dir": article.direction,
        "revision": str(latest.number),
        "timestamp": latest.timestamp,
        "description": article.description,
        "content_urls": {"desktop": _content_urls(call, page.title)},
        "extract": text,
        "extract_html": html,
    }
    return {key: value for key, value in fields.items() if value or key.startswith("extract")}


def _content_urls(call: WikiCall, title: str) -> Tree:
    url = call.page_url(title)
    return {"page": url, "revisions": f"{url}?action=history", "edit": f"{url}?action=edit"}


def _html_document(page: WikiPage) -> str:
    title, language = escape(page.title), escape(page.article.language)
    head = f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title></head>'
    return f"{head}<body>{page.article.html}</body></html>\n"


def _page_not_found(call: WikiCall, path: str) -> Response:
    """Return Wikimedia's 404 for a page that was not captured."""
    problem: Tree = {
        "type": "https://mediawiki.org/wiki/HyperSwitch/errors/not_found",
        "title": "Not found.",
        "method": "get",
        "detail": "Page or revision not found.",
        "uri": path.replace("/api/rest_v1", f"/{call.host}/v1", 1),
    }
    return json_response(problem, 404, "application/problem+json")


def answer_search(call: WikiCall, search_kind: str) -> Response:
    """Answer `/w/rest.php/v1/search/{page|title}`: full-text search, or completion of titles."""
    words = call.text("q")
    if not words:
        return _missing_query_error()
    limit = call.number("limit", 50, 1, 100)
    if search_kind == "title":
        completed_titles = complete_titles(call.world, call.host, normalize_title(words), frozenset({0}), limit)
        return json_response({"pages": [_search_hit(call, title, title) for title in completed_titles]})
    matches = search_wiki(call, words, 0, limit, frozenset({0})).matches
    return json_response(
        {"pages": [_search_hit(call, match.title, snippet_html(call, match, words)) for match in matches]}
    )


def _search_hit(call: WikiCall, title: str, excerpt: str) -> Tree:
    key = title.replace(" ", "_")
    return {"id": page_id_of(call, title), "key": key, "title": title, "excerpt": excerpt, "matched_title": None}


def _missing_query_error() -> Response:
    """Return MediaWiki's 400 for a search without `q`."""
    problem: Tree = {
        "error": "parameter-validation-failed",
        "name": "q",
        "value": None,
        "failureCode": "missingparam",
        "failureData": None,
        "messageTranslations": {"en": 'The "q" parameter must be set.'},
        "httpCode": 400,
        "httpReason": "Bad Request",
    }
    return json_response(problem, 400)
