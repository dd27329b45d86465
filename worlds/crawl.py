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

from webemu.worlds.seeded_random import dice
from webemu.worlds.templates import page
from webemu.worlds.web import Answer, Leaf, Site

Subset = Literal["warc", "crawldiagnostics", "robotstxt"]
"""Folder of Common Crawl that a fetch is written to."""
NAME = "WEBEMU-2024-49"
"""Name of the crawl, in Common Crawl's form."""
BEGIN, END = datetime(2024, 11, 30, tzinfo=UTC), datetime(2024, 12, 12, tzinfo=UTC)
SECOND = datetime(2024, 12, 3, tzinfo=UTC)
"""Start of the second pass. Pages that changed at the turn of the month, and pages to be revisited, are fetched again
from here on; the first pass ends a day earlier.
"""
AGAIN = 24
"""One page in this many is captured twice, for each of the four kinds of duplicate."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of the crawler and the response to it."""

    site: Site
    url: str
    moment: datetime
    """UTC time of the capture."""
    fetch: Callable[[], Answer]
    """Callable that renders the response."""
    subset: Subset = "warc"
    language: str = "en"
    """Language that the crawler detects, ISO 639-1."""
    charset: str = "utf-8"
    """Encoding that the crawler detects."""
    repeats: Visit | None = None
    """Fetch whose payload a revisit repeats, or None. `fetch` of a revisit gives status and headers; its body is not
    recorded.
    """


def visits(seed: int, sites: list[Site]) -> Iterator[Visit]:
    """Yield every fetch of the crawl, site by site."""
    for site in sites:
        leaves = list(site.leaves(site))
        yield from _visit_doors(seed, site, leaves)
        for number, leaf in enumerate(leaves):
            yield from _visit_leaf(seed, site, leaf, number)
        yield from _visit_odds(seed, site)


def _moment(seed: int, url: str, *, first: bool = False) -> datetime:
    """Draw the time at which a URL is fetched; `first` selects the pass before the turn of the month."""
    start, end = (BEGIN, SECOND - timedelta(days=1)) if first else (SECOND, END)
    seconds = int((end - start).total_seconds())
    return start + timedelta(seconds=dice(seed, "moment", url, first).randrange(seconds))


def _visit_leaf(seed: int, site: Site, leaf: Leaf, number: int) -> Iterator[Visit]:
    """Yield the fetches of one page: two if it changed or is revisited, and perhaps one under a second URL."""
    url = site.base + leaf.path
    now = Visit(site, url, _moment(seed, url), partial(_html, leaf), "warc", leaf.language, leaf.charset)
    # 0 and 1: a revisit without change, by status 304 or by equal digest; 2 and 3: a second URL of the same page.
    way = dice(seed, "visits", url).randrange(AGAIN)
    if leaf.before:
        yield Visit(site, url, _moment(seed, url, first=True), partial(_html, leaf, early=True))
        yield now
    elif way < 2:
        first = Visit(site, url, _moment(seed, url, first=True), now.fetch, "warc", leaf.language, leaf.charset)
        yield first
        yield _unchanged(now, first) if way == 0 else _same(now, first)
    else:
        yield now
    if way == 2:
        yield _same(_at(seed, now, f"{url}{'&' if '?' in url else '?'}utm_source=letter"), now)
    elif way == 3:
        yield _at(seed, now, f"{url}{'&' if '?' in url else '?'}ref=front")


def _at(seed: int, visit: Visit, url: str) -> Visit:
    """Return a fetch of the same page under another URL."""
    return Visit(visit.site, url, _moment(seed, url), visit.fetch, "warc", visit.language, visit.charset)


def _same(visit: Visit, first: Visit) -> Visit:
    """Return the fetch as a revisit: the crawler noticed that it already had this payload."""
    return Visit(visit.site, visit.url, visit.moment, visit.fetch, "warc", visit.language, visit.charset, repeats=first)


def _unchanged(visit: Visit, first: Visit) -> Visit:
    """Return the fetch as a revisit that the server answered with 304."""
    answer = partial(Answer, b"", 304, "")
    return Visit(visit.site, visit.url, visit.moment, answer, "crawldiagnostics", repeats=first)


def _html(leaf: Leaf, *, early: bool = False) -> Answer:
    render = leaf.before if early and leaf.before else leaf.render
    body = render().encode(leaf.charset, "xmlcharrefreplace")
    declared = "text/html" if leaf.quiet else f"text/html; charset={leaf.charset.upper()}"
    return Answer(body, 200, declared, modified="2024-06-01" if early else leaf.modified)


