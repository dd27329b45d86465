"""Replay addresses, `/web/<digits><modifier>_/<url>`: parsing and formatting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from webemu.api.archives.responses import ascii_url
from webemu.api.http.request import Request

# Archive, then optionally a timestamp with modifier or `*`, then the URL.
_PARTS = re.compile(r"(/web/|/CC-MAIN-[\d-]+/)(?:(\d{1,14})([a-z]{2}_)?/|(\*)/)?(.+)", re.DOTALL)
_ESCAPED = re.compile(r"[a-z]{3,5}%3a", re.IGNORECASE)
"""URL whose scheme separator is percent-encoded: the client escaped all of it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Parsed path of a replay request."""

    prefix: str
    """Path of the archive, `/web/` or `/<crawl id>/`."""
    digits: str
    """Up to 14 digits of the capture time; empty for a TimeGate, `*` for the calendar of all captures."""
    kind: str
    """Wayback modifier such as `id_` (unmodified) or `im_` (image); empty for a rewritten page."""
    url: str

    def of(self, stamp: str, url: str, kind: str | None = None) -> str:
        """Return the path of a capture in the same archive; `modifier` replaces the address's own if given."""
        return f"{self.prefix}{stamp}{self.kind if kind is None else kind}/{ascii_url(url)}"

    def gate(self, url: str) -> str:
        """Return the path of the TimeGate of a URL in the same archive."""
        return f"{self.prefix}{ascii_url(url)}"


def read_address(request: Request) -> Address | None:
    """Return the parsed replay address of a request, or None if its path is not one.

    Clients that percent-encode the whole URL inside the path are understood too.
    """
    found = _PARTS.fullmatch(request.target)
    if found is None:
        return None
    prefix, digits, kind, star, url = found.groups()
    return Address(prefix, digits or star or "", kind or "", unquote(url) if _ESCAPED.match(url) else url)
