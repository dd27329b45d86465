"""Replay addresses, `/web/<digits><modifier>_/<url>`: parsing and formatting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from webemu.api.archives.responses import ascii_url
from webemu.api.http.request import Request

# Archive, then optionally a timestamp with modifier or `*`, then the URL.
_REPLAY_PATH = re.compile(r"(/web/|/CC-MAIN-[\d-]+/)(?:(\d{1,14})([a-z]{2}_)?/|(\*)/)?(.+)", re.DOTALL)
_ESCAPED_SCHEME = re.compile(r"[a-z]{3,5}%3a", re.IGNORECASE)
"""URL whose scheme separator is percent-encoded: the client escaped all of it."""


@dataclass(frozen=True, slots=True)
class ReplayAddress:
    """Parsed path of a replay request."""

    prefix: str
    """Path of the archive, `/web/` or `/<crawl id>/`."""
    timestamp: str
    """Up to 14 digits of the capture time; empty for a TimeGate, `*` for the calendar of all captures."""
    modifier: str
    """Wayback modifier such as `id_` (unmodified) or `im_` (image); empty for a rewritten page."""
    url: str

    def capture_path(self, timestamp: str, url: str, modifier: str | None = None) -> str:
        """Return the path of a capture in the same archive; `modifier` replaces the address's own if given."""
        return f"{self.prefix}{timestamp}{self.modifier if modifier is None else modifier}/{ascii_url(url)}"

    def timegate_path(self, url: str) -> str:
        """Return the path of the TimeGate of a URL in the same archive."""
        return f"{self.prefix}{ascii_url(url)}"


def parse_address(request: Request) -> ReplayAddress | None:
    """Return the parsed replay address of a request, or None if its path is not one.

    Clients that percent-encode the whole URL inside the path are understood too.
    """
    match = _REPLAY_PATH.fullmatch(request.target)
    if match is None:
        return None
    prefix, digits, modifier, star, url = match.groups()
    return ReplayAddress(
        prefix, digits or star or "", modifier or "", unquote(url) if _ESCAPED_SCHEME.match(url) else url
    )
