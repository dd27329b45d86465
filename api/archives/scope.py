"""Range of SURT keys that a CDX query covers: one URL, a path prefix, a host or a domain.

The ranges are those of pywb's `calc_search_range`. Reading the captures inside a range is the work of
`webemu.api.archives.listing`.
"""

from __future__ import annotations

from dataclasses import dataclass

from webemu.api.archives.parameters import Pairs, choice, one
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest

MATCHES = ("", "exact", "prefix", "host", "domain")
"""Values of `matchType`; the empty one means that the URL itself may hold a wildcard."""
_LAST = "\U0010ffff"
"""Highest Unicode character: `prefix + _MAX_CHARACTER` sorts after every key that begins with `prefix`."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Half-open range of SURT keys, from `first` up to but excluding `last`, in byte order."""

    first: str
    last: str
    match: str
    """Resolved match type: exact, prefix, host or domain."""
    url: str
    """URL parameter exactly as the client sent it, wildcard included."""

    def holds(self, key: str) -> bool:
        """True if the SURT key lies in the range, compared by UTF-8 bytes."""
        # Keys may hold lone surrogates from broken URLs, which plain UTF-8 refuses.
        first, this, last = (text.encode("utf-8", "surrogatepass") for text in (self.first, key, self.last))
        return first <= this < last


def scope_of(pairs: Pairs) -> Scope:
    """Return the key range for `url` and `matchType`, or for a `*` wildcard in the URL.

        parse_scope([("url", "example.com/a*")]).match   # "prefix"

    Raises BadRequest if `url` is missing or `matchType` is unknown.
    """
    asked = one(pairs, "url").strip()
    match = choice(pairs, "matchType", MATCHES)
    if not asked:
        raise BadRequest("the url parameter is required")
    url = asked
    if not match and url.startswith("*."):
        match, url = "domain", url[2:]
    elif not match and url.endswith("*"):
        match, url = "prefix", url[:-1]
    return Scope(*_range(url, match or "exact"), match or "exact", asked)


def _range(url: str, match: str) -> tuple[str, str]:
    """Return the first key of the range and the key after its end."""
    key = urls.surt(urls.guess(url))
    host = key.partition(")")[0]
    if match == "prefix":
        # The SURT library drops a trailing slash, but /a/* must not match /about.
        start = key + "/" if url.endswith("/") and not key.endswith("/") else key
        return start, start + _LAST
    if match == "host":
        return host + ")", host + "*"  # "*" is the byte after ")"
    if match == "domain":  # ")" ends the host, "," starts a subdomain; "-", the next byte, belongs to another domain
        return host + ")", host + "-"
    return key, key + "\0"
