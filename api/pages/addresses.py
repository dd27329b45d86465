"""Addresses within these pages, and URLs of the crawl in readable form."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlencode

from webemu.api.http.request import Request
from webemu.emulator import urls

OWN_NAME = "webemu"
"""Host name that only a client of the proxy can reach: for it, links to URLs of the crawl work directly."""
MAX_CRUMBS = 5
"""Most parts of a path in breadcrumbs."""
MAX_CRUMB = 60
"""Most characters of one part."""
_KEPT = "%/:?[]@!$&'()*+,;=-._~|{}^`"
"""Characters that are not escaped in a URL at the end of a path."""


def search(text: str, page: int = 1) -> str:
    """Return the address of a page of results."""
    return "/search?" + urlencode({"q": text} | ({"page": page} if page > 1 else {}))


def view(url: str, tab: str = "page", at: str = "") -> str:
    """Return the address that shows a URL of the crawl; `timestamp` is YYYYMMDDhhmmss, empty for the session's time."""
    asked = {"url": url} | ({"as": tab} if tab != "page" else {}) | ({"at": at} if at else {})
    return "/view?" + urlencode(asked)


def replay(url: str, at: str, modifier: str = "") -> str:
    """Return the address of the emulated page in this server's archive; empty if the URL is not a web page's."""
    return f"/web/{at}{modifier}/{quote(url, safe=_KEPT)}" if is_web(url) else ""


def real(request: Request, url: str) -> str:
    """Return the URL itself if the client can open it through the proxy, else empty."""
    return url if request.host == OWN_NAME and is_web(url) else ""


def host(url: str) -> str:
    """Return the host of a URL as a user typed it."""
    return urls.host(urls.guess(url))


def is_web(url: str) -> bool:
    """True if the URL has the scheme http or https."""
    return url.startswith(("http://", "https://"))


def stamp(seconds: int) -> str:
    """Format a time as archives write it in addresses: YYYYMMDDhhmmss."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d%H%M%S")


def readable(url: str) -> str:
    """Decode percent-escapes, unless that yields invisible characters or changes the direction of the text."""
    decoded = unquote(url, errors="strict") if _is_utf8(url) else url
    return decoded if decoded.isprintable() else "".join(c if c.isprintable() else "�" for c in url)


def _is_utf8(url: str) -> bool:
    """True if the percent-escapes of a URL are UTF-8."""
    try:
        unquote(url, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def crumbs(url: str) -> list[str]:
    """Return host and path part by part, without the middle of a long path."""
    if not is_web(url):
        return [readable(url)[:MAX_CRUMB]]
    path = url.partition("://")[2].partition("/")[2]
    parts = [_short(readable(part)) for part in path.rstrip("/").split("/") if part]
    if len(parts) > MAX_CRUMBS:
        parts = [*parts[:2], "…", *parts[3 - MAX_CRUMBS :]]
    return [_short(readable(urls.host(url))), *parts]


def _short(text: str) -> str:
    return text if len(text) <= MAX_CRUMB else text[: MAX_CRUMB - 1] + "…"
