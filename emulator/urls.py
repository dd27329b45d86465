"""URL canonicalisation: decides which spellings mean the same page, and which host and domain a URL belongs to.

A URL has four keys, from strict to loose: `normalize` (WHATWG serialisation without fragment), `canonical_key` (w3lib:
sorted query, normal escapes), `surt_key` (the Internet Archive's SURT, equal to Common Crawl's url_surtkey) and
`loose_key` (the SURT key without index file, tracking and cache-busting parameters). `webemu.emulator.world` looks
captures up by them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

import ada_url
import surt as surt_library
import tldextract
from w3lib.url import canonicalize_url, url_query_cleaner

_extract_suffix = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def normalize(url: str) -> str:
    """Return the URL as a browser would send it, without fragment; an invalid URL is returned as given, trimmed."""
    url = url.strip().partition("#")[0]
    try:
        return str(ada_url.normalize_url(url))
    except ValueError:
        return url


def parse_user_url(url: str) -> str:
    """Return the normalised URL of what a user typed: a missing scheme is added (`example.org/a` is
    `http://example.org/a`).
    """
    url = url.strip()
    if url.startswith("//"):
        return normalize("http:" + url)
    if mistyped := _MISSING_SLASHES.match(url):
        return normalize(f"{mistyped[1]}://{url[mistyped.end() :]}")
    if "://" not in url[:12] and not url.startswith(("data:", "dns:", "urn:", "mailto:", "javascript:", "about:")):
        secure = url.partition("/")[0].endswith(":443")  # the port of HTTPS
        return normalize(f"{'https' if secure else 'http'}://{url}")
    return normalize(url)


_MISSING_SLASHES = re.compile(r"(https?):/?(?!/)", re.IGNORECASE)
"""A scheme followed by too few slashes, which browsers repair."""


_PLAIN_URL = re.compile(
    r"https?://(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]+/(?:[\w~-][\w.~-]*/)*(?:[\w~-][\w.~-]*)?", re.ASCII
)
"""A URL in which w3lib changes nothing: most are, and w3lib takes as long as all else that the lookup does with one."""
_WWW = re.compile(r"www\d*\.", re.ASCII)


def canonical_key(exact_url: str) -> str:
    """Return the canonical key: sorted query, normal percent-escapes, no scheme.

    Two URLs with the same key are spellings that a server would not tell apart.
    """
    if _PLAIN_URL.fullmatch(exact_url):
        return exact_url.partition("://")[2]
    try:
        return str(canonicalize_url(exact_url)).partition("://")[2]
    except ValueError:
        return exact_url


def surt_key(url: str) -> str:
    """Return the SURT key, `org,example)/path?query`; the URL itself if the library cannot parse it."""
    if _PLAIN_URL.fullmatch(url):  # the same in a tenth of the time
        host, _, path = url.partition("://")[2].partition("/")
        if www := _WWW.match(host):
            host = host[www.end() :]
        return f"{','.join(reversed(host.split('.')))})/{path.lower().rstrip('/')}"
    try:
        key = surt_library.surt(url)
    except Exception:  # the library raises many types of errors on malformed URLs
        return url
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)


_INDEX_FILE = re.compile(r"/(?:index|default)\.(?:html?|xhtml|shtml|php\d?|aspx?|jsp|cgi)(?=\?|\Z)", re.IGNORECASE)
"""File name of a directory's index page."""
_STATIC_FILE = re.compile(
    r"\.(?:css|js|mjs|json|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|eot|mp[34]|webm)\?.*", re.IGNORECASE
)
"""A static file with a query, which only serves to bypass caches."""
_IDLE_PARAMETER = re.compile(
    r"utm_\w+|fbclid|gclid|gclsrc|dclid|wbraid|gbraid|msclkid|yclid|twclid|igshid|mc_[ce]id|_hs(enc|mi)|_g[al]|_openstat"
    r"|_|_ts|cb|cachebuster|cache_?bust|nocache|rand|rnd|timestamp",
    re.IGNORECASE,
)
"""Parameters that do not change the response: campaign tracking and cache busting."""


def loose_key(exact_url: str) -> str:
    """Return the SURT key of the URL without idle parameters and index file."""
    return surt_key(strip_idle_parameters(exact_url))


def strip_idle_parameters(exact_url: str) -> str:
    """Return the URL without index file name and idle parameters; a static file loses its whole query."""
    url = _INDEX_FILE.sub("/", exact_url, count=1)
    if "?" not in url:
        return url
    if _STATIC_FILE.search(url):
        return url.partition("?")[0]
    names = (part.partition("=")[0] for part in url.partition("?")[2].split("&"))
    idle = [name for name in names if _IDLE_PARAMETER.fullmatch(name)]
    return str(url_query_cleaner(url, idle, remove=True)) if idle else url


def resolve(base: str, reference: str) -> str:
    """Return the absolute URL of a reference, without fragment; empty if it cannot be resolved."""
    try:
        return str(ada_url.join_url(base, reference.strip())).partition("#")[0]
    except ValueError:
        return ""


def split_url(url: str) -> SplitResult:
    """Return the parts of a URL. If its host is malformed (`http://[::1`), all of it becomes the path, where urllib
    raises.
    """
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def host_of(url: str) -> str:
    """Return the host in lower case, without port and user; empty if there is none."""
    authority = url.partition("://")[2]
    # By hand: urlsplit raises on malformed hosts, and this is called for every capture.
    for stop in "/?#":
        authority = authority.partition(stop)[0]
    authority = authority.rpartition("@")[2].lower()
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0].rstrip(".")


@lru_cache(maxsize=65_536)
def split_domain(host_name: str) -> tuple[str, str]:
    """Return (registrable domain, public suffix) by the bundled Public Suffix List; a host without one is its own
    domain.
    """
    parts = _extract_suffix(host_name)
    registered = parts.top_domain_under_public_suffix
    return registered or host_name, parts.suffix
