"""Plan the crawl of the invented sites: which URL is fetched when, and what the server answers.

Beside the pages there are robots.txt, sitemaps, feeds, redirects, errors, URLs with tracking parameters, and revisits
of pages that did or did not change. `warcs.py` writes the fetches as records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from html import escape
from typing import Literal
from urllib.parse import urljoin

from webemu.worlds.seeded_random import seeded_rng
from webemu.worlds.templates import render_page
from webemu.worlds.web import HttpResponse, Site, SitePage

Subset = Literal["warc", "crawldiagnostics", "robotstxt"]
"""Folder of Common Crawl that a fetch is written to."""
CRAWL_NAME = "WEBEMU-2024-49"
"""Name of the crawl, in Common Crawl's form."""
CRAWL_START, CRAWL_END = datetime(2024, 11, 30, tzinfo=UTC), datetime(2024, 12, 12, tzinfo=UTC)
SECOND_PASS_START = datetime(2024, 12, 3, tzinfo=UTC)
"""Start of the second pass. Pages that changed at the turn of the month, and pages to be revisited, are fetched again
from here on; the first pass ends a day earlier.
"""
DUPLICATE_ONE_IN = 24
"""One page in this many is captured twice, for each of the four kinds of duplicate."""


@dataclass(frozen=True, slots=True)
class CrawlFetch:
    """One request of the crawler and the response to it."""

    site: Site
    url: str
    captured_at: datetime
    """UTC time of the capture."""
    get_response: Callable[[], HttpResponse]
    """Callable that renders the response."""
    subset: Subset = "warc"
    language: str = "en"
    """Language that the crawler detects, ISO 639-1."""
    charset: str = "utf-8"
    """Encoding that the crawler detects."""
    original: CrawlFetch | None = None
    """Fetch whose payload a revisit repeats, or None. `fetch` of a revisit gives status and headers; its body is not
    recorded.
    """


def list_fetches(seed: int, sites: list[Site]) -> Iterator[CrawlFetch]:
    """Yield every fetch of the crawl, site by site."""
    for site in sites:
        site_pages = list(site.list_pages(site))
        yield from _fetch_entry_points(seed, site, site_pages)
        for site_page in site_pages:
            yield from _fetch_page(seed, site, site_page)
        yield from _fetch_failures(seed, site)


def _draw_capture_time(seed: int, url: str, *, is_first_pass: bool = False) -> datetime:
    """Draw the time at which a URL is fetched; `is_first_pass` selects the pass before the turn of the month."""
    start, end = (
        (CRAWL_START, SECOND_PASS_START - timedelta(days=1)) if is_first_pass else (SECOND_PASS_START, CRAWL_END)
    )
    seconds = int((end - start).total_seconds())
    return start + timedelta(seconds=seeded_rng(seed, "moment", url, is_first_pass).randrange(seconds))


def _fetch_page(seed: int, site: Site, site_page: SitePage) -> Iterator[CrawlFetch]:
    """Yield the fetches of one page: two if it changed or is revisited, and perhaps one under a second URL."""
    url = site.base_url + site_page.path
    fetch = CrawlFetch(
        site,
        url,
        _draw_capture_time(seed, url),
        partial(_html_response, site_page),
        "warc",
        site_page.language,
        site_page.charset,
    )
    # 0 and 1: a revisit without change, by status 304 or by equal digest; 2 and 3: a second URL of the same page.
    duplicate_kind = seeded_rng(seed, "visits", url).randrange(DUPLICATE_ONE_IN)
    if site_page.render_before:
        yield CrawlFetch(
            site, url, _draw_capture_time(seed, url, is_first_pass=True), partial(_html_response, site_page, early=True)
        )
        yield fetch
    elif duplicate_kind < 2:
        first_fetch = CrawlFetch(
            site,
            url,
            _draw_capture_time(seed, url, is_first_pass=True),
            fetch.get_response,
            "warc",
            site_page.language,
            site_page.charset,
        )
        yield first_fetch
        yield (
            _as_not_modified_revisit(fetch, first_fetch)
            if duplicate_kind == 0
            else _as_identical_revisit(fetch, first_fetch)
        )
    else:
        yield fetch
    if duplicate_kind == 2:
        yield _as_identical_revisit(
            _with_url(seed, fetch, f"{url}{'&' if '?' in url else '?'}utm_source=letter"), fetch
        )
    elif duplicate_kind == 3:
        yield _with_url(seed, fetch, f"{url}{'&' if '?' in url else '?'}ref=front")


def _with_url(seed: int, fetch: CrawlFetch, url: str) -> CrawlFetch:
    """Return a fetch of the same page under another URL."""
    return CrawlFetch(
        fetch.site, url, _draw_capture_time(seed, url), fetch.get_response, "warc", fetch.language, fetch.charset
    )


def _as_identical_revisit(fetch: CrawlFetch, original: CrawlFetch) -> CrawlFetch:
    """Return the fetch as a revisit: the crawler noticed that it already had this payload."""
    return CrawlFetch(
        fetch.site,
        fetch.url,
        fetch.captured_at,
        fetch.get_response,
        "warc",
        fetch.language,
        fetch.charset,
        original=original,
    )


def _as_not_modified_revisit(fetch: CrawlFetch, original: CrawlFetch) -> CrawlFetch:
    """Return the fetch as a revisit that the server answered with 304."""
    get_response = partial(HttpResponse, b"", 304, "")
    return CrawlFetch(fetch.site, fetch.url, fetch.captured_at, get_response, "crawldiagnostics", original=original)


