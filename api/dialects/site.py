"""What of a site the crawl holds, as services that list and scrape sites want it: its pages, its icon."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from webemu.api.http.errors import is_ours
from webemu.emulator import urls
from webemu.emulator.errors import EmulatorError, NotCaptured
from webemu.emulator.types import Capture, Page, PageRequest, View
from webemu.emulator.world import World

_PAGES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")


def is_page(capture: Capture) -> bool:
    """Whether it is something to read, and no error."""
    return capture.status == 200 and capture.mime in _PAGES


def is_within(host: str, site: str, with_subdomains: bool) -> bool:
    """Whether a host is a site's; `www.` makes no difference."""
    host, site = host.removeprefix("www."), site.removeprefix("www.")
    return host == site or (with_subdomains and host.endswith(f".{site}"))


def pages(world: World, site: str, with_subdomains: bool, at: datetime | None) -> Iterator[Capture]:
    """The pages of a host by SURT key, each once; with a time only those captured until then."""
    key = urls.surt(f"http://{site}/")
    stem = key.partition(")")[0]
    first, last = (f"{stem})", f"{stem}-") if with_subdomains else (key, f"{key[:-2]}*")
    for _, captures in world.listing(first, last):
        latest: dict[str, Capture] = {}
        for capture in captures:
            if at is None or capture.time <= at.timestamp():
                latest[capture.url] = capture
        for capture in latest.values():
            if is_page(capture) and is_within(urls.host(capture.url), site, with_subdomains):
                yield capture


def opened(world: World, url: str, view: View, at: datetime | None) -> Page | None:
    """A page, None where the crawl cannot show it. Raises what is our own failure."""
    try:
        return world.fetch(PageRequest(url, view, at))
    except EmulatorError as error:
        if is_ours(error):
            raise
        return None


def icon(world: World, url: str, at: datetime | None) -> str:
    """URL of the site's icon, where browsers look for it; empty if the crawl has none."""
    try:
        capture = world.locate(PageRequest(urls.resolve(url, "/favicon.ico"), "raw", at))
    except NotCaptured:
        return ""
    return capture.url if capture.status == 200 else ""
