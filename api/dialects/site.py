"""Pages and icons of one site, for services that list, map and crawl sites."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from webemu.api.http.errors import is_server_fault
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, NotCaptured
from webemu.emulator.types import Capture, Page, PageRequest, View
from webemu.emulator.world import World

_READABLE_TYPES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")
"""Media types of pages that have text to read."""


def is_readable_page(capture: Capture) -> bool:
    """True if the capture is a readable page, not an error, a redirect or another file."""
    return capture.status == 200 and capture.mime in _READABLE_TYPES


def is_within(host: str, site: str, with_subdomains: bool) -> bool:
    """True if the host belongs to the site. A leading `www.` makes no difference."""
    host, site = host.removeprefix("www."), site.removeprefix("www.")
    return host == site or (with_subdomains and host.endswith(f".{site}"))


def list_pages(world: World, site: str, with_subdomains: bool, at_time: datetime | None) -> Iterator[Capture]:
    """Yield the readable pages of a site in SURT order, each URL once with its latest capture.

    With a time, only captures up to it count.
    """
    key = urls.surt_key(f"http://{site}/")
    stem = key.partition(")")[0]
    # In SURT keys ")" ends a host and "," begins a subdomain; "*" is the character after ")" and "-" the one after ",".
    first, last = (f"{stem})", f"{stem}-") if with_subdomains else (key, f"{key[:-2]}*")
    for _, captures in world.listing(first, last):
        latest: dict[str, Capture] = {}
        for capture in captures:
            if at_time is None or capture.time <= at_time.timestamp():
                latest[capture.url] = capture
        for capture in latest.values():
            if is_readable_page(capture) and is_within(urls.host_of(capture.url), site, with_subdomains):
                yield capture


def open_page(world: World, url: str, view: View, at_time: datetime | None) -> Page | None:
    """Return the page at a URL, None if the crawl cannot show it. Raises EmulatorError if the server itself fails."""
    try:
        return world.fetch(PageRequest(url, view, at_time))
    except EmulatorError as error:
        if is_server_fault(error):
            raise
        return None


def find_icon(world: World, url: str, at_time: datetime | None) -> str:
    """Return the URL of the site's `/favicon.ico`; empty if the crawl has none."""
    try:
        capture = world.locate(PageRequest(urls.resolve(url, "/favicon.ico"), "raw", at_time))
    except NotCaptured:
        return ""
    return capture.url if capture.status == 200 else ""
