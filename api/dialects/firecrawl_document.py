"""Firecrawl's document: a page in the formats that are asked for, and its metadata.

Metadata is what the page declares in its head, under the service's names for it (`extractMetadata.ts` of
firecrawl/firecrawl) and under its own. Formats that need a browser or a language model (screenshot, summary, json,
...) are absent, which `warning` says.
"""

from __future__ import annotations

import re
from datetime import datetime
from http import HTTPStatus
from typing import Any

from webemu.api.dialects.days import fetched
from webemu.api.dialects.metas import icon, language, metas
from webemu.api.dialects.site import opened
from webemu.api.dialects.site_crawl import links
from webemu.api.pages.addresses import is_web
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture, Page, PageRequest
from webemu.emulator.world import World

_MARKUP = ("text/html", "application/xhtml+xml")
HAD = ("markdown", "html", "rawHtml", "links", "images")
"""Formats that are supported."""
_NAMED = {
    **{name: name for name in ("description", "keywords", "robots")},
    **{f"og{name.title()}": f"og:{name}" for name in ("title", "description", "url", "image", "audio", "video")},
    **{"ogDeterminer": "og:determiner", "ogLocale": "og:locale", "ogSiteName": "og:site_name"},
    **{"articleSection": "article:section", "articleTag": "article:tag"},
    **{"publishedTime": "article:published_time", "modifiedTime": "article:modified_time"},
    **{"dcDescription": "dc.description", "dcSubject": "dc.subject", "dcType": "dc.type", "dcDate": "dc.date"},
    **{"dcTermsKeywords": "dcterms.keywords", "dcTermsSubject": "dcterms.subject", "dcTermsType": "dcterms.type"},
    **{"dcDateCreated": "dc.date.created", "dcTermsCreated": "dcterms.created"},
    **{"dcTermsAudience": "dcterms.audience"},
}
"""`meta` elements by the service's name for them; `ogLocaleAlternate`, a list, is handled apart."""
_OWN = frozenset(
    "title description url language keywords robots favicon error timezone sourceurl statuscode scrapeid numpages "
    "totalpages contenttype proxyused cachestate cachedat creditsused concurrencylimited concurrencyqueuedurationms "
    "dctermsaudience oglocalealternate".split()
) | {name.lower() for name in _NAMED}
"""Names under which the service itself describes a page, in lower case; a `meta` element of the page may not use them.
"""


def formats(options: dict[str, Any]) -> list[str]:
    """Return the names of the formats asked for, given as texts or as objects with a `type`; markdown by default.

    Raises: BadRequest if the parameter is no list.
    """
    said = options.get("formats")
    if said is None:
        return ["markdown"]
    if not isinstance(said, list):
        raise BadRequest("formats is no list", reason="bad-formats")
    return [str(one.get("type", "")) if isinstance(one, dict) else str(one) for one in said]


def document(world: World, url: str, options: dict[str, Any], at: datetime | None, number: str) -> dict[str, Any]:
    """Return one page in the formats of `options`; `scrape_id` becomes part of its metadata.

    Raises: NotCaptured, ViewUnavailable or PayloadError if the crawl cannot show the page.
    """
    wanted = formats(options)
    page = world.fetch(PageRequest(url, "markdown" if "markdown" in wanted else "text", at))
    found: dict[str, Any] = {"markdown": page.content} if "markdown" in wanted else {}
    is_whole = options.get("onlyMainContent") is False and found and page.capture.mime in _MARKUP
    if (is_whole or {"html", "rawHtml"} & set(wanted)) and (marked := opened(world, url, "html", at)):
        found |= {name: marked.content for name in ("html", "rawHtml") if name in wanted}
        if is_whole:
            found["markdown"] = world.markdown_of(marked.content, marked.capture.url, whole=True)
    if "links" in wanted:
        found["links"] = links(world, url, at)
    html = _html(world, page, at)
    if "images" in wanted:
        found["images"] = list(dict.fromkeys(one for _, one in world.pictures(html, page.capture.url) if is_web(one)))
    if lacking := [name for name in wanted if name not in HAD]:
        found["warning"] = f"Formats that could not be generated: {', '.join(lacking)[:200]}"
    return found | {"metadata": metadata(page, html, url, number)}


def _html(world: World, page: Page, at: datetime | None) -> str:
    """Return the HTML of a page; empty if it is of another kind or cannot be read."""
    if page.capture.mime not in _MARKUP:
        return ""
    marked = opened(world, page.capture.url, "html", at)
    return marked.content if marked else ""


def metadata(page: Page, html: str, url: str, number: str) -> dict[str, Any]:
    """Return the metadata of a page; `html` is its document, `url` the URL of the request."""
    capture = page.capture
    known: dict[str, Any] = _declared(html, capture.url)
    known |= {"title": page.title, "sourceURL": url, "url": capture.url, "statusCode": capture.status}
    known |= {"contentType": _kind(capture), "scrapeId": number, "proxyUsed": "basic", "cacheState": "hit"}
    known |= {"cachedAt": fetched(capture), "creditsUsed": 1}
    return known | ({"error": _phrase(capture.status)} if capture.status >= 400 else {})


def _declared(html: str, url: str) -> dict[str, Any]:
    """Return what a document declares; a name that occurs more than once has a list of its values."""
    found: dict[str, Any] = {}
    declared = metas(html)
    for name, content in declared:
        if re.sub("[_-]", "", name) in _OWN:
            continue
        if name in found:
            before = found[name] if isinstance(found[name], list) else [found[name]]
            found[name] = [*before, content]
        else:
            found[name] = content
    first = dict(reversed(declared))
    found |= {name: first[said] for name, said in _NAMED.items() if said in first}
    if others := [content for name, content in declared if name == "og:locale:alternate"]:
        found["ogLocaleAlternate"] = others
    tags = {"language": language(html), "favicon": icon(html, url)}
    return found | {name: value for name, value in tags.items() if value}


def _kind(capture: Capture) -> str:
    """Return the content type that the origin declared, else the detected one."""
    kind = capture.declared or capture.mime
    return f"{kind}; charset={capture.charset}" if capture.charset else kind


def _phrase(status: int) -> str:
    """Return the reason phrase of a status, or its number if it has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return str(status)
