"""Range of SURT keys that a CDX query covers: one URL, a path prefix, a host or a domain.

The ranges are those of pywb's `calc_search_range`. Reading the captures inside a range is the work of
`webemu.api.archives.listing`.
"""

from __future__ import annotations

from dataclasses import dataclass

from webemu.api.archives.parameters import Pairs, choice_value, first_value
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest

MATCH_TYPES = ("", "exact", "prefix", "host", "domain")
"""Values of `matchType`; the empty one means that the URL itself may hold a wildcard."""
_MAX_CHARACTER = "\U0010ffff"
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

    def contains(self, key: str) -> bool:
        """True if the SURT key lies in the range, compared by UTF-8 bytes."""
        # Keys may hold lone surrogates from broken URLs, which plain UTF-8 refuses.
        first, key_bytes, last = (text.encode("utf-8", "surrogatepass") for text in (self.first, key, self.last))
        return first <= key_bytes < last


def parse_scope(pairs: Pairs) -> Scope:
    """Return the key range for `url` and `matchType`, or for a `*` wildcard in the URL.

        parse_scope([("url", "example.com/a*")]).match   # "prefix"

    Raises BadRequest if `url` is missing or `matchType` is unknown.
    """
    url_pattern = first_value(pairs, "url").strip()
    match_type = choice_value(pairs, "matchType", MATCH_TYPES)
    if not url_pattern:
        raise BadRequest("the url parameter is required")
    url = url_pattern
    if not match_type and url.startswith("*."):
        match_type, url = "domain", url[2:]
    elif not match_type and url.endswith("*"):
        match_type, url = "prefix", url[:-1]
    return Scope(*_key_range(url, match_type or "exact"), match_type or "exact", url_pattern)


def _key_range(url: str, match_type: str) -> tuple[str, str]:
    """Return the first key of the range and the key after its end."""
    key = urls.surt_key(urls.parse_user_url(url))
    host = key.partition(")")[0]
    if match_type == "prefix":
        # The SURT library drops a trailing slash, but /a/* must not match /about.
        start = key + "/" if url.endswith("/") and not key.endswith("/") else key
        return start, start + _MAX_CHARACTER
    if match_type == "host":
        return host + ")", host + "*"  # "*" is the byte after ")"
    if (
        match_type == "domain"
    ):  # ")" ends the host, "," starts a subdomain; "-", the next byte, belongs to another domain
        return host + ")", host + "-"
    return key, key + "\0"
