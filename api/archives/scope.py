"""Which SURT keys a CDX query is about: one, those under a path, of a host, of a domain (pywb, `calc_search_range`)."""

from __future__ import annotations

from dataclasses import dataclass

from webemu.api.archives.parameters import Pairs, choice, one
from webemu.emulator import urls
from webemu.emulator.errors import BadRequest

MATCHES = ("", "exact", "prefix", "host", "domain")
_LAST = "\U0010ffff"
"""Follows whatever begins with the same."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Keys from `first` to before `last`, in the order of bytes."""

    first: str
    last: str
    match: str
    url: str
    """As asked."""

    def holds(self, key: str) -> bool:
        first, this, last = (text.encode("utf-8", "surrogatepass") for text in (self.first, key, self.last))
        return first <= this < last


def scope_of(pairs: Pairs) -> Scope:
    """Of `url` and `matchType`, or a wildcard in its place. Raises BadRequest."""
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
    key = urls.surt(urls.guess(url))
    host = key.partition(")")[0]
    if match == "prefix":
        # The library leaves out a slash at the end, which tells /a/ from /about.
        start = key + "/" if url.endswith("/") and not key.endswith("/") else key
        return start, start + _LAST
    if match == "host":
        return host + ")", host + "*"
    if match == "domain":  # ")" ends the host, "," begins a name under it; "-" would be of another domain
        return host + ")", host + "-"
    return key, key + "\0"
