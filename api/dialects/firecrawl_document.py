"""Firecrawl's document: a page in the formats that are asked for, and its metadata.

Metadata is what the page declares in its head, under the service's names for it (`extractMetadata.ts` of
firecrawl/firecrawl) and under its own. Formats that need a browser or a language model (screenshot, summary, json,
...) are absent, which `warning` says.
"""

from __future__ import annotations

import re
from datetime import datetime
from http import HTTPStatus

from webemu.api.dialects.days import format_capture_time
from webemu.api.dialects.metas import read_icon_url, read_language, read_metas
from webemu.api.dialects.site import open_page
from webemu.api.dialects.site_crawl import list_links
from webemu.api.pages.addresses import is_web_url
from webemu.emulator.errors import BadRequest
from webemu.emulator.types import Capture, Page, PageRequest
from webemu.emulator.world import World

_MARKUP = ("text/html", "application/xhtml+xml")
SUPPORTED_FORMATS = ("markdown", "html", "rawHtml", "links", "images")
"""Formats that are supported."""
_META_NAMES = {
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
_RESERVED_NAMES = frozenset(
    "title description url language keywords robots favicon error timezone sourceurl statuscode scrapeid numpages "
    "totalpages contenttype proxyused cachestate cachedat creditsused concurrencylimited concurrencyqueuedurationms "
    "dctermsaudience oglocalealternate".split()
) | {name.lower() for name in _META_NAMES}
"""Names under which the service itself describes a page, in lower case; a `meta` element of the page may not use them.
"""


def read_formats(options: dict[str, object]) -> list[str]:
    """Return the names of the formats asked for, given as texts or as objects with a `type`; markdown by default.

    Raises: BadRequest if the parameter is no list.
    """
    formats_value = options.get("formats")
    if formats_value is None:
        return ["markdown"]
    if not isinstance(formats_value, list):
        raise BadRequest("formats is no list", reason="bad-formats")
    return [str(one.get("type", "")) if isinstance(one, dict) else str(one) for one in formats_value]


def render_document(
    world: World, url: str, options: dict[str, object], at_time: datetime | None, scrape_id: str
) -> dict[str, object]:
    """Return one page in the formats of `options`; `scrape_id` becomes part of its metadata.

    Raises: NotCaptured, ViewUnavailable or PayloadError if the crawl cannot show the page.
    """
    format_names = read_formats(options)
    page = world.fetch(PageRequest(url, "markdown" if "markdown" in format_names else "text", at_time))
    page_document: dict[str, object] = {"markdown": page.content} if "markdown" in format_names else {}
    wants_full_page = options.get("onlyMainContent") is False and page_document and page.capture.mime in _MARKUP
    if (wants_full_page or {"html", "rawHtml"} & set(format_names)) and (
        html_page := open_page(world, url, "html", at_time)
    ):
        page_document |= {name: html_page.content for name in ("html", "rawHtml") if name in format_names}
        if wants_full_page:
            page_document["markdown"] = world.markdown_of(html_page.content, html_page.capture.url, full_document=True)
    if "links" in format_names:
        page_document["links"] = list_links(world, url, at_time)
    html = _read_html(world, page, at_time)
    if "images" in format_names:
        page_document["images"] = list(
            dict.fromkeys(one for _, one in world.images(html, page.capture.url) if is_web_url(one))
        )
    if unsupported := [name for name in format_names if name not in SUPPORTED_FORMATS]:
        page_document["warning"] = f"Formats that could not be generated: {', '.join(unsupported)[:200]}"
    return page_document | {"metadata": render_metadata(page, html, url, scrape_id)}


def _read_html(world: World, page: Page, at_time: datetime | None) -> str:
    """Return the HTML of a page; empty if it is of another kind or cannot be read."""
    if page.capture.mime not in _MARKUP:
        return ""
    html_page = open_page(world, page.capture.url, "html", at_time)
    return html_page.content if html_page else ""


def render_metadata(page: Page, html: str, url: str, scrape_id: str) -> dict[str, object]:
    """Return the metadata of a page; `html` is its document, `url` the URL of the request."""
    capture = page.capture
    page_metadata: dict[str, object] = {**_read_declarations(html, capture.url)}
    page_metadata |= {"title": page.title, "sourceURL": url, "url": capture.url, "statusCode": capture.status}
    page_metadata |= {
        "contentType": _content_type(capture),
        "scrapeId": scrape_id,
        "proxyUsed": "basic",
        "cacheState": "hit",
    }
    page_metadata |= {"cachedAt": format_capture_time(capture), "creditsUsed": 1}
    return page_metadata | ({"error": _reason_phrase(capture.status)} if capture.status >= 400 else {})


def _read_declarations(html: str, url: str) -> dict[str, str | list[str]]:
    """Return what a document declares; a name that occurs more than once has a list of its values."""
    page_metadata: dict[str, str | list[str]] = {}
    declarations = read_metas(html)
    for name, content in declarations:
        if re.sub("[_-]", "", name) in _RESERVED_NAMES:
            continue
        if name in page_metadata:
            earlier = page_metadata[name]
            page_metadata[name] = [*(earlier if isinstance(earlier, list) else [earlier]), content]
        else:
            page_metadata[name] = content
    first_values = dict(reversed(declarations))
    page_metadata |= {
        name: first_values[meta_name] for name, meta_name in _META_NAMES.items() if meta_name in first_values
    }
    if alternate_locales := [content for name, content in declarations if name == "og:locale:alternate"]:
        page_metadata["ogLocaleAlternate"] = alternate_locales
    head_values = {"language": read_language(html), "favicon": read_icon_url(html, url)}
    return page_metadata | {name: value for name, value in head_values.items() if value}


def _content_type(capture: Capture) -> str:
    """Return the content type that the origin declared, else the detected one."""
    content_type = capture.declared or capture.mime
    return f"{content_type}; charset={capture.charset}" if capture.charset else content_type


def _reason_phrase(status: int) -> str:
    """Return the reason phrase of a status, or its number if it has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return str(status)
