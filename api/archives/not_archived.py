"""Pages that the archive has of its own: that a URL was not archived, and which captures of it there are."""

from __future__ import annotations

from html import escape

from webemu.api.archives.address import Address
from webemu.api.archives.memento import mementos
from webemu.api.archives.responses import reply
from webemu.api.archives.timestamps import stamp
from webemu.api.services.origin import Headers, Reply
from webemu.emulator.types import Capture

_MOST = 1000
SEALED: Headers = [(b"Content-Security-Policy", b"default-src 'none'; style-src 'unsafe-inline'")]


def not_archived(url: str) -> Reply:
    """404 in the manner of the Wayback Machine."""
    told = "<p>Hrm.</p><p>The Wayback Machine has not archived that URL.</p>"
    return _page(404, "Wayback Machine", told + _code(url))


def no_such_place() -> Reply:
    return _page(404, "Wayback Machine", "<p>404 Not Found</p>")


def calendar(address: Address, captures: list[Capture]) -> Reply:
    """Every capture of a URL, the latest first."""
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
