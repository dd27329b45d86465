"""Addresses within these pages, and URLs of the crawl in readable form."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlencode

from webemu.api.http.request import Request
from webemu.emulator import urls

PROXY_HOST_NAME = "webemu"
"""Host name that only a client of the proxy can reach: for it, links to URLs of the crawl work directly."""
MAX_CRUMBS = 5
"""Most parts of a path in breadcrumbs."""
MAX_CRUMB = 60
"""Most characters of one part."""
_UNESCAPED = "%/:?[]@!$&'()*+,;=-._~|{}^`"
"""Characters that are not escaped in a URL at the end of a path."""


def search_url(text: str, page: int = 1) -> str:
    """Return the address of a page of results."""
    return "/search?" + urlencode({"q": text} | ({"page": page} if page > 1 else {}))


def view_url(url: str, tab: str = "", timestamp: str = "") -> str:
    """Return the address that shows a URL of the crawl.

    `tab` is a view, empty for the one in which the page opens; `timestamp` is YYYYMMDDhhmmss or a day, empty for the
    session's time.
    """
    params = {"url": url} | ({"as": tab} if tab else {}) | ({"at": timestamp} if timestamp else {})
    return "/view?" + urlencode(params)


def replay_url(url: str, timestamp: str, modifier: str = "") -> str:
    """Return the address of the emulated page in this server's archive; empty if the URL is not a web page's."""
    return f"/web/{timestamp}{modifier}/{quote(url, safe=_UNESCAPED)}" if is_web_url(url) else ""


def direct_url(request: Request, url: str) -> str:
    """Return the URL itself if the client can open it through the proxy, else empty."""
    return url if request.host == PROXY_HOST_NAME and is_web_url(url) else ""


def host_of(url: str) -> str:
    """Return the host of a URL as a user typed it."""
    return urls.host_of(urls.parse_user_url(url))


def is_web_url(url: str) -> bool:
    """True if the URL has the scheme http or https."""
    return url.startswith(("http://", "https://"))


def format_timestamp(seconds: int) -> str:
    """Format a time as archives write it in addresses: YYYYMMDDhhmmss."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d%H%M%S")


def decode_for_display(url: str) -> str:
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


def split_breadcrumbs(url: str) -> list[str]:
    """Return host and path part by part, without the middle of a long path."""
    if not is_web_url(url):
        return [decode_for_display(url)[:MAX_CRUMB]]
    path = url.partition("://")[2].partition("/")[2]
    parts = [_shorten(decode_for_display(part)) for part in path.rstrip("/").split("/") if part]
    if len(parts) > MAX_CRUMBS:
        parts = [*parts[:2], "…", *parts[3 - MAX_CRUMBS :]]
    return [_shorten(decode_for_display(urls.host_of(url))), *parts]


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_CRUMB else text[: MAX_CRUMB - 1] + "…"
