"""The archive's own HTML pages: "not archived", "not found", and the calendar of a URL's captures."""

from __future__ import annotations

from html import escape

from webemu.api.archives.address import ReplayAddress
from webemu.api.archives.memento import list_mementos
from webemu.api.archives.responses import make_response
from webemu.api.archives.timestamps import format_timestamp
from webemu.api.http.response import Headers, Response
from webemu.emulator.types import Capture

_MAX_CALENDAR_ROWS = 1000
"""Captures listed on one calendar page; the newest are kept."""
RESTRICTIVE_CSP: Headers = [(b"Content-Security-Policy", b"default-src 'none'; style-src 'unsafe-inline'")]
"""Content Security Policy of these pages: URLs of the crawl stand in them, so nothing is loaded or run."""


def not_archived_page(url: str) -> Response:
    """Return the Wayback Machine's 404 for a URL without captures."""
    notice = "<p>Hrm.</p><p>The Wayback Machine has not archived that URL.</p>"
    return _html_response(404, "Wayback Machine", notice + _code_paragraph(url))


def not_found_page() -> Response:
    """Return the 404 for a path that the archive does not have."""
    return _html_response(404, "Wayback Machine", "<p>404 Not Found</p>")


def calendar_page(address: ReplayAddress, captures: list[Capture]) -> Response:
    """Return a page that links every capture of a URL, newest first, at most `_MAX_CALENDAR_ROWS`."""
    all_mementos = list_mementos(captures)
    rows = "".join(
        f'<li><a href="{escape(address.capture_path(format_timestamp(time), url, ""))}'
        f'">{format_timestamp(time)}</a> {escape(url)}</li>'
        for time, url in all_mementos[: -_MAX_CALENDAR_ROWS - 1 : -1]
    )
    return _html_response(
        200,
        f"{len(all_mementos)} captures",
        f"{_code_paragraph(address.url)}<p>Saved {len(all_mementos)} times</p><ul>{rows}</ul>",
    )


def _code_paragraph(url: str) -> str:
    return f"<p><code>{escape(url[:2000])}</code></p>"


def _html_response(status: int, title: str, body: str) -> Response:
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    return make_response(status, f"{head}<body>{body}</body></html>\n", "text/html; charset=utf-8", RESTRICTIVE_CSP)
