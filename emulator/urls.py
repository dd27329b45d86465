"""URL law: which spellings are the same page, and which host and domain a URL belongs to.

Four keys of a URL, from strict to loose: `exact` (WHATWG serialisation, no fragment), `canonical` (w3lib: sorted
query, normal escapes), `surt` (Internet Archive's SURT, equal to Common Crawl's url_surtkey) and `loose` (that of the
URL without index file, tracking and cache-busting parameters). The lookup that uses them is in `webemu.emulator.world`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

import ada_url
import surt as surt_library
import tldextract
from w3lib.url import canonicalize_url, url_query_cleaner

_suffixes = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def exact(url: str) -> str:
    """The URL as a browser would send it, without its fragment; as given (trimmed) when it is not a valid URL."""
    url = url.strip().partition("#")[0]
    try:
        return str(ada_url.normalize_url(url))
    except ValueError:
        return url


def guess(url: str) -> str:
    """`exact`, after adding the scheme that people leave out (`example.org/a` is `http://example.org/a`)."""
    url = url.strip()
    if url.startswith("//"):
        return exact("http:" + url)
    if mistyped := _SLASHES.match(url):
        return exact(f"{mistyped[1]}://{url[mistyped.end() :]}")
    if "://" not in url[:12] and not url.startswith(("data:", "dns:", "urn:", "mailto:", "javascript:", "about:")):
        secure = url.partition("/")[0].endswith(":443")
        return exact(f"{'https' if secure else 'http'}://{url}")
    return exact(url)


_SLASHES = re.compile(r"(https?):/?(?!/)", re.IGNORECASE)
"""A scheme with too few slashes after it, which browsers mend."""


def canonical(exact_url: str) -> str:
    """Sorted query, normal percent-escapes, no scheme: two spellings a server would not tell apart."""
    try:
        return str(canonicalize_url(exact_url)).partition("://")[2]
    except ValueError:
        return exact_url


def surt(url: str) -> str:
    """SURT key, `org,example)/path?query`; the URL itself where the library cannot read it."""
    try:
        key = surt_library.surt(url)
    except Exception:  # the library raises many kinds on malformed URLs
        return url
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)


_INDEX = re.compile(r"/(?:index|default)\.(?:html?|xhtml|shtml|php\d?|aspx?|jsp|cgi)(?=\?|\Z)", re.IGNORECASE)
_STATIC = re.compile(
    r"\.(?:css|js|mjs|json|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|eot|mp[34]|webm)\?.*", re.IGNORECASE
)
_IDLE = re.compile(
    r"utm_\w+|fbclid|gclid|gclsrc|dclid|wbraid|gbraid|msclkid|yclid|twclid|igshid|mc_[ce]id|_hs(enc|mi)|_g[al]|_openstat"
    r"|_|_ts|cb|cachebuster|cache_?bust|nocache|rand|rnd|timestamp",
    re.IGNORECASE,
)
"""Parameters that change nothing of the answer: marks of campaigns, and what only makes a URL new."""


def loose(exact_url: str) -> str:
    """SURT key of `plain`."""
    return surt(plain(exact_url))


def plain(exact_url: str) -> str:
    """The URL without index file name and without `_IDLE` parameters; that of a static file without any."""
    url = _INDEX.sub("/", exact_url, count=1)
    if "?" not in url:
        return url
    if _STATIC.search(url):
        return url.partition("?")[0]
    names = (part.partition("=")[0] for part in url.partition("?")[2].split("&"))
    idle = [name for name in names if _IDLE.fullmatch(name)]
    return str(url_query_cleaner(url, idle, remove=True)) if idle else url


def resolve(base: str, reference: str) -> str:
    """Absolute URL of a reference, fragment kept out; empty when it cannot be resolved."""
    try:
        return str(ada_url.join_url(base, reference.strip())).partition("#")[0]
    except ValueError:
        return ""


def split(url: str) -> SplitResult:
    """Return the parts of a URL. One whose host is broken (`http://[::1`) is all path, where urllib raises."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def host(url: str) -> str:
    """Lower-case host name without port and user, empty if there is none."""
    rest = url.partition("://")[2]
    for stop in "/?#":
        rest = rest.partition(stop)[0]
    rest = rest.rpartition("@")[2].lower()
    if rest.startswith("["):
        return rest.partition("]")[0] + "]"
    return rest.partition(":")[0].rstrip(".")


@lru_cache(maxsize=65_536)
def domain(host_name: str) -> tuple[str, str]:
    """(registrable domain, public suffix) by the bundled Public Suffix List; the host itself where it has none."""
    parts = _suffixes(host_name)
    registered = parts.top_domain_under_public_suffix
    return registered or host_name, parts.suffix
