"""Parse the target of a request line (RFC 9112, section 3.2): its forms, and the names in them."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_AUTHORITY = 300
"""Longest authority in bytes."""
_AUTHORITY = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^\x00-\x20\x7f-\xff\"#%,/:<>?@\[\\\]^`{|}]+)(?::([0-9]{0,5}))?")
_ABSOLUTE = re.compile(rb"(https?)://(?:[^/?#@]*@)?([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def authority(text: bytes) -> tuple[str, int]:
    """Return the lower-case name and the port (0 if absent) of `host[:port]`; an empty name if it is malformed.

    parse_authority(b"Example.org:8080")   # ("example.org", 8080)
    """
    return _authority(text) if len(text) <= MAX_AUTHORITY else ("", 0)


@lru_cache(4096)
def _authority(text: bytes) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    if found is None or (found[2] and not 0 < int(found[2]) < 1 << 16):
        return "", 0
    return found[1].decode("ascii").lower().strip("[]").rstrip("."), int(found[2] or 0)


def absolute(target: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return scheme, authority without user, and origin form of `http://host/path`; None for any other target."""
    found = _ABSOLUTE.fullmatch(target)
    if found is None:
        return None
    rest = found[3] if found[3].startswith(b"/") else b"/" + found[3]
    return found[1].lower(), found[2], rest


def escaped(target: bytes) -> bytes:
    """Return the target with its non-ASCII bytes percent-escaped. Browsers do that; other programs send raw bytes."""
    return _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], target)