def _html_response(site_page: SitePage, *, early: bool = False) -> HttpResponse:
    render = site_page.render_before if early and site_page.render_before else site_page.render
    body = render().encode(site_page.charset, "xmlcharrefreplace")
    content_type = "text/html" if site_page.omits_charset else f"text/html; charset={site_page.charset.upper()}"
    return HttpResponse(body, 200, content_type, last_modified="2024-06-01" if early else site_page.last_modified)


def _fetch_entry_points(seed: int, site: Site, site_pages: list[SitePage]) -> Iterator[CrawlFetch]:
    """Yield the fetches of robots.txt, sitemap and feed, and of the URLs that redirect to the site's home page."""

    def fetch_path(path: str, get_response: Callable[[], HttpResponse], subset: Subset = "warc") -> CrawlFetch:
        return CrawlFetch(
            site, site.base_url + path, _draw_capture_time(seed, site.base_url + path), get_response, subset
        )

    yield fetch_path("/robots.txt", partial(_robots_response, site), "robotstxt")
    yield fetch_path("/sitemap.xml", partial(_sitemap_response, site, site_pages))
    if site.feed_path:
        yield fetch_path(site.feed_path, partial(_feed_response, site, site_pages))
    front_urls = [f"http://{site.host}/"] + ([f"https://{site.host[4:]}/"] if site.host.startswith("www.") else [])
    for front_url in front_urls:
        get_response = partial(_redirect_response, site, f"{site.base_url}/", 301)
        yield CrawlFetch(site, front_url, _draw_capture_time(seed, front_url), get_response, "crawldiagnostics")


def _fetch_failures(seed: int, site: Site) -> Iterator[CrawlFetch]:
    """Yield the fetches of redirects, dead links, removed pages and server errors."""
    responses: list[tuple[str, Callable[[], HttpResponse]]] = [
        (old, partial(_redirect_response, site, new, status)) for old, new, status in site.redirects
    ]
    responses += [(path, partial(_error_response, site, 404)) for path in site.not_found_paths]
    responses += [(path, partial(_error_response, site, 410)) for path in site.gone_paths]
    responses += [(path, partial(_error_response, site, status)) for path, status in site.failing_paths]
    for path, get_response in responses:
        url = site.base_url + path
        yield CrawlFetch(site, url, _draw_capture_time(seed, url), get_response, "crawldiagnostics")


REASON_PHRASES = {
    301: "Moved Permanently", 302: "Found", 304: "Not Modified", 404: "Not Found", 410: "Gone", 500: "Internal Server Error",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip
"""Reason phrases by status code; 200 is always `OK`."""


def _redirect_response(site: Site, target: str, status: int) -> HttpResponse:
    """Return a redirect. nginx sends the target as it was configured; the other servers make it an absolute URL."""
    location = target if site.server == "nginx" else urljoin(site.base_url, target)
    reason = REASON_PHRASES[status]
    body = f"<html><head><title>{status} {reason}</title></head><body><h1>{reason}</h1></body></html>\n"
    return HttpResponse(body.encode(), status, "text/html", location=location)


def _error_response(site: Site, status: int) -> HttpResponse:
    reason = REASON_PHRASES[status]
    hint = "The page you were looking for is not here." if status < 500 else "Please try again in a few minutes."
    body = render_page(site, f"{status} {reason} - {site.name}", f"<h1>{status} {reason}</h1>\n<p>{hint}</p>\n")
    return HttpResponse(body.encode(), status)


def _robots_response(site: Site) -> HttpResponse:
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in site.disallowed_prefixes)] + ["Disallow:"] * (
        not site.disallowed_prefixes
    )
    if site.kind == "shop":
        lines.append("Crawl-delay: 5")
    lines += ["", f"Sitemap: {site.base_url}/sitemap.xml", ""]
    return HttpResponse("\n".join(lines).encode(), 200, "text/plain")


def _sitemap_response(site: Site, site_pages: list[SitePage]) -> HttpResponse:
    entries = "".join(
        f"<url><loc>{escape(site.base_url + site_page.path)}</loc><lastmod>{site_page.last_modified}</lastmod></url>\n"
        for site_page in site_pages
    )
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{entries}</urlset>\n"
    )
    return HttpResponse(text.encode(), 200, "application/xml")


def _feed_response(site: Site, site_pages: list[SitePage]) -> HttpResponse:
    """Return an RSS 2.0 feed of the 15 dated pages (those with a digit in their path) that changed last."""
    dated = sorted(
        (site_page for site_page in site_pages if any(c.isdigit() for c in site_page.path)),
        key=lambda site_page: site_page.last_modified,
    )
    items = ""
    for site_page in dated[:-16:-1]:  # the last 15, newest first
        title = site_page.render().partition("<title>")[2].partition("</title>")[0]
        day = datetime.fromisoformat(site_page.last_modified).strftime("%a, %d %b %Y 08:00:00 +0100")
        link = escape(site.base_url + site_page.path)
        items += f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid><pubDate>{day}</pubDate></item>\n"
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>{escape(site.name)}</title>'
        f"<link>{site.base_url}/</link><description>{escape(site.tagline)}</description>\n{items}</channel></rss>\n"
    )
    return HttpResponse(text.encode(), 200, "application/rss+xml")
