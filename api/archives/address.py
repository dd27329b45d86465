"""Addresses of replayed pages: `/web/<digits><modifier>_/<url>`, read and written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from webemu.api.archives.responses import ascii_url
from webemu.api.http.request import Request

_PARTS = re.compile(r"(/web/|/CC-MAIN-[\d-]+/)(?:(\d{1,14})([a-z]{2}_)?/|(\*)/)?(.+)", re.DOTALL)
_ESCAPED = re.compile(r"[a-z]{3,5}%3a", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """What is asked of a replay."""

    prefix: str
    digits: str
    """Of the time; empty for a TimeGate, `*` for all captures."""
    kind: str
    """The modifier: `id_`, `im_` and so on."""
    url: str

    def of(self, stamp: str, url: str, kind: str | None = None) -> str:
        """The path of a capture in the same archive."""
        return f"{self.prefix}{stamp}{self.kind if kind is None else kind}/{ascii_url(url)}"

    def gate(self, url: str) -> str:
        return f"{self.prefix}{ascii_url(url)}"


def read_address(request: Request) -> Address | None:
    """The address that is asked for; some clients escape the whole URL in it."""
    found = _PARTS.fullmatch(request.target)
    if found is None:
        return None
    prefix, digits, kind, star, url = found.groups()
    return Address(prefix, digits or star or "", kind or "", unquote(url) if _ESCAPED.match(url) else url)
