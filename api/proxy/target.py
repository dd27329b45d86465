"""Parse the target of a request line (RFC 9112, section 3.2): its forms, and the names in them."""

from __future__ import annotations

import re
from functools import lru_cache

MAX_AUTHORITY_BYTES = 300
"""Longest authority in bytes."""
_AUTHORITY = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^\x00-\x20\x7f-\xff\"#%,/:<>?@\[\\\]^`{|}]+)(?::([0-9]{0,5}))?")
_ABSOLUTE = re.compile(rb"(https?)://(?:[^/?#@]*@)?([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_NOT_ASCII = re.compile(rb"[\x80-\xff]")


def parse_authority(text: bytes) -> tuple[str, int]:
    """Return the lower-case name and the port (0 if absent) of `host[:port]`; an empty name if it is malformed.

    parse_authority(b"Example.org:8080")   # ("example.org", 8080)
    """
    return _parse_short_authority(text) if len(text) <= MAX_AUTHORITY_BYTES else ("", 0)


@lru_cache(4096)
def _parse_short_authority(text: bytes) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(text)
    if match is None or (match[2] and not 0 < int(match[2]) < 1 << 16):
        return "", 0
    return match[1].decode("ascii").lower().strip("[]").rstrip("."), int(match[2] or 0)


def split_absolute(target: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return scheme, authority without user, and origin form of `http://host/path`; None for any other target."""
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        return None
    origin_form = match[3] if match[3].startswith(b"/") else b"/" + match[3]
    return match[1].lower(), match[2], origin_form


def escape_non_ascii(target: bytes) -> bytes:
    """Return the target with its non-ASCII bytes percent-escaped. Browsers do that; other programs send raw bytes."""
    return _NOT_ASCII.sub(lambda byte: b"%%%02X" % byte[0][0], target)
