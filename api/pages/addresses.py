"""Addresses inside these pages, and URLs of the crawl as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlencode

from webemu.api.http.request import Request
from webemu.emulator import urls

OWN_NAME = "webemu"
"""Who asks this name asks through the proxy: URLs of the crawl are then links that work."""
MAX_CRUMBS = 5
MAX_CRUMB = 60
_KEPT = "%/:?[]@!$&'()*+,;=-._~|{}^`"
"""Not escaped again in a URL that is the end of a path."""


def search(text: str, page: int = 1) -> str:
    return "/search?" + urlencode({"q": text} | ({"page": page} if page > 1 else {}))


def view(url: str, tab: str = "page", at: str = "") -> str:
    asked = {"url": url} | ({"as": tab} if tab != "page" else {}) | ({"at": at} if at else {})
    return "/view?" + urlencode(asked)


def replay(url: str, at: str, modifier: str = "") -> str:
    """The emulated page in the archive of this server; empty for what is no page of the web."""
    return f"/web/{at}{modifier}/{quote(url, safe=_KEPT)}" if is_web(url) else ""


def real(request: Request, url: str) -> str:
    """The URL itself where it can be opened, else empty."""
    return url if request.host == OWN_NAME and is_web(url) else ""


def host(url: str) -> str:
    """The host of a URL as somebody typed it."""
    return urls.host(urls.guess(url))


def is_web(url: str) -> bool:
    return url.startswith(("http://", "https://"))


def stamp(seconds: int) -> str:
    """A time as archives write it in addresses: YYYYMMDDhhmmss."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d%H%M%S")


def readable(url: str) -> str:
    """Percent-escapes decoded, unless that gives what cannot be seen or turns the direction of writing."""
    decoded = unquote(url, errors="strict") if _is_utf8(url) else url
    return decoded if decoded.isprintable() else "".join(c if c.isprintable() else "�" for c in url)


def _is_utf8(url: str) -> bool:
    try:
        unquote(url, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def crumbs(url: str) -> list[str]:
    """Host and path, part by part, the middle of a long one left out."""
    if not is_web(url):
        return [readable(url)[:MAX_CRUMB]]
    path = url.partition("://")[2].partition("/")[2]
    parts = [_short(readable(part)) for part in path.rstrip("/").split("/") if part]
    if len(parts) > MAX_CRUMBS:
        parts = [*parts[:2], "…", *parts[3 - MAX_CRUMBS :]]
    return [_short(readable(urls.host(url))), *parts]


def _short(text: str) -> str:
    return text if len(text) <= MAX_CRUMB else text[: MAX_CRUMB - 1] + "…"
