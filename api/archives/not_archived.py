"""The archive's own HTML pages: "not archived", "not found", and the calendar of a URL's captures."""

from __future__ import annotations

from html import escape

from webemu.api.archives.address import Address
from webemu.api.archives.memento import mementos
from webemu.api.archives.responses import reply
from webemu.api.archives.timestamps import stamp
from webemu.api.services.origin import Headers, Reply
from webemu.emulator.types import Capture

_MOST = 1000
"""Captures listed on one calendar page; the newest are kept."""
SEALED: Headers = [(b"Content-Security-Policy", b"default-src 'none'; style-src 'unsafe-inline'")]
"""Content Security Policy of these pages: URLs of the crawl stand in them, so nothing is loaded or run."""


def not_archived(url: str) -> Reply:
    """Return the Wayback Machine's 404 for a URL without captures."""
    told = "<p>Hrm.</p><p>The Wayback Machine has not archived that URL.</p>"
    return _page(404, "Wayback Machine", told + _code(url))


def no_such_place() -> Reply:
    """Return the 404 for a path that the archive does not have."""
    return _page(404, "Wayback Machine", "<p>404 Not Found</p>")


def calendar(address: Address, captures: list[Capture]) -> Reply:
    """Return a page that links every capture of a URL, newest first, at most `_MAX_CALENDAR_ROWS`."""
    known = mementos(captures)
    rows = "".join(
        f'<li><a href="{escape(address.of(stamp(time), url, ""))}">{stamp(time)}</a> {escape(url)}</li>'
        for time, url in known[: -_MOST - 1 : -1]
    )
    return _page(200, f"{len(known)} captures", f"{_code(address.url)}<p>Saved {len(known)} times</p><ul>{rows}</ul>")


def _code(url: str) -> str:
    return f"<p><code>{escape(url[:2000])}</code></p>"


def _page(status: int, title: str, body: str) -> Reply:
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    return reply(status, f"{head}<body>{body}</body></html>\n", "text/html; charset=utf-8", SEALED)