def _visit_doors(seed: int, site: Site, leaves: list[Leaf]) -> Iterator[Visit]:
    """Yield the fetches of robots.txt, sitemap and feed, and of the URLs that redirect to the site's home page."""

    def to(path: str, fetch: Callable[[], Answer], subset: Subset = "warc") -> Visit:
        return Visit(site, site.base + path, _moment(seed, site.base + path), fetch, subset)

    yield to("/robots.txt", partial(_robots, site), "robotstxt")
    yield to("/sitemap.xml", partial(_sitemap, site, leaves))
    if site.feed:
        yield to(site.feed, partial(_feed, site, leaves))
    fronts = [f"http://{site.host}/"] + ([f"https://{site.host[4:]}/"] if site.host.startswith("www.") else [])
    for front in fronts:
        moved = partial(_moved, site, f"{site.base}/", 301)
        yield Visit(site, front, _moment(seed, front), moved, "crawldiagnostics")


def _visit_odds(seed: int, site: Site) -> Iterator[Visit]:
    """Yield the fetches of redirects, dead links, removed pages and server errors."""
    answers: list[tuple[str, Callable[[], Answer]]] = [
        (old, partial(_moved, site, new, status)) for old, new, status in site.moved
    ]
    answers += [(path, partial(_error, site, 404)) for path in site.dead]
    answers += [(path, partial(_error, site, 410)) for path in site.gone]
    answers += [(path, partial(_error, site, status)) for path, status in site.broken]
    for path, fetch in answers:
        url = site.base + path
        yield Visit(site, url, _moment(seed, url), fetch, "crawldiagnostics")


REASONS = {
    301: "Moved Permanently", 302: "Found", 304: "Not Modified", 404: "Not Found", 410: "Gone", 500: "Internal Server Error",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
}  # fmt: skip
"""Reason phrases by status code; 200 is always `OK`."""


def _moved(site: Site, target: str, status: int) -> Answer:
    """Return a redirect. nginx sends the target as it was configured; the other servers make it an absolute URL."""
    where = target if site.server == "nginx" else urljoin(site.base, target)
    reason = REASONS[status]
    body = f"<html><head><title>{status} {reason}</title></head><body><h1>{reason}</h1></body></html>\n"
    return Answer(body.encode(), status, "text/html", location=where)


def _error(site: Site, status: int) -> Answer:
    reason = REASONS[status]
    hint = "The page you were looking for is not here." if status < 500 else "Please try again in a few minutes."
    body = page(site, f"{status} {reason} - {site.name}", f"<h1>{status} {reason}</h1>\n<p>{hint}</p>\n")
    return Answer(body.encode(), status)


def _robots(site: Site) -> Answer:
    lines = ["User-agent: *", *(f"Disallow: {path}" for path in site.disallow)] + ["Disallow:"] * (not site.disallow)
    if site.kind == "shop":
        lines.append("Crawl-delay: 5")
    lines += ["", f"Sitemap: {site.base}/sitemap.xml", ""]
    return Answer("\n".join(lines).encode(), 200, "text/plain")


def _sitemap(site: Site, leaves: list[Leaf]) -> Answer:
    entries = "".join(
        f"<url><loc>{escape(site.base + leaf.path)}</loc><lastmod>{leaf.modified}</lastmod></url>\n" for leaf in leaves
    )
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{entries}</urlset>\n"
    )
    return Answer(text.encode(), 200, "application/xml")


def _feed(site: Site, leaves: list[Leaf]) -> Answer:
    """Return an RSS 2.0 feed of the 15 dated pages (those with a digit in their path) that changed last."""
    dated = sorted((leaf for leaf in leaves if any(c.isdigit() for c in leaf.path)), key=lambda leaf: leaf.modified)
    items = ""
    for leaf in dated[:-16:-1]:  # the last 15, newest first
        title = leaf.render().partition("<title>")[2].partition("</title>")[0]
        day = datetime.fromisoformat(leaf.modified).strftime("%a, %d %b %Y 08:00:00 +0100")
        link = escape(site.base + leaf.path)
        items += f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid><pubDate>{day}</pubDate></item>\n"
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel><title>{escape(site.name)}</title>'
        f"<link>{site.base}/</link><description>{escape(site.tagline)}</description>\n{items}</channel></rss>\n"
    )
    return Answer(text.encode(), 200, "application/rss+xml")
